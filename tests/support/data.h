/* What the tests of core/data share: private folders, files, random bytes. */
#ifndef TAPER_TESTS_SUPPORT_DATA_H
#define TAPER_TESTS_SUPPORT_DATA_H

#include <stddef.h>
#include <stdint.h>

/* A new folder under TMPDIR, on the heap; data_folder_remove removes it with all in it and frees the name. */
char *data_folder_make(void);
void data_folder_remove(char *folder);

/* FOLDER/NAME with these bytes; the path is on the heap. The folders on the way are made. */
char *data_file_write(const char *folder, const char *name, const void *bytes, size_t size);

/* A whole file on the heap, NUL-terminated beyond its size. */
unsigned char *data_file_read(const char *path, size_t *size);

/* Deterministic random numbers below a bound: state is any number, changed by each call. */
uint32_t data_random(uint64_t *state, uint32_t bound);

/* Text made to be awkward, of n bytes: ASCII, contractions, blanks, several scripts, emoji, invalid UTF-8, NUL. */
void data_random_text(uint64_t *state, unsigned char *out, size_t n);

#endif
