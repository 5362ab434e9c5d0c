/* Memory that the GPU backend takes besides tensors: shared by it and by the estimate of a run's memory. */
#ifndef TAPER_CORE_OPS_GPU_SCRATCH_H
#define TAPER_CORE_OPS_GPU_SCRATCH_H

enum {
    GPU_SCRATCH_LEAST = 16 << 20, /* bytes of a piece of scratch, at least; pieces are kept */
    GPU_SCRATCH_ALIGN = 256,      /* of what is handed out of one */
    GPU_SCRATCH_PIECES = 32,      /* that there may be */
    GPU_PRODUCTS = 32 << 20,      /* cuBLASLt's workspace, one a backend */
};

#endif
