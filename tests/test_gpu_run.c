/* Whole runs with `device: cuda` over the simulated device: the journal of the CPU's run, stopped and resumed, steps
 * that are not finite, too little memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <unistd.h>

#ifdef GPU_SKIP
static void test_gpu_run(void **state)
{
    (void)state;
    print_message("skipped: %s\n", GPU_SKIP);
    skip();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_gpu_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/safetensors.h"
#include "core/train/train.h"
#include "gpu/backend.h"
#include "tests/gpu/libraries/simulated.h"
#include "tests/gpu/sim_device.h"
#include "core/model/gpu_memory.h"
#include "core/ops/gpu_scratch.h"
#include "core/model/model.h"
#include "tests/support/data.h"
#include "tests/support/tiny.h"

static char *folder;
static int bad_steps[2]; /* with a gate that is not finite; 0: none */

static size_t step_bytes; /* what a step reads, in one piece: the only thing of that size that is uploaded */
static int sites;

static void upload(struct backend *be, void *to, const void *from, size_t bytes)
{
    const struct step_scalars *s = from;
    if (bytes != step_bytes || s->step == 0 || (s->step != bad_steps[0] && s->step != bad_steps[1])) {
        backend_upload(be, to, from, bytes);
        return;
    }
    char *bad = memory_alloc(bytes, 1);
    memcpy(bad, from, bytes);
    float *gates = (float *)(void *)(bad + sizeof *s);
    for (int i = 0; i < sites; i++)
        gates[i] = NAN;
    backend_upload(be, to, bad, bytes);
    free(bad);
}

const struct ops *simulated_ops(void)
{
    static struct ops table;
    table = *gpu_ops_table();
    table.upload = upload;
    return &table;
}

static int make_folder(void **state)
{
    (void)state;
    folder = data_folder_make();
    tiny_cache(folder);
    setenv("TAPER_GPU_LIB", LIBRARIES "/libsimulated.so", 1);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    data_folder_remove(folder);
    return 0;
}

static struct config config_of(const char *device, const char *const *more)
{
    const char *pairs[24] = {
        device,           "train.steps=24",     "gate.warmup=6",   "gate.end=16",     "log.every=4",   "eval.every=0",
        "eval.tokens=64", "checkpoint.every=8", "sample.tokens=0", "data.size=20000", "precision=fp32"};
    int count = 11;
    for (; more && *more; more++)
        pairs[count++] = *more;
    struct config cfg = tiny_config(pairs);
    struct param_table table;
    params_create(&table, &cfg);
    sites = table.site_count;
    step_bytes = model_step_bytes(&table);
    params_destroy(&table);
    return cfg;
}

static int train(const char *name, const struct config *cfg, struct train_options options, struct train_result *result,
                 struct error *err)
{
    char *dir = file_join(folder, name);
    options.dir = dir;
    int status = train_run(cfg, &options, result, err);
    free(dir);
    return status;
}

static char *file_text(const char *name, const char *file)
{
    size_t size;
    char *dir = file_join(folder, name), *path = file_join(dir, file), *text = (char *)data_file_read(path, &size);
    free(dir);
    free(path);
    return text;
}

/* The lines of a table of a run's journal. */
static json_t *lines_of(const char *name, const char *table)
{
    char *text = file_text(name, "journal.jsonl"), *rest = NULL;
    json_t *lines = json_array();
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        json_t *object = json_loads(line, 0, NULL);
        if (strcmp(json_string_value(json_object_get(object, "table")), table) == 0)
            json_array_append_new(lines, object);
        else
            json_decref(object);
    }
    free(text);
    return lines;
}

/* Every number of a against b's; the times aside. */
static void compare(const char *where, const json_t *a, const json_t *b, double bound)
{
    const char *key;
    json_t *value;
    size_t i;
    assert_int_equal(json_typeof(a), json_typeof(b));
    json_object_foreach((json_t *)a, key, value) if (strcmp(key, "ms") != 0 && strcmp(key, "step_ms") != 0)
        compare(key, value, json_object_get(b, key), bound);
    json_array_foreach(a, i, value) compare(where, value, json_array_get(b, i), bound);
    if (json_is_real(a)) {
        double x = json_real_value(a), y = json_real_value(b);
        if (!(fabs(x - y) <= bound * fmax(fabs(x), 1e-2)))
            fail_msg("%s: CPU %.9g, simulated device %.9g", where, x, y);
    } else if (!json_is_object(a) && !json_is_array(a) && !json_equal(a, b)) {
        fail_msg("%s: another value", where);
    }
}

static void test_the_journal_is_the_cpus(void **state)
{
    (void)state;
    struct config cpu = config_of("device=cpu", NULL), cuda = config_of("device=cuda", NULL);
    struct train_result a, b;
    struct error err = {0};
    if (train("cpu", &cpu, (struct train_options){0}, &a, &err) ||
        train("cuda", &cuda, (struct train_options){0}, &b, &err))
        fail_msg("%s", err.text);
    assert_true(fabs(a.val_loss - b.val_loss) < 1e-3);
    json_t *want = lines_of("cpu", "step"), *got = lines_of("cuda", "step"), *row;
    size_t i;
    assert_int_equal(json_array_size(want), 7); /* 1, 4, 8 ... 24 */
    assert_int_equal(json_array_size(got), 7);
    compare("step", want, got, 2e-3);
    json_array_foreach(got, i, row)
    { /* a time for every step since the row before */
        assert_int_equal(json_array_size(json_object_get(row, "step_ms")), i == 0 ? 1 : i == 1 ? 3 : 4);
        assert_true(json_number_value(json_object_get(row, "ms")) > 0);
    }
    json_decref(want);
    json_decref(got);
    json_t *events = lines_of("cuda", "event");
    json_array_foreach(events, i, row)
        assert_string_not_equal(json_string_value(json_object_get(row, "kind")), "skipped");
    json_decref(events);
}

static atomic_int stop;
static int64_t stop_at;

static void stop_there(void *arg, const struct train_progress *p)
{
    (void)arg;
    if (p->step >= stop_at)
        stop = 1;
}

static void expect_same_checkpoint(const char *a, const char *b)
{
    size_t sizes[2];
    unsigned char *bytes[2];
    for (int i = 0; i < 2; i++) {
        char *dir = file_join(folder, i ? b : a), *path = file_join(dir, "checkpoint.safetensors");
        bytes[i] = data_file_read(path, &sizes[i]);
        free(path);
        free(dir);
    }
    assert_int_equal(sizes[0], sizes[1]);
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    free(bytes[0]);
    free(bytes[1]);
}

/* Stopped between two readings, and going on, it ends with the same bytes; a skipped step before the stop included. */
static void test_a_resumed_run_is_the_same(void **state)
{
    (void)state;
    struct config cfg = config_of("device=cuda", (const char *[]){"precision=bf16", NULL});
    struct train_result result;
    struct error err = {0};
    bad_steps[0] = 10;
    if (train("whole", &cfg, (struct train_options){0}, &result, &err))
        fail_msg("%s", err.text);
    stop_at = 10;
    assert_int_equal(
        train("halted", &cfg, (struct train_options){.stop = &stop, .progress = stop_there}, &result, &err),
        STATUS_STOPPED);
    assert_int_equal(result.step, 10);
    if (train("halted", &cfg, (struct train_options){0}, &result, &err))
        fail_msg("%s", err.text);
    bad_steps[0] = 0;
    expect_same_checkpoint("whole", "halted");
}

/* FakeLN's removals wait for what they freeze; a step before one is skipped, and the run stopped between two. */
static void test_removals_are_the_cpus(void **state)
{
    (void)state;
    static const char *const more[] = {"taper.method=fakeln", "train.accumulate=2", NULL};
    struct config cpu = config_of("device=cpu", more), cuda = config_of("device=cuda", more);
    struct train_result result;
    struct error err = {0};
    if (train("cpu.fakeln", &cpu, (struct train_options){0}, &result, &err) ||
        train("cuda.fakeln", &cuda, (struct train_options){0}, &result, &err))
        fail_msg("%s", err.text);
    json_t *want = lines_of("cpu.fakeln", "step"), *got = lines_of("cuda.fakeln", "step");
    compare("step", want, got, 2e-3);
    json_decref(want);
    json_decref(got);
    bad_steps[0] = 9;
    if (train("whole.fakeln", &cuda, (struct train_options){0}, &result, &err))
        fail_msg("%s", err.text);
    stop_at = 10;
    stop = 0;
    assert_int_equal(
        train("halted.fakeln", &cuda, (struct train_options){.stop = &stop, .progress = stop_there}, &result, &err),
        STATUS_STOPPED);
    if (train("halted.fakeln", &cuda, (struct train_options){0}, &result, &err))
        fail_msg("%s", err.text);
    bad_steps[0] = 0;
    expect_same_checkpoint("whole.fakeln", "halted.fakeln");
}

static int count_events(const char *name, const char *kind, const char *text)
{
    json_t *events = lines_of(name, "event"), *row;
    size_t i;
    int count = 0;
    json_array_foreach(events, i, row) count += strcmp(json_string_value(json_object_get(row, "kind")), kind) == 0 &&
                                                strstr(json_string_value(json_object_get(row, "text")), text);
    json_decref(events);
    return count;
}

static void test_a_skipped_step_is_in_the_journal(void **state)
{
    (void)state;
    struct config cfg = config_of("device=cuda", NULL);
    struct train_result result;
    struct error err = {0};
    bad_steps[0] = 9;
    bad_steps[1] = 12; /* a logged one */
    int status = train("skipping", &cfg, (struct train_options){0}, &result, &err);
    bad_steps[0] = bad_steps[1] = 0;
    if (status)
        fail_msg("%s", err.text);
    assert_int_equal(count_events("skipping", "skipped", "step 12: not finite: loss nan"), 1);
    assert_int_equal(count_events("skipping", "skipped", "its update was left out (2 so far)"), 1);
    json_t *rows = lines_of("skipping", "step");
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 3), "ce")), "NaN");
    assert_true(json_is_real(json_object_get(json_array_get(rows, 4), "ce")));
    json_decref(rows);
}

/* Nobody looks at 13 and 14; at 16 the run ends, and the checkpoint of 8 is the one that is left. */
static void test_two_in_a_row_end_the_run(void **state)
{
    (void)state;
    struct config cfg = config_of("device=cuda", NULL);
    struct train_result result;
    struct error err = {0};
    bad_steps[0] = 13;
    bad_steps[1] = 14;
    int status = train("ending", &cfg, (struct train_options){0}, &result, &err);
    bad_steps[0] = bad_steps[1] = 0;
    assert_int_equal(status, STATUS_DIVERGED);
    if (!strstr(err.text, "step 14: not finite: loss nan") ||
        !strstr(err.text, "2 in a row; step 12 is the last good one"))
        fail_msg("%s", err.text);
    char *dir = file_join(folder, "ending"), *path = file_join(dir, "checkpoint.safetensors");
    struct safetensors f;
    int64_t step;
    assert_int_equal(safetensors_open(&f, path, &err), STATUS_OK);
    assert_int_equal(safetensors_read_i64(&f, "state/step", 1, (int64_t[]){1}, &step, &err), STATUS_OK);
    assert_int_equal(step, 8);
    safetensors_close(&f);
    free(path);
    free(dir);
    json_t *end = lines_of("ending", "run");
    assert_string_equal(json_string_value(json_object_get(json_array_get(end, 0), "state")), "failed");
    assert_non_null(strstr(json_string_value(json_object_get(json_array_get(end, 0), "text")), "step 14: not finite"));
    json_decref(end);
    assert_int_equal(count_events("ending", "skipped", "step 14: "), 1);
}

/* Refused before anything is prepared, with the numbers, and the directory stays free. */
static void test_too_little_memory_is_refused(void **state)
{
    (void)state;
    struct config cfg = config_of("device=cuda", NULL);
    struct train_result result;
    struct error err = {0};
    sim_set_memory((size_t)64 << 20);
    int status = train("large", &cfg, (struct train_options){0}, &result, &err);
    sim_set_memory(0);
    assert_int_equal(status, STATUS_MEMORY);
    if (strncmp(err.text, "device: cuda: out of memory: the run takes about ", 49) != 0 ||
        !strstr(err.text, "the device has 64 of 64 MiB free"))
        fail_msg("%s", err.text);
    char *dir = file_join(folder, "large"), *path = file_join(dir, "config.json");
    assert_int_not_equal(access(path, F_OK), 0);
    free(path);
    free(dir);
}

/* The most a whole run has of the device's memory, with its evaluations and its sample, is what is estimated before it
 * starts, or somewhat less: in pieces of scratch of 16 MiB, and larger ones. The simulated device has no kernels to
 * load, and its products no workspace. */
static void test_memory_is_estimated(void **state)
{
    (void)state;
    static const char *const shapes[][8] = {
        {"train.batch=2", NULL},
        {"model.mlp=swiglu", "model.d_model=32", "model.heads=4", "model.d_ff=1024", NULL},
        {"model.norm=layernorm", "model.bias=true", "model.tied=false", "model.vocab=1000", NULL},
        {"model.vocab=1400", "train.batch=192", "train.steps=2", "gate.warmup=1", "gate.end=2", NULL},
    };
    char name[] = "memory0";
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int half = 0; half < 2; half++, name[6]++) {
            const char *pairs[12] = {half ? "precision=bf16" : "precision=fp32", "train.steps=6", "sample.tokens=4"};
            for (int k = 0; shapes[i][k]; k++)
                pairs[3 + k] = shapes[i][k];
            struct config cfg = config_of("device=cuda", pairs);
            struct train_result result;
            struct error err = {0};
            sim_memory_peak();
            if (train(name, &cfg, (struct train_options){0}, &result, &err))
                fail_msg("%s", err.text);
            size_t peak = sim_memory_peak();
            struct gpu_memory need = gpu_memory_need(&cfg, half);
            size_t counted = need.total - GPU_PRODUCTS;
            if (peak > counted || counted > peak + ((size_t)5 << 20))
                fail_msg("%s: %zu bytes counted, %zu taken", name, counted, peak);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_memory_is_estimated),       cmocka_unit_test(test_the_journal_is_the_cpus),
        cmocka_unit_test(test_a_resumed_run_is_the_same), cmocka_unit_test(test_a_skipped_step_is_in_the_journal),
        cmocka_unit_test(test_two_in_a_row_end_the_run),  cmocka_unit_test(test_too_little_memory_is_refused),
        cmocka_unit_test(test_removals_are_the_cpus),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
#endif
