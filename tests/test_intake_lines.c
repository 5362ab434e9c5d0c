/* Lines of journals, good and bad: what is refused and noted, and that both readers of a line agree to the bit. */
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

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/base/rundir.h"
#include "harness/store/intake_internal.h"
#include "harness/store/store_rows.h"
#include "tests/support/intake_test.h"

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
        "{\"table\":\"bench\",\"kind\":\"decode\",\"variant\":\"x\",\"batch\":0.5,\"context\":1,\"weights\":\"fp32\"}",
        "{\"table\":\"bench\",\"attempt\":1,\"kind\":\"decode\",\"variant\":\"x\",\"batch\":1,\"context\":1}",
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
    char *path = home_run_file(&f.home, id, RUNDIR_JOURNAL), *copy = memory_format("%s.copy", path);
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
    for (int round = 0; round < (fixture_slow() ? 60 : 400); round++) {
        char *rows[2];
        struct intake_result out[2];
        char lines[20][1024];
        char *path = home_run_file(&f.home, id, RUNDIR_JOURNAL);
        for (int i = 0; i < 20; i++)
            random_line(&rng, &n, lines[i], sizeof lines[i]);
        for (int slow = 0; slow < 2; slow++) {
            unlink(path);
            fixture_change(&f, "DELETE FROM step; DELETE FROM site_step; DELETE FROM journal; DELETE FROM event");
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
    int count = fixture_slow() ? 300 : 4000;
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
    struct store_rows *rows = NULL;
    bool found = false;
    GOOD(store_rows_open(&rows, f.s, "test", "SELECT step, ce, aux FROM step", err));
    for (;;) {
        GOOD(store_rows_next(rows, &found, err));
        if (!found)
            break;
        int i = (int)store_rows_at(rows, 0).integer;
        uint64_t bits = rng_u64(&rng, (uint64_t)i);
        double x, got = store_rows_at(rows, 1).number, nine = store_rows_at(rows, 2).number;
        char text[40];
        if (i % 2)
            bits = (bits & 0x800fffffffffffffull) | (uint64_t)(1023 - 40 + i % 80) << 52;
        memcpy(&x, &bits, sizeof x);
        assert_memory_equal(&x, &got, sizeof x);
        snprintf(text, sizeof text, "%.9g", x);
        assert_true(nine == strtod(text, NULL));
    }
    store_rows_close(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        INTAKE_TEST(bad_lines_are_noted_once),
        INTAKE_TEST(long_lines_are_bounded),
        INTAKE_TEST(scanner_agrees_with_jansson),
        INTAKE_TEST(numbers_keep_their_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
