/* Any bytes as a checkpoint: a refusal that says why, or a model whose numbers are looked at. */
#include <stdlib.h>

#include "core/trained/saved_model.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct saved_model m;
    char path[64];
    struct error err = {0};
    const int fd = fuzz_memory_file(data, size, path);
    if (saved_model_open(&m, path, &err) == STATUS_OK) {
        saved_model_check_finite(&m, &err);
        saved_model_close(&m);
    } else if (!err.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}
