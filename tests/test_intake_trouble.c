/* Full disks and kills while journals are taken in: in the end each line is there once. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "harness/store/intake_internal.h"
#include "tests/support/intake_test.h"

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
    fixture_change(&f, pragma);
    assert_int_equal(intake_pass(f.in, &run, 1, 0, &out, &err), STATUS_FAILED);
    assert_non_null(strstr(err.text, "no space left"));
    assert_int_equal(store_trouble(f.s), STORE_FULL);
    assert_int_equal(out.rows, 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM journal"), 0);
    assert_int_equal(fixture_integer(&f, "SELECT count(*) FROM event WHERE kind = 'k'"), 0);
    fixture_change(&f, "PRAGMA max_page_count = 1000000");
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
    const struct store_start start = {"local", "h", "cpu", "0", NULL, 1};
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
    int steps = fixture_slow() ? 60 : 400, kills = 0;
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
            size_t piece = 1 + rng_below(&rng, n++, size[r] / (fixture_slow() ? 8 : 40));
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
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(full_disk_loses_nothing),
        INTAKE_TEST(full_file_system_loses_nothing),
        INTAKE_TEST(killed_at_any_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
