/* Any bytes as a token file: a refusal that says why, or ids that are all in its vocabulary. */
#include <stdlib.h>

#include "core/data/tokens.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tokens t;
    char path[64];
    struct error err = {0};
    const int fd = fuzz_memory_file(data, size, path);
    if (tokens_open(&t, path, &err) == STATUS_OK) {
        for (uint64_t i = 0; i < t.count; i++)
            if (tokens_get(&t, i) >= t.vocab)
                abort();
        tokens_close(&t);
    } else if (!err.text[0]) {
        abort();
    }
    close(fd);
    return 0;
}
