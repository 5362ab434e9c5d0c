#include "core/data/corpus/corpus.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "core/data/corpus/corpus_grammar.h"
#include "core/base/memory.h"
#include "core/base/parallel.h"
#include "core/base/rng.h"

enum {
    SEPARATOR_LENGTH = sizeof CORPUS_SEPARATOR - 1,
    MOST_STORIES = 512, /* of one thread between two calls of the sink */
    MOST_THREADS = 256,
    TYPICAL_STORY = 1500, /* bytes; only sizes the rounds */
};

/* Compiled at the first use and kept for the life of the process. */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct corpus_grammar *grammar;
static struct error grammar_error;

static void create_grammar(void)
{
    grammar = corpus_grammar_create(corpus_tables, &grammar_error);
    if (grammar && corpus_grammar_longest(grammar) + SEPARATOR_LENGTH > CORPUS_STORY_MAX) {
        error_set(&grammar_error, STATUS_FAILED, "corpus: a story may take %zu bytes, more than %d",
                  corpus_grammar_longest(grammar) + SEPARATOR_LENGTH, CORPUS_STORY_MAX);
        corpus_grammar_destroy(grammar);
        grammar = NULL;
    }
}

static int count_words(const char *text, size_t length)
{
    int words = 1;
    for (size_t i = 0; i < length; i++) /* the second newline of a paragraph is no word's end */
        words += (text[i] == ' ') + (text[i] == '\n' && text[i - 1] != '\n');
    return words;
}

/* A story outside the bounds is dropped for the next attempt of the same stream, which keeps it a function of its
 * index. Few are; a hundred in a row are not, short of a broken grammar. */
static size_t write_story(uint64_t seed, uint64_t index, char *out, double *ways)
{
    const struct rng_stream stream = {seed, RNG_CORPUS, index};
    size_t length = 0;
    for (uint32_t attempt = 0; attempt < 100; attempt++) {
        length = corpus_grammar_expand(grammar, &stream, attempt, out, ways);
        int words = count_words(out, length);
        if (words >= CORPUS_WORDS_MIN && words <= CORPUS_WORDS_MAX)
            break;
    }
    memcpy(out + length, CORPUS_SEPARATOR, SEPARATOR_LENGTH);
    return length + SEPARATOR_LENGTH;
}

size_t corpus_story(uint64_t seed, uint64_t index, char *out, size_t room)
{
    double ways;
    pthread_once(&once, create_grammar);
    return grammar && room >= CORPUS_STORY_MAX ? write_story(seed, index, out, &ways) : 0;
}

double corpus_story_bits(uint64_t seed, uint64_t index)
{
    char story[CORPUS_STORY_MAX];
    double ways = 1;
    pthread_once(&once, create_grammar);
    if (grammar)
        write_story(seed, index, story, &ways);
    return log2(ways);
}

/* One round: each thread writes `stories` stories in a row to its own part of the text. */
struct round {
    uint64_t seed, first;
    size_t stories; /* a thread */
    char *text;     /* threads * MOST_STORIES * CORPUS_STORY_MAX */
    size_t *length; /* threads * MOST_STORIES, of each story */
};

static char *thread_text(const struct round *round, int thread)
{
    return round->text + (size_t)thread * MOST_STORIES * CORPUS_STORY_MAX;
}

static void write_round(void *arg, int thread, int threads)
{
    struct round *round = arg;
    char *at = thread_text(round, thread);
    (void)threads;
    for (size_t i = 0; i < round->stories; i++) {
        double ways;
        uint64_t index = round->first + (uint64_t)thread * round->stories + i;
        size_t length = write_story(round->seed, index, at, &ways);
        round->length[(size_t)thread * MOST_STORIES + i] = length;
        at += length;
    }
}

/* Send what a thread wrote, up to the story that reaches the size. */
static int send_part(const struct round *round, int thread, uint64_t size, uint64_t *sent, corpus_sink *sink, void *arg,
                     struct error *err)
{
    const size_t *length = round->length + (size_t)thread * MOST_STORIES;
    size_t total = 0;
    for (size_t i = 0; i < round->stories && *sent + total < size; i++)
        total += length[i];
    *sent += total;
    return total ? sink(arg, thread_text(round, thread), total, err) : STATUS_OK;
}

int corpus_generate(uint64_t seed, uint64_t size, int threads, corpus_sink *sink, void *arg, struct error *err)
{
    pthread_once(&once, create_grammar);
    if (!grammar)
        return error_set(err, grammar_error.status, "%s", grammar_error.text);
    threads = threads < 1 ? 1 : threads > MOST_THREADS ? MOST_THREADS : threads;
    size_t room = (size_t)threads * MOST_STORIES;
    struct round round = {.seed = seed};
    round.text = memory_alloc(room, CORPUS_STORY_MAX);
    round.length = memory_alloc(room, sizeof *round.length);
    int status = STATUS_OK;
    uint64_t sent = 0;
    while (sent < size && status == STATUS_OK) {
        uint64_t want = (size - sent) / TYPICAL_STORY / (uint64_t)threads + 1;
        round.stories = want < MOST_STORIES ? (size_t)want : MOST_STORIES;
        parallel_run(threads, write_round, &round);
        for (int i = 0; i < threads && status == STATUS_OK; i++)
            status = send_part(&round, i, size, &sent, sink, arg, err);
        round.first += (uint64_t)threads * round.stories;
    }
    free(round.text);
    free(round.length);
    return status;
}
