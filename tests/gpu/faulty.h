/* Kernels with mistakes in them, to see that the CPU dialect finds each. */
#ifndef TAPER_TESTS_GPU_FAULTY_H
#define TAPER_TESTS_GPU_FAULTY_H

#ifdef __cplusplus
extern "C" {
#endif

enum faulty_kernel {
    FAULTY_NOTHING,           /* a right one: to[i] = from[255 - i] through shared memory */
    FAULTY_MISSING_BARRIER,   /* the same without the barrier */
    FAULTY_DIVERGENT_BARRIER, /* half of the threads reach it */
    FAULTY_EARLY_RETURN,      /* threads return, the others go to a barrier */
    FAULTY_ABSENT_LANES,      /* a shuffle of all lanes that half of them call */
    FAULTY_OWN_LANE,          /* a shuffle whose mask leaves out the caller */
    FAULTY_UNSET_SHARED,      /* to[0] is read from shared memory that was not written */
    FAULTY_SHARED_OVERRUN,    /* writes past its shared memory (for the address sanitizer) */
    FAULTY_WAITS              /* half waits at a barrier, half in a shuffle */
};

/* Run one on a block of 256 threads, at once. to, from: [256]. */
void faulty_run(enum faulty_kernel kernel, float *to, const float *from);

#ifdef __cplusplus
}
#endif

#endif
