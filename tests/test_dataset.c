/* From the data keys to tokens: splits, digests, the cache under concurrency, batches, evaluation. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>
#include <unistd.h>

#include "core/data/batch.h"
#include "core/data/dataset.h"
#include "core/train/evaluate.h"
#include "core/base/memory.h"
#include "core/train/trainer.h"
#include "tests/support/data.h"
#include "tests/support/tiny.h"

static char *folder;

static int make_folder(void **state)
{
    (void)state;
    folder = data_folder_make();
    tiny_cache(folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    data_folder_remove(folder);
    return 0;
}

/* A text of `count` documents, "story N." repeated, so that each document is known by its number. */
static char *numbered_text(const char *name, int count)
{
    char *text = memory_alloc((size_t)count * 64 + 1, 1);
    size_t used = 0;
    for (int i = 0; i < count; i++)
        used += (size_t)snprintf(text + used, 64, "story %d was told, story %d.\n<|endoftext|>\n", i, i);
    char *path = data_file_write(folder, name, text, used);
    free(text);
    return path;
}

static struct dataset open_dataset(const struct config *cfg)
{
    struct dataset d;
    struct error err = {0};
    if (dataset_open(&d, cfg, 2, NULL, &err))
        fail_msg("%s", err.text);
    return d;
}

static char *text_of(const struct dataset *d, const struct tokens *tokens)
{
    char *text = memory_alloc(tokens->count * 16 + 1, 1), *at = text;
    for (uint64_t i = 0; i < tokens->count; i++) {
        size_t length;
        const unsigned char *bytes = tokenizer_decode_bytes(d->tokenizer, tokens_get(tokens, i), &length);
        memcpy(at, bytes, length);
        at += length;
    }
    return text;
}

/* The built-in stories hold the vocabulary of the paper's presets, in a tenth of their default size. */
static void stories_hold_a_presets_vocabulary(void **state)
{
    (void)state;
    struct config cfg = tiny_config((const char *const[]){"data.size=2000000", "model.vocab=10000", NULL});
    struct dataset d = open_dataset(&cfg);
    assert_int_equal(tokenizer_vocab_size(d.tokenizer), 10000);
    uint8_t *seen = memory_alloc(10000, 1);
    uint32_t used = 0;
    for (uint64_t i = 0; i < d.train.count; i++) {
        used += !seen[tokens_get(&d.train, i)];
        seen[tokens_get(&d.train, i)] = 1;
    }
    print_message("# %u of 10000 tokens occur, %llu in all\n", used, (unsigned long long)d.train.count);
    assert_true(used > 6000);
    free(seen);
    dataset_close(&d);
}

static void the_last_documents_validate(void **state)
{
    (void)state;
    char *path = numbered_text("hundred.txt", 100), *pair = memory_format("data.corpus=%s", path);
    struct config cfg = tiny_config((const char *const[]){pair, "data.valid=7%", "model.vocab=270", NULL});
    struct dataset d = open_dataset(&cfg);
    char *train = text_of(&d, &d.train), *valid = text_of(&d, &d.valid);
    assert_non_null(strstr(train, "story 92 "));
    assert_null(strstr(train, "story 93 "));
    assert_null(strstr(valid, "story 92 "));
    assert_non_null(strstr(valid, "story 93 "));
    assert_non_null(strstr(valid, "story 99 "));
    assert_int_equal(tokens_get(&d.train, d.train.count - 1), tokenizer_end_of_text(d.tokenizer));
    dataset_close(&d);
    free(train);
    free(valid);
    free(pair);
    free(path);
}

static void identity_of(const struct config *cfg, char id[CONFIG_ID])
{
    char corpus[DATASET_DIGEST], tokenizer[DATASET_DIGEST];
    struct error err = {0};
    if (dataset_digests(cfg, corpus, tokenizer, &err))
        fail_msg("%s", err.text);
    config_identity(cfg, corpus, tokenizer, id);
}

/* A run is named by the bytes it reads, not by where they lie; another byte or another split is another run. */
static void digests_follow_the_bytes(void **state)
{
    (void)state;
    char *a = numbered_text("a.txt", 50), *b = numbered_text("b.txt", 50), *c = numbered_text("c.txt", 51);
    char *pa = memory_format("data.corpus=%s", a), *pb = memory_format("data.corpus=%s", b),
         *pc = memory_format("data.corpus=%s", c);
    struct config configs[] = {
        tiny_config((const char *const[]){pa, NULL}),
        tiny_config((const char *const[]){pb, NULL}),
        tiny_config((const char *const[]){pc, NULL}),
        tiny_config((const char *const[]){pa, "data.valid=9%", NULL}),
        tiny_config((const char *const[]){"data.seed=2", NULL}),
        tiny_config(NULL),
    };
    char ids[6][CONFIG_ID], again[CONFIG_ID];
    for (int i = 0; i < 6; i++)
        identity_of(&configs[i], ids[i]);
    assert_string_equal(ids[0], ids[1]);
    for (int i = 1; i < 6; i++)
        for (int j = 0; j < i; j++)
            assert_true((strcmp(ids[i], ids[j]) == 0) == (i == 1 && j == 0));
    free(numbered_text("a.txt", 49)); /* replaced: the remembered digest must not be believed */
    identity_of(&configs[0], again);
    assert_string_not_equal(ids[0], again);
    /* What dataset_open finds is what the identity was made of. */
    char corpus[DATASET_DIGEST], tokenizer[DATASET_DIGEST];
    struct error err = {0};
    assert_int_equal(dataset_digests(&configs[5], corpus, tokenizer, &err), STATUS_OK);
    struct dataset d = open_dataset(&configs[5]);
    assert_string_equal(d.corpus_digest, corpus);
    assert_string_equal(d.tokenizer_digest, tokenizer);
    dataset_close(&d);
    free(a);
    free(b);
    free(c);
    free(pa);
    free(pb);
    free(pc);
}

/* Many runs that start at once share one cache, and all get the same bytes. */
static void one_cache_many_processes(void **state)
{
    (void)state;
    enum { PROCESSES = 6 };
    pid_t pids[PROCESSES];
    char *path = numbered_text("many.txt", 400), *pair = memory_format("data.corpus=%s", path);
    struct config cfg = tiny_config((const char *const[]){pair, NULL});
    for (int i = 0; i < PROCESSES; i++) {
        pids[i] = fork();
        if (pids[i] == 0) {
            struct dataset d;
            struct error err = {0};
            int status = dataset_open(&d, &cfg, 1, NULL, &err);
            bool whole = !status && d.train.count > 1000 && d.valid.count > 50;
            dataset_close(&d);
            _exit(whole ? 0 : 1);
        }
    }
    for (int i = 0; i < PROCESSES; i++)
        assert_int_equal(tiny_wait(pids[i]), 0);
    free(pair);
    free(path);
}

static void batches(void **state)
{
    (void)state;
    enum { T = 16, COUNT = 64 };
    struct config cfg = tiny_config(NULL);
    struct dataset d = open_dataset(&cfg);
    int32_t a[COUNT * (T + 1)], b[COUNT * (T + 1)];
    batch_windows(&d.train, 1, 5, COUNT, T, a);
    batch_windows(&d.train, 1, 5, COUNT, T, b);
    assert_memory_equal(a, b, sizeof a);
    batch_windows(&d.train, 1, 6, COUNT, T, b);
    assert_memory_not_equal(a, b, sizeof a);
    batch_windows(&d.train, 2, 5, COUNT, T, b);
    assert_memory_not_equal(a, b, sizeof a);
    batch_windows(&d.train, 1, 5, 3, T, b); /* a smaller batch is the beginning of the larger */
    assert_memory_equal(a, b, 3 * (T + 1) * sizeof *a);
    /* The first and the last possible window are both drawn, and nothing beyond. */
    struct tokens few = d.train;
    few.count = T + 3;
    bool seen[3] = {0};
    for (int64_t step = 0; step < 20; step++) {
        batch_windows(&few, 1, step, COUNT, T, a);
        for (int i = 0; i < COUNT; i++)
            for (uint64_t start = 0; start < 3; start++) {
                tokens_read(&d.train, start, T + 1, b);
                seen[start] |= memcmp(a + i * (T + 1), b, (T + 1) * sizeof *a) == 0;
            }
    }
    assert_true(seen[0] && seen[1] && seen[2]);
    dataset_close(&d);
}

/* Every token but the first is a target once, whatever the batch; a window sees only its own tokens. */
static void evaluation_counts_everything(void **state)
{
    (void)state;
    struct config cfg = tiny_config(NULL);
    struct dataset d = open_dataset(&cfg);
    struct error err = {0};
    struct backend *be;
    struct model m;
    struct evaluation one, many, part;
    const struct backend_options options = {.threads = 2, .precision = PRECISION_FP32};
    assert_int_equal(ops_cpu()->create(&be, &options, &err), STATUS_OK);
    assert_int_equal(model_create(&m, &cfg, ops_cpu(), be, &err), STATUS_OK);
    assert_int_equal(model_initialize(&m, &err), STATUS_OK);
    atomic_int stop = 1;
    assert_int_equal(evaluate(&m, &d.valid, 1, 0, &stop, &one, &err), STATUS_STOPPED);
    stop = 0;
    assert_int_equal(evaluate(&m, &d.valid, 1, 0, &stop, &one, &err), STATUS_OK);
    assert_int_equal(evaluate(&m, &d.valid, 7, 0, NULL, &many, &err), STATUS_OK);
    assert_int_equal(one.tokens, d.valid.count - 1);
    assert_int_equal(many.tokens, d.valid.count - 1);
    assert_true(fabs(one.loss - many.loss) < 1e-6);
    /* By hand: the windows one by one, through the training pass. */
    struct trainer t;
    double sum = 0;
    int64_t T = cfg.context, windows = 5;
    assert_int_equal(trainer_create(&t, &m, 1, (int)T, &err), STATUS_OK);
    for (int64_t w = 0; w < windows; w++) {
        int32_t window[17];
        float ce[16];
        tokens_read(&d.valid, (uint64_t)(w * T), (uint64_t)T + 1, window);
        assert_int_equal(trainer_debug_pass(&t, window, m.site_gate, 0, false, NULL, &err), STATUS_OK);
        m.ops->download(be, ce, t.acts.ce, sizeof ce);
        for (int i = 0; i < 16; i++)
            sum += (double)ce[i];
    }
    assert_int_equal(evaluate(&m, &d.valid, 3, windows * T, NULL, &part, &err), STATUS_OK);
    assert_int_equal(part.tokens, windows * T);
    assert_true(fabs(part.loss - sum / (double)(windows * T)) < 1e-6);
    trainer_destroy(&t);
    model_destroy(&m);
    ops_cpu()->destroy(be);
    dataset_close(&d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stories_hold_a_presets_vocabulary),
        cmocka_unit_test(the_last_documents_validate),
        cmocka_unit_test(digests_follow_the_bytes),
        cmocka_unit_test(one_cache_many_processes),
        cmocka_unit_test(batches),
        cmocka_unit_test(evaluation_counts_everything),
    };
    return cmocka_run_group_tests_name("dataset", tests, make_folder, remove_folder);
}
