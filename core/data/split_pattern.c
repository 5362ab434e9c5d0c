#include "core/data/split_pattern.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"

enum { LONGEST = 160 }; /* of what one character becomes */

struct reading {
    const char *at;
    char *out;
    size_t used, room;
    char *why; /* [SPLIT_WHY] */
};

static void put(struct reading *r, const char *text, size_t length)
{
    if (r->used + length + LONGEST > r->room) {
        r->room = 2 * (r->used + length + LONGEST);
        r->out = memory_resize(r->out, r->room, 1);
    }
    memcpy(r->out + r->used, text, length);
    r->used += length;
    r->out[r->used] = '\0';
}

static void put_text(struct reading *r, const char *text)
{
    put(r, text, strlen(text));
}

/* Keep the next characters as they are. */
static bool keep(struct reading *r, size_t length)
{
    put(r, r->at, length);
    r->at += length;
    return true;
}

static bool refuse(struct reading *r, const char *what, size_t length)
{
    snprintf(r->why, SPLIT_WHY, "'%.*s' has no counterpart here", length > 24 ? 24 : (int)length, what);
    return false;
}

/* \p{L}, \P{Lu}, \p{^Han}: a general category, or else a script. PCRE2 takes a bare name of a script for its
 * extensions, so it is told which is meant. */
static bool read_property(struct reading *r)
{
    static const char *const categories[] = {"C",  "Cc", "Cf", "Cn", "Co", "Cs", "L",  "Ll", "Lm", "Lo",
                                             "Lt", "Lu", "M",  "Mc", "Me", "Mn", "N",  "Nd", "Nl", "No",
                                             "P",  "Pc", "Pd", "Pe", "Pf", "Pi", "Po", "Ps", "S",  "Sc",
                                             "Sk", "Sm", "So", "Z",  "Zl", "Zp", "Zs"};
    const char *begin = r->at, *name = begin + 3;
    if (begin[2] != '{')
        return refuse(r, begin, 2);
    const char *end = strchr(name, '}');
    if (!end)
        return refuse(r, begin, strlen(begin));
    const bool negated = *name == '^';
    name += negated;
    const size_t length = (size_t)(end - name);
    bool category = false, word = length > 2;
    for (size_t i = 0; i < sizeof categories / sizeof categories[0]; i++)
        category = category || (strlen(categories[i]) == length && strncmp(categories[i], name, length) == 0);
    for (size_t i = 0; i < length; i++)
        word = word && (isalpha((unsigned char)name[i]) || name[i] == '_');
    if (!category && !word)
        return refuse(r, begin, (size_t)(end + 1 - begin));
    put_text(r, (begin[1] == 'P') != negated ? "\\P{" : "\\p{");
    put_text(r, category ? "" : "sc:");
    put(r, name, length);
    put_text(r, "}");
    r->at = end + 1;
    return true;
}

/* \xHH, \x{H...}, \uHHHH. */
static bool read_code(struct reading *r)
{
    const char *begin = r->at, *digits = begin + 2;
    const bool braced = begin[1] == 'x' && *digits == '{';
    const size_t most = braced ? 6 : begin[1] == 'x' ? 2 : 4;
    size_t length = 0;
    digits += braced;
    while (length < most && isxdigit((unsigned char)digits[length]))
        length++;
    if (length == 0 || (braced ? digits[length] != '}' : length != most))
        return refuse(r, begin, 2 + length);
    put_text(r, "\\x{");
    put(r, digits, length);
    put_text(r, "}");
    r->at = digits + length + braced;
    return true;
}

static bool read_escape(struct reading *r, bool class)
{
    const char c = r->at[1];
    const struct {
        char escape;
        const char *alone, *in_class; /* NULL: refused */
    } others[] = {{'s', "[" SPLIT_SPACES "]", SPLIT_SPACES},
                  {'S', "[^" SPLIT_SPACES "]", NULL},
                  {'d', "\\p{Nd}", "\\p{Nd}"},
                  {'D', "\\P{Nd}", "\\P{Nd}"},
                  {'v', "\\x{b}", "\\x{b}"}};
    if (c == 'p' || c == 'P')
        return read_property(r);
    if (c == 'x' || c == 'u')
        return read_code(r);
    if ((unsigned char)c < 0x80 && c && (ispunct((unsigned char)c) || strchr("rntf ", c)))
        return keep(r, 2);
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        const char *text = class ? others[i].in_class : others[i].alone;
        if (others[i].escape == c && text) {
            put_text(r, text);
            r->at += 2;
            return true;
        }
    }
    return refuse(r, r->at, c ? 2 : 1);
}

static bool read_class(struct reading *r)
{
    const char *begin = r->at;
    keep(r, r->at[1] == '^' ? 2 : 1);
    if (*r->at == ']')
        return refuse(r, begin, (size_t)(r->at + 1 - begin));
    while (*r->at != ']') {
        if (*r->at == '\0' || *r->at == '[' || strncmp(r->at, "&&", 2) == 0)
            return refuse(r, begin, (size_t)(r->at + 1 - begin));
        if (*r->at == '\\' ? !read_escape(r, true) : !keep(r, 1))
            return false;
    }
    return keep(r, 1);
}

static bool read_group(struct reading *r)
{
    static const char *const known[] = {"(?:", "(?=", "(?!", "(?>", "(?<=", "(?<!", "(?i:"};
    if (r->at[1] != '?')
        return r->at[1] == '*' ? refuse(r, r->at, 2) : keep(r, 1);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncmp(r->at, known[i], strlen(known[i])) == 0)
            return keep(r, strlen(known[i]));
    return refuse(r, r->at, 3);
}

/* {n}, {n,}, {n,m}; a sign behind it means something else in each of the two. */
static bool read_count(struct reading *r)
{
    size_t i = 1;
    while (isdigit((unsigned char)r->at[i]))
        i++;
    const size_t first = i;
    if (r->at[i] == ',')
        for (i++; isdigit((unsigned char)r->at[i]);)
            i++;
    if (first == 1 || r->at[i] != '}')
        return refuse(r, r->at, i + 1 > strlen(r->at) ? strlen(r->at) : i + 1);
    if (strchr("?*+", r->at[i + 1]) && r->at[i + 1])
        return refuse(r, r->at, i + 2);
    return keep(r, i + 1);
}

static bool read_one(struct reading *r)
{
    switch (*r->at) {
    case '\\':
        return read_escape(r, false);
    case '[':
        return read_class(r);
    case '(':
        return read_group(r);
    case '{':
        return read_count(r);
    case '^':
        return refuse(r, "^", 1);
    case '$': /* the end of any line */
        put_text(r, "(?=\\n|\\z)");
        r->at++;
        return true;
    default:
        return keep(r, 1);
    }
}

char *split_pattern_translate(const char *pattern, char why[SPLIT_WHY])
{
    struct reading r = {.at = pattern, .why = why};
    put_text(&r, "");
    while (*r.at)
        if (!read_one(&r)) {
            free(r.out);
            return NULL;
        }
    return r.out;
}

char *split_pattern_literal(const char *text)
{
    struct reading r = {.at = text};
    for (put_text(&r, ""); *r.at;) {
        if (ispunct((unsigned char)*r.at) && (unsigned char)*r.at < 0x80)
            put_text(&r, "\\");
        keep(&r, 1);
    }
    return r.out;
}
