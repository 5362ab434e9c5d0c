/* Any bytes as a safetensors file: a refusal, or tensors that can be read. */
#include <stdlib.h>

#include "core/base/memory.h"
#include "core/base/safetensors.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct safetensors f;
    char path[64];
    struct error err = {0};
    const int fd = fuzz_memory_file(data, size, path);
    if (safetensors_open(&f, path, &err) == STATUS_OK) {
        for (size_t i = 0; i < f.count; i++) {
            const struct tensor *t = &f.tensors[i];
            if (!tensor_type_is_float(t->type) || t->count > size)
                continue;
            double *x = memory_alloc(t->count + 1, sizeof *x);
            if (safetensors_read_f64(&f, t->name, t->rank, t->shape, x, &err))
                abort();
            free(x);
        }
        safetensors_close(&f);
    } else if (!err.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}
