#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/result_verb.h"
#include "harness/base/home.h"
#include "harness/base/options.h"
#include "harness/base/pager.h"
#include "harness/base/terminal.h"
#include "harness/store/store_connection.h"
#include "harness/base/listing.h"

enum { SQL_MOST = 1 << 20 };

static int read_sql(const char *path, char **sql, struct error *err)
{
    bool input = strcmp(path, "-") == 0;
    FILE *in = input ? stdin : fopen(path, "re");
    if (!in)
        return error_errno(err, STATUS_BAD_INPUT, errno, "%s", path);
    *sql = memory_alloc(SQL_MOST + 2, 1);
    size_t size = fread(*sql, 1, SQL_MOST + 1, in);
    int failed = ferror(in), number = errno;
    if (!input)
        fclose(in);
    if (failed)
        return error_errno(err, STATUS_BAD_INPUT, number, "%s", path);
    if (size > SQL_MOST)
        return error_set(err, STATUS_BAD_INPUT, "%s: want at most %d bytes of SQL", path, SQL_MOST);
    if (strlen(*sql) != size)
        return error_set(err, STATUS_BAD_INPUT, "%s: a NUL byte in the SQL", path);
    return STATUS_OK;
}

/* Reading is all a query may do: no other file comes in either. */
static int authorize(void *arg, int action, const char *a, const char *b, const char *c, const char *d)
{
    (void)arg, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_ATTACH || action == SQLITE_DETACH ? SQLITE_DENY : SQLITE_OK;
}

/* The message, and the line with a mark under the place, where SQLite knows it. */
static int sql_fault(sqlite3 *db, const char *sql, struct error *err)
{
    const char *message = sqlite3_errmsg(db);
    int offset = sqlite3_error_offset(db), line = 1;
    if (offset < 0 || (size_t)offset > strlen(sql))
        return error_set(err, STATUS_BAD_INPUT, "SQL: %s", message);
    const char *start = sql;
    for (const char *p = sql; p < sql + offset; p++)
        if (*p == '\n') {
            line++;
            start = p + 1;
        }
    int column = (int)(sql + offset - start), shown = (int)strcspn(start, "\n");
    if (shown > 200 || column > 190)
        return error_set(err, STATUS_BAD_INPUT, "SQL, line %d, column %d: %s", line, column + 1, message);
    return error_set(err, STATUS_BAD_INPUT, "SQL, line %d, column %d: %s\n  %.*s\n  %*s^", line, column + 1, message,
                     shown, start, column, "");
}

/* White space, semicolons and comments. */
static bool is_blank(sqlite3 *db, const char *sql)
{
    while (*sql) {
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(db, sql, -1, &statement, &sql) != SQLITE_OK || statement) {
            sqlite3_finalize(statement);
            return false;
        }
    }
    return true;
}

/* For people on a terminal it fits the window's width, and goes through a pager where it is longer. */
static int print_rows(sqlite3_stmt *statement, enum listing_format format, struct error *err)
{
    char *text = NULL;
    size_t size = 0;
    const struct terminal window = terminal_of(STDOUT_FILENO);
    if (window.columns == 0 || format == LISTING_CSV || format == LISTING_JSON)
        return listing_print(stdout, format, statement, 0, err);
    FILE *memory = open_memstream(&text, &size);
    int status = listing_print(memory, format, statement, window.columns, err);
    fclose(memory);
    int shown = pager_print(text, size, status ? NULL : err);
    free(text);
    return status ? status : shown;
}

static int query(sqlite3 *db, const char *sql, enum listing_format format, struct error *err)
{
    sqlite3_stmt *statement = NULL;
    const char *rest = sql;
    while (!statement && *rest)
        if (sqlite3_prepare_v2(db, rest, -1, &statement, &rest) != SQLITE_OK)
            return sql_fault(db, sql, err);
    int status;
    if (!statement)
        status = error_set(err, STATUS_BAD_INPUT, "SQL: nothing to run");
    else if (!is_blank(db, rest))
        status = error_set(err, STATUS_BAD_INPUT, "SQL: want one statement, got more");
    else if (!sqlite3_stmt_readonly(statement) || sqlite3_column_count(statement) == 0)
        status =
            error_set(err, STATUS_BAD_INPUT, "SQL: want a statement that only reads; 'taper query' changes nothing");
    else
        status = print_rows(statement, format, err);
    sqlite3_finalize(statement);
    return status;
}

/* The tables of one sweep's runs are made when the SQL names one of them, or a sweep is given. */
static bool wants_groups(const struct result_verb *v, const char *sql)
{
    static const char *const tables[] = {"run_shown", "step_shown", "run_against_baseline", "ablation", "group_name"};
    const struct result_choice *c = &v->choice;
    bool wants = v->sweep || c->compare || c->where_count + c->by_count + c->vary_count > 0;
    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++)
        wants |= strcasestr(sql, tables[i]) != NULL;
    return wants;
}

static int make_groups(struct result_verb *v, struct error *err)
{
    char *last = NULL;
    int status = results_init(&v->from, v->store, &v->choice, err);
    if (!status)
        status = v->sweep ? store_sweep_find(v->store, v->sweep, err) : result_sweep_last(v->store, &last, err);
    if (!status)
        status = results_prepare(&v->from, v->sweep ? v->sweep : last, err);
    free(last);
    return status;
}

static int query_exec(int argc, char **argv, struct error *err)
{
    bool csv = false, json = false, vertical = false;
    const char *file = NULL;
    struct result_verb v = {0};
    int operands;
    const struct option_spec specs[] = {
        {.name = "csv", .flag = &csv},           {.name = "json", .flag = &json},
        {.name = "vertical", .flag = &vertical}, RESULT_CHOICE(&v),
        {.name = "file", .value = &file},        {0},
    };
    int status = options_parse(&cmd_query, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (csv + json + vertical > 1)
        return command_usage(&cmd_query, err, "wants one of --csv and --json and --vertical");
    if (operands != !file)
        return command_usage(&cmd_query, err, file ? "wants SQL or --file, not both" : "wants SQL in one argument");
    struct home home;
    char *sql = NULL;
    if (file || strcmp(argv[1], "-") == 0)
        status = read_sql(file ? file : "-", &sql, err);
    else
        sql = memory_string(argv[1]);
    if (!status)
        status = home_init_reader(&home, v.home, err);
    if (!status) {
        status = store_open(&v.store, &home, STORE_QUERY, err);
        home_fini(&home);
    }
    if (!status && wants_groups(&v, sql))
        status = make_groups(&v, err);
    if (!status) {
        sqlite3_set_authorizer(store_connection(v.store), authorize, NULL);
        status = query(store_connection(v.store), sql,
                       csv        ? LISTING_CSV
                       : json     ? LISTING_JSON
                       : vertical ? LISTING_VERTICAL
                                  : LISTING_TEXT,
                       err);
    }
    result_verb_close(&v);
    free(sql);
    return status;
}

static const struct option_row query_options[] = {
    {"csv", 0, NULL, "CSV, for scripts"},
    {"json", 0, NULL, "JSON, for scripts"},
    {"vertical", 'v', NULL, "a line a value, each in full"},
    {"file", 'f', "FILE", "the SQL from a file, - for standard input"},
    {"sweep", 0, "NAME", "whose runs run_shown and the views over it hold (default: the sweep submitted last)"},
    RESULT_CHOICE_ROWS,
    OPTION_HOME_READER,
    {0},
};

const struct command cmd_query = {
    .name = "query",
    .operands = "SQL|-",
    .brief = "read the database of a home with SQL",
    .options = query_options,
    .notes = "On a terminal rows are cut to its width, and what is longer than it goes through $PAGER.\n"
             "Tables: sweep run sweep_run attempt step site_step eval bench event. Views: run_in_sweep "
             "run_at_point\n"
             "run_flat config_diff attempt_time step_numeric step_elapsed step_last eval_numeric site_step_numeric "
             "bench_numeric\n"
             "sweep_status run_progress run_rows run_gap run_essence.\n"
             "Of one sweep, a configuration a group: run_shown step_shown run_against_baseline ablation "
             "group_name.\n"
             "A measured number that is not finite is NaN, Infinity or -Infinity; the numeric views have NULL "
             "there.\n",
    .exec = query_exec,
};
