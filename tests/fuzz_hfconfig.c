/* Any bytes as the config.json of a folder to import. */
#include <stdlib.h>

#include "core/trained/interop_config.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct interop_config c;
    char path[64];
    struct error err = {0};
    const int fd = fuzz_memory_file(data, size, path);
    if (interop_config_read(path, &c, &err) != STATUS_OK && !err.text[0])
        abort();
    close(fd);
    return 0;
}
