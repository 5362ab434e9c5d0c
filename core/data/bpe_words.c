#include "core/data/bpe_words.h"

#include <stdlib.h>
#include <string.h>

#include "core/data/pretokenize.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"

enum { BATCH_BYTES = 32 << 20 }; /* between two reports of progress */

struct counting {
    const struct text *text;
    size_t *bounds;          /* [threads + 1]: the batch's documents */
    struct bpe_words *words; /* [threads] */
    struct error *errors;    /* [threads] */
    int *statuses;           /* [threads] */
};

static void add(struct bpe_words *words, const struct bpe_word *word);

static void grow(struct bpe_words *words)
{
    struct bpe_words larger = {.capacity = words->capacity ? 2 * words->capacity : 1024};
    larger.words = memory_alloc(larger.capacity, sizeof *larger.words);
    for (size_t i = 0; i < words->capacity; i++)
        if (words->words[i].bytes)
            add(&larger, &words->words[i]);
    free(words->words);
    *words = larger;
}

static void add(struct bpe_words *words, const struct bpe_word *word)
{
    if (2 * words->count >= words->capacity)
        grow(words);
    for (size_t i = word->hash & (words->capacity - 1);; i = (i + 1) & (words->capacity - 1)) {
        struct bpe_word *place = &words->words[i];
        if (!place->bytes) {
            *place = *word;
            words->count++;
            return;
        }
        if (place->hash == word->hash && place->length == word->length &&
            memcmp(place->bytes, word->bytes, word->length) == 0) {
            place->count += word->count;
            return;
        }
    }
}

static int count_document(struct bpe_words *words, struct pretokenizer *pre, const struct text_document *d,
                          struct error *err)
{
    size_t begin, end;
    int more;
    pretokenizer_start(pre, d->bytes, d->length);
    while ((more = pretokenizer_next(pre, &begin, &end, err)) > 0) {
        struct bpe_word word = {.bytes = d->bytes + begin, .length = end - begin, .count = 1};
        word.hash = pretokenizer_hash(word.bytes, word.length);
        add(words, &word);
    }
    return more;
}

static void count_share(void *arg, int thread, int threads)
{
    (void)threads;
    struct counting *c = arg;
    struct error *err = &c->errors[thread];
    struct pretokenizer *pre;
    int status = pretokenizer_create(&pre, err);
    for (size_t i = c->bounds[thread]; !status && i < c->bounds[thread + 1]; i++)
        status = count_document(&c->words[thread], pre, &c->text->documents[i], err);
    pretokenizer_destroy(pre);
    c->statuses[thread] = status;
}

static int count_batches(struct counting *c, int threads, const struct progress *progress, struct error *err)
{
    const struct text *text = c->text;
    uint64_t done = 0;
    for (size_t at = 0; at < text->count; at = c->bounds[threads]) {
        text_split(text, at, BATCH_BYTES, threads, c->bounds);
        parallel_run(threads, count_share, c);
        for (int i = 0; i < threads; i++)
            if (c->statuses[i]) {
                if (err)
                    *err = c->errors[i];
                return c->statuses[i];
            }
        for (size_t i = at; i < c->bounds[threads]; i++)
            done += text->documents[i].length;
        if (progress && progress->report)
            progress->report(progress->arg, "counting words", done, text->bytes);
    }
    return STATUS_OK;
}

int bpe_words_count(struct bpe_words *words, const struct text *text, int threads, const struct progress *progress,
                    struct error *err)
{
    if (threads < 1)
        threads = 1;
    size_t n = (size_t)threads;
    struct counting c = {.text = text,
                         .bounds = memory_alloc(n + 1, sizeof *c.bounds),
                         .words = memory_alloc(n, sizeof *c.words),
                         .errors = memory_alloc(n, sizeof *c.errors),
                         .statuses = memory_alloc(n, sizeof *c.statuses)};
    int status = count_batches(&c, threads, progress, err);
    *words = (struct bpe_words){0};
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; !status && k < c.words[i].capacity; k++)
            if (c.words[i].words[k].bytes)
                add(words, &c.words[i].words[k]);
        bpe_words_fini(&c.words[i]);
    }
    free(c.bounds);
    free(c.words);
    free(c.errors);
    free(c.statuses);
    return status;
}

void bpe_words_fini(struct bpe_words *words)
{
    free(words->words);
    *words = (struct bpe_words){0};
}
