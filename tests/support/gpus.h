/* Pretended GPUs for tests: a stand-in for NVIDIA's management library (tests/support/nvml) that reads a file. */
#ifndef TAPER_TESTS_SUPPORT_GPUS_H
#define TAPER_TESTS_SUPPORT_GPUS_H

/* Build it, and point TAPER_NVML and FAKE_NVML at it and at its file: setup and teardown of a group of cmocka's. */
int gpus_make(void **state);
int gpus_drop(void **state);

/* The library's path, good until gpus_drop. */
const char *gpus_library(void);

/* What there is from now on, in the words of tests/support/nvml/nvml.c. */
void gpus_are(const char *text);

#endif
