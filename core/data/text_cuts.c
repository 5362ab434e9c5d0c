#include "core/data/text_cuts.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistr.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/memory.h"

struct ends {
    size_t *at, count, capacity;
};

struct text_cuts {
    pcre2_code **codes;
    bool *jit;
    int count;
    pcre2_match_data *match;
    struct ends now, next; /* after the patterns so far, and while one more is applied */
};

static pcre2_code *compile(const char *pattern, struct error *err)
{
    int code;
    PCRE2_SIZE offset;
    pcre2_code *made = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern), PCRE2_UTF, &code, &offset, NULL);
    if (!made) {
        PCRE2_UCHAR text[200] = "";
        pcre2_get_error_message(code, text, sizeof text);
        error_set(err, STATUS_BAD_INPUT, "PCRE2 cannot compile the pattern: %s at byte %zu of %.200s", (char *)text,
                  (size_t)offset, pattern);
    }
    return made;
}

int text_cuts_check_pattern(const char *pattern, struct error *err)
{
    pcre2_code *made = compile(pattern, err);
    pcre2_code_free(made);
    return made ? STATUS_OK : STATUS_BAD_INPUT;
}

int text_cuts_create(struct text_cuts **out, char *const *patterns, int count, struct error *err)
{
    struct text_cuts *c = memory_alloc(1, sizeof *c);
    c->codes = memory_alloc((size_t)count, sizeof *c->codes);
    c->jit = memory_alloc((size_t)count, sizeof *c->jit);
    c->match = pcre2_match_data_create(1, NULL);
    *out = c;
    for (; c->count < count; c->count++) {
        c->codes[c->count] = compile(patterns[c->count], err);
        if (!c->codes[c->count]) {
            text_cuts_destroy(c);
            *out = NULL;
            return STATUS_FAILED;
        }
        c->jit[c->count] = pcre2_jit_compile(c->codes[c->count], PCRE2_JIT_COMPLETE) == 0;
    }
    return STATUS_OK;
}

void text_cuts_destroy(struct text_cuts *c)
{
    if (!c)
        return;
    for (int i = 0; i < c->count; i++)
        pcre2_code_free(c->codes[i]);
    pcre2_match_data_free(c->match);
    free(c->codes);
    free(c->jit);
    free(c->now.at);
    free(c->next.at);
    free(c);
}

static void reserve(struct ends *e)
{
    if (e->count < e->capacity)
        return;
    e->capacity = e->capacity ? 2 * e->capacity : 256;
    e->at = memory_resize(e->at, e->capacity, sizeof *e->at);
}

/* A piece ends here; the same place twice is once. */
static void add(struct ends *e, size_t end)
{
    if (end == 0 || (e->count && e->at[e->count - 1] == end))
        return;
    reserve(e);
    e->at[e->count++] = end;
}

/* Runs that are UTF-8, and runs that are not. */
static void cut_invalid(struct ends *e, const unsigned char *bytes, size_t length)
{
    for (size_t at = 0; at < length;) {
        const uint8_t *bad = u8_check(bytes + at, length - at);
        const size_t valid = bad ? (size_t)(bad - bytes) : length;
        if (valid > at)
            add(e, valid);
        for (at = valid; at < length && u8_mblen(bytes + at, length - at) < 0;)
            at++;
        add(e, at);
    }
}

/* Cut [begin, end) by one pattern, looked at as a text by itself. */
static int cut_piece(struct text_cuts *c, int i, const unsigned char *bytes, size_t begin, size_t end,
                     struct error *err)
{
    PCRE2_SPTR from = bytes + begin;
    const size_t length = end - begin;
    PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(c->match);
    for (size_t at = 0; at <= length;) {
        const uint32_t options = PCRE2_NO_UTF_CHECK;
        int rc = c->jit[i] ? pcre2_jit_match(c->codes[i], from, length, at, options, c->match, NULL)
                           : pcre2_match(c->codes[i], from, length, at, options, c->match, NULL);
        if (rc == PCRE2_ERROR_NOMATCH)
            break;
        if (rc < 0)
            return error_set(err, STATUS_FAILED, "PCRE2 cannot match the pre-tokenizer: error %d", rc);
        add(&c->next, begin + bounds[0]);
        add(&c->next, begin + bounds[1]);
        at = bounds[1];
        if (bounds[0] == bounds[1]) /* nothing matched: go on behind the next character */
            for (at++; at < length && (from[at] & 0xc0) == 0x80;)
                at++;
    }
    add(&c->next, end);
    return STATUS_OK;
}

const size_t *text_cuts_make(struct text_cuts *c, const unsigned char *bytes, size_t length, size_t *count,
                             struct error *err)
{
    c->now.count = 0;
    reserve(&c->now);
    reserve(&c->next);
    cut_invalid(&c->now, bytes, length);
    for (int i = 0; i < c->count; i++) {
        size_t begin = 0;
        c->next.count = 0;
        for (size_t k = 0; k < c->now.count; k++) {
            const size_t end = c->now.at[k];
            if (u8_check(bytes + begin, end - begin))
                add(&c->next, end);
            else if (cut_piece(c, i, bytes, begin, end, err))
                return NULL;
            begin = end;
        }
        struct ends made = c->next;
        c->next = c->now;
        c->now = made;
    }
    *count = c->now.count;
    return c->now.at;
}
