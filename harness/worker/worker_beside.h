/* Who else is at work on this machine: what a speed is measured beside. */
#ifndef TAPER_HARNESS_WORKER_WORKER_BESIDE_H
#define TAPER_HARNESS_WORKER_WORKER_BESIDE_H

#include <stdbool.h>

/* How many other workers, of any home, are on the device this process measures: the one that its own worker was given;
 * outside a worker the processors, or (cpu false) any GPU. As /proc shows them at this moment; what is not a worker of
 * taper, or hidden from us, is not seen. */
int worker_beside(bool cpu);

#endif
