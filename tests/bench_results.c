/* Tables and figures of large sweeps: seconds each. The runs are submitted for real; what they logged is made up by
 * SQL. Never part of the tests. bench_results [RUNS [STEPS]]   runs of the wide sweep (default 100000); steps of each
 * of the 1,000 runs of the deep one (default 1000) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/results/plot_figure.h"
#include "harness/results/table.h"
#include "tests/support/bench.h"

enum { VARIANTS = 5 };

static void check(int status, const struct error *err)
{
    if (!status)
        return;
    fprintf(stderr, "bench_results: %s\n", err->text);
    exit(1);
}

static int digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    (void)cfg, (void)err;
    snprintf(corpus, 65, "%064d", 1);
    snprintf(tokenizer, 65, "%064d", 2);
    return STATUS_OK;
}

static void submit(struct store *s, const char *name, int seeds, int steps)
{
    struct error err = {0};
    struct spec spec;
    struct store_submitted out;
    char *text = memory_format("sweep: %s\nbase: {train.steps: %d}\nvariants:\n"
                               "  baseline: {taper.sites: none}\n  internal: {taper.sites: internal}\n"
                               "  internal+aux: {taper.sites: internal, aux.lambda: 0.1}\n  all: {taper.sites: all}\n"
                               "  all+aux: {taper.sites: all, aux.lambda: 0.1}\ngrid: {seed: {range: [0, %d]}}\n",
                               name, steps, seeds - 1);
    check(spec_parse(&spec, text, strlen(text), "bench", "/", stderr, &err), &err);
    check(store_submit(s, &spec, digests, false, NULL, &out, &err), &err);
    spec_fini(&spec);
    free(text);
}

/* Losses for every run, and logged steps for those of the sweep `deep`. */
static void fill(const char *path, int steps)
{
    sqlite3 *db;
    char *message = NULL;
    char *sql = memory_format(
        "PRAGMA synchronous = OFF; BEGIN; "
        "UPDATE run SET state = 'done', val_loss = 2 + 0.001 * (abs(random()) %% 100); "
        "CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < %d) "
        "SELECT i FROM n; "
        "INSERT INTO step (run, step, tokens, ce, aux, lr, gate, grad_norm, scale_mean, scale_std, scale_max, "
        "scale_target, logit_rms, logit_max, logit_std, margin, p_correct, entropy, radial, radial_rms, "
        "tangential_rms, "
        "radial_share, aux_radial, ms, attempt, leading, bounded) SELECT m.run, i, i * 2048, 7.0 - 0.001 * i, 0.1, "
        "1e-3, "
        "max(0, 1 - i / 400.0), 1, 1.5, 0.1, 3, 1.4, 2.5 + i * 0.001, 9, 2, 0.5, 0.3, 4, -0.01, 0.02, 0.5, 0.1, 0.01, "
        "20, "
        "1, 0.2, 1 FROM (SELECT DISTINCT run FROM sweep_run WHERE sweep = 'deep') m, n ORDER BY m.run, i; "
        "INSERT INTO site_step (run, step, site, c, scale_mean, agreement, gamma_norm) SELECT m.run, i, s.site, 0.5, "
        "2, "
        "1 + i * 0.001, 8 FROM (SELECT DISTINCT run FROM sweep_run WHERE sweep = 'deep') m, n, "
        "(SELECT column1 AS site FROM (VALUES ('blocks.0.attn_norm'), ('blocks.0.mlp_norm'), ('final_norm'))) s "
        "ORDER BY m.run, i, s.site; "
        "INSERT INTO eval (run, step, split, loss, tokens, attempt) SELECT m.run, i, 'valid', 6.0 - 0.001 * i, 8192, 1 "
        "FROM (SELECT DISTINCT run FROM sweep_run WHERE sweep = 'deep') m, n WHERE i %% 100 = 0; COMMIT",
        steps);
    if (sqlite3_open(path, &db) != SQLITE_OK || sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK) {
        fprintf(stderr, "bench_results: %s\n", message ? message : sqlite3_errmsg(db));
        exit(1);
    }
    sqlite3_close(db);
    free(sql);
}

static void time_tables(struct results *from, const char *sweep, int runs)
{
    double all = 0;
    for (int i = 0; table_id(i); i++) {
        struct error err = {0};
        struct table t;
        double begin = bench_now(CLOCK_MONOTONIC);
        from->prepared = false; /* a verb of its own each */
        check(table_make(&t, from, table_id(i), sweep, &err), &err);
        double took = bench_now(CLOCK_MONOTONIC) - begin;
        printf("%-18s %6d runs %5d rows %8.2f s\n", table_id(i), runs, t.rows, took);
        all += took;
        table_fini(&t);
    }
    printf("%-18s %6d runs            %8.2f s\n", "all tables", runs, all);
}

static void time_figures(struct results *from, const char *sweep, int runs)
{
    double all = 0;
    for (int i = 0; plot_figure_id(i); i++) {
        struct plot_image image;
        struct error err = {0};
        bool empty = false;
        double begin = bench_now(CLOCK_MONOTONIC);
        int status = plot_figure_make(&image, from, plot_figure_id(i), sweep, 0, PLOT_SVG, false, &empty, &err);
        double took = bench_now(CLOCK_MONOTONIC) - begin;
        if (!empty)
            check(status, &err);
        printf("%-18s %6d runs %s %8.2f s\n", plot_figure_id(i), runs, empty ? "   empty  " : "          ", took);
        all += took;
        plot_image_fini(&image);
    }
    printf("%-18s %6d runs            %8.2f s\n", "all figures", runs, all);
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/bench_results.XXXXXX";
    struct error err = {0};
    struct home home;
    struct store *s;
    struct results from;
    int wide = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 100000,
        steps = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 1000;
    if (wide < VARIANTS || steps < 100 || !mkdtemp(directory)) {
        fprintf(stderr, "bench_results: wants RUNS >= %d and STEPS >= 100\n", VARIANTS);
        return 2;
    }
    check(home_init(&home, directory, true, &err), &err);
    check(store_open(&s, &home, STORE_WRITE, &err), &err);
    double begin = bench_now(CLOCK_MONOTONIC);
    submit(s, "wide", wide / VARIANTS, 1001);
    submit(s, "deep", 200, 1000);
    store_close(s);
    char *path = file_join(directory, "taper.db");
    fill(path, steps);
    printf("made in %.1f s\n", bench_now(CLOCK_MONOTONIC) - begin);
    fflush(stdout);
    check(store_open(&s, &home, STORE_READ, &err), &err);
    check(results_init(&from, s, NULL, &err), &err);
    time_tables(&from, "wide", wide / VARIANTS * VARIANTS);
    time_tables(&from, "deep", 200 * VARIANTS);
    time_figures(&from, "deep", 200 * VARIANTS);
    results_fini(&from);
    store_close(s);
    home_fini(&home);
    char *command = memory_format("rm -rf %s", directory);
    int removed = system(command);
    free(command);
    free(path);
    return removed != 0;
}
