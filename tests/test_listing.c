/* Tables as text, CSV and JSON: the same values in all three. */
#include <locale.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "core/base/rng.h"
#include "harness/base/format.h"
#include "harness/base/listing.h"

/* What a statement prints. */
static char *print(const char *sql, enum listing_format format)
{
    sqlite3 *db;
    sqlite3_stmt *statement;
    char *text;
    size_t size;
    struct error err = {0};
    assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
    if (sqlite3_prepare_v2(db, sql, -1, &statement, NULL) != SQLITE_OK)
        fail_msg("%s", sqlite3_errmsg(db));
    FILE *out = open_memstream(&text, &size);
    if (listing_print(out, format, statement, 0, &err))
        fail_msg("%s", err.text);
    fclose(out);
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return text;
}

static void expect(const char *sql, enum listing_format format, const char *wanted)
{
    char *text = print(sql, format);
    assert_string_equal(text, wanted);
    free(text);
}

static const char values[] = "SELECT 1 AS n, 'a' AS name, 0.1 AS x, NULL AS gone UNION ALL "
                             "SELECT 20, 'b,\"c', 'NaN', 'x' UNION ALL SELECT -3, 'd' || char(10) || 'e', -9e999, ''";

static void text_is_aligned(void **state)
{
    (void)state;
    expect(values, LISTING_TEXT,
           " n  name          x  gone\n"
           "--  ----  ---------  ----\n"
           " 1  a           0.1  \n"
           "20  b,\"c        NaN  x\n"
           "-3  d e   -Infinity  \n");
    expect("SELECT 1 AS n WHERE 0", LISTING_TEXT, "n\n-\n");
    /* Bytes that would drive a terminal do not reach it; wide letters count by the place they take. */
    expect("SELECT char(27) || '[2J' AS a, 1 AS b", LISTING_TEXT, "a     b\n----  -\n [2J  1\n");
    if (setlocale(LC_CTYPE, "C.UTF-8")) {
        expect("SELECT char(233) AS a, 'x' AS b UNION ALL SELECT char(26085), 'y'", LISTING_TEXT,
               "a   b\n--  -\n\xc3\xa9   x\n\xe6\x97\xa5  y\n");
        setlocale(LC_CTYPE, "C");
    }
}

static void csv_is_quoted(void **state)
{
    (void)state;
    expect(values, LISTING_CSV, "n,name,x,gone\n1,a,0.1,\n20,\"b,\"\"c\",NaN,x\n-3,\"d\ne\",-Infinity,\"\"\n");
    expect("SELECT 1 AS \"a,b\", 2 AS a WHERE 0", LISTING_CSV, "\"a,b\",a\n");
    /* A spreadsheet is given no formula; numbers, and what is inside a text, are as they are. */
    expect("SELECT '=1+1' AS a, '@x,y' AS b, '-z' AS c, '+\"' AS d, -1.5 AS e, '-1.5e3' AS f, '-Infinity' AS g, '-' AS "
           "h, 'a=b' AS i, -2 AS \"=j\"",
           LISTING_CSV, "a,b,c,d,e,f,g,h,i,'=j\n'=1+1,\"'@x,y\",'-z,\"'+\"\"\",-1.5,-1.5e3,-Infinity,'-,a=b,-2\n");
    expect("SELECT '=1+1' AS a", LISTING_JSON, "[{\"a\":\"=1+1\"}]\n");
}

static void json_is_typed(void **state)
{
    (void)state;
    expect(values, LISTING_JSON,
           "[{\"n\":1,\"name\":\"a\",\"x\":0.1,\"gone\":null},\n"
           "{\"n\":20,\"name\":\"b,\\\"c\",\"x\":\"NaN\",\"gone\":\"x\"},\n"
           "{\"n\":-3,\"name\":\"d\\ne\",\"x\":\"-Infinity\",\"gone\":\"\"}]\n");
    expect("SELECT 1 AS n WHERE 0", LISTING_JSON, "[]\n");
    expect("SELECT 1 AS a, 2 AS a, 3 AS a", LISTING_JSON, "[{\"a\":1,\"a:1\":2,\"a:2\":3}]\n");
    expect("SELECT x'00ff' AS b, CAST(x'41ff' AS TEXT) AS t", LISTING_JSON,
           "[{\"b\":\"00ff\",\"t\":\"A\xef\xbf\xbd\"}]\n");
}

/* More rows than are held for the widths, in every format; text keeps its first widths. */
static void many_rows(void **state)
{
    (void)state;
    const char *sql =
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2500) SELECT i, i * 0.5 AS h FROM c";
    char *text = print(sql, LISTING_TEXT);
    int lines = 0;
    for (const char *p = text; *p; p++)
        lines += *p == '\n';
    assert_int_equal(lines, 2502);
    assert_non_null(strstr(text, "\n2500   1250\n"));
    free(text);
    text = print(sql, LISTING_JSON);
    json_t *array = json_loads(text, 0, NULL);
    assert_int_equal(json_array_size(array), 2500);
    assert_true(json_number_value(json_object_get(json_array_get(array, 2498), "h")) == 1249.5);
    json_decref(array);
    free(text);
}

static void reals_read_back(void **state)
{
    (void)state;
    struct rng_stream rng = {.seed = 3, .use = RNG_TEST};
    char text[32];
    for (uint64_t i = 0; i < 20000; i++) {
        uint64_t bits = rng_u64(&rng, i), again;
        double x, y;
        memcpy(&x, &bits, sizeof x);
        format_real(text, x);
        if (isnan(x)) {
            assert_string_equal(text, "NaN");
            continue;
        }
        y = strtod(text, NULL);
        memcpy(&again, &y, sizeof again);
        assert_true(bits == again);
    }
    assert_string_equal(format_real(text, 0.1), "0.1");
    assert_string_equal(format_real(text, 1e300), "1e+300");
    assert_string_equal(format_real(text, -INFINITY), "-Infinity");
    assert_string_equal(format_fixed(text, 3.14159, 4), "3.1416");
    assert_string_equal(format_fixed(text, -999999.5, 1), "-999999.5");
    assert_string_equal(format_fixed(text, 5.37e23, 4), "5.4e23");
    assert_string_equal(format_fixed(text, -1e300, 2), "-1.0e300");
    assert_string_equal(format_fixed(text, 1e9, 0), "1000000000");
    assert_string_equal(format_fixed(text, 2e15, 0), "2.0e15");
}

static void times_are_local(void **state)
{
    (void)state;
    char text[32];
    setenv("TZ", "XXX-5:45", 1); /* 5 h 45 min ahead, as in Kathmandu */
    assert_string_equal(format_time(text, 1000000000ll * 1000000), "2001-09-09 07:31:40");
    unsetenv("TZ");
    assert_string_equal(format_time(text, 0), "");
}

static void cells_by_hand(void **state)
{
    (void)state;
    static const char *const columns[] = {"a", "b", "c"};
    char *text;
    size_t size;
    FILE *out = open_memstream(&text, &size);
    struct listing *t = listing_begin(out, LISTING_JSON, columns, 3);
    listing_text(t, "x");
    listing_real(t, NAN);
    listing_null(t);
    assert_int_equal(listing_end(t, NULL), STATUS_OK);
    fclose(out);
    assert_string_equal(text, "[{\"a\":\"x\",\"b\":\"NaN\",\"c\":null}]\n");
    free(text);
    out = fopen("/dev/full", "w");
    setvbuf(out, NULL, _IONBF, 0);
    struct error err = {0};
    t = listing_begin(out, LISTING_CSV, columns, 3);
    assert_int_equal(listing_end(t, &err), STATUS_FAILED);
    fclose(out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_aligned), cmocka_unit_test(csv_is_quoted),   cmocka_unit_test(json_is_typed),
        cmocka_unit_test(many_rows),       cmocka_unit_test(reals_read_back), cmocka_unit_test(times_are_local),
        cmocka_unit_test(cells_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
