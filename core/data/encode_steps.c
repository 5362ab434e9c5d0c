/* A text through the steps of a tokenizer that does more than GPT-2's (tokenizer_steps.h gives their order). */
#include <stdlib.h>
#include <string.h>
#include <uninorm.h>
#include <unistr.h>

#include "core/base/memory.h"
#include "core/data/tokenizer_internal.h"

struct run {
    struct encoder *e;
    const struct tokenizer *t;
    uint32_t *ids;
    size_t count;
};

/* ------------------------------------------------------------------------------------------- the innermost */

static int encode_blank(struct run *r, const unsigned char *bytes, size_t length, struct error *err)
{
    size_t count = 0;
    int status;
    if (length == 0)
        return STATUS_OK;
    if (r->t->steps->prefix_space && bytes[0] != ' ') {
        unsigned char *copy = memory_alloc(length + 1, 1);
        copy[0] = ' ';
        memcpy(copy + 1, bytes, length);
        status = encoder_stretch(r->e, copy, length + 1, r->ids + r->count, &count, err);
        free(copy);
    } else {
        status = encoder_stretch(r->e, bytes, length, r->ids + r->count, &count, err);
    }
    r->count += count;
    return status;
}

/* ------------------------------------------------------------------------------------------- added tokens */

/* The first added token in the text, the longest of those that begin there; NULL for none. */
static const struct tokenizer_added *find_added(const struct tokenizer *t, bool normalized, const unsigned char *bytes,
                                                size_t length, size_t *at)
{
    const struct tokenizer_steps *s = t->steps;
    bool begins[256] = {false}, any = false;
    for (uint32_t i = 0; i < s->added_count; i++)
        if (!s->added[i].special && s->added[i].normalized == normalized)
            begins[t->tokens[s->added[i].id].bytes[0]] = any = true;
    for (*at = 0; any && *at < length; ++*at) {
        const struct tokenizer_added *best = NULL;
        size_t longest = 0;
        for (uint32_t i = 0; begins[bytes[*at]] && i < s->added_count; i++) {
            const struct tokenizer_token *token = &t->tokens[s->added[i].id];
            if (!s->added[i].special && s->added[i].normalized == normalized && token->length > longest &&
                token->length <= length - *at && memcmp(token->bytes, bytes + *at, token->length) == 0) {
                best = &s->added[i];
                longest = token->length;
            }
        }
        if (best)
            return best;
    }
    return NULL;
}

/* Every added token as its id, and what lies between through `between`. */
static int cut_added(struct run *r, bool normalized, const unsigned char *bytes, size_t length,
                     int (*between)(struct run *, const unsigned char *, size_t, struct error *), struct error *err)
{
    const struct tokenizer_added *found;
    size_t at;
    int status = STATUS_OK;
    while (!status && (found = find_added(r->t, normalized, bytes, length, &at))) {
        const size_t end = at + r->t->tokens[found->id].length;
        status = between(r, bytes, at, err);
        r->ids[r->count++] = found->id;
        bytes += end;
        length -= end;
    }
    return status ? status : between(r, bytes, length, err);
}

/* ------------------------------------------------------------------------------------------- form C */

/* Is it in form C by its bytes alone? No character below U+0300 (whose first byte is 0xCC) ever changes. */
static bool is_simple(const unsigned char *bytes, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (bytes[i] >= 0xcc)
            return false;
    return true;
}

/* Form C of what is UTF-8 in the bytes, the rest as it is; on the heap, NULL without memory. */
static unsigned char *normalize(const unsigned char *bytes, size_t length, size_t *out)
{
    unsigned char *made = NULL;
    *out = 0;
    for (size_t at = 0; at < length;) {
        const uint8_t *bad = u8_check(bytes + at, length - at);
        const size_t valid = (bad ? (size_t)(bad - bytes) : length) - at;
        size_t more = 0;
        uint8_t *form = valid ? u8_normalize(UNINORM_NFC, bytes + at, valid, NULL, &more) : NULL;
        if (valid && !form) {
            free(made);
            return NULL;
        }
        made = memory_resize(made, *out + more + 1, 1);
        memcpy(made + *out, form ? form : bytes, more);
        free(form);
        *out += more;
        at += valid;
        if (at < length)
            made[(*out)++] = bytes[at++];
    }
    return made;
}

static int encode_normalized(struct run *r, const unsigned char *bytes, size_t length, struct error *err)
{
    if (!r->t->steps->nfc || is_simple(bytes, length))
        return cut_added(r, true, bytes, length, encode_blank, err);
    size_t made_length;
    unsigned char *made = normalize(bytes, length, &made_length);
    if (!made)
        return error_set(err, STATUS_FAILED, "no memory to normalize %zu bytes", length);
    int status = cut_added(r, true, made, made_length, encode_blank, err);
    free(made);
    return status;
}

int encode_with_steps(struct encoder *e, const struct tokenizer *t, const unsigned char *bytes, size_t length,
                      uint32_t *ids, size_t *count, struct error *err)
{
    struct run r = {.e = e, .t = t, .ids = ids};
    for (uint32_t i = 0; i < t->steps->before_count; i++)
        r.ids[r.count++] = t->steps->before[i];
    int status = cut_added(&r, false, bytes, length, encode_normalized, err);
    *count = r.count;
    return status;
}
