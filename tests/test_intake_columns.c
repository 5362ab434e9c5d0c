/* The lists of columns agree with the schema and its views, and the scanner holds as many as it says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/memory.h"
#include "harness/store/intake_internal.h"
#include "harness/store/store_rows.h"
#include "tests/support/store_test.h"

/* A value of this type fits a column so declared. */
static bool fits(enum value_type type, const char *declared)
{
    bool any = strcmp(declared, "ANY") == 0, integer = strcmp(declared, "INTEGER") == 0;
    switch (type) {
    case VALUE_REAL:
        return any;
    case VALUE_COUNT:
    case VALUE_NEEDED:
        return any || integer;
    default:
        return strcmp(declared, "TEXT") == 0;
    }
}

static void lists_are_the_schema(void **state)
{
    (void)state;
    const struct intake_table *const tables[] = {&intake_steps, &intake_sites, &intake_evals, &intake_benches};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++) {
        const struct column *c = tables[t]->columns;
        struct store_rows *rows = NULL;
        bool found = false;
        GOOD(store_rows_open(&rows, f.s, "test", "SELECT name, type, \"notnull\" FROM pragma_table_info(:table)", err));
        store_rows_bind(rows, ":table", tables[t]->name);
        for (int at = 0;; at++) {
            GOOD(store_rows_next(rows, &found, err));
            if (!found)
                break;
            if (at + 1 < tables[t]->first) /* run, and a site's step */
                continue;
            const char *name = store_rows_at(rows, 0).text;
            if (!c->name || strcmp(c->name, name) != 0)
                fail_msg("%s: the schema has %s where the list has %s", tables[t]->name, name,
                         c->name ? c->name : "none");
            if (!fits(c->type, store_rows_at(rows, 1).text))
                fail_msg("%s.%s: declared as %s", tables[t]->name, name, store_rows_at(rows, 1).text);
            if (store_rows_at(rows, 2).integer && c->type != VALUE_NEEDED && c->type != VALUE_TEXT)
                fail_msg("%s.%s: NOT NULL, and a line may leave it out", tables[t]->name, name);
            c++;
        }
        store_rows_close(rows);
        if (c->name)
            fail_msg("%s: the schema lacks %s", tables[t]->name, c->name);
    }
}

/* A measured number that the numeric view lacks is missing from every table and figure. */
static void views_have_every_number(void **state)
{
    (void)state;
    const struct intake_table *const tables[] = {&intake_steps, &intake_sites, &intake_evals, &intake_benches};
    for (size_t t = 0; t < sizeof tables / sizeof tables[0]; t++)
        for (const struct column *c = tables[t]->columns; c->name; c++) {
            if (c->type != VALUE_REAL)
                continue;
            char *sql = memory_format("SELECT count(*) FROM pragma_table_info('%s_numeric') WHERE name = '%s'",
                                      tables[t]->name, c->name);
            if (fixture_integer(&f, sql) != 1)
                fail_msg("%s_numeric lacks %s", tables[t]->name, c->name);
            free(sql);
        }
}

/* The last column of a full list has a place of its own. */
static void scanner_holds_all_its_columns(void **state)
{
    (void)state;
    static char names[SCAN_COLUMNS][16], line[4096];
    static struct scan_line out;
    struct column columns[SCAN_COLUMNS + 1] = {{NULL, 0}};
    size_t at = (size_t)snprintf(line, sizeof line, "{\"table\":\"step\"");
    for (int i = 0; i < SCAN_COLUMNS; i++) {
        snprintf(names[i], sizeof names[i], "k%d", i);
        columns[i] = (struct column){names[i], VALUE_REAL};
        at += (size_t)snprintf(line + at, sizeof line - at, ",\"k%d\":%d.5", i, i);
    }
    snprintf(line + at, sizeof line - at, "}");
    assert_true(intake_scan_step(line, at + 1, columns, intake_sites.columns, &out));
    for (int i = 0; i < SCAN_COLUMNS; i++)
        assert_true(out.value[i].kind == SCAN_REAL && out.value[i].real == i + 0.5);
    for (int i = 0; i < SCAN_COLUMNS; i++) { /* and each may be given once, whatever else is */
        int other = (i + SCAN_COLUMNS / 2) % SCAN_COLUMNS;
        int size = snprintf(line, sizeof line, "{\"table\":\"step\",\"k%d\":1.5,\"k%d\":2.5}", i, other);
        assert_true(intake_scan_step(line, (size_t)size, columns, intake_sites.columns, &out));
        size = snprintf(line, sizeof line, "{\"table\":\"step\",\"k%d\":1.5,\"k%d\":2.5}", i, i);
        assert_false(intake_scan_step(line, (size_t)size, columns, intake_sites.columns, &out));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        STORE_TEST(lists_are_the_schema),
        STORE_TEST(views_have_every_number),
        STORE_TEST(scanner_holds_all_its_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
