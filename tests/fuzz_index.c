/* Any bytes as the index of a sharded model: a refusal, or every tensor of it is where the index says. */
#include <string.h>

#include "core/trained/interop_source.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file of these tensors, four zeros each. */
static void fill_shard(const char *name, const char *const *tensors, int count)
{
    char header[256], file[320] = {0};
    int used = snprintf(header, sizeof header, "{");
    for (int i = 0; i < count; i++)
        used += snprintf(header + used, sizeof header - (size_t)used,
                         "%s\"%s\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[%d,%d]}", i ? "," : "",
                         tensors[i], 16 * i, 16 * i + 16);
    used += snprintf(header + used, sizeof header - (size_t)used, "}");
    while (used % 8)
        header[used++] = ' ';
    file[0] = (char)(used & 0xff);
    file[1] = (char)(used >> 8);
    memcpy(file + 8, header, (size_t)used);
    fuzz_folder_fill(name, file, 8 + (size_t)used + 16 * (size_t)count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char index[] = "model.safetensors.index.json", first[] = "a.safetensors", second[] = "b.safetensors";
    struct interop_source s;
    struct error err = {0};
    if (!fuzz_folder.count) {
        fill_shard(first, (const char *const[]){"x", "y"}, 2);
        fill_shard(second, (const char *const[]){"z"}, 1);
    }
    fuzz_folder_fill(index, data, size);
    if (interop_source_open(&s, fuzz_folder.path, &err) == STATUS_OK) {
        const char *name;
        json_t *where;
        json_object_foreach(s.index, name, where) if (!interop_source_find(&s, name)) abort();
        interop_source_close(&s);
    } else if (!err.text[0]) {
        abort();
    }
    return 0;
}
