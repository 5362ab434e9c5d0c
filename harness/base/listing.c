#include "harness/base/format.h"
#include "harness/base/listing.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jansson.h>

#include "core/base/memory.h"
#include "harness/base/terminal.h"

enum { ROWS_HELD = 1000 }; /* what the widths of a text table are taken from */

struct cell {
    char *text;
    bool number;
};

struct listing {
    FILE *out;
    enum listing_format format;
    int count, at; /* columns; the cell that comes next */
    char **columns;
    int *widths;
    bool *numeric;     /* columns that hold numbers only are aligned to the right */
    struct cell *held; /* text: rows not printed yet */
    int64_t held_rows, rows;
    bool streaming; /* text: the widths are fixed, the head is printed */
    int most;       /* text: columns that a row may take; 0: any */
};

/* --------------------------------------------------------------------------------------------- text */

/* A cell is one line, and sends nothing to the terminal. */
static char *one_line(const char *text)
{
    char *copy = memory_string(text);
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p < ' ' || *p == 0x7f)
            *p = ' ';
    return copy;
}

static void print_padded(struct listing *t, const char *text, int column, bool right)
{
    int pad = t->widths[column] - terminal_width(text);
    bool last = column == t->count - 1;
    if (pad < 0 && t->most) {
        int fits = (int)terminal_cut(text, t->widths[column] - 2);
        fprintf(t->out, "%s%.*s..", column ? "  " : "", fits, text);
    } else {
        fprintf(t->out, "%s%*s%s", column ? "  " : "", right && pad > 0 ? pad : 0, "", text);
    }
    if (!right && pad > 0 && !last)
        fprintf(t->out, "%*s", pad, "");
    if (last)
        fputc('\n', t->out);
}

static void print_row(struct listing *t, const struct cell *row)
{
    for (int c = 0; c < t->count; c++)
        print_padded(t, row[c].text ? row[c].text : "", c, t->numeric[c]);
}

enum { NARROWEST = 5 };

/* The widest column gives way until a row fits, or all are as narrow as can be read. */
static void fit_widths(struct listing *t)
{
    int total = 2 * (t->count - 1);
    for (int c = 0; c < t->count; c++)
        total += t->widths[c];
    for (; t->most && total > t->most; total--) {
        int widest = 0;
        for (int c = 0; c < t->count; c++)
            widest = t->widths[c] > t->widths[widest] ? c : widest;
        if (t->widths[widest] <= NARROWEST)
            return;
        t->widths[widest]--;
    }
}

static void flush_held(struct listing *t)
{
    for (int c = 0; c < t->count; c++) {
        bool some = false, all = true;
        t->widths[c] = terminal_width(t->columns[c]);
        for (int64_t r = 0; r < t->held_rows; r++) {
            const struct cell *cell = &t->held[r * t->count + c];
            int width = cell->text ? terminal_width(cell->text) : 0;
            t->widths[c] = width > t->widths[c] ? width : t->widths[c];
            some |= cell->text != NULL;
            all &= cell->number || !cell->text;
        }
        t->numeric[c] = some && all;
    }
    fit_widths(t);
    for (int c = 0; c < t->count; c++)
        print_padded(t, t->columns[c], c, t->numeric[c]);
    for (int c = 0; c < t->count; c++) {
        fputs(c ? "  " : "", t->out);
        for (int i = 0; i < t->widths[c]; i++)
            fputc('-', t->out);
    }
    fputc('\n', t->out);
    for (int64_t r = 0; r < t->held_rows; r++)
        print_row(t, &t->held[r * t->count]);
    t->streaming = true;
}

static void release_held(struct listing *t)
{
    for (int64_t i = 0; i < t->held_rows * t->count; i++)
        free(t->held[i].text);
    t->held_rows = 0;
}

static void text_cell(struct listing *t, const char *text, bool number)
{
    if (t->at == 0 && t->held_rows == ROWS_HELD && !t->streaming) {
        flush_held(t);
        release_held(t);
    }
    if (t->streaming && t->at == 0)
        release_held(t);
    t->held[t->held_rows * t->count + t->at] = (struct cell){text ? one_line(text) : NULL, number};
    if (t->at + 1 < t->count)
        return;
    t->held_rows++;
    if (t->streaming) {
        print_row(t, t->held);
        release_held(t);
    }
}

/* --------------------------------------------------------------------------------------------- a line a value */

static void vertical_cell(struct listing *t, const char *text)
{
    int widest = 0;
    for (int c = 0; c < t->count; c++)
        widest = terminal_width(t->columns[c]) > widest ? terminal_width(t->columns[c]) : widest;
    if (t->at == 0)
        fprintf(t->out, "%s-- %lld\n", t->rows ? "\n" : "", (long long)t->rows + 1);
    char *line = one_line(text ? text : "");
    fprintf(t->out, "%s%*s  %s\n", t->columns[t->at], widest - terminal_width(t->columns[t->at]), "", line);
    free(line);
}

/* --------------------------------------------------------------------------------------------- CSV, JSON */

/* What a spreadsheet would take for a formula, and run: a name may come from anybody's sweep. Numbers are none. */
static bool is_formula(const char *text)
{
    char *end;
    if (!*text || !strchr("=+-@\t\r", *text))
        return false;
    strtod(text, &end);
    return end == text || *end;
}

static void csv_field(struct listing *t, const char *text)
{
    const char *guard = is_formula(text) ? "'" : "";
    if (!text[strcspn(text, ",\"\r\n")] && *text) {
        fprintf(t->out, "%s%s", guard, text);
        return;
    }
    fprintf(t->out, "\"%s", guard); /* an empty text is quoted, a NULL is nothing at all */
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', t->out);
        fputc(*text, t->out);
    }
    fputc('"', t->out);
}

static void csv_cell(struct listing *t, const char *text)
{
    if (t->at)
        fputc(',', t->out);
    if (text)
        csv_field(t, text);
    if (t->at + 1 == t->count)
        putc('\n', t->out);
}

/* A string as JSON; bytes that are no UTF-8 become U+FFFD. */
static void json_text(struct listing *t, const char *text)
{
    json_t *value = json_string(text);
    if (!value) {
        char *clean = memory_alloc(3 * strlen(text) + 1, 1), *to = clean;
        for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
            if (*p < 0x80) {
                *to++ = (char)*p;
            } else {
                memcpy(to, "\xef\xbf\xbd", 3);
                to += 3;
            }
        }
        value = json_string(clean);
        free(clean);
    }
    char *dumped = json_dumps(value, JSON_ENCODE_ANY);
    fputs(dumped ? dumped : "null", t->out);
    free(dumped);
    json_decref(value);
}

static void json_cell(struct listing *t, const char *text, bool quote)
{
    fputs(t->at ? "," : t->rows ? ",\n{" : "[{", t->out);
    json_text(t, t->columns[t->at]);
    fputc(':', t->out);
    if (quote)
        json_text(t, text);
    else
        fputs(text, t->out);
    if (t->at + 1 == t->count)
        fputc('}', t->out);
}

/* --------------------------------------------------------------------------------------------- cells */

static void put(struct listing *t, const char *text, bool number, bool quote)
{
    if (t->format == LISTING_TEXT)
        text_cell(t, text, number);
    else if (t->format == LISTING_VERTICAL)
        vertical_cell(t, text);
    else if (t->format == LISTING_CSV)
        csv_cell(t, text);
    else
        json_cell(t, text ? text : "null", text && quote);
    t->at++;
    if (t->at == t->count) {
        t->at = 0;
        t->rows++;
    }
}

void listing_text(struct listing *t, const char *text)
{
    /* What the database keeps a number that is not finite as lines up with the numbers. */
    bool number = text && (strcmp(text, "NaN") == 0 || strcmp(text, "Infinity") == 0 || strcmp(text, "-Infinity") == 0);
    put(t, text, number, true);
}

void listing_integer(struct listing *t, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    put(t, text, true, false);
}

void listing_real(struct listing *t, double value)
{
    char text[32];
    put(t, format_real(text, value), true, !isfinite(value));
}

void listing_null(struct listing *t)
{
    put(t, NULL, false, false);
}

/* Equal names get :1, :2 ... */
static char *distinct_name(char *const *taken, int count, const char *name)
{
    char *candidate = memory_string(name);
    for (int n = 1;; n++) {
        bool used = false;
        for (int i = 0; i < count; i++)
            used |= strcmp(taken[i], candidate) == 0;
        if (!used)
            return candidate;
        free(candidate);
        candidate = memory_format("%s:%d", name, n);
    }
}

struct listing *listing_begin(FILE *out, enum listing_format format, const char *const *columns, int count)
{
    struct listing *t = memory_alloc(1, sizeof *t);
    *t = (struct listing){.out = out, .format = format, .count = count};
    t->columns = memory_alloc((size_t)count, sizeof *t->columns);
    t->widths = memory_alloc((size_t)count, sizeof *t->widths);
    t->numeric = memory_alloc((size_t)count, sizeof *t->numeric);
    t->held = format == LISTING_TEXT ? memory_alloc(ROWS_HELD * (size_t)count, sizeof *t->held) : NULL;
    for (int c = 0; c < count; c++) {
        bool people = format == LISTING_TEXT || format == LISTING_VERTICAL;
        char *name = people ? one_line(columns[c]) : memory_string(columns[c]);
        t->columns[c] = format == LISTING_JSON ? distinct_name(t->columns, c, name) : memory_string(name);
        free(name);
    }
    for (int c = 0; format == LISTING_CSV && c < count; c++) {
        fputs(c ? "," : "", out);
        csv_field(t, t->columns[c]);
    }
    if (format == LISTING_CSV)
        putc('\n', out);
    return t;
}

void listing_fit(struct listing *t, int columns)
{
    t->most = columns;
}

int listing_end(struct listing *t, struct error *err)
{
    if (t->format == LISTING_TEXT && !t->streaming)
        flush_held(t);
    if (t->format == LISTING_JSON)
        fputs(t->rows ? "]\n" : "[]\n", t->out);
    bool failed = ferror(t->out) != 0;
    release_held(t);
    for (int c = 0; c < t->count; c++)
        free(t->columns[c]);
    free(t->columns);
    free(t->widths);
    free(t->numeric);
    free(t->held);
    free(t);
    return failed ? error_set(err, STATUS_FAILED, "cannot write the table") : STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- SQLite */

static void put_blob(struct listing *t, const unsigned char *bytes, int size)
{
    static const char digits[] = "0123456789abcdef";
    char *hex = memory_alloc(2 * (size_t)size + 1, 1);
    for (int i = 0; i < size; i++) {
        hex[2 * i] = digits[bytes[i] >> 4];
        hex[2 * i + 1] = digits[bytes[i] & 15];
    }
    listing_text(t, hex);
    free(hex);
}

static void put_column(struct listing *t, sqlite3_stmt *row, int c)
{
    switch (sqlite3_column_type(row, c)) {
    case SQLITE_INTEGER:
        listing_integer(t, sqlite3_column_int64(row, c));
        break;
    case SQLITE_FLOAT:
        listing_real(t, sqlite3_column_double(row, c));
        break;
    case SQLITE_TEXT:
        listing_text(t, (const char *)sqlite3_column_text(row, c));
        break;
    case SQLITE_BLOB:
        put_blob(t, sqlite3_column_blob(row, c), sqlite3_column_bytes(row, c));
        break;
    default:
        listing_null(t);
    }
}

int listing_print(FILE *out, enum listing_format format, sqlite3_stmt *statement, int columns, struct error *err)
{
    int count = sqlite3_column_count(statement), code;
    if (count == 0)
        return error_set(err, STATUS_BAD_INPUT, "the statement has no columns to print");
    const char **names = memory_alloc((size_t)count, sizeof *names);
    for (int c = 0; c < count; c++)
        names[c] = sqlite3_column_name(statement, c);
    struct listing *t = listing_begin(out, format, names, count);
    listing_fit(t, columns);
    while ((code = sqlite3_step(statement)) == SQLITE_ROW && !ferror(out))
        for (int c = 0; c < count; c++)
            put_column(t, statement, c);
    free(names);
    int status = STATUS_OK;
    if (code != SQLITE_DONE && code != SQLITE_ROW)
        status = error_set(err, STATUS_BAD_INPUT, "%s", sqlite3_errmsg(sqlite3_db_handle(statement)));
    int end = listing_end(t, status ? NULL : err);
    return status ? status : end;
}
