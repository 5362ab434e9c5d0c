/* What the simulated library asks of the program that loads it: its table. */
#ifndef TAPER_TESTS_GPU_LIBRARIES_SIMULATED_H
#define TAPER_TESTS_GPU_LIBRARIES_SIMULATED_H

#include "core/ops/ops.h"

const struct ops *simulated_ops(void);

#endif
