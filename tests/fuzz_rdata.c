/* Any bytes as the data file of an R package: a refusal, or strings. One of stored blocks needs no inflating: what
 * begins with a NUL is taken as an object itself. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "core/data/rdata.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *arg, size_t vector, size_t index, const char *bytes, size_t length, struct error *err)
{
    uint64_t *sum = arg;
    (void)err;
    for (size_t i = 0; i < length; i++)
        *sum += (uint64_t)(unsigned char)bytes[i] + vector + index;
    return STATUS_OK;
}

static void read_file(const uint8_t *bytes, size_t size)
{
    uint64_t sum = 0;
    struct error err = {0};
    if (rdata_read_strings(bytes, size, "fuzz", take, &sum, &err) != STATUS_OK && !err.text[0])
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t file[1 << 16];
    uLongf room = sizeof file - 4;
    if (size == 0 || data[0] != 0) {
        read_file(data, size);
        return 0;
    }
    if (size > 1 << 14 || compress2(file + 4, &room, data + 1, size - 1, 0) != Z_OK)
        return 0;
    const size_t object = size - 1;
    for (int i = 0; i < 4; i++)
        file[i] = (uint8_t)(object >> (24 - 8 * i));
    read_file(file, room + 4);
    return 0;
}
