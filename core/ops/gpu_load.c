#include "core/ops/gpu_load.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/beside.h"
#include "core/base/memory.h"

static const char file_name[] = "libtaper_gpu.so";

static int check(const char *path, const struct gpu_library *library, struct error *err)
{
    if (library->abi != GPU_ABI || library->library_bytes != sizeof *library ||
        library->ops_bytes != sizeof(struct ops))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: another version's: interface %u with tables of %u and %u bytes, this "
                         "program wants %d with %zu and %zu; build both together",
                         path, library->abi, library->library_bytes, library->ops_bytes, GPU_ABI, sizeof *library,
                         sizeof(struct ops));
    const char *empty = ops_first_empty(library->ops);
    if (empty)
        return error_set(err, STATUS_BAD_INPUT, "%s: its ops table has no %s", path, empty);
    return STATUS_OK;
}

int gpu_load_from(const char *path, const struct gpu_library **out, struct error *err)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        return error_set(err, STATUS_BAD_INPUT, "%s", dlerror()); /* names the library that is missing */
    gpu_library_function *function;
    *(void **)&function = dlsym(handle, "taper_gpu_library");
    const struct gpu_library *library = function ? function() : NULL;
    int status = library ? check(path, library, err)
                         : error_set(err, STATUS_BAD_INPUT,
                                     "%s: not a GPU library of taper (it exports no "
                                     "taper_gpu_library)",
                                     path);
    if (status)
        dlclose(handle);
    else
        *out = library; /* it stays loaded */
    return status;
}

int gpu_load(const struct gpu_library **out, struct error *err)
{
    static const struct gpu_library *loaded;
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    const char *named = getenv("TAPER_GPU_LIB");
    int status = STATUS_OK;
    pthread_mutex_lock(&lock);
    if (!loaded) {
        char *path = named && *named ? memory_string(named) : beside_program(file_name);
        if (access(path, F_OK) != 0)
            status = error_set(err, named && *named ? STATUS_BAD_INPUT : STATUS_FAILED,
                               "%s: there is no such file: this build has no CUDA backend (it is "
                               "built where nvcc and cuDNN are; TAPER_GPU_LIB names one elsewhere)",
                               path);
        else
            status = gpu_load_from(path, &loaded, err);
        free(path);
    }
    *out = loaded;
    pthread_mutex_unlock(&lock);
    return status ? error_wrap(err, "device: cuda") : STATUS_OK;
}

int gpu_describe(struct gpu_device *out, int room, int *count, struct error *err)
{
    const struct gpu_library *library;
    *count = 0;
    int status = gpu_load(&library, err);
    return status ? status : library->devices(out, room, count, err);
}
