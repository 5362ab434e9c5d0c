#include "core/data/pretokenize.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "core/base/memory.h"
#include "core/data/split_pattern.h"

static const char pattern[] = "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^" SPLIT_SPACES "\\p{L}\\p{N}]+"
                              "|[" SPLIT_SPACES "]+(?![^" SPLIT_SPACES "])|[" SPLIT_SPACES "]+";

const char *pretokenizer_gpt2_pattern(void)
{
    return pattern;
}

struct pretokenizer {
    pcre2_code *code, *anything; /* the pattern; the empty pattern, whose match only checks the UTF-8 */
    pcre2_match_data *match;
    bool jit, regex_only;
    const unsigned char *bytes;
    size_t length, at;
    size_t valid_end; /* [at, valid_end) is known to be UTF-8 when at < valid_end */
};

enum kind { LETTER, NUMBER, SPACE, OTHER, BEYOND };

/* What the pattern takes each ASCII character for; BEYOND is no ASCII. */
static enum kind kind_of(unsigned char c)
{
    static const uint8_t kinds[256] = {
        ['A' ... 'Z'] = LETTER, ['a' ... 'z'] = LETTER, ['0' ... '9'] = NUMBER, ['\t' ... '\r'] = SPACE,
        [' '] = SPACE,          [0 ... 8] = OTHER,      [0xe ... 0x1f] = OTHER, ['!' ... '/'] = OTHER,
        [':' ... '@'] = OTHER,  ['[' ... '`'] = OTHER,  ['{' ... 0x7f] = OTHER, [0x80 ... 0xff] = BEYOND,
    };
    return (enum kind)kinds[c];
}

static int compile(struct pretokenizer *p, struct error *err)
{
    int code;
    PCRE2_SIZE offset;
    p->code = pcre2_compile((PCRE2_SPTR)pattern, sizeof pattern - 1, PCRE2_UTF, &code, &offset, NULL);
    if (p->code)
        p->anything = pcre2_compile((PCRE2_SPTR) "", 0, PCRE2_UTF, &code, &offset, NULL);
    if (!p->code || !p->anything) {
        PCRE2_UCHAR text[256] = "";
        pcre2_get_error_message(code, text, sizeof text);
        return error_set(err, STATUS_FAILED, "PCRE2 cannot compile the pre-tokenizer: %s", (char *)text);
    }
    p->jit = pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE) == 0;
    p->match = pcre2_match_data_create(1, NULL);
    return STATUS_OK;
}

int pretokenizer_create(struct pretokenizer **out, struct error *err)
{
    struct pretokenizer *p = memory_alloc(1, sizeof *p);
    int status = compile(p, err);
    if (status) {
        pretokenizer_destroy(p);
        p = NULL;
    }
    *out = p;
    return status;
}

void pretokenizer_destroy(struct pretokenizer *p)
{
    if (!p)
        return;
    pcre2_match_data_free(p->match);
    pcre2_code_free(p->code);
    pcre2_code_free(p->anything);
    free(p);
}

void pretokenizer_use_regex_only(struct pretokenizer *p, bool regex_only)
{
    p->regex_only = regex_only;
}

void pretokenizer_start(struct pretokenizer *p, const unsigned char *bytes, size_t length)
{
    p->bytes = bytes;
    p->length = length;
    p->at = p->valid_end = 0;
}

/* The length of the contraction at b[at], which is an apostrophe; 0 for none. */
static size_t contraction(const unsigned char *b, size_t at, size_t n)
{
    if (at + 1 >= n)
        return 0;
    unsigned char c = b[at + 1], d = at + 2 < n ? b[at + 2] : 0;
    if (c == 's' || c == 't' || c == 'm' || c == 'd')
        return 2;
    return (c == 'r' && d == 'e') || (c == 'v' && d == 'e') || (c == 'l' && d == 'l') ? 3 : 0;
}

/* The end of the piece at p->at when ASCII alone decides it, else 0. */
static size_t scan_ascii(const struct pretokenizer *p)
{
    const unsigned char *b = p->bytes;
    size_t n = p->length, at = p->at;
    if (b[at] == '\'') {
        size_t taken = contraction(b, at, n);
        if (taken)
            return at + taken;
    }
    size_t i = at + (b[at] == ' ');
    enum kind kind = i < n ? kind_of(b[i]) : SPACE;
    if (kind == BEYOND)
        return 0;
    if (kind != SPACE) {
        for (i++; i < n && kind_of(b[i]) == kind;)
            i++;
        return i < n && kind_of(b[i]) == BEYOND ? 0 : i;
    }
    for (i = at; i < n && kind_of(b[i]) == SPACE;)
        i++;
    if (i < n && kind_of(b[i]) == BEYOND)
        return 0;
    /* A run before something else leaves its last space to that, unless it is the only one. */
    return i == n || i == at + 1 ? i : i - 1;
}

/* How many bytes from `at` are UTF-8 before the first that is not. */
static int valid_prefix(struct pretokenizer *p, size_t at, size_t *valid, struct error *err)
{
    int rc = pcre2_match(p->anything, p->bytes + at, p->length - at, 0, 0, p->match, NULL);
    if (rc >= 0) {
        *valid = p->length - at;
    } else if (rc <= PCRE2_ERROR_UTF8_ERR1 && rc >= PCRE2_ERROR_UTF8_ERR21) {
        *valid = pcre2_get_startchar(p->match);
    } else {
        return error_set(err, STATUS_FAILED, "PCRE2 cannot check UTF-8: error %d", rc);
    }
    return STATUS_OK;
}

/* Move past the bytes at p->at that are not UTF-8, and learn how far UTF-8 goes from there. */
static int skip_invalid(struct pretokenizer *p, struct error *err)
{
    size_t valid = 0;
    while (p->at < p->length) {
        int status = valid_prefix(p, p->at, &valid, err);
        if (status)
            return status;
        if (valid)
            break;
        p->at++;
    }
    p->valid_end = p->at + valid;
    return STATUS_OK;
}

static int match_regex(struct pretokenizer *p, size_t *end, struct error *err)
{
    PCRE2_SPTR from = p->bytes + p->at;
    size_t length = p->valid_end - p->at;
    int rc = p->jit ? pcre2_jit_match(p->code, from, length, 0, PCRE2_NO_UTF_CHECK, p->match, NULL)
                    : pcre2_match(p->code, from, length, 0, PCRE2_NO_UTF_CHECK, p->match, NULL);
    PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(p->match);
    if (rc < 0 || bounds[0] != 0 || bounds[1] == 0)
        return error_set(err, STATUS_FAILED, "PCRE2 cannot match the pre-tokenizer: error %d", rc);
    *end = p->at + bounds[1];
    return STATUS_OK;
}

int pretokenizer_next(struct pretokenizer *p, size_t *begin, size_t *end, struct error *err)
{
    if (p->at >= p->length)
        return 0;
    *begin = p->at;
    *end = p->regex_only ? 0 : scan_ascii(p);
    int status = STATUS_OK;
    if (*end == 0 && p->at >= p->valid_end) {
        status = skip_invalid(p, err);
        if (p->at > *begin)
            *end = p->at;
    }
    if (!status && *end == 0)
        status = match_regex(p, end, err);
    if (status)
        return status;
    p->at = *end;
    return 1;
}

uint64_t pretokenizer_hash(const unsigned char *bytes, size_t length)
{
    /* Eight bytes a step, mixed by a multiplication and a shift (the constants of MurmurHash3's finalizer). */
    uint64_t h = length * 0x9e3779b97f4a7c15u, word;
    for (; length >= 8; bytes += 8, length -= 8) {
        memcpy(&word, bytes, 8);
        h = (h ^ word) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, bytes, length);
    h = (h ^ word) * 0xff51afd7ed558ccdu;
    return h ^ h >> 32;
}
