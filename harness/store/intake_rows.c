/* One line of a journal -> rows. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/train/journal.h"
#include "harness/store/intake_internal.h"
#include "harness/store/store_internal.h"

/* The kinds of line whose rows are more than their fields; the plain ones stand in intake_columns.h. */

/* ?2 is the time of the intake, ?3 the offset, which makes an event read twice one event. */
static const struct column event_columns[] = {
    {"step", VALUE_COUNT}, {"attempt", VALUE_NEEDED}, {"kind", VALUE_TEXT}, {"text", VALUE_MAYBE}, {NULL, 0},
};
static const struct intake_table events = {
    "event", event_columns, 4,
    "INSERT INTO event (run, time, journal, step, attempt, kind, text) VALUES (?1, ?2, ?3, ?4, ?5, ?6, coalesce(?7, "
    "'')) "
    "ON CONFLICT (run, journal) WHERE journal IS NOT NULL DO UPDATE SET step = excluded.step, "
    "attempt = excluded.attempt, kind = excluded.kind, text = excluded.text"};

/* While an attempt runs, what an earlier one left in the journal says nothing of the run any more: ?2 is the line's
 * attempt (NULL, in old journals' fold lines, is believed). */
#define NOT_OVERTAKEN "NOT (state IN ('starting', 'running') AND attempts > coalesce(?2, attempts)) "

/* Only a finished attempt's loss counts; any other may only fill what is unknown. */
static const struct column run_columns[] = {
    {"attempt", VALUE_NEEDED}, {"state", VALUE_TEXT}, {"val_loss", VALUE_REAL},   {"params", VALUE_COUNT},
    {"device", VALUE_MAYBE},   {"text", VALUE_MAYBE}, {"fold_error", VALUE_REAL}, {NULL, 0},
};
static const struct intake_table results = {
    "run", run_columns, 2,
    "UPDATE run SET val_loss = CASE WHEN ?3 = 'done' THEN coalesce(?4, val_loss) WHEN ?3 = 'failed' "
    "THEN coalesce(val_loss, ?4) ELSE val_loss END, params = coalesce(?5, params), device = coalesce(?6, device), "
    "fold_error = coalesce(?8, fold_error) WHERE id = ?1 AND " NOT_OVERTAKEN "AND (?7 IS NULL OR 1)"};
static const struct intake_table outcomes = {
    "run", run_columns, 2,
    "UPDATE attempt SET outcome = ?3, outcome_text = ?7 WHERE run = ?1 AND attempt = ?2 "
    "AND (?4 IS NULL OR 1) AND (?5 IS NULL OR 1) AND (?6 IS NULL OR 1) AND (?8 IS NULL OR 1)"};

/* What the training opened; the name's digest of the tokenizer is the run's, this is that of what it does. */
static const struct column data_columns[] = {
    {"attempt", VALUE_NEEDED}, {"corpus", VALUE_TEXT}, {"tokenizer_read", VALUE_TEXT},
    {"train", VALUE_TEXT},     {"valid", VALUE_TEXT},  {NULL, 0},
};
static const struct intake_table data_read = {
    "data", data_columns, 2,
    "UPDATE attempt SET corpus = ?3, tokenizer = ?4, train_tokens = ?5, valid_tokens = ?6 WHERE run = ?1 AND attempt = "
    "?2"};

static const struct column fold_columns[] = {{"attempt", VALUE_COUNT}, {"fold_error", VALUE_REAL}, {NULL, 0}};
static const struct intake_table folds = {
    "fold", fold_columns, 2, "UPDATE run SET fold_error = coalesce(?3, fold_error) WHERE id = ?1 AND " NOT_OVERTAKEN};

/* --------------------------------------------------------------------------------------------- values */

static bool bind_number(sqlite3_stmt *statement, int at, const json_t *value)
{
    double x;
    if (json_is_real(value))
        return sqlite3_bind_double(statement, at, json_real_value(value)) == SQLITE_OK;
    if (json_is_integer(value))
        return sqlite3_bind_double(statement, at, (double)json_integer_value(value)) == SQLITE_OK;
    if (!value || json_is_null(value))
        return sqlite3_bind_null(statement, at) == SQLITE_OK;
    return journal_number_read(value, &x) &&
           sqlite3_bind_text(statement, at, json_string_value(value), (int)json_string_length(value), SQLITE_STATIC) ==
               SQLITE_OK;
}

static bool bind_count(sqlite3_stmt *statement, int at, const json_t *value, bool needed)
{
    if (!needed && (!value || json_is_null(value)))
        return sqlite3_bind_null(statement, at) == SQLITE_OK;
    if (!json_is_integer(value) || json_integer_value(value) < 0)
        return false;
    return sqlite3_bind_int64(statement, at, json_integer_value(value)) == SQLITE_OK;
}

static bool bind_string(sqlite3_stmt *statement, int at, const json_t *value, bool needed)
{
    if (!needed && (!value || json_is_null(value)))
        return sqlite3_bind_null(statement, at) == SQLITE_OK;
    if (!json_is_string(value) || (needed && json_string_length(value) == 0))
        return false;
    return sqlite3_bind_text(statement, at, json_string_value(value), (int)json_string_length(value), SQLITE_STATIC) ==
           SQLITE_OK;
}

static bool bind_times(sqlite3_stmt *statement, int at, const json_t *value)
{
    if (!value || json_is_null(value))
        return sqlite3_bind_null(statement, at) == SQLITE_OK;
    if (!json_is_array(value))
        return false;
    size_t i;
    const json_t *item;
    double x;
    json_array_foreach(value, i, item) if (!journal_number_read(item, &x)) return false;
    if (json_array_size(value) < 2)
        return sqlite3_bind_null(statement, at) == SQLITE_OK;
    char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(9));
    return text && sqlite3_bind_text(statement, at, text, -1, free) == SQLITE_OK;
}

static bool bind_column(sqlite3_stmt *statement, int at, const struct column *column, const json_t *value)
{
    switch (column->type) {
    case VALUE_REAL:
        return bind_number(statement, at, value);
    case VALUE_COUNT:
    case VALUE_NEEDED:
        return bind_count(statement, at, value, column->type == VALUE_NEEDED);
    case VALUE_TEXT:
    case VALUE_MAYBE:
        return bind_string(statement, at, value, column->type == VALUE_TEXT);
    case VALUE_TIMES:
        return bind_times(statement, at, value);
    }
    return false;
}

/* Bind an object's fields from position `at` on; a fault goes to line->why. */
static bool bind_object(sqlite3_stmt *statement, int at, const struct column *columns, const json_t *object,
                        struct intake_line *line)
{
    static const char *const wants[] = {"a number", "a whole number", "a whole number",
                                        "text",     "text",           "a list of numbers"};
    for (const struct column *c = columns; c->name; c++) {
        const json_t *value = json_object_get(object, c->name);
        if (!bind_column(statement, at++, c, value)) {
            snprintf(line->why, sizeof line->why, "%s: want %s%s", c->name, wants[c->type],
                     value ? "" : ", it is missing");
            return false;
        }
    }
    return true;
}

/* --------------------------------------------------------------------------------------------- rows */

static int insert(struct store *s, const struct intake_table *table, const char *run, const json_t *object,
                  int64_t second, int64_t third, struct intake_line *line, struct error *err)
{
    sqlite3_stmt *statement = store_prepare(s, table->sql, err);
    int at = table->first;
    if (!statement)
        return STATUS_FAILED;
    sqlite3_bind_text(statement, 1, run, CONFIG_ID - 1, SQLITE_STATIC);
    if (at > 2)
        store_bind_int(statement, 2, second);
    if (at > 3)
        store_bind_int(statement, 3, third);
    if (!bind_object(statement, at, table->columns, object, line))
        return STATUS_BAD_INPUT;
    int status = store_step(s, statement, "store a row", err);
    line->rows++;
    return status;
}

/* A bad site makes the line bad: found before anything of the line is stored. */
static bool check_sites(struct store *s, const json_t *sites, struct intake_line *line, struct error *err)
{
    size_t i;
    const json_t *site;
    sqlite3_stmt *statement = store_prepare(s, intake_sites.sql, err);
    json_array_foreach(sites, i, site) if (!statement || !bind_object(statement, intake_sites.first,
                                                                      intake_sites.columns, site, line)) return false;
    return true;
}

static int store_steps(struct store *s, const char *run, const json_t *object, struct intake_line *line,
                       struct error *err)
{
    const json_t *sites = json_object_get(object, "site_step"), *site;
    size_t i;
    if (sites && !json_is_array(sites)) {
        snprintf(line->why, sizeof line->why, "site_step: want a list");
        return STATUS_BAD_INPUT;
    }
    if (!check_sites(s, sites, line, err))
        return STATUS_BAD_INPUT;
    int status = insert(s, &intake_steps, run, object, 0, 0, line, err);
    if (status)
        return status;
    line->step = json_integer_value(json_object_get(object, "step"));
    json_array_foreach(sites, i, site)
    {
        status = insert(s, &intake_sites, run, site, line->step, 0, line, err);
        if (status)
            return status;
    }
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- the fast way */

static bool scan_disabled;

void intake_scan_disable(bool disable)
{
    scan_disabled = disable;
}

static void bind_scanned(sqlite3_stmt *statement, int at, const struct scan_value *v)
{
    switch (v->kind) {
    case SCAN_NULL:
        sqlite3_bind_null(statement, at);
        break;
    case SCAN_INTEGER:
        sqlite3_bind_int64(statement, at, v->integer);
        break;
    case SCAN_REAL:
        sqlite3_bind_double(statement, at, v->real);
        break;
    case SCAN_STRING:
        sqlite3_bind_text(statement, at, v->text, v->length, SQLITE_STATIC);
        break;
    }
}

/* Every parameter is bound for every row, so there is nothing to clear between them. */
static sqlite3_stmt *row_statement(struct store *s, const char *sql, struct error *err)
{
    sqlite3_stmt *known = store_prepared(s, sql);
    return known ? known : store_prepare(s, sql, err);
}

static int store_scanned(struct store *s, const char *run, const struct scan_line *scan, struct intake_line *line,
                         struct error *err)
{
    sqlite3_stmt *step = row_statement(s, intake_steps.sql, err);
    if (!step)
        return STATUS_FAILED;
    sqlite3_bind_text(step, 1, run, CONFIG_ID - 1, SQLITE_STATIC);
    for (int i = 0; intake_steps.columns[i].name; i++)
        bind_scanned(step, intake_steps.first + i, &scan->value[i]);
    int status = store_step(s, step, "store a step", err);
    sqlite3_stmt *site = status || scan->sites == 0 ? NULL : row_statement(s, intake_sites.sql, err);
    if (!site && scan->sites > 0)
        return STATUS_FAILED;
    if (site) {
        sqlite3_bind_text(site, 1, run, CONFIG_ID - 1, SQLITE_STATIC);
        bind_scanned(site, 2, &scan->value[0]);
    }
    for (int i = 0; !status && i < scan->sites; i++) {
        for (int c = 0; intake_sites.columns[c].name; c++)
            bind_scanned(site, intake_sites.first + c, &scan->site[i][c]);
        status = store_step(s, site, "store a site", err);
    }
    line->rows = 1 + scan->sites;
    line->step = scan->value[0].integer;
    return status;
}

static int store_outcome(struct store *s, const char *run, const json_t *object, struct intake_line *line,
                         struct error *err)
{
    int status = insert(s, &results, run, object, 0, 0, line, err);
    if (!status)
        status = insert(s, &outcomes, run, object, 0, 0, line, err);
    line->rows = 1;
    line->finished = true;
    return status;
}

static int store_object(struct store *s, const char *run, const json_t *object, int64_t offset,
                        struct intake_line *line, struct error *err)
{
    const char *table = json_string_value(json_object_get(object, "table"));
    if (!table) {
        snprintf(line->why, sizeof line->why, "want an object with a table");
        return STATUS_BAD_INPUT;
    }
    if (strcmp(table, "step") == 0)
        return store_steps(s, run, object, line, err);
    if (strcmp(table, "eval") == 0)
        return insert(s, &intake_evals, run, object, 0, 0, line, err);
    if (strcmp(table, "bench") == 0)
        return insert(s, &intake_benches, run, object, 0, 0, line, err);
    if (strcmp(table, "event") == 0)
        return insert(s, &events, run, object, store_now(), offset, line, err);
    if (strcmp(table, "run") == 0)
        return store_outcome(s, run, object, line, err);
    if (strcmp(table, "data") == 0)
        return insert(s, &data_read, run, object, 0, 0, line, err);
    if (strcmp(table, "fold") == 0)
        return insert(s, &folds, run, object, 0, 0, line, err);
    snprintf(line->why, sizeof line->why, "no table '%.40s'", table);
    return STATUS_BAD_INPUT;
}

int intake_store_line(struct store *s, const char *run, const char *text, size_t size, int64_t offset,
                      struct intake_line *line, struct error *err)
{
    json_error_t why;
    struct scan_line scan;
    *line = (struct intake_line){.step = -1};
    if (!scan_disabled && intake_scan_step(text, size, intake_steps.columns, intake_sites.columns, &scan))
        return store_scanned(s, run, &scan, line, err);
    json_t *object = json_loadb(text, size, JSON_REJECT_DUPLICATES, &why);
    if (!object) {
        snprintf(line->why, sizeof line->why, "%s", why.text);
        return STATUS_BAD_INPUT;
    }
    int status = store_object(s, run, object, offset, line, err);
    json_decref(object);
    return status;
}

/* --------------------------------------------------------------------------------------------- bad lines */

/* The start of a line as printable ASCII. */
static void excerpt(char *to, size_t room, const char *text, size_t size)
{
    size_t n = size < room - 4 ? size : room - 4;
    for (size_t i = 0; i < n; i++)
        to[i] = text[i] >= ' ' && text[i] < 0x7f ? text[i] : '?';
    snprintf(to + n, room - n, "%s", n < size ? "..." : "");
}

int intake_store_bad(struct store *s, const char *run, const char *text, size_t size, int64_t offset, const char *why,
                     struct error *err)
{
    char start[124], full[400];
    sqlite3_stmt *statement =
        store_prepare(s,
                      "INSERT INTO event (run, time, journal, kind, text) VALUES (?1, ?2, ?3, 'bad-line', ?4) "
                      "ON CONFLICT (run, journal) WHERE journal IS NOT NULL DO UPDATE SET step = NULL, attempt = NULL, "
                      "kind = excluded.kind, text = excluded.text",
                      err);
    if (!statement)
        return STATUS_FAILED;
    excerpt(start, sizeof start, text, size);
    snprintf(full, sizeof full, "journal, byte %lld: %s: %s", (long long)offset, why, start);
    store_bind_text(statement, 1, run);
    store_bind_int(statement, 2, store_now());
    store_bind_int(statement, 3, offset);
    store_bind_text(statement, 4, full);
    return store_step(s, statement, "record a bad line", err);
}
