/* Journals into the database: every kind of line once, the latest attempt's where one was logged again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/train/journal.h"
#include "core/base/rundir.h"
#include "harness/store/intake_internal.h"
#include "tests/support/intake_test.h"

static void every_table(void **state)
{
    (void)state;
    const struct store_start start = {"local", "host", "GPU-1", "0", NULL, 1};
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
           "\"weights\":\"fp32\",\"tokens_per_s\":1000.5,\"ms\":0.25,\"repeats\":50,\"device\":\"cpu\"}\n"
           "{\"table\":\"bench\",\"attempt\":1,\"kind\":\"decode\",\"variant\":\"folded\",\"batch\":4,\"context\":64,"
           "\"weights\":\"bf16\",\"tokens_per_s\":2000.5,\"ms\":0.125,\"repeats\":50,\"device\":\"cpu\"}\n"
           "{\"table\":\"fold\",\"attempt\":1,\"fold_error\":1.5e-5}\n"
           "{\"table\":\"run\",\"attempt\":1,\"step\":20,\"state\":\"done\",\"val_loss\":4.125,\"params\":330048,"
           "\"device\":\"H200\",\"text\":\"fine\"}\n");
    struct intake_result out = fixture_take(&f, id);
    assert_int_equal(out.lines, 8);
    assert_int_equal(out.rows, 10);
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
    assert_int_equal(
        fixture_integer(&f, "SELECT tokens_per_s = 1000.5 AND repeats = 50 FROM bench WHERE weights = 'fp32'"), 1);
    assert_int_equal(fixture_integer(&f, "SELECT tokens_per_s = 2000.5 FROM bench WHERE weights = 'bf16'"), 1);
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
    char *path = home_run_file(&f.home, id, RUNDIR_JOURNAL);
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

static void replaced_journals_are_read_again(void **state)
{
    (void)state;
    char *path = home_run_file(&f.home, id, RUNDIR_JOURNAL);
    append("{\"table\":\"eval\",\"attempt\":1,\"step\":1,\"split\":\"valid\",\"loss\":1}\n"
           "{\"table\":\"eval\",\"attempt\":1,\"step\":2,\"split\":\"valid\",\"loss\":2}\n"
           "{\"table\":\"event\",\"attempt\":1,\"step\":2,\"kind\":\"checkpoint\",\"text\":\"\"}\n");
    assert_int_equal(fixture_take(&f, id).rows, 3);
    /* Shorter. */
    assert_int_equal(truncate(path, (off_t)strlen(fixture_eval_line)), 0);
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
    char *path = home_run_file(&f.home, id, RUNDIR_JOURNAL);
    GOOD(file_make_directories(path, err)); /* a directory of that name */
    fixture_append(&f, other, fixture_eval_line, strlen(fixture_eval_line));
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

/* A journal's line that comes late, of an attempt that is over, leaves the result to the attempt that runs. */
static void ended_attempts_write_no_result(void **state)
{
    (void)state;
    static const struct store_exit lost = {.cause = OUTCOME_LOST, .code = -1, .signal = -1};
    int attempt;
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    GOOD(store_attempt_end(f.s, id, 1, &lost, RUN_QUEUED, err));
    GOOD(store_attempt_begin(f.s, id, &fixture_start, &attempt, err));
    GOOD(store_attempt_running(f.s, id, 2, "h", 1, 2, "b", err));
    append("{\"table\":\"run\",\"attempt\":1,\"state\":\"done\",\"val_loss\":9.5,\"params\":1,\"device\":\"old\","
           "\"text\":\"late\"}\n"
           "{\"table\":\"fold\",\"attempt\":1,\"fold_error\":0.5}\n");
    assert_int_equal(fixture_take(&f, id).bad, 0);
    assert_int_equal(fixture_integer(&f,
                                     "SELECT count(*) FROM run WHERE attempts = 2 AND val_loss IS NULL AND params IS "
                                     "NULL AND device = 'cpu' AND fold_error IS NULL"),
                     1);
    char *outcome =
        fixture_text(&f, "SELECT outcome || outcome_text FROM attempt WHERE attempt = 1"); /* its own is kept */
    assert_string_equal(outcome, "donelate");
    free(outcome);
    append("{\"table\":\"run\",\"attempt\":2,\"state\":\"done\",\"val_loss\":4.5,\"params\":2,\"device\":\"new\"}\n"
           "{\"table\":\"fold\",\"attempt\":2,\"fold_error\":0.25}\n");
    assert_int_equal(fixture_take(&f, id).bad, 0);
    assert_int_equal(fixture_integer(&f,
                                     "SELECT count(*) FROM run WHERE val_loss = 4.5 AND params = 2 AND device = 'new' "
                                     "AND fold_error = 0.25"),
                     1);
    /* Once nothing runs the file is what there is, as when a home is read again. */
    GOOD(store_attempt_end(f.s, id, 2, &lost, RUN_FAILED, err));
    append("{\"table\":\"fold\",\"attempt\":1,\"fold_error\":0.125}\n");
    assert_int_equal(fixture_take(&f, id).bad, 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM run WHERE fold_error = 0.125"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(ended_attempts_write_no_result),
        INTAKE_TEST(every_table),
        INTAKE_TEST(numbers_that_are_not_finite),
        INTAKE_TEST(torn_lines_wait),
        INTAKE_TEST(logged_again_replaces),
        INTAKE_TEST(only_finished_losses_count),
        INTAKE_TEST(replaced_journals_are_read_again),
        INTAKE_TEST(unreadable_journals_hold_up_nobody),
        INTAKE_TEST(budget_divides_the_work),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
