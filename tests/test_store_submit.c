/* What a submitted sweep leaves in the database, and how its runs are found again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/store/store_internal.h"
#include "tests/support/store_test.h"

static void submit_makes_runs(void **state)
{
    (void)state;
    struct store_submitted out = fixture_submit(&f, fixture_two_by_two);
    assert_int_equal(out.runs, 4);
    assert_int_equal(out.fresh, 4);
    assert_int_equal(
        fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'queued' AND sweep = 's' AND retries = 1"), 4);
    assert_int_equal(fixture_integer(&f, "SELECT count(DISTINCT position) FROM run"), 4);
    assert_int_equal(
        fixture_integer(&f, "SELECT config ->> '$.\"taper.sites\"' = 'all' FROM run WHERE variant = 'all'"), 1);
    /* What the run holds is what makes its name. */
    char id[CONFIG_ID], again[CONFIG_ID], corpus[65], tokenizer[65];
    struct config cfg;
    for (int i = 0; i < 4; i++) {
        fixture_run_id(&f, "s", i, id);
        GOOD(store_run_config(f.s, id, &cfg, err));
        fixture_digests(&cfg, corpus, tokenizer, NULL);
        config_identity(&cfg, corpus, tokenizer, again);
        assert_string_equal(id, again);
        assert_int_equal(cfg.seed, i / 2);
        assert_int_equal(cfg.sites, i % 2 ? SITES_ALL : SITES_NONE);
    }
    out = fixture_submit(&f, fixture_two_by_two);
    assert_int_equal(out.fresh, 0);
    assert_int_equal(out.known[RUN_QUEUED], 4);
    assert_int_equal(out.dropped, 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 4);
}

/* A fast way makes the names and the JSON of a sweep; it must agree with the configuration's own on anything. */
static void names_agree_with_the_configuration(void **state)
{
    (void)state;
    char id[CONFIG_ID], wanted[CONFIG_ID], corpus[65], tokenizer[65];
    struct store_identities *ids = store_identities_create(fixture_digests);
    for (int i = 0; i < 200; i++) {
        struct config cfg;
        const char *json;
        char text[32];
        config_init(&cfg);
        snprintf(text, sizeof text, "%d", i * 7919);
        GOOD(config_set(&cfg, "seed", text, err));
        snprintf(text, sizeof text, "0.%d", 1 + i % 45);
        GOOD(config_set(&cfg, "aux.lambda", text, err));
        GOOD(config_set(&cfg, "sample.prompt", "\"seed\":12", err));
        GOOD(config_set(&cfg, "data.seed", i % 2 ? "12" : "3", err));
        GOOD(config_finish(&cfg, err));
        GOOD(store_identify(ids, &cfg, id, &json, err));
        fixture_digests(&cfg, corpus, tokenizer, NULL);
        config_identity(&cfg, corpus, tokenizer, wanted);
        assert_string_equal(id, wanted);
        json_t *got = json_loads(json, 0, NULL), *own = config_to_json(&cfg);
        assert_true(json_equal(got, own));
        json_decref(got);
        json_decref(own);
    }
    store_identities_destroy(ids);
}

static void runs_are_shared_between_sweeps(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, fixture_two_by_two);
    fixture_run_id(&f, "s", 0, id);
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    GOOD(store_attempt_end(f.s, id, attempt, &(struct store_exit){.cause = OUTCOME_DONE, .code = 0, .signal = -1},
                           RUN_DONE, err));
    /* The same configurations under other names, one new, twice the same one, a higher priority. */
    struct store_submitted out = fixture_submit(&f, "sweep: t\nvariants: {plain: {}, same: {taper.sites: none}, new: "
                                                    "{aux.lambda: 1}}\nrun: {priority: 5}\n");
    assert_int_equal(out.runs, 3);
    assert_int_equal(out.fresh, 1);
    assert_int_equal(out.known[RUN_DONE], 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 5);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_in_sweep WHERE sweep = 't' AND state = 'done'"), 2);
    char *names =
        fixture_text(&f, "SELECT group_concat(variant, ' ') FROM (SELECT variant FROM run_in_sweep WHERE sweep = 't' "
                         "ORDER BY position)");
    assert_string_equal(names, "plain same new");
    free(names);
    assert_int_equal(fixture_integer(&f, "SELECT runs FROM sweep_status WHERE sweep = 't'"), 2);
    char *owner = fixture_text(&f, "SELECT sweep || priority FROM run WHERE state = 'done'");
    assert_string_equal(owner, "s5");
    free(owner);
}

/* A variant that takes no part in the grid is one run at all its points: it is queued and counted once. */
static void one_run_at_many_points(void **state)
{
    (void)state;
    struct store_submitted out = fixture_submit(
        &f, "sweep: s\nvariants: {baseline: {taper.sites: none, gate.end: 40%}, all: {taper.sites: all}}\n"
            "grid: {gate.end: [20%, 40%, 300], seed: [0, 1], aux.lambda: [0.5]}\n");
    assert_int_equal(out.runs, 8);
    assert_int_equal(out.fresh, 8);
    assert_int_equal(out.doubles, 4);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run"), 8);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_in_sweep"), 8);
    assert_int_equal(fixture_integer(&f, "SELECT runs FROM sweep_status"), 8);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_at_point"), 12);
    char *points = fixture_text(&f, "SELECT group_concat(point, ' ') FROM (SELECT point FROM run_at_point "
                                    "WHERE variant = 'baseline' AND seed = 1 ORDER BY position)");
    assert_string_equal(points, "{\"gate.end\":\"20%\",\"seed\":1} {\"gate.end\":\"40%\",\"seed\":1} "
                                "{\"gate.end\":300,\"seed\":1}");
    free(points);
    char *first = fixture_text(&f, "SELECT min(point) || count(*) FROM run_in_sweep WHERE variant = 'baseline' "
                                   "AND seed = 1");
    assert_string_equal(first, "{\"gate.end\":\"20%\",\"seed\":1}1");
    free(first);
    /* Cancelled and taken up again as one, too. */
    struct store_changed changed;
    GOOD(store_cancel(f.s, "s", NULL, "test", &changed, err));
    assert_int_equal(changed.queued, 8);
    GOOD(store_retry(f.s, "s", NULL, false, &changed, err));
    assert_int_equal(changed.queued, 8);
    fixture_submit(&f, "sweep: t\nbase: {seed: 3}\n");
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_at_point WHERE sweep = 't' AND point = '{}'"), 1);
}

static void more_after_queues_a_done_run_again(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    struct spec_after after;
    fixture_submit(&f, "sweep: s\nafter: {bench: {decode: {batch: 1, context: 64}}}\n");
    fixture_run_id(&f, "s", 0, id);
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    GOOD(store_attempt_end(f.s, id, 1, &(struct store_exit){.cause = OUTCOME_DONE, .code = 0, .signal = -1}, RUN_DONE,
                           err));
    assert_int_equal(fixture_submit(&f, "sweep: t\nafter: {bench: {decode: {batch: 1, context: 64}}}\n").requeued, 0);
    assert_int_equal(fixture_submit(&f, "sweep: t\n").requeued, 0);
    struct store_submitted out =
        fixture_submit(&f, "sweep: t\nafter: {fold: true, bench: {decode: {batch: [1, 4], context: 128}}}\n");
    assert_int_equal(out.requeued, 1);
    assert_int_equal(fixture_find(&f, id).state, RUN_QUEUED);
    GOOD(store_run_after(f.s, id, &after, err));
    assert_true(after.fold && after.bench[BENCH_DECODE].batches == 2 && after.bench[BENCH_DECODE].contexts == 2);
    assert_int_equal(after.bench[BENCH_DECODE].context[1], 128);
}

static void changed_sweep_drops_runs(void **state)
{
    (void)state;
    char id[CONFIG_ID];
    int attempt;
    fixture_submit(&f, fixture_two_by_two);
    fixture_submit(&f, "sweep: t\nbase: {seed: 1}\n"); /* holds s's run of variant base and seed 1 too */
    fixture_run_id(&f, "s", 0, id);
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    struct store_submitted out =
        fixture_submit(&f, "sweep: s\nvariants: {all: {taper.sites: all}}\ngrid: {seed: [1, 2]}\n");
    assert_int_equal(out.fresh, 1);
    assert_int_equal(out.dropped, 3);
    assert_int_equal(out.dropped_queued, 1); /* not the live one, not the one t wants */
    assert_int_equal(fixture_find(&f, id).state, RUN_STARTING);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE state = 'cancelled'"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run_in_sweep WHERE sweep = 's'"), 2);
    /* Submitting it as it was takes the cancelled one up again. */
    out = fixture_submit(&f, fixture_two_by_two);
    assert_int_equal(out.requeued, 1);
    assert_int_equal(out.known[RUN_QUEUED], 3);
}

static int bad_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err)
{
    return cfg->corpus_seed == 1 ? fixture_digests(cfg, corpus, tokenizer, err)
                                 : error_set(err, STATUS_BAD_INPUT, "data.corpus: no such file");
}

static void failed_submit_leaves_nothing(void **state)
{
    (void)state;
    struct spec spec;
    struct store_submitted out;
    const char *yaml = "sweep: u\ngrid: {data.seed: [1, 2], seed: [0, 1]}\n";
    GOOD(spec_parse(&spec, yaml, strlen(yaml), "u.yaml", "/", NULL, err));
    BAD(STATUS_BAD_INPUT, "no such file", store_submit(f.s, &spec, bad_digests, false, NULL, &out, err));
    spec_fini(&spec);
    (void)out;
    assert_int_equal(fixture_integer(&f, "SELECT (SELECT count(*) FROM run) + (SELECT count(*) FROM sweep)"), 0);
}

static void runs_are_found_by_the_start_of_their_id(void **state)
{
    (void)state;
    char id[CONFIG_ID], part[4];
    struct store_run run;
    fixture_submit(&f, "sweep: s\ngrid: {seed: {range: [1, 40]}}\n");
    fixture_run_id(&f, "s", 7, id);
    GOOD(store_run_find(f.s, id, &run, err));
    assert_int_equal(run.seed, 8);
    /* Forty ids share first digits, one among them at least. */
    bool ambiguous = false;
    for (int digit = 0; digit < 16; digit++) {
        struct error err = {0};
        snprintf(part, sizeof part, "%x", digit);
        ambiguous |= store_run_find(f.s, part, &run, &err) && strstr(err.text, "more than one run starts with");
    }
    assert_true(ambiguous);
    BAD(STATUS_BAD_INPUT, "want the first hex digits", store_run_find(f.s, "xyz", &run, err));
    BAD(STATUS_BAD_INPUT, "want the first hex digits", store_run_find(f.s, "", &run, err));
    BAD(STATUS_BAD_INPUT, "want the first hex digits", store_run_find(f.s, "0123456789abc", &run, err));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(submit_makes_runs),
        STORE_TEST(names_agree_with_the_configuration),
        STORE_TEST(runs_are_shared_between_sweeps),
        STORE_TEST(one_run_at_many_points),
        STORE_TEST(more_after_queues_a_done_run_again),
        STORE_TEST(changed_sweep_drops_runs),
        STORE_TEST(failed_submit_leaves_nothing),
        STORE_TEST(runs_are_found_by_the_start_of_their_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
