/* Tables of results: every number computed again from the raw rows, layouts against saved ones, what is missing said.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/config/config.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "harness/results/result_sweep.h"
#include "harness/results/table.h"
#include "tests/support/fixture_db.h"
#include "tests/support/fixture_tuned.h"

static struct fixture f;
static struct results from;

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    fixture_db_fill(&f);
    GOOD(results_init(&from, f.s, NULL, err));
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    results_fini(&from);
    fixture_fini(&f);
    return 0;
}

/* A table printed, on the heap; what differs between builds replaced. */
static char *printed(const char *id, enum table_format format)
{
    struct table t;
    char *text = NULL;
    size_t size = 0;
    GOOD(table_make(&t, &from, id, NULL, err));
    free(t.program);
    t.program = memory_string("PROGRAM");
    FILE *out = open_memstream(&text, &size);
    GOOD(table_print(&t, format, out, err));
    fclose(out);
    table_fini(&t);
    return text;
}

static json_t *as_json(const char *id)
{
    char *text = printed(id, TABLE_JSON);
    json_error_t why;
    json_t *table = json_loads(text, 0, &why);
    if (!table)
        fail_msg("%s: %s", id, why.text);
    free(text);
    return table;
}

/* The row in which column `name` is `value`. */
static json_t *row_of(json_t *table, const char *name, const char *value)
{
    json_t *rows = json_object_get(table, "rows"), *row;
    size_t i;
    json_array_foreach(rows, i, row)
    {
        const char *text = json_string_value(json_object_get(row, name));
        if (text && strcmp(text, value) == 0)
            return row;
    }
    fail_msg("no row with %s = %s", name, value);
    return NULL;
}

static double field(json_t *row, const char *column, const char *name)
{
    json_t *value = json_object_get(json_object_get(row, column), name);
    return json_is_null(value) ? NAN : json_number_value(value);
}

static void near(double got, double want)
{
    if (!(fabs(got - want) <= 1e-9 * (1 + fabs(want))))
        fail_msg("got %.15g, want %.15g", got, want);
}

/* The losses of one variant, read from the table `run` a seed at a time. */
static int raw_losses(const char *variant, double loss[5], bool there[5])
{
    int n = 0;
    for (int seed = 0; seed < 5; seed++) {
        char *sql = memory_format(
            "SELECT coalesce((SELECT val_loss FROM run WHERE variant = '%s' AND seed = %d AND state = 'done'), "
            "'none')",
            variant, seed);
        char *text = fixture_text(&f, sql), *end;
        loss[seed] = strtod(text, &end);
        there[seed] = *end == '\0' && isfinite(loss[seed]);
        n += there[seed];
        free(text);
        free(sql);
    }
    return n;
}

/* Mean, sample deviation and half a 95% interval, written out again; t from a printed table. */
static void naive(const double *x, int n, double *mean, double *deviation, double *half)
{
    static const double t975[] = {0, 0, 12.7062047364, 4.3026527297, 3.1824463053, 2.7764451052};
    double sum = 0, squares = 0;
    for (int i = 0; i < n; i++)
        sum += x[i];
    *mean = sum / n;
    for (int i = 0; i < n; i++)
        squares += (x[i] - *mean) * (x[i] - *mean);
    *deviation = n > 1 ? sqrt(squares / (n - 1)) : NAN;
    *half = n > 1 ? t975[n] * *deviation / sqrt(n) : NAN;
}

static void losses_are_those_of_the_raw_rows(void **state)
{
    (void)state;
    static const int counts[] = {4, 4, 4, 4, 5, 2, 2}, pairs[] = {0, 3, 4, 3, 4, 2, 2};
    json_t *table = as_json("table-tinystories");
    double base[5], loss[5], x[5], change[5], mean, deviation, half;
    bool base_there[5], there[5];
    raw_losses("baseline", base, base_there);
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 7);
    for (int v = 0; v < 7; v++) {
        json_t *row = row_of(table, "variant", fixture_db_variant(v));
        int n = 0, m = 0;
        assert_int_equal(raw_losses(fixture_db_variant(v), loss, there), counts[v]);
        for (int seed = 0; seed < 5; seed++) {
            if (there[seed]) {
                near(loss[seed], fixture_db_loss(v, seed));
                x[n++] = loss[seed];
            }
            if (there[seed] && base_there[seed])
                change[m++] = (loss[seed] / base[seed] - 1) * 100;
        }
        naive(x, n, &mean, &deviation, &half);
        near(field(row, "val_loss", "mean"), mean);
        near(field(row, "val_loss", "std"), deviation);
        assert_int_equal(field(row, "runs", "n"), n);
        assert_int_equal(field(row, "runs", "of"), v < 5 ? 5 : 2);
        assert_int_equal(field(row, "change", "n"), pairs[v]);
        if (v == 0)
            continue;
        assert_int_equal(m, pairs[v]);
        naive(change, m, &mean, &deviation, &half);
        near(field(row, "change", "mean"), mean);
        near(field(row, "change", "low"), mean - half);
        near(field(row, "change", "high"), mean + half);
    }
    json_decref(table);
}

static void says(json_t *row, const char *part)
{
    const char *notes = json_string_value(json_object_get(row, "notes"));
    if (!notes || !strstr(notes, part))
        fail_msg("'%s' does not say '%s'", notes ? notes : "", part);
}

static void what_is_missing_is_said(void **state)
{
    (void)state;
    json_t *table = as_json("table-tinystories");
    says(row_of(table, "variant", "baseline"), "running: seed 4");
    says(row_of(table, "variant", "internal"), "failed: seed 3");
    says(row_of(table, "variant", "internal"), "no baseline to compare with: seed 4");
    says(row_of(table, "variant", "internal+aux"), "queued: seed 4");
    says(row_of(table, "variant", "all"), "not finite, left out of the mean: seed 2");
    says(row_of(table, "variant", "all+aux"), "outlier, kept in the mean: seed 1 (2.7500)");
    json_decref(table);
    table = as_json("table-theory");
    says(row_of(table, "variant", "all"), "5 logged steps not finite: seed 2");
    json_decref(table);
}

/* One number of a run's logged steps, by plain SQL over the table `step`. */
static double step_value(const char *expression, const char *variant, const char *where)
{
    char *sql =
        memory_format("SELECT coalesce(%s, 'none') FROM step s JOIN run r ON r.id = s.run WHERE r.variant = '%s' AND "
                      "typeof(s.radial) <> 'text' AND %s",
                      expression, variant, where);
    char *text = fixture_text(&f, sql);
    double value = strtod(text, NULL);
    free(text);
    free(sql);
    return value;
}

/* Over the runs, the mean over their steps at gate 0 of how far <G,h> = ce - entropy lies below -(1 - p) m. */
static double mean_slack(const char *variant)
{
    double sum = 0;
    int runs = 0;
    for (int seed = 0; seed < 5; seed++) {
        char *where = memory_format("s.gate = 0 AND r.seed = %d", seed);
        double steps = step_value("count(*)", variant, where);
        if (steps > 0) {
            sum += step_value("sum(-(1 - s.p_correct) * s.margin - (s.ce - s.entropy))", variant, where) / steps;
            runs++;
        }
        free(where);
    }
    return sum / runs;
}

static void theory_is_that_of_the_raw_rows(void **state)
{
    (void)state;
    json_t *table = as_json("table-theory");
    json_t *base = row_of(table, "variant", "baseline"), *all = row_of(table, "variant", "all");
    near(json_number_value(json_object_get(base, "normed_radial")), step_value("max(s.radial)", "baseline", "1"));
    near(json_number_value(json_object_get(base, "normed_radial")), 5e-7); /* seed 4's 1e-7 * 5 */
    assert_true(json_is_null(json_object_get(base, "bounded")));
    near(json_number_value(json_object_get(all, "normed_radial")), step_value("max(s.radial)", "all", "s.gate = 1"));
    near(json_number_value(json_object_get(all, "bounded")),
         step_value("sum(s.leading * s.bounded) / sum(s.leading)", "all", "s.gate = 0"));
    assert_true(json_number_value(json_object_get(all, "bounded")) < 1);
    assert_true(isnan(field(base, "slack", "mean")));
    near(field(all, "slack", "mean"), mean_slack("all"));
    near(json_number_value(json_object_get(all, "fold_error")), 8e-7); /* seed 4: 1e-7 * (3 + 4 + 1) */
    json_decref(table);
}

static void decoding_is_paired_within_a_run(void **state)
{
    (void)state;
    json_t *table = as_json("table-decode"), *row;
    const double ratio[] = {1.25 - 0.015625, 1.25, 1.25 + 0.015625, 1.25 + 3 * 0.015625}; /* seeds 0, 1, 2, 4 */
    double mean, deviation, half, tokens[4];
    size_t i;
    int seen = 0;
    naive(ratio, 4, &mean, &deviation, &half);
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        bool fused = strcmp(json_string_value(json_object_get(row, "variant")), "fused") == 0;
        assert_int_equal(field(row, "runs", "n"), 4);
        assert_int_equal(field(row, "runs", "of"), 5);
        if (!fused || json_integer_value(json_object_get(row, "batch")) != 4)
            continue;
        seen++;
        near(field(row, "speedup", "mean"), mean);
        near(field(row, "speedup", "low"), mean - half);
        for (int r = 0; r < 4; r++)
            tokens[r] = 64000 * ratio[r];
        double average, spread, unused;
        naive(tokens, 4, &average, &spread, &unused);
        near(field(row, "tokens_per_s", "mean"), average);
        near(field(row, "tokens_per_s", "std"), spread);
    }
    assert_int_equal(seen, 1);
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 6);
    json_decref(table);
    table = as_json("table-last-token");
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 6);
    near(field(row_of(table, "variant", "fused"), "ktokens", "mean"), 16 * mean);
    json_decref(table);
}

/* The keys that say only how a run is computed and shown are the configuration table's. */
static void essence_is_what_names_a_run(void **state)
{
    (void)state;
    struct config cfg;
    config_init(&cfg);
    assert_int_equal(config_finish(&cfg, NULL), STATUS_OK);
    json_t *all = config_to_json(&cfg);
    char *text = json_dumps(all, 0),
         *sql = memory_format("UPDATE run SET config = '%s' WHERE id = (SELECT min(id) FROM run)", text);
    assert_int_equal(fixture_change(&f, sql), 1);
    char *left = fixture_text(&f, "SELECT config FROM run_essence ORDER BY run LIMIT 1");
    json_t *essence = json_loads(left, 0, NULL);
    int count;
    const struct config_key *keys = config_keys(&count);
    for (int i = 0; i < count; i++)
        if (json_object_get(all, keys[i].name) && /* a later key at its default is not in a run's JSON at all */
            ((keys[i].effect & CONFIG_RESULT) != 0) != (json_object_get(essence, keys[i].name) != NULL))
            fail_msg("%s: run_essence of results/views.sql disagrees with the configuration table", keys[i].name);
    json_decref(essence);
    json_decref(all);
    free(left);
    free(sql);
    free(text);
}

/* Another cadence, or another number of threads, does not part runs that are compared. */
static void ablations_are_found_by_configuration(void **state)
{
    (void)state;
    assert_true(fixture_change(&f, "UPDATE run SET config = json_set(config, '$.\"eval.every\"', '3%', '$.threads', 7) "
                                   "WHERE config ->> '$.\"gate.end\"' = '40%' AND rowid % 2") > 0);
    json_t *table = as_json("table-ablation"), *rows = json_object_get(table, "rows"), *row;
    static const char *const values[] = {"20%", "40%", "70%"};
    size_t i;
    assert_int_equal(json_array_size(rows), 3); /* gate.end alone takes three values */
    json_array_foreach(rows, i, row)
    {
        assert_string_equal(json_string_value(json_object_get(row, "key")), "gate.end");
        assert_string_equal(json_string_value(json_object_get(row, "value")), values[i]);
        assert_int_equal(field(row, "runs", "n"), i == 1 ? 5 : 2);
    }
    near(field(json_array_get(rows, 0), "val_loss", "mean"), (fixture_db_loss(5, 0) + fixture_db_loss(5, 1)) / 2);
    near(field(json_array_get(rows, 2), "logit_rms", "mean"),
         (fixture_db_logits(6, 0, 100) + fixture_db_logits(6, 1, 100)) / 2);
    json_decref(table);
}

static void runs_are_all_there(void **state)
{
    (void)state;
    json_t *table = as_json("table-runs"), *row;
    size_t i;
    int failed = 0;
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 29);
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        const char *state_text = json_string_value(json_object_get(row, "state"));
        if (strcmp(state_text, "failed") == 0) {
            failed++;
            assert_string_equal(json_string_value(json_object_get(row, "why")), "out of luck");
        }
        if (strcmp(state_text, "done") == 0) /* the slow step 50 does not move a median */
            near(json_number_value(json_object_get(row, "tokens_per_s")),
                 16 * 128 / (20.0 + (double)json_integer_value(json_object_get(row, "seed"))) * 1000);
    }
    assert_int_equal(failed, 1);
    json_decref(table);
}

/* Each text of each row by itself, against vanilla of the same seed; what is published stands where it was published.
 */
static void fine_tuning_is_that_of_the_raw_rows(void **state)
{
    (void)state;
    static const char *const variants[] = {"vanilla", "fakeln", "internal", "all"};
    static const double released[] = {3.1006, 2.8450, 2.7899};
    fixture_tuned_fill(&f, true);
    json_t *table = as_json("table-gpt2"), *row;
    size_t i;
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 12);
    json_array_foreach(json_object_get(table, "rows"), i, row)
    {
        const int text = (int)i / 4, v = (int)i % 4 + 1;
        double x[3], change[3], mean, deviation, half;
        int n = 0;
        assert_string_equal(json_string_value(json_object_get(row, "variant")), variants[v - 1]);
        for (int seed = 0; seed < 3; seed++) {
            double loss = fixture_tuned_loss(v, text, seed);
            change[n] = (loss / fixture_tuned_loss(1, text, seed) - 1) * 100;
            x[n] = loss;
            n += !isnan(loss);
        }
        naive(x, n, &mean, &deviation, &half);
        near(field(row, "loss", "mean"), mean);
        near(field(row, "loss", "std"), deviation);
        assert_int_equal(field(row, "runs", "n"), n);
        near(json_number_value(json_object_get(row, "released")), released[text]);
        assert_int_equal(v > 2, json_is_null(json_object_get(row, "published")));
        if (n < 3)
            says(row, "not finite, left out of the mean: seed 1");
        if (v == 1) {
            assert_true(isnan(field(row, "change", "mean")));
            continue;
        }
        naive(change, n, &mean, &deviation, &half);
        near(field(row, "change", "mean"), mean);
        near(field(row, "change", "low"), mean - half);
    }
    row = json_array_get(json_object_get(table, "rows"), 1);
    near(json_number_value(json_object_get(row, "published")), 3.0797);
    near(json_number_value(json_object_get(row, "published_change")), (3.0797 - 3.0126) / 3.0126 * 100);
    json_decref(table);
}

/* A pretraining on another text stands there without a change; LayerNorm's steps, which have no bound, are not taken
 * for steps that break it. */
static void other_texts_are_not_compared(void **state)
{
    (void)state;
    fixture_tuned_fill(&f, true);
    json_t *table = as_json("table-tinystories"), *pretrain = row_of(table, "variant", "pretrain");
    assert_true(isnan(field(pretrain, "change", "mean")));
    assert_true(field(pretrain, "val_loss", "mean") > 0);
    says(pretrain, "no baseline to compare with: seeds 0, 1, 2");
    assert_true(field(row_of(table, "variant", "fakeln"), "change", "mean") > 0);
    json_decref(table);
    table = as_json("table-theory");
    assert_true(json_is_null(json_object_get(row_of(table, "variant", "fakeln"), "bounded")));
    json_decref(table);
}

/* Without texts of its own it is the validation split's, and says so. */
static void fine_tuning_without_texts_says_so(void **state)
{
    (void)state;
    fixture_tuned_fill(&f, false);
    json_t *table = as_json("table-gpt2"), *rows = json_object_get(table, "rows");
    assert_int_equal(json_array_size(rows), 4);
    near(field(row_of(table, "variant", "all"), "loss", "mean"),
         (fixture_tuned_loss(4, 3, 0) + fixture_tuned_loss(4, 3, 1) + fixture_tuned_loss(4, 3, 2)) / 3);
    assert_string_equal(json_string_value(json_object_get(json_array_get(rows, 0), "text")), "validation split");
    assert_true(json_is_null(json_object_get(json_array_get(rows, 0), "released")));
    json_decref(table);
    char *text = printed("table-gpt2", TABLE_MARKDOWN);
    assert_non_null(strstr(text, "losses of the validation split alone, for want of eval.sets"));
    free(text);
}

/* --------------------------------------------------------------------------------------------- layouts */

static const char *const extensions[] = {"md", "csv", "tex", "json", "html"};

static void check_layouts(const char *const *ids, size_t count)
{
    const char *save = getenv("TAPER_SAVE_LAYOUTS"); /* a folder to write new ones to, for a person to compare */
    for (size_t i = 0; i < count; i++)
        for (int format = 0; format < 5; format++) {
            char *text = printed(ids[i], (enum table_format)format);
            char *path = memory_format("%s/%s.%s", save ? save : "tests/golden_layout", ids[i], extensions[format]);
            struct file_map want;
            if (save)
                GOOD(file_write_all(path, text, strlen(text), err));
            GOOD(file_map_open(&want, path, err));
            if (want.size != strlen(text) || memcmp(want.data, text, want.size) != 0)
                fail_msg("%s differs from\n%s", path, text);
            file_map_close(&want);
            free(path);
            free(text);
        }
}

static void layouts_are_as_saved(void **state)
{
    (void)state;
    static const char *const ids[] = {"table-tinystories", "table-decode", "table-last-token", "table-ablation",
                                      "table-theory"};
    static const char *const tuned[] = {"table-gpt2"};
    check_layouts(ids, sizeof ids / sizeof ids[0]);
    fixture_tuned_fill(&f, true);
    check_layouts(tuned, 1);
}

static void empty_tables_say_why(void **state)
{
    (void)state;
    char *text = printed("table-gpt2", TABLE_MARKDOWN);
    assert_non_null(strstr(text, "No rows: no run of this home began with weights"));
    free(text);
    text = printed("table-gpt2", TABLE_CSV);
    assert_string_equal(strchr(text, '\n') + 1, ""); /* a heading alone */
    free(text);
    json_t *table = as_json("table-gpt2");
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 0);
    assert_non_null(json_string_value(json_object_get(table, "empty")));
    assert_true(json_is_null(json_object_get(table, "sweep")));
    json_decref(table);
}

/* A sweep without the paper's variants shows its own; the last submitted is taken, another when asked for. */
static void sweeps_are_chosen(void **state)
{
    (void)state;
    struct table t;
    struct error why = {0};
    fixture_submit(&f, "sweep: other\nbase: {train.steps: 120}\nvariants: {mine: {taper.sites: all}}\n");
    GOOD(table_make(&t, &from, "table-tinystories", NULL, err));
    assert_string_equal(t.sweep, "other");
    assert_int_equal(t.rows, 1);
    assert_string_equal(t.runs, "1 run: 1 queued");
    table_fini(&t);
    GOOD(table_make(&t, &from, "table-tinystories", "paper", err));
    assert_int_equal(t.rows, 7);
    table_fini(&t);
    GOOD(table_make(&t, &from, "table-decode", NULL, err)); /* the last that has rows */
    assert_string_equal(t.sweep, "paper");
    table_fini(&t);
    GOOD(table_make(&t, &from, "table-decode", "other", err));
    assert_int_equal(t.rows, 0);
    table_fini(&t);
    assert_int_equal(table_make(&t, &from, "table-decode", "papers", &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.text, "paper"));
    why = (struct error){0};
    assert_int_equal(table_make(&t, &from, "table-nine", NULL, &why), STATUS_BAD_INPUT);
    assert_non_null(strstr(why.text, "no table 'table-nine'"));
}

static void layouts_are_checked(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *says;
    } bad[] = {
        {"{", "results/tables/t.json:1:"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [\"a\"]}", "columns"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [1], \"columns\": []}", "want lists of texts"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [\"z\"], \"columns\": []}", "no column 'z'"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [], \"columns\": [{\"name\": \"a\", \"head\": \"a\", \"kind\": "
         "\"mode\"}]}",
         "unknown kind 'mode'"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [], \"columns\": [{\"name\": \"b\", \"head\": \"b\", \"kind\": "
         "\"text\"}]}",
         "column b: the query has no column 'b'"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [], \"columns\": [{\"name\": \"a\", \"head\": \"a\", \"kind\": "
         "\"ratio\"}]}",
         "a ratio wants 'of'"},
        {"{\"title\": \"t\", \"empty\": \"e\", \"key\": [], \"columns\": [], \"extra\": 1}", "extra"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        struct table t;
        struct error why = {0};
        assert_int_equal(table_make_from(&t, &from, "t", "SELECT 1 AS a", bad[i].layout, NULL, &why), STATUS_FAILED);
        if (!strstr(why.text, bad[i].says))
            fail_msg("'%s' does not say '%s'", why.text, bad[i].says);
    }
}

/* What means something to a format is escaped in it. */
static void texts_are_escaped(void **state)
{
    (void)state;
    static const char layout[] =
        "{\"title\": \"50% <of> a_b | c\", \"empty\": \"e\", \"key\": [], \"columns\": [{\"name\": \"a\", "
        "\"head\": \"h_1 & #\", \"kind\": \"text\"}, {\"name\": \"b\", \"head\": \"x\", \"kind\": \"mean\"}]}";
    static const struct {
        enum table_format format;
        const char *part;
    } wanted[] = {
        {TABLE_MARKDOWN, "50% &lt;of> a\\_b \\| c"},
        {TABLE_MARKDOWN, "| \\|\\_\\*\"\\\\,x |"},
        {TABLE_TEX, "50\\% $<$of$>$ a\\_b $|$ c"},
        {TABLE_TEX, "$-$1.5000 $\\pm$ 0.7071"},
        {TABLE_TEX, "$|$\\_*\"\\textbackslash{},x"},
        {TABLE_HTML, "h_1 &amp; #"},
        {TABLE_HTML, "|_*&quot;\\,x"},
        {TABLE_CSV, "\"|_*\"\"\\,x\",-1.5,"},
        {TABLE_JSON, "\"a\": \"|_*\\\"\\\\,x\""},
    };
    struct table t;
    GOOD(table_make_from(&t, &from, "t",
                         "SELECT '|_*\"\\,x' AS a, -1 AS b WHERE :sweep = 'paper' UNION ALL SELECT "
                         "'|_*\"\\,x', -2 WHERE :sweep = 'paper'",
                         layout, "paper", err));
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        char *text = NULL;
        size_t size = 0;
        FILE *out = open_memstream(&text, &size);
        GOOD(table_print(&t, wanted[i].format, out, err));
        fclose(out);
        if (!strstr(text, wanted[i].part))
            fail_msg("no '%s' in\n%s", wanted[i].part, text);
        free(text);
    }
    table_fini(&t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(losses_are_those_of_the_raw_rows),
        TEST(what_is_missing_is_said),
        TEST(theory_is_that_of_the_raw_rows),
        TEST(decoding_is_paired_within_a_run),
        TEST(essence_is_what_names_a_run),
        TEST(ablations_are_found_by_configuration),
        TEST(runs_are_all_there),
        TEST(fine_tuning_is_that_of_the_raw_rows),
        TEST(fine_tuning_without_texts_says_so),
        TEST(other_texts_are_not_compared),
        TEST(layouts_are_as_saved),
        TEST(empty_tables_say_why),
        TEST(sweeps_are_chosen),
        TEST(layouts_are_checked),
        TEST(texts_are_escaped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
