/* How fast vocabularies are trained and text is encoded. The text is made up: words by Zipf's law from 30,000, with
 * punctuation, in documents of some 900 bytes; or that of a file:  bench_tokenizer [FILE]. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/data/bpe_train.h"
#include "core/data/tokens.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/base/rng.h"
#include "tests/support/data.h"

enum { BYTES = 20000000, WORDS = 30000, VOCAB = 10000 };

static const struct rng_stream stream = {.seed = 1, .use = RNG_TEST, .second = 1};

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* A word of two to five syllables, the same for the same rank. */
static size_t spell(uint32_t rank, char *out)
{
    static const char *const starts[] = {"b", "br", "c", "d", "f",  "g", "h",  "l", "m",
                                         "n", "p",  "r", "s", "st", "t", "th", "w"};
    static const char *const ends[] = {"a", "e", "i", "o", "u", "an", "en", "ing", "er", "on", "y", "ea", "ou"};
    size_t n = 0;
    for (uint32_t left = rank + 17; left; left /= 17 * 13) {
        n += (size_t)snprintf(out + n, 8, "%s%s", starts[left % 17], ends[left / 17 % 13]);
    }
    out[n] = '\0';
    return n;
}

static char *make_text(void)
{
    char *text = memory_alloc(BYTES + 64, 1), word[64];
    size_t n = 0, document = 0;
    for (uint64_t k = 0; n < BYTES; k++) {
        uint32_t rank = (uint32_t)(exp(rng_uniform(&stream, k) * log(WORDS)) - 1);
        size_t length = spell(rank, word);
        memcpy(text + n, word, length);
        n += length;
        uint64_t mark = rng_below(&stream, UINT32_MAX + k, 12);
        const char *between = mark == 0 ? ". " : mark == 1 ? ", " : mark == 2 ? ".\n" : " ";
        if (n - document > 900) {
            between = ".\n" TEXT_SEPARATOR "\n";
            document = n;
        }
        n += (size_t)snprintf(text + n, 32, "%s", between);
    }
    return text;
}

static void encode_all(const struct tokenizer *t, const struct text *text, const char *out, int threads)
{
    double best = 1e9;
    uint64_t count = 0;
    for (int repeat = 0; repeat < 3; repeat++) {
        double begin = now();
        if (tokens_write(out, t, text, threads, &count, NULL, NULL))
            exit(1);
        best = fmin(best, now() - begin);
    }
    printf("encode to a file, %2d threads     %8.1f MB/s  (%.2f bytes a token)\n", threads,
           (double)text->bytes / best / 1e6, (double)text->bytes / (double)count);
}

static void encode_only(const struct tokenizer *t, const struct text *text)
{
    struct encoder *e;
    uint32_t *ids = memory_alloc(text->bytes + 1, sizeof *ids);
    size_t count;
    if (encoder_create(&e, t, NULL))
        exit(1);
    double begin = now();
    for (size_t i = 0; i < text->count; i++)
        if (tokenizer_encode(e, text->documents[i].bytes, text->documents[i].length, ids, &count, NULL))
            exit(1);
    printf("encode in memory, one thread     %8.1f MB/s\n", (double)text->bytes / (now() - begin) / 1e6);
    encoder_destroy(e);
    free(ids);
}

int main(int argc, char **argv)
{
    char *folder = data_folder_make(), *made = NULL, *out = file_join(folder, "out"), *path;
    if (argc < 2)
        made = make_text();
    path = made ? data_file_write(folder, "text", made, strlen(made)) : memory_string(argv[1]);
    struct text text;
    struct tokenizer *t;
    struct error err = {0};
    int all = parallel_processors(), status = text_open(&text, path, &err);
    if (status) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    double begin = now();
    status = tokenizer_train(&t, &text, VOCAB, all, NULL, &err);
    if (status) {
        fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    printf("train %d tokens on %.1f MB     %8.2f s     (%d threads)\n", VOCAB, (double)text.bytes / 1e6, now() - begin,
           all);
    encode_only(t, &text);
    encode_all(t, &text, out, 1);
    if (all > 1)
        encode_all(t, &text, out, all);
    tokenizer_destroy(t);
    text_close(&text);
    free(made);
    free(path);
    free(out);
    data_folder_remove(folder);
    return 0;
}
