/* The reader of rows: typed values, named parameters, what it refuses and how it fails. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/store/store_rows.h"
#include "tests/support/store_test.h"

static void values_have_types(void **state)
{
    (void)state;
    struct store_rows *rows = NULL;
    bool found = false;
    GOOD(store_rows_open(&rows, f.s, "test", "SELECT 9007199254740993 AS i, 0.5 AS r, :word AS t, NULL, x'00'", err));
    assert_int_equal(store_rows_columns(rows), 5);
    assert_string_equal(store_rows_column(rows, 2), "t");
    store_rows_bind(rows, ":word", "NaN");
    store_rows_bind(rows, ":none", "is not in it");
    GOOD(store_rows_next(rows, &found, err));
    assert_true(found);
    struct store_value v = store_rows_at(rows, 0);
    assert_int_equal(v.type, STORE_INTEGER);
    assert_true(v.integer == 9007199254740993 && v.number == 9007199254740992.0 && !v.text);
    v = store_rows_at(rows, 1);
    assert_true(v.type == STORE_REAL && v.number == 0.5 && v.integer == 0);
    v = store_rows_at(rows, 2);
    assert_int_equal(v.type, STORE_TEXT);
    assert_string_equal(v.text, "NaN");
    assert_true(isnan(v.number));
    for (int c = 3; c < 5; c++) {
        v = store_rows_at(rows, c);
        assert_true(v.type == STORE_NULL && isnan(v.number) && !v.text);
    }
    GOOD(store_rows_next(rows, &found, err));
    assert_false(found);
    store_rows_close(rows);
}

static void only_what_reads(void **state)
{
    (void)state;
    struct store_rows *rows = NULL;
    static const char *const writes[] = {"DELETE FROM run", "", "-- nothing", "UPDATE run SET seed = 1 RETURNING seed"};
    for (size_t i = 0; i < sizeof writes / sizeof writes[0]; i++) {
        BAD(STATUS_FAILED, "the test: want a statement that reads",
            store_rows_open(&rows, f.s, "the test", writes[i], err));
        assert_null(rows);
    }
    BAD(STATUS_FAILED, "the test: no such table: nope",
        store_rows_open(&rows, f.s, "the test", "SELECT * FROM nope", err));
    assert_int_equal(store_trouble(f.s), STORE_BROKEN);
    store_rows_bind(rows, ":a", "b"); /* of what could not be opened: nothing */
    store_rows_close(rows);
}

static void a_row_may_fail(void **state)
{
    (void)state;
    struct store_rows *rows = NULL;
    bool found = false;
    GOOD(store_rows_open(&rows, f.s, "the test", "SELECT value ->> '$' FROM json_each('[\"{}\", \"{\"]')", err));
    GOOD(store_rows_next(rows, &found, err));
    assert_true(found);
    BAD(STATUS_FAILED, "the test: malformed JSON", store_rows_next(rows, &found, err));
    assert_false(found);
    store_rows_close(rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {STORE_TEST(values_have_types), STORE_TEST(only_what_reads),
                                       STORE_TEST(a_row_may_fail)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
