/* Journals into the database: each line once, whatever happens between. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/file.h"
#include "core/journal.h"
#include "core/memory.h"
#include "core/rng.h"
#include "harness/intake_internal.h"
#include "tests/support/store_fixture.h"

static struct fixture f;
static char id[CONFIG_ID];

static int setup(void **state)
{
    (void)state;
    fixture_init(&f);
    fixture_submit(&f, "sweep: s\ngrid: {seed: {range: [1, 4]}}\n");
    fixture_run_id(&f, "s", 0, id);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    intake_scan_disable(false);
    fixture_fini(&f);
    return 0;
}

static const char eval_line[] = "{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":\"valid\",\"loss\":1}\n";

static void append(const char *text)
{
    fixture_append(&f, id, text, strlen(text));
}

static bool quick(void)
{
    const char *flavour = getenv("TAPER_TEST_FLAVOUR");
    return flavour && strcmp(flavour, "release") != 0 && strcmp(flavour, "clang") != 0;
}

/* --------------------------------------------------------------------------------------------- lines */

static void every_table(void **state)
{
    (void)state;
    const struct store_start start = {"local", "host", "GPU-1", "0", NULL};
    struct store_attempt a;
    int attempt;
    GOOD(store_attempt_begin(f.s, id, &start, &attempt, err));
    append("{\"table\":\"event\",\"attempt\":1,\"step\":0,\"kind\":\"start\",\"text\":\"h\\u00e9\"}\n"
           "{\"table\":\"step\",\"attempt\":1,\"step\":10,\"tokens\":20480,\"ce\":6.25,\"margin\":-1.5,\"ms\":41.5,"
           "\"step_ms\":[40.9,41.5],\"site_step\":[{\"site\":\"blocks.0.attn_norm\",\"c\":0.75,\"scale_mean\":1.5,"
           "\"agreement\":1,\"gamma_norm\":8,\"gamma_tilde_norm\":8},{\"site\":\"final_norm\",\"c\":0.5}]}\n"
           "{\"table\":\"step\",\"attempt\":1,\"step\":20,\"ms\":2.5,\"step_ms\":[2.5]}\n"
           "{\"table\":\"eval\",\"attempt\":1,\"step\":20,\"split\":\"valid\",\"loss\":4.125,\"tokens\":131072}\n"
           "{\"table\":\"bench\",\"attempt\":1,\"kind\":\"decode\",\"variant\":\"folded\",\"batch\":4,\"context\":64,"
           "\"tokens_per_s\":1000.5,\"ms\":0.25,\"repeats\":50,\"device\":\"cpu\"}\n"
           "{\"table\":\"fold\",\"attempt\":1,\"fold_error\":1.5e-5}\n"
           "{\"table\":\"run\",\"attempt\":1,\"step\":20,\"state\":\"done\",\"val_loss\":4.125,\"params\":330048,"
           "\"device\":\"H200\",\"text\":\"fine\"}\n");
    struct intake_result out = fixture_take(&f, id);
    assert_int_equal(out.lines, 7);
    assert_int_equal(out.rows, 9);
    assert_int_equal(out.bad, 0);
    assert_true(out.finished);
    assert_false(out.more);
    assert_int_equal(
        fixture_integer(&f, "SELECT ce = 6.25 AND margin = -1.5 AND tokens = 20480 AND typeof(tokens) = 'integer' "
                            "AND aux IS NULL AND step_ms = '[40.9,41.5]' AND ms = 41.5 FROM step WHERE step = 10"),
        1);
    assert_int_equal(fixture_integer(&f, "SELECT step_ms IS NULL AND ms = 2.5 FROM step WHERE step = 20"), 1);
    assert_int_equal(
        fixture_integer(&f, "SELECT c = 0.75 AND agreement = 1 AND typeof(gamma_norm) = 'real' FROM site_step WHERE "
                            "site = 'blocks.0.attn_norm' AND step = 10"),
        1);
    assert_int_equal(fixture_integer(&f, "SELECT scale_mean IS NULL FROM site_step WHERE site = 'final_norm'"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT loss = 4.125 AND tokens = 131072 FROM eval"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT tokens_per_s = 1000.5 AND repeats = 50 FROM bench"), 1);
    assert_int_equal(
        fixture_integer(&f, "SELECT val_loss = 4.125 AND fold_error = 1.5e-5 AND params = 330048 AND device = 'H200' "
                            "FROM run WHERE val_loss IS NOT NULL"),
        1);
    assert_int_equal(fixture_integer(&f, "SELECT text = 'h' || char(233) AND step = 0 FROM event WHERE kind = 'start'"),
                     1);
    GOOD(store_attempt_get(f.s, id, 1, &a, err));
    assert_string_equal(a.outcome, "done");
    assert_string_equal(a.outcome_text, "fine");
    store_attempt_fini(&a);
    struct store_run run;
    GOOD(store_run_find(f.s, id, &run, err));
    assert_int_equal(run.step, 20);
}

static void numbers_that_are_not_finite(void **state)
{
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        intake_scan_disable(slow);
        append(
            "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":\"NaN\",\"lr\":\"Infinity\",\"gate\":\"-Infinity\"}\n"
            "{\"table\":\"step\",\"attempt\":1,\"step\":2,\"ce\":3.5,\"lr\":1,\"gate\":0.5}\n"
            "{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":\"valid\",\"loss\":\"NaN\"}\n"
            "{\"table\":\"eval\",\"attempt\":1,\"step\":2,\"split\":\"valid\",\"loss\":4}\n");
        fixture_take(&f, id);
        assert_int_equal(
            fixture_integer(&f,
                            "SELECT ce = 'NaN' AND lr = 'Infinity' AND gate = '-Infinity' FROM step WHERE step = 1"),
            1);
        assert_int_equal(fixture_integer(&f, "SELECT min(ce) = 3.5 AND min(gate) = 0.5 FROM step"), 1);
        assert_int_equal(
            fixture_integer(&f, "SELECT max(ce) = 3.5 AND max(lr) = 1 AND avg(ce) = 3.5 FROM step_numeric"), 1);
        assert_int_equal(fixture_integer(&f, "SELECT min(loss) = 4 FROM eval"), 1);
        assert_int_equal(fixture_integer(&f, "SELECT count(loss) FROM eval_numeric"), 1);
    }
}

static void torn_lines_wait(void **state)
{
    (void)state;
    const char *line = "{\"table\":\"eval\",\"attempt\":1,\"step\":7,\"split\":\"valid\",\"loss\":1.5}\n";
    for (size_t i = 0; line[i]; i++) {
        fixture_append(&f, id, line + i, 1);
        struct intake_result out = fixture_take(&f, id);
        assert_int_equal(out.rows, line[i] == '\n');
        assert_int_equal(out.bad, 0);
    }
    /* A torn end that a resuming worker cuts off was never taken. */
    append("{\"table\":\"eval\",\"att");
    fixture_take(&f, id);
    char *path = home_run_file(&f.home, id, HOME_JOURNAL);
    struct journal j;
    GOOD(journal_open(&j, path, 2, err));
    GOOD(journal_append(&j, "eval", json_pack("{s:i,s:s,s:f}", "step", 8, "split", "valid", "loss", 2.5), err));
    GOOD(journal_close(&j, err));
    assert_int_equal(fixture_take(&f, id).rows, 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM eval"), 2);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'bad-line'"), 0);
    free(path);
}

static void logged_again_replaces(void **state)
{
    (void)state;
    append("{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":5}\n{\"table\":\"step\",\"attempt\":1,\"step\":2,"
           "\"ce\":4}\n");
    fixture_take(&f, id);
    append("{\"table\":\"step\",\"attempt\":2,\"step\":2,\"ce\":4.5}\n{\"table\":\"step\",\"attempt\":2,\"step\":3,"
           "\"ce\":3}\n");
    fixture_take(&f, id);
    char *rows = fixture_text(&f, "SELECT group_concat(step || ':' || ce || ':' || attempt, ' ') FROM step");
    assert_string_equal(rows, "1:5.0:1 2:4.5:2 3:3.0:2");
    free(rows);
}

/* A stopped attempt's NaN does not take away the loss of the finished one before it. */
static void only_finished_losses_count(void **state)
{
    (void)state;
    append("{\"table\":\"run\",\"attempt\":1,\"state\":\"failed\",\"val_loss\":\"NaN\",\"text\":\"\"}\n");
    fixture_take(&f, id);
    assert_int_equal(fixture_integer(&f, "SELECT val_loss = 'NaN' FROM run WHERE val_loss IS NOT NULL"), 1);
    append("{\"table\":\"run\",\"attempt\":2,\"state\":\"done\",\"val_loss\":3.5,\"text\":\"\"}\n"
           "{\"table\":\"run\",\"attempt\":3,\"state\":\"stopped\",\"val_loss\":\"NaN\",\"text\":\"\"}\n"
           "{\"table\":\"run\",\"attempt\":4,\"state\":\"failed\",\"val_loss\":\"NaN\",\"text\":\"\"}\n");
    fixture_take(&f, id);
    assert_int_equal(fixture_integer(&f, "SELECT val_loss = 3.5 FROM run WHERE val_loss IS NOT NULL"), 1);
}

static void bad_lines_are_noted_once(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "garbage",
        "{",
        "[]",
        "17",
        "\"x\"",
        "null",
        "{}",
        "{\"table\":5}",
        "{\"table\":\"nope\"}",
        "{\"table\":\"step\"}",
        "{\"table\":\"step\",\"attempt\":1}",
        "{\"table\":\"step\",\"step\":1}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":-1}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1.5}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":\"1\"}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":\"nan\"}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":true}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":[]}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":1e999}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":01}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"ce\":1,\"ce\":2}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":99999999999999999999}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"step_ms\":3}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"step_ms\":[\"x\"]}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"site_step\":{}}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"site_step\":[3]}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"site_step\":[{\"site\":\"a\"},{\"c\":1}]}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1,\"site_step\":[{\"site\":\"a\"},{\"site\":\"\"}]}",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1} x",
        "{\"table\":\"step\",\"attempt\":1,\"step\":1}{}",
        "{\"table\":\"eval\",\"attempt\":1,\"step\":1}",
        "{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":7}",
        "{\"table\":\"event\",\"attempt\":1,\"step\":1}",
        "{\"table\":\"run\",\"attempt\":1}",
        "\xff\xfe",
        "{\"table\":\"step\xff\"}",
        "{\"table\":\"bench\",\"attempt\":1,\"kind\":\"decode\",\"variant\":\"x\",\"batch\":0.5,\"context\":1}",
    };
    int count = sizeof bad / sizeof bad[0];
    for (int i = 0; i < count; i++) {
        append(bad[i]);
        append("\n");
    }
    append("{\"table\":\"eval\",\"attempt\":1,\"step\":5,\"split\":\"valid\",\"loss\":1}\n");
    struct intake_result out = fixture_take(&f, id);
    assert_int_equal(out.bad, count);
    assert_int_equal(out.rows, 1);
    assert_int_equal(
        fixture_integer(&f,
                        "SELECT (SELECT count(*) FROM step) + (SELECT count(*) FROM site_step) + (SELECT count(*) FROM "
                        "bench)"),
        0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM eval"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'bad-line'"), count);
    assert_int_equal(fixture_integer(&f, "SELECT bad FROM journal"), count);
    char *text = fixture_text(&f, "SELECT text FROM event WHERE kind = 'bad-line' AND journal = 1");
    assert_non_null(strstr(text, "journal, byte 1: "));
    assert_non_null(strstr(text, ": garbage"));
    free(text);
    /* Read again from the start: noted once all the same. */
    char *path = home_run_file(&f.home, id, HOME_JOURNAL), *copy = memory_format("%s.copy", path);
    char *command = memory_format("cp '%s' '%s' && mv '%s' '%s'", path, copy, copy, path);
    assert_int_equal(system(command), 0);
    out = fixture_take(&f, id);
    assert_int_equal(out.bad, count);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'bad-line'"), count);
    assert_int_equal(fixture_integer(&f, "SELECT bad FROM journal"), count);
    free(path);
    free(copy);
    free(command);
}

static void long_lines_are_bounded(void **state)
{
    (void)state;
    size_t size = 3 * INTAKE_LINE_MOST;
    char *text = memory_alloc(size, 1);
    memset(text, 'x', size);
    append("{\"table\":\"eval\",\"attempt\":1,\"step\":5,\"split\":\"valid\",\"loss\":1}\n");
    fixture_append(&f, id, text, size);
    struct intake_result out = fixture_take(&f, id);
    assert_int_equal(out.rows, 1);
    assert_int_equal(out.bad, 0);
    assert_int_equal(fixture_take(&f, id).lines, 0); /* not ended yet */
    append("x\n{\"table\":\"eval\",\"attempt\":1,\"step\":6,\"split\":\"valid\",\"loss\":1}\n");
    out = fixture_take(&f, id);
    assert_int_equal(out.bad, 1);
    assert_int_equal(out.rows, 1);
    assert_int_equal(fixture_take(&f, id).lines, 0);
    /* As long as a line may be: valid JSON, mostly space. */
    memset(text, ' ', INTAKE_LINE_MOST);
    const char *end = "{\"table\":\"eval\",\"attempt\":1,\"step\":7,\"split\":\"valid\",\"loss\":1}\n";
    memcpy(text + INTAKE_LINE_MOST - strlen(end) + 1, end, strlen(end));
    fixture_append(&f, id, text, INTAKE_LINE_MOST + 1);
    out = fixture_take(&f, id);
    assert_int_equal(out.rows, 1);
    assert_int_equal(out.bad, 0);
    free(text);
}

static void replaced_journals_are_read_again(void **state)
{
    (void)state;
    char *path = home_run_file(&f.home, id, HOME_JOURNAL);
    append("{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":\"valid\",\"loss\":1}\n"
           "{\"table\":\"eval\",\"attempt\":1,\"step\":2,\"split\":\"valid\",\"loss\":2}\n"
           "{\"table\":\"event\",\"attempt\":1,\"step\":2,\"kind\":\"checkpoint\",\"text\":\"\"}\n");
    assert_int_equal(fixture_take(&f, id).rows, 3);
    /* Shorter. */
    assert_int_equal(truncate(path, (off_t)strlen(eval_line)), 0);
    struct intake_result out = fixture_take(&f, id);
    assert_int_equal(out.rows, 1);
    assert_int_equal(fixture_take(&f, id).rows, 0);
    append("{\"table\":\"eval\",\"attempt\":2,\"step\":2,\"split\":\"valid\",\"loss\":2.5}\n");
    assert_int_equal(fixture_take(&f, id).rows, 1);
    assert_int_equal(fixture_integer(&f, "SELECT loss = 2.5 AND attempt = 2 FROM eval WHERE step = 2"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE text LIKE 'read again%shorter%'"), 1);
    /* The same inode with other contents where a line ended. */
    GOOD(file_write_all(path, "", 0, err));
    append("{\"table\":\"eval\",\"attempt\":3,\"step\":1,\"split\":\"valid\",\"loss\":7}\n");
    fixture_take(&f, id);
    assert_int_equal(fixture_integer(&f, "SELECT loss = 7 FROM eval WHERE step = 1"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM eval"), 2);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'checkpoint'"), 1);
    free(path);
}

static void unreadable_journals_hold_up_nobody(void **state)
{
    (void)state;
    char other[CONFIG_ID], third[CONFIG_ID];
    fixture_run_id(&f, "s", 1, other);
    fixture_run_id(&f, "s", 2, third);
    const char *runs[] = {id, other, third};
    struct intake_result out;
    char *path = home_run_file(&f.home, id, HOME_JOURNAL);
    GOOD(file_make_directories(path, err)); /* a directory of that name */
    fixture_append(&f, other, eval_line, strlen(eval_line));
    for (int i = 0; i < 3; i++)
        GOOD(intake_pass(f.in, runs, 3, 0, &out, err));
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM eval"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'journal'"), 1);
    struct error err = {0};
    const char *nobody = "ffffffffffff";
    assert_int_equal(intake_pass(f.in, &nobody, 1, 0, &out, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "no run 'ffffffffffff'"));
    free(path);
}

static void budget_divides_the_work(void **state)
{
    (void)state;
    char other[CONFIG_ID];
    fixture_run_id(&f, "s", 1, other);
    const char *runs[] = {id, other};
    for (int i = 1; i <= 100; i++) {
        char line[100];
        int size = snprintf(line, sizeof line,
                            "{\"table\":\"eval\",\"attempt\":1,\"step\":%d,\"split\":\"v\",\"loss\":1}\n", i);
        fixture_append(&f, id, line, (size_t)size);
        fixture_append(&f, other, line, (size_t)size);
    }
    struct intake_result out;
    int passes = 0;
    int64_t rows = 0;
    do {
        GOOD(intake_pass(f.in, runs, 2, 1000, &out, err));
        assert_in_range(out.rows, 1, 20);
        rows += out.rows;
        passes++;
    } while (out.more);
    assert_int_equal(rows, 200);
    assert_in_range(passes, 12, 14);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM eval"), 200);
}

/* --------------------------------------------------------------------------------------------- two ways of reading */

/* Pieces that make lines good, odd and bad. */
static void random_line(struct rng_stream *rng, uint64_t *n, char *to, size_t room)
{
    static const char *const numbers[] = {"0",
                                          "-0",
                                          "1",
                                          "-17",
                                          "123456789012345678",
                                          "1234567890123456789012",
                                          "0.1",
                                          "-0.0",
                                          "1e5",
                                          "1E-5",
                                          "2.5e+3",
                                          "1e-30",
                                          "1.23456789e-05",
                                          "123456789.123456789",
                                          "9007199254740993.0",
                                          "4.9e-324",
                                          "1.7976931348623157e308",
                                          "2.2250738585072011e-308",
                                          "0.30000000000000004",
                                          "123456789012345678e-20",
                                          "1e400",
                                          "1e-5000",
                                          "7e-9999",
                                          "1e99999",
                                          "01",
                                          "1.",
                                          ".5",
                                          "+1",
                                          "1e",
                                          "-",
                                          "NaN",
                                          "\"NaN\"",
                                          "\"Infinity\"",
                                          "\"-Infinity\"",
                                          "\"inf\"",
                                          "null",
                                          "true",
                                          "[1]",
                                          "{}",
                                          "\"\"",
                                          "\"a\\u0041\"",
                                          "\"\xc3\xa9\"",
                                          "\"\xff\"",
                                          "0.1 ",
                                          " 2"};
    static const char *const names[] = {"ce",     "aux",     "lr",      "gate",     "scale_mean", "ms",
                                        "tokens", "step_ms", "unknown", "c\\u0065", "step",       ""};
    static const char *const lists[] = {"[]",     "[1]", "[1.5,2.5]", "[1,\"NaN\"]", "[1,2,]",
                                        "[1 ,2]", "3",   "[[1]]",     "[1,2"};
    static const char *const sites[] = {"[]",
                                        "[{\"site\":\"a\",\"c\":1.5}]",
                                        "[{\"site\":\"a\"},{\"site\":\"b\",\"c\":\"NaN\"}]",
                                        "[{\"c\":1}]",
                                        "[{\"site\":\"\"}]",
                                        "[{\"site\":\"a\",\"c\":1,\"c\":2}]",
                                        "[{\"site\":\"a\",\"x\":1}]",
                                        "[{\"site\":5}]",
                                        "[1]",
                                        "{}",
                                        "[{}]",
                                        "[{\"site\":\"a\"},]",
                                        "[{\"site\":\"a\"}",
                                        "[{\"site\":\"q\",\"gamma_norm\":8,\"c\":-0.5}]"};
#define PICK(list) list[rng_below(rng, (*n)++, sizeof list / sizeof list[0])]
    size_t at = (size_t)snprintf(to, room, "{\"table\":\"step\"");
    if (rng_below(rng, (*n)++, 10))
        at += (size_t)snprintf(to + at, room - at, ",\"attempt\":1");
    if (rng_below(rng, (*n)++, 10))
        at += (size_t)snprintf(to + at, room - at, ",\"step\":%d", (int)rng_below(rng, (*n)++, 50));
    for (uint64_t k = rng_below(rng, (*n)++, 4); k; k--) {
        const char *name = PICK(names);
        at += (size_t)snprintf(to + at, room - at, ",\"%s\":%s", name,
                               strcmp(name, "step_ms") == 0 ? PICK(lists) : PICK(numbers));
    }
    if (rng_below(rng, (*n)++, 3) == 0)
        at += (size_t)snprintf(to + at, room - at, ",\"site_step\":%s", PICK(sites));
    at += (size_t)snprintf(to + at, room - at, "%s",
                           rng_below(rng, (*n)++, 20)  ? "}"
                           : rng_below(rng, (*n)++, 2) ? ""
                                                       : "} ");
    if (rng_below(rng, (*n)++, 10) == 0) {
        static const char bytes[] = "{}[]\",:0e-.x \\";
        size_t where = rng_below(rng, (*n)++, at);
        to[where] = bytes[rng_below(rng, (*n)++, sizeof bytes - 1)];
    }
}

static char *all_rows(void)
{
    /* hex() tells doubles apart that print alike. */
    return fixture_text(
        &f,
        "SELECT coalesce((SELECT group_concat(step || ' ' || quote(tokens) || quote(ce) || quote(aux) || quote(lr) || "
        "quote(gate) || quote(scale_mean) || quote(ms) || typeof(ce) || attempt || coalesce((SELECT "
        "group_concat(value) FROM json_each(step_ms)), ''), ';') FROM step), '') || "
        "coalesce((SELECT group_concat(step || site || quote(c) || quote(gamma_norm), ';') FROM site_step), '')");
}

/* The fast scanner and jansson agree on what a line is and on every value. */
static void scanner_agrees_with_jansson(void **state)
{
    (void)state;
    struct rng_stream rng = {.seed = 5, .use = RNG_TEST};
    uint64_t n = 0;
    int64_t taken = 0, refused = 0;
    for (int round = 0; round < (quick() ? 60 : 400); round++) {
        char *rows[2];
        struct intake_result out[2];
        char lines[20][1024];
        char *path = home_run_file(&f.home, id, HOME_JOURNAL);
        for (int i = 0; i < 20; i++)
            random_line(&rng, &n, lines[i], sizeof lines[i]);
        for (int slow = 0; slow < 2; slow++) {
            unlink(path);
            sqlite3_exec(store_connection(f.s),
                         "DELETE FROM step; DELETE FROM site_step; DELETE FROM journal; DELETE FROM event", NULL, NULL,
                         NULL);
            for (int i = 0; i < 20; i++) {
                append(lines[i]);
                append("\n");
            }
            intake_scan_disable(slow);
            out[slow] = fixture_take(&f, id);
            rows[slow] = all_rows();
        }
        assert_int_equal(out[0].bad, out[1].bad);
        assert_int_equal(out[0].rows, out[1].rows);
        assert_string_equal(rows[0], rows[1]);
        taken += out[0].rows;
        refused += out[0].bad;
        free(rows[0]);
        free(rows[1]);
        free(path);
    }
    assert_true(taken > 100 && refused > 100);
}

/* Doubles as the journal writes them, and with 17 digits, come back bit for bit. */
static void numbers_keep_their_bits(void **state)
{
    (void)state;
    struct rng_stream rng = {.seed = 6, .use = RNG_TEST};
    int count = quick() ? 300 : 4000;
    for (int i = 0; i < count; i++) {
        uint64_t bits = rng_u64(&rng, (uint64_t)i);
        double x;
        char line[200];
        if (i % 2) /* moderate ones, as measured numbers are */
            bits = (bits & 0x800fffffffffffffull) | (uint64_t)(1023 - 40 + i % 80) << 52;
        memcpy(&x, &bits, sizeof x);
        if (!isfinite(x))
            continue;
        snprintf(line, sizeof line, "{\"table\":\"step\",\"attempt\":1,\"step\":%d,\"ce\":%.17g,\"aux\":%.9g}\n", i, x,
                 x);
        append(line);
    }
    assert_int_equal(fixture_take(&f, id).bad, 0);
    sqlite3_stmt *row;
    assert_int_equal(sqlite3_prepare_v2(store_connection(f.s), "SELECT step, ce, aux FROM step", -1, &row, NULL),
                     SQLITE_OK);
    while (sqlite3_step(row) == SQLITE_ROW) {
        int i = sqlite3_column_int(row, 0);
        uint64_t bits = rng_u64(&rng, (uint64_t)i);
        double x, got = sqlite3_column_double(row, 1), nine = sqlite3_column_double(row, 2);
        char text[40];
        if (i % 2)
            bits = (bits & 0x800fffffffffffffull) | (uint64_t)(1023 - 40 + i % 80) << 52;
        memcpy(&x, &bits, sizeof x);
        assert_memory_equal(&x, &got, sizeof x);
        snprintf(text, sizeof text, "%.9g", x);
        assert_true(nine == strtod(text, NULL));
    }
    sqlite3_finalize(row);
}

/* --------------------------------------------------------------------------------------------- trouble */

static void full_disk_loses_nothing(void **state)
{
    (void)state;
    char *line = memory_alloc(4000, 1), pragma[80];
    const char *run = id;
    struct intake_result out;
    struct error err = {0};
    for (int i = 1; i <= 300; i++) {
        int size = snprintf(
            line, 4000, "{\"table\":\"event\",\"attempt\":1,\"step\":%d,\"kind\":\"k\",\"text\":\"%01000d\"}\n", i, i);
        fixture_append(&f, id, line, (size_t)size);
    }
    int64_t pages = fixture_integer(&f, "PRAGMA page_count");
    snprintf(pragma, sizeof pragma, "PRAGMA max_page_count = %lld", (long long)pages + 5);
    sqlite3_exec(store_connection(f.s), pragma, NULL, NULL, NULL);
    assert_int_equal(intake_pass(f.in, &run, 1, 0, &out, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "no space left"));
    assert_int_equal(store_trouble(f.s), STORE_FULL);
    assert_int_equal(out.rows, 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM journal"), 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'k'"), 0);
    sqlite3_exec(store_connection(f.s), "PRAGMA max_page_count = 1000000", NULL, NULL, NULL);
    assert_int_equal(fixture_take(&f, id).rows, 300);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'k'"), 300);
    free(line);
}

/* The same on a file system that is really full, where one may be mounted. */
static void full_file_system_loses_nothing(void **state)
{
    (void)state;
    struct fixture g = {.dir = "/tmp/taper_full.XXXXXX"};
    struct fixture kept = f;
    assert_non_null(mkdtemp(g.dir));
    if (mount("tmpfs", g.dir, "tmpfs", 0, "size=3m") != 0) {
        rmdir(g.dir);
        skip();
    }
    char *home = file_join(g.dir, "home"), *ballast = file_join(g.dir, "ballast"), run[CONFIG_ID],
         *line = memory_alloc(4000, 1);
    const char *runs = run;
    GOOD(home_init(&g.home, home, true, err));
    fixture_open(&g);
    fixture_submit(&g, "sweep: s\n");
    fixture_run_id(&g, "s", 0, run);
    for (int i = 1; i <= 200; i++) {
        int size = snprintf(
            line, 4000, "{\"table\":\"event\",\"attempt\":1,\"step\":%d,\"kind\":\"k\",\"text\":\"%01000d\"}\n", i, i);
        fixture_append(&g, run, line, (size_t)size);
    }
    FILE *fill = fopen(ballast, "w");
    assert_non_null(fill);
    setvbuf(fill, NULL, _IONBF, 0);
    while (fwrite(line, 1, 1000, fill) == 1000)
        continue;
    fclose(fill);
    struct error err = {0};
    assert_int_equal(intake_pass(g.in, &runs, 1, 0, NULL, &err), STATUS_FAILED);
    assert_int_equal(store_trouble(g.s), STORE_FULL);
    int attempt;
    const struct store_start start = {"local", "h", "cpu", "0", NULL};
    assert_int_equal(store_attempt_begin(g.s, run, &start, &attempt, &err), STATUS_FAILED);
    assert_int_equal(unlink(ballast), 0);
    assert_int_equal(fixture_take(&g, run).rows, 200);
    assert_int_equal(fixture_integer(&g, "SELECT count(*) FROM event WHERE kind = 'k'"), 200);
    char *check = fixture_text(&g, "PRAGMA integrity_check");
    assert_string_equal(check, "ok");
    free(check);
    fixture_close(&g);
    home_fini(&g.home);
    assert_int_equal(umount(g.dir), 0);
    rmdir(g.dir);
    free(home);
    free(ballast);
    free(line);
    f = kept;
}

/* A process that takes in small batches for ever, until it is killed. */
static void take_until_killed(const char *const *runs, int count)
{
    struct fixture g = {.home = f.home};
    struct error err = {0};
    if (store_open(&g.s, &g.home, STORE_WRITE, &err))
        _exit(9);
    g.in = intake_create(g.s, &g.home);
    for (;;) {
        struct intake_result out;
        if (intake_pass(g.in, runs, count, 300, &out, &err))
            _exit(8);
    }
}

static void append_piece(const char *run, const char *text, size_t size)
{
    fixture_append(&f, run, text, size);
}

/* Lines arrive in pieces while one process after another takes them in and is killed: in the end each is there once. */
static void killed_at_any_moment(void **state)
{
    (void)state;
    enum { RUNS = 3 };
    char ids[RUNS][CONFIG_ID];
    const char *runs[RUNS];
    char *text[RUNS];
    size_t written[RUNS] = {0}, size[RUNS];
    struct rng_stream rng = {.seed = 77, .use = RNG_TEST};
    uint64_t n = 0;
    int steps = quick() ? 60 : 400, kills = 0;
    for (int r = 0; r < RUNS; r++) {
        fixture_run_id(&f, "s", r, ids[r]);
        runs[r] = ids[r];
        FILE *out = open_memstream(&text[r], &size[r]);
        for (int i = 1; i <= steps; i++) {
            fprintf(out,
                    "{\"table\":\"step\",\"attempt\":1,\"step\":%d,\"ce\":%d.5,\"site_step\":[{\"site\":\"a\",\"c\":%d}"
                    "]}\n",
                    i, i + r, i);
            if (i % 7 == 0)
                fprintf(out,
                        "{\"table\":\"event\",\"attempt\":1,\"step\":%d,\"kind\":\"checkpoint\",\"text\":\"\"}"
                        "\nrubbish %d\n",
                        i, i);
        }
        fclose(out);
    }
    fixture_close(&f);
    for (bool left = true; left;) {
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0)
            take_until_killed(runs, RUNS);
        struct timespec moment = {0, (long)rng_below(&rng, n++, 12000000)};
        left = false;
        for (int r = 0; r < RUNS; r++) {
            size_t piece = 1 + rng_below(&rng, n++, size[r] / (quick() ? 8 : 40));
            if (piece > size[r] - written[r])
                piece = size[r] - written[r];
            if (piece)
                append_piece(ids[r], text[r] + written[r], piece);
            written[r] += piece;
            left |= written[r] < size[r];
        }
        nanosleep(&moment, NULL); /* the moment of the kill is the point of the test */
        int how;
        assert_int_equal(kill(child, SIGKILL), 0);
        assert_int_equal(waitpid(child, &how, 0), child);
        if (WIFEXITED(how))
            fail_msg("the process that takes in ended with %d", WEXITSTATUS(how));
        kills++;
    }
    fixture_open(&f);
    for (int r = 0; r < RUNS; r++) {
        fixture_take(&f, ids[r]);
        char sql[300];
        snprintf(
            sql, sizeof sql,
            "SELECT count(*) = %d AND min(ce - step) = %d.5 AND max(ce - step) = %d.5 AND max(step) = %d FROM step "
            "WHERE run = '%s'",
            steps, r, r, steps, ids[r]);
        assert_int_equal(fixture_integer(&f, sql), 1);
        snprintf(sql, sizeof sql, "SELECT count(*) = %d AND sum(c = step) = %d FROM site_step WHERE run = '%s'", steps,
                 steps, ids[r]);
        assert_int_equal(fixture_integer(&f, sql), 1);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = 'checkpoint' AND run = '%s'", ids[r]);
        assert_int_equal(fixture_integer(&f, sql), steps / 7);
        snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = 'bad-line' AND run = '%s'", ids[r]);
        assert_int_equal(fixture_integer(&f, sql), steps / 7);
        /* Nothing made it start over, which would hide a mark that is wrong. */
        snprintf(sql, sizeof sql, "SELECT count(*) FROM event WHERE kind = 'journal' AND run = '%s'", ids[r]);
        assert_int_equal(fixture_integer(&f, sql), 0);
        /* The counts of the mark are kept with the rows: lines taken twice would show. */
        snprintf(sql, sizeof sql, "SELECT lines FROM journal WHERE run = '%s'", ids[r]);
        assert_int_equal(fixture_integer(&f, sql), steps + 2 * (steps / 7));
        free(text[r]);
    }
    char *check = fixture_text(&f, "PRAGMA integrity_check");
    assert_string_equal(check, "ok");
    free(check);
    print_message("# %d kills\n", kills);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(every_table),
        CASE(numbers_that_are_not_finite),
        CASE(torn_lines_wait),
        CASE(logged_again_replaces),
        CASE(only_finished_losses_count),
        CASE(bad_lines_are_noted_once),
        CASE(long_lines_are_bounded),
        CASE(replaced_journals_are_read_again),
        CASE(unreadable_journals_hold_up_nobody),
        CASE(budget_divides_the_work),
        CASE(scanner_agrees_with_jansson),
        CASE(numbers_keep_their_bits),
        CASE(full_disk_loses_nothing),
        CASE(full_file_system_loses_nothing),
        CASE(killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
