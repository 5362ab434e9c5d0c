/* A scanner for the one kind of line that comes by the hundred thousand. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/store/intake_internal.h"

struct cursor {
    const char *at, *end;
};

/* Powers of ten that a double holds exactly. */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

enum { EXACT_TEN = 22, DIGITS_MOST = 18 };

/* The mantissa (below 2^53) and the power are exact doubles, so one multiplication or division rounds once, as the
 * exact value would (Clinger, "How to read floating point numbers accurately", 1990). All else is strtod's. */
static bool to_real(uint64_t mantissa, int exponent, bool negative, const char *text, double *out)
{
    if (mantissa < (1ull << 53) && exponent >= -EXACT_TEN && exponent <= EXACT_TEN) {
        double x = exponent < 0 ? (double)mantissa / tens[-exponent] : (double)mantissa * tens[exponent];
        *out = negative ? -x : x;
        return true;
    }
    *out = strtod(text, NULL); /* the program leaves the numeric locale at "C" */
    return isfinite(*out);
}

static bool is_digit(const struct cursor *c)
{
    return c->at < c->end && *c->at >= '0' && *c->at <= '9';
}

static bool scan_exponent(struct cursor *c, int *exponent)
{
    int value = 0;
    bool negative = false;
    c->at++;
    if (c->at < c->end && (*c->at == '+' || *c->at == '-'))
        negative = *c->at++ == '-';
    if (!is_digit(c))
        return false;
    for (; is_digit(c); c->at++) {
        value = 10 * value + (*c->at - '0');
        if (value > 9999)
            return false;
    }
    *exponent += negative ? -value : value;
    return true;
}

/* A JSON number; an integer when it has neither fraction nor exponent. */
static bool scan_number(struct cursor *c, struct scan_value *v)
{
    const char *begin = c->at;
    uint64_t mantissa = 0;
    int digits = 0, exponent = 0;
    bool negative = *c->at == '-', whole = true;
    c->at += negative;
    if (!is_digit(c))
        return false;
    bool zero_first = *c->at == '0';
    for (; is_digit(c); c->at++, digits++)
        mantissa = 10 * mantissa + (uint64_t)(*c->at - '0');
    if ((zero_first && digits > 1) || digits > DIGITS_MOST)
        return false;
    if (c->at < c->end && *c->at == '.') {
        whole = false;
        c->at++;
        if (!is_digit(c))
            return false;
        for (; is_digit(c); c->at++, digits++, exponent--)
            mantissa = 10 * mantissa + (uint64_t)(*c->at - '0');
        if (digits > DIGITS_MOST)
            return false;
    }
    if (c->at < c->end && (*c->at == 'e' || *c->at == 'E')) {
        whole = false;
        if (!scan_exponent(c, &exponent))
            return false;
    }
    if (whole) {
        v->kind = SCAN_INTEGER;
        v->integer = negative ? -(int64_t)mantissa : (int64_t)mantissa;
        return true;
    }
    v->kind = SCAN_REAL;
    return to_real(mantissa, exponent, negative, begin, &v->real);
}

/* A string without escapes, printable ASCII only. */
static bool scan_string(struct cursor *c, const char **text, int *length)
{
    if (c->at >= c->end || *c->at != '"')
        return false;
    const char *begin = ++c->at;
    while (c->at < c->end && *c->at != '"') {
        if (*c->at < ' ' || *c->at == '\\' || *c->at == 0x7f)
            return false;
        c->at++;
    }
    if (c->at >= c->end)
        return false;
    *text = begin;
    *length = (int)(c->at++ - begin);
    return true;
}

static bool scan_char(struct cursor *c, char wanted)
{
    if (c->at >= c->end || *c->at != wanted)
        return false;
    c->at++;
    return true;
}

static bool is_word(const struct scan_value *v, const char *word)
{
    return (size_t)v->length == strlen(word) && memcmp(v->text, word, strlen(word)) == 0;
}

/* A list of numbers, kept as it stands when there are two or more. */
static bool scan_times(struct cursor *c, struct scan_value *v)
{
    const char *begin = c->at;
    int count = 0;
    if (!scan_char(c, '['))
        return false;
    do {
        struct scan_value number;
        if (c->at >= c->end || !scan_number(c, &number))
            return false;
        count++;
    } while (scan_char(c, ','));
    if (!scan_char(c, ']'))
        return false;
    v->kind = count > 1 ? SCAN_STRING : SCAN_NULL;
    v->text = begin;
    v->length = (int)(c->at - begin);
    return true;
}

static bool scan_value(struct cursor *c, enum value_type type, struct scan_value *v)
{
    if (c->at >= c->end)
        return false;
    if (type == VALUE_TIMES)
        return scan_times(c, v);
    if (*c->at == '"') {
        v->kind = SCAN_STRING;
        if (!scan_string(c, &v->text, &v->length))
            return false;
        if (type == VALUE_REAL)
            return is_word(v, "NaN") || is_word(v, "Infinity") || is_word(v, "-Infinity");
        return type == VALUE_MAYBE || (type == VALUE_TEXT && v->length > 0);
    }
    if (!scan_number(c, v))
        return false;
    if (type == VALUE_REAL && v->kind == SCAN_INTEGER) {
        v->real = (double)v->integer;
        v->kind = SCAN_REAL;
    }
    return type == VALUE_REAL ||
           ((type == VALUE_COUNT || type == VALUE_NEEDED) && v->kind == SCAN_INTEGER && v->integer >= 0);
}

/* The column of a name, tried first at `guess`: fields mostly come in the order of the table. */
static int find_column(const struct column *columns, int guess, const char *name, int length)
{
    const char *expected = columns[guess].name;
    if (expected && strncmp(expected, name, (size_t)length) == 0 && expected[length] == '\0')
        return guess;
    for (int i = 0; columns[i].name; i++)
        if (strncmp(columns[i].name, name, (size_t)length) == 0 && columns[i].name[length] == '\0')
            return i;
    return -1;
}

static bool complete(const struct column *columns, const struct scan_value *values)
{
    for (int i = 0; columns[i].name; i++)
        if (values[i].kind == SCAN_NULL && (columns[i].type == VALUE_NEEDED || columns[i].type == VALUE_TEXT))
            return false;
    return true;
}

static void clear(const struct column *columns, struct scan_value *values)
{
    for (int i = 0; columns[i].name; i++)
        values[i].kind = SCAN_NULL;
}

/* "name":value into its column; a column given twice is jansson's to judge. */
static bool scan_field(struct cursor *c, const struct column *columns, struct scan_value *values, int *next,
                       uint64_t *seen, const char *name, int length)
{
    int i = find_column(columns, *next, name, length);
    if (i < 0 || (*seen & UINT64_C(1) << i))
        return false;
    *seen |= UINT64_C(1) << i;
    *next = columns[i].name ? i + 1 : i;
    return scan_value(c, columns[i].type, &values[i]);
}

static bool scan_site(struct cursor *c, const struct column *columns, struct scan_value *values)
{
    int next = 0, length;
    uint64_t seen = 0;
    const char *name;
    clear(columns, values);
    if (!scan_char(c, '{'))
        return false;
    do {
        if (!scan_string(c, &name, &length) || !scan_char(c, ':') ||
            !scan_field(c, columns, values, &next, &seen, name, length))
            return false;
    } while (scan_char(c, ','));
    return scan_char(c, '}') && complete(columns, values);
}

static bool scan_sites(struct cursor *c, const struct column *columns, struct scan_line *out)
{
    if (out->sites || !scan_char(c, '['))
        return false;
    do {
        if (out->sites == SCAN_SITES || !scan_site(c, columns, out->site[out->sites]))
            return false;
        out->sites++;
    } while (scan_char(c, ','));
    return scan_char(c, ']');
}

bool intake_scan_step(const char *text, size_t size, const struct column *columns, const struct column *site_columns,
                      struct scan_line *out)
{
    static const char start[] = "{\"table\":\"step\"";
    struct cursor c = {text + sizeof start - 1, text + size};
    int next = 0, length;
    uint64_t seen = 0;
    const char *name;
    if (size < sizeof start || memcmp(text, start, sizeof start - 1) != 0)
        return false;
    clear(columns, out->value);
    out->sites = 0;
    while (scan_char(&c, ',')) {
        if (!scan_string(&c, &name, &length) || !scan_char(&c, ':'))
            return false;
        bool sites = length == 9 && memcmp(name, "site_step", 9) == 0;
        if (sites ? !scan_sites(&c, site_columns, out)
                  : !scan_field(&c, columns, out->value, &next, &seen, name, length))
            return false;
    }
    return scan_char(&c, '}') && c.at == c.end && complete(columns, out->value);
}
