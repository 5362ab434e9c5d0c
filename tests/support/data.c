#include "tests/support/data.h"

#include <ftw.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

char *data_folder_make(void)
{
    const char *tmp = getenv("TMPDIR");
    char *folder = memory_format("%s/taper-test-XXXXXX", tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(folder)) {
        perror(folder);
        exit(1);
    }
    return folder;
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *walk)
{
    (void)st;
    (void)type;
    (void)walk;
    return remove(path);
}

void data_folder_remove(char *folder)
{
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    free(folder);
}

char *data_file_write(const char *folder, const char *name, const void *bytes, size_t size)
{
    struct error err = {0};
    char *path = file_join(folder, name), *copy = memory_string(path);
    if (file_make_directories(dirname(copy), &err) || file_write_all(path, bytes, size, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    free(copy);
    return path;
}

unsigned char *data_file_read(const char *path, size_t *size)
{
    struct error err = {0};
    struct file_map map;
    if (file_map_open(&map, path, &err)) {
        fprintf(stderr, "%s\n", err.text);
        exit(1);
    }
    unsigned char *bytes = memory_alloc(map.size + 1, 1);
    memcpy(bytes, map.data, map.size);
    *size = map.size;
    file_map_close(&map);
    return bytes;
}

uint32_t data_random(uint64_t *state, uint32_t bound)
{
    struct rng_stream stream = {.seed = 7, .use = RNG_TEST, .second = 0};
    return (uint32_t)rng_below(&stream, (*state)++, bound);
}

void data_random_text(uint64_t *state, unsigned char *out, size_t n)
{
    static const char *const parts[] = {
        "a",
        "b",
        "Z",
        "the",
        "'s",
        "'t",
        "'re",
        "'ve",
        "'m",
        "'ll",
        "'d",
        "'",
        "''",
        "l",
        " ",
        "  ",
        "\n",
        "\t",
        "\r\n",
        "\v\f",
        "1",
        "23",
        ".",
        ",!",
        "<|",
        "|>",
        "\x01",
        "\x7f",
        "\u00e9",
        "\u0416",
        "\u6f22\u5b57",
        "\u0663",
        "\u00bd",
        "\u00a0",
        "\xc2\x85",
        "\u2003",
        "\u3000",
        "\u180e",
        "\u0301",
        "\U0001f642",
        "\U0001f44d\U0001f3fd",
        "\xff",
        "\xc3",
        "\xe2\x82",
        "\xed\xa0\x80",
        "\xc0\x80",
        "\x80",
        "\xf4\x90\x80\x80",
    };
    size_t at = 0;
    while (at < n) {
        uint32_t which = data_random(state, sizeof parts / sizeof parts[0] + 2);
        if (which >= sizeof parts / sizeof parts[0]) {
            out[at++] = which % 2 ? 0 : (unsigned char)data_random(state, 256);
            continue;
        }
        for (const char *s = parts[which]; *s && at < n;)
            out[at++] = (unsigned char)*s++;
    }
}
