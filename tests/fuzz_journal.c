/* Any bytes as a journal, in memory: a line that the quick scanner accepts it reads as jansson does, and the last step
 * is that of the last whole step line. fuzz_intake.c takes the same bytes all the way into a database. */
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/train/journal.h"
#include "harness/store/intake_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A list of numbers is kept as text when it holds more than one. */
static bool same_times(const struct scan_value *v, const json_t *value)
{
    const json_t *item;
    size_t i;
    double x;
    if (!json_is_array(value))
        return v->kind == SCAN_NULL && (!value || json_is_null(value));
    json_array_foreach(value, i, item) if (!journal_number_read(item, &x)) return false;
    if (v->kind == SCAN_NULL)
        return json_array_size(value) < 2;
    json_t *again = json_loadb(v->text, (size_t)v->length, 0, NULL);
    const bool same = v->kind == SCAN_STRING && json_equal(again, value);
    json_decref(again);
    return same;
}

static bool same_value(const struct scan_value *v, enum value_type type, const json_t *value)
{
    if (type == VALUE_TIMES)
        return same_times(v, value);
    switch (v->kind) {
    case SCAN_NULL:
        return (!value || json_is_null(value)) && type != VALUE_NEEDED && type != VALUE_TEXT;
    case SCAN_INTEGER:
        return json_is_integer(value) && json_integer_value(value) == v->integer && v->integer >= 0 &&
               (type == VALUE_COUNT || type == VALUE_NEEDED);
    case SCAN_REAL:
        return json_is_number(value) && json_number_value(value) == v->real && type == VALUE_REAL;
    case SCAN_STRING:
        return json_is_string(value) && json_string_length(value) == (size_t)v->length &&
               memcmp(json_string_value(value), v->text, (size_t)v->length) == 0;
    }
    return false;
}

static void check_values(const struct scan_value *values, const struct column *columns, const json_t *object)
{
    for (int i = 0; columns[i].name; i++)
        if (!same_value(&values[i], columns[i].type, json_object_get(object, columns[i].name)))
            abort();
}

static void check_line(const char *text, size_t size)
{
    static struct scan_line scan;
    if (!intake_scan_step(text, size, intake_steps.columns, intake_sites.columns, &scan))
        return;
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    const char *table = json_string_value(json_object_get(object, "table"));
    if (!table || strcmp(table, "step") != 0)
        abort();
    const json_t *sites = json_object_get(object, "site_step");
    check_values(scan.value, intake_steps.columns, object);
    if (json_array_size(sites) != (size_t)scan.sites)
        abort();
    for (int i = 0; i < scan.sites; i++)
        check_values(scan.site[i], intake_sites.columns, json_array_get(sites, (size_t)i));
    json_decref(object);
}

/* The step of a line of table step, or `step`. */
static int64_t step_of(const char *text, size_t size, int64_t step)
{
    if (!memmem(text, size, "step", 4) && !memchr(text, '\\', size)) /* what jansson need not see */
        return step;
    json_t *object = json_loadb(text, size, 0, NULL);
    const char *table = json_string_value(json_object_get(object, "table"));
    if (table && strcmp(table, "step") == 0)
        step = json_integer_value(json_object_get(object, "step"));
    json_decref(object);
    return step;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *copy = memory_alloc(size + 1, 1), *newline; /* a byte behind the last line may be looked at */
    int64_t last = 0;
    if (size)
        memcpy(copy, data, size);
    for (char *at = copy; (newline = memchr(at, '\n', size - (size_t)(at - copy))); at = newline + 1) {
        check_line(at, (size_t)(newline - at));
        last = step_of(at, (size_t)(newline - at), last);
    }
    if (journal_last_step_of(copy, size) != last)
        abort();
    free(copy);
    return 0;
}
