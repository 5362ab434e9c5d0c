/* Any bytes, cut at the first NUL, as vocab.json and merges.txt. */
#include <string.h>

#include "core/data/tokenizer.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char vocab[] = "vocab.json", merges[] = "merges.txt";
    const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
    const size_t first = cut ? (size_t)(cut - data) : size;
    fuzz_folder_fill(vocab, data, first);
    fuzz_folder_fill(merges, cut ? cut + 1 : data, cut ? size - first - 1 : 0);
    struct tokenizer *t;
    struct error err = {0};
    if (tokenizer_load(&t, fuzz_folder.path, &err) == STATUS_OK)
        tokenizer_destroy(t);
    else if (!err.text[0])
        abort();
    return 0;
}
