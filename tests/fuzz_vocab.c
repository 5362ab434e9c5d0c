/* Any bytes, cut at the first NUL, as vocab.json and merges.txt. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/data/tokenizer.h"
#include "tests/fuzz_memory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* DIRECTORY/NAME leads to a file in memory. */
static int place(const char *directory, const char *name, const uint8_t *bytes, size_t size)
{
    char path[64], *link = memory_format("%s/%s", directory, name);
    const int fd = fuzz_memory_file(bytes, size, path);
    unlink(link);
    if (symlink(path, link) != 0)
        abort();
    free(link);
    return fd;
}

static const char *directory;

static void remove_directory(void)
{
    char *vocab = memory_format("%s/vocab.json", directory), *merges = memory_format("%s/merges.txt", directory);
    unlink(vocab);
    unlink(merges);
    rmdir(directory);
    free(vocab);
    free(merges);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char made[] = "/tmp/taper-fuzz-XXXXXX";
    if (!directory) {
        directory = mkdtemp(made);
        if (!directory)
            abort();
        atexit(remove_directory);
    }
    const uint8_t *cut = size ? memchr(data, 0, size) : NULL;
    const size_t first = cut ? (size_t)(cut - data) : size, rest = cut ? size - first - 1 : 0;
    const int vocab = place(directory, "vocab.json", data, first),
              merges = place(directory, "merges.txt", cut ? cut + 1 : data, rest);
    struct tokenizer *t;
    struct error err = {0};
    if (tokenizer_load(&t, directory, &err) == STATUS_OK)
        tokenizer_destroy(t);
    else if (!err.text[0])
        abort();
    close(vocab);
    close(merges);
    return 0;
}
