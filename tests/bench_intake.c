/* Journal lines into the database: rows a second on one core. Never part of the tests.
 *   bench_intake [ROWS]   rows of each kind of journal, default 400000 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "core/config/config.h"
#include "core/base/file.h"
#include "core/train/journal.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/store/intake.h"
#include "harness/spec/spec.h"
#include "harness/store/store.h"

static void check(int status, const struct error *err)
{
    if (!status)
        return;
    fprintf(stderr, "bench_intake: %s\n", err->text);
    exit(1);
}

static int digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    (void)cfg;
    (void)err;
    snprintf(corpus, 65, "%064d", 1);
    snprintf(tokenizer, 65, "%064d", 2);
    return STATUS_OK;
}

static double seconds(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static json_t *step_object(int step, int sites)
{
    static const char *const names[] = {
        "ce",        "aux",          "lr",         "gate",           "grad_norm",    "scale_mean", "scale_std",
        "scale_max", "scale_target", "logit_rms",  "logit_max",      "logit_std",    "margin",     "p_correct",
        "entropy",   "radial",       "radial_rms", "tangential_rms", "radial_share", "aux_radial", "ms"};
    json_t *o = json_object(), *list = json_array();
    json_object_set_new(o, "step", json_integer(step));
    json_object_set_new(o, "tokens", json_integer(step * 2048));
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        json_object_set_new(o, names[i], journal_number((float)(1.0 / (step + 1.7 + (double)i))));
    for (int i = 0; i < sites; i++) {
        json_t *site = json_object();
        char name[32];
        snprintf(name, sizeof name, "blocks.%d.%s_norm", i / 2, i % 2 ? "mlp" : "attn");
        json_object_set_new(site, "site", json_string(name));
        json_object_set_new(site, "c", journal_number((float)(0.3 + i * 0.017)));
        json_object_set_new(site, "scale_mean", journal_number((float)(1.3 + step * 1e-4)));
        json_object_set_new(site, "agreement", journal_number((float)(0.9 + step * 1e-6)));
        json_object_set_new(site, "gamma_norm", journal_number((float)(8 + step * 1e-5)));
        json_object_set_new(site, "gamma_tilde_norm", journal_number((float)(8 - step * 1e-5)));
        json_array_append_new(list, site);
    }
    if (sites)
        json_object_set_new(o, "site_step", list);
    else
        json_decref(list);
    return o;
}

enum { RUNS = 8 };

struct collected {
    char ids[RUNS][CONFIG_ID];
    int count;
};

static int collect(void *arg, const struct store_run *run)
{
    struct collected *c = arg;
    memcpy(c->ids[c->count++], run->id, CONFIG_ID);
    return 0;
}

/* Journals of RUNS runs, `rows` rows in all, taken in like a daemon does: passes of 4 MiB over all of them. */
static void measure(const char *dir, const char *what, int sites, long rows)
{
    struct error err = {0};
    struct home home;
    struct store *s;
    struct spec spec;
    struct store_submitted submitted;
    struct collected got = {.count = 0};
    char *path = memory_format("%s/%s", dir, what), text[256];
    check(home_init(&home, path, true, &err), &err);
    check(store_open(&s, &home, STORE_WRITE, &err), &err);
    int length = snprintf(text, sizeof text, "sweep: bench\ngrid:\n  seed: {range: [1, %d]}\n", RUNS);
    check(spec_parse(&spec, text, (size_t)length, "bench.yaml", "/", NULL, &err), &err);
    check(store_submit(s, &spec, digests, false, NULL, &submitted, &err), &err);
    check(store_runs_each(s, &(struct store_filter){.sweep = "bench"}, collect, &got, &err), &err);
    long steps = rows / (1 + sites) / RUNS;
    double bytes = 0;
    const char *ids[RUNS];
    for (int r = 0; r < RUNS; r++) {
        char *run_dir = home_run_dir(&home, got.ids[r]), *journal = home_run_file(&home, got.ids[r], RUNDIR_JOURNAL);
        struct journal j;
        struct stat st;
        ids[r] = got.ids[r];
        check(file_make_directories(run_dir, &err), &err);
        check(journal_open(&j, journal, 1, &err), &err);
        for (long i = 1; i <= steps; i++)
            check(journal_append(&j, "step", step_object((int)i, sites), &err), &err);
        check(journal_close(&j, &err), &err);
        bytes += stat(journal, &st) == 0 ? (double)st.st_size : 0;
        free(run_dir);
        free(journal);
    }
    struct intake *in = intake_create(s, &home);
    struct intake_result one;
    double wall = seconds(CLOCK_MONOTONIC), cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), longest = 0;
    int64_t taken = 0;
    do {
        double begin = seconds(CLOCK_MONOTONIC);
        check(intake_pass(in, ids, RUNS, 4 << 20, &one, &err), &err);
        taken += one.rows;
        double took = seconds(CLOCK_MONOTONIC) - begin;
        longest = took > longest ? took : longest;
    } while (one.more);
    wall = seconds(CLOCK_MONOTONIC) - wall;
    cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu;
    printf("%-22s %8lld rows %6.1f MB  %7.0f rows/s of CPU, %7.0f rows/s of time, longest pass %.0f ms\n", what,
           (long long)taken, bytes / 1e6, (double)taken / cpu, (double)taken / wall, longest * 1e3);
    intake_destroy(in);
    store_close(s);
    spec_fini(&spec);
    home_fini(&home);
    free(path);
}

int main(int argc, char **argv)
{
    long rows = argc > 1 ? strtol(argv[1], NULL, 10) : 400000;
    char dir[] = "/tmp/bench_intake.XXXXXX";
    if (!mkdtemp(dir) || rows < RUNS * 20)
        return 1;
    measure(dir, "steps-with-9-sites", 9, rows);
    measure(dir, "steps-with-17-sites", 17, rows);
    measure(dir, "steps-alone", 0, rows);
    char *remove = memory_format("rm -rf %s", dir);
    int code = system(remove);
    free(remove);
    return code == 0 ? 0 : 1;
}
