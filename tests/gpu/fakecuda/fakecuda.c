/* A stand-in for the driver's libcuda.so.1, for tests: as much of it as cuDNN calls while it compiles a plan for a
 * device that is described to it. It answers for one device of compute capability 9.0; what it is given to load it
 * takes, and nothing can be launched. Handles are addresses into an unused block. */
#include <stddef.h>
#include <stdint.h>

enum { DONE = 0, NO_DEVICE = 100 };
enum { /* CUdevice_attribute */
       WARP_SIZE = 10,
       MULTIPROCESSORS = 16,
       MAJOR = 75,
       MINOR = 76,
       SHARED_OPT_IN = 97
};
enum { /* CUfunction_attribute */ MAX_THREADS = 0, REGISTERS = 4 };

static char handles[4096];
static size_t handles_given;

static void *handle(void)
{
    return &handles[handles_given++ % sizeof handles];
}

#define TAKES(name, ...)                                                                                               \
    int name(__VA_ARGS__);                                                                                             \
    int name(__VA_ARGS__)
#define IGNORE(x) (void)(x)

/* A call that succeeds and changes nothing, one that hands out a handle first, one that fails for want of a device. */
#define NOTHING(name)                                                                                                  \
    TAKES(name, void)                                                                                                  \
    {                                                                                                                  \
        return DONE;                                                                                                   \
    }
#define GIVES(name)                                                                                                    \
    TAKES(name, void **out)                                                                                            \
    {                                                                                                                  \
        if (out)                                                                                                       \
            *out = handle();                                                                                           \
        return DONE;                                                                                                   \
    }
#define REFUSES(name)                                                                                                  \
    TAKES(name, void)                                                                                                  \
    {                                                                                                                  \
        return NO_DEVICE;                                                                                              \
    }

REFUSES(cuInit)
REFUSES(cuLaunchKernel)
REFUSES(cuLaunchKernelEx)
REFUSES(cuLaunchCooperativeKernel)
REFUSES(cuMemcpyDtoH_v2)

GIVES(cuCtxGetCurrent)
GIVES(cuCtxPopCurrent)
GIVES(cuCtxPopCurrent_v2)
GIVES(cuDevicePrimaryCtxRetain)
GIVES(cuLibraryLoadData)
GIVES(cuLibraryLoadFromFile)
GIVES(cuLibraryGetKernel)
GIVES(cuKernelGetFunction)
GIVES(cuModuleLoadData)
GIVES(cuModuleLoadDataEx)
GIVES(cuModuleLoadFatBinary)
GIVES(cuModuleGetFunction)

NOTHING(cuCtxPushCurrent)
NOTHING(cuCtxPushCurrent_v2)
NOTHING(cuDevicePrimaryCtxRelease)
NOTHING(cuDevicePrimaryCtxReset)
NOTHING(cuStreamSynchronize)
NOTHING(cuLibraryUnload)
NOTHING(cuModuleUnload)
NOTHING(cuKernelSetAttribute)
NOTHING(cuFuncSetAttribute)
NOTHING(cuTensorMapEncodeTiled)
NOTHING(cuLinkAddData)
NOTHING(cuLinkAddData_v2)
NOTHING(cuLinkAddFile_v2)
NOTHING(cuLinkDestroy)

TAKES(cuDriverGetVersion, int *version)
{
    *version = 13000;
    return DONE;
}

TAKES(cuGetErrorString, int error, const char **text)
{
    IGNORE(error);
    *text = "no device: this is a stand-in for the driver";
    return DONE;
}

TAKES(cuGetErrorName, int error, const char **text)
{
    IGNORE(error);
    *text = "CUDA_ERROR_NO_DEVICE";
    return DONE;
}

TAKES(cuDeviceGet, int *device, int ordinal)
{
    *device = ordinal;
    return DONE;
}

TAKES(cuDeviceGetCount, int *count)
{
    *count = 1;
    return DONE;
}

TAKES(cuCtxGetDevice, int *device)
{
    *device = 0;
    return DONE;
}

TAKES(cuDeviceGetAttribute, int *value, int attribute, int device)
{
    IGNORE(device);
    switch (attribute) {
    case WARP_SIZE:
        *value = 32;
        break;
    case MULTIPROCESSORS:
        *value = 132;
        break;
    case MAJOR:
        *value = 9;
        break;
    case SHARED_OPT_IN:
        *value = 232448;
        break;
    default:
        *value = 0; /* MINOR too */
    }
    return DONE;
}

TAKES(cuCtxGetLimit, size_t *value, int limit)
{
    IGNORE(limit);
    *value = 0;
    return DONE;
}

TAKES(cuStreamGetCtx, void *stream, void **context)
{
    IGNORE(stream);
    *context = handle();
    return DONE;
}

static int function_attribute(int *value, int attribute)
{
    *value = attribute == MAX_THREADS ? 1024 : attribute == REGISTERS ? 128 : 0;
    return DONE;
}

TAKES(cuKernelGetAttribute, int *value, int attribute, void *kernel, int device)
{
    IGNORE(kernel);
    IGNORE(device);
    return function_attribute(value, attribute);
}

TAKES(cuFuncGetAttribute, int *value, int attribute, void *function)
{
    IGNORE(function);
    return function_attribute(value, attribute);
}

TAKES(cuModuleGetGlobal_v2, void **at, size_t *bytes, void *module, const char *name)
{
    IGNORE(module);
    IGNORE(name);
    if (at)
        *at = handle();
    if (bytes)
        *bytes = 8;
    return DONE;
}

TAKES(cuOccupancyMaxActiveBlocksPerMultiprocessor, int *count, void *function, int block, size_t shared)
{
    IGNORE(function);
    IGNORE(block);
    IGNORE(shared);
    *count = 1;
    return DONE;
}

TAKES(cuOccupancyMaxPotentialClusterSize, int *size, void *function, void *configuration)
{
    IGNORE(function);
    IGNORE(configuration);
    *size = 8;
    return DONE;
}

TAKES(cuLinkCreate, unsigned count, void *options, void *values, void **state)
{
    IGNORE(count);
    IGNORE(options);
    IGNORE(values);
    *state = handle();
    return DONE;
}

TAKES(cuLinkCreate_v2, unsigned count, void *options, void *values, void **state)
{
    return cuLinkCreate(count, options, values, state);
}

TAKES(cuLinkComplete, void *state, void **image, size_t *bytes)
{
    IGNORE(state);
    *image = handle();
    *bytes = 0;
    return DONE;
}
