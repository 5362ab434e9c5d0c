/* tokenizer.json, the one file of the fast tokenizers: vocabulary, merges, and every step besides. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json_file.h"
#include "core/base/memory.h"
#include "core/data/pretokenize.h"
#include "core/data/text.h"
#include "core/data/tokenizer_internal.h"

struct loading {
    struct tokenizer *t;
    const char *name;
    json_t *vocab; /* of the model */
    struct faults *f;
    size_t used; /* of the arena */
};

/* ------------------------------------------------------------------------------------------- entries */

/* The bytes a symbol stands for, into the arena; false when a character stands for none. */
static bool take_symbol(struct loading *l, const char *symbol, struct tokenizer_token *token)
{
    unsigned char *to = l->t->arena + l->used;
    token->bytes = to;
    for (const unsigned char *s = (const unsigned char *)symbol; *s;) {
        uint32_t code = *s++;
        if (code >= 0xc0 && code < 0xe0)
            code = (code & 0x1f) << 6 | (*s++ & 0x3f);
        else if (code >= 0x80)
            return false;
        const int byte = tokenizer_byte_of_symbol(code);
        if (byte < 0)
            return false;
        *to++ = (unsigned char)byte;
    }
    token->length = (size_t)(to - token->bytes);
    l->used += token->length;
    return true;
}

static bool take_place(struct loading *l, const char *symbol, json_int_t id)
{
    const bool inside = id >= 0 && id < (json_int_t)l->t->vocab;
    if (!inside)
        faults_add(l->f, "%s: entry \"%.60s\": id %lld; %u entries want the ids 0 to %u, each once", l->name, symbol,
                   (long long)id, l->t->vocab, l->t->vocab - 1);
    else if (l->t->tokens[id].bytes)
        faults_add(l->f, "%s: entry \"%.60s\": id %lld is also that of another", l->name, symbol, (long long)id);
    return inside && !l->t->tokens[id].bytes;
}

/* Special and added tokens first: they are spelt as they are, also where the vocabulary has them too. */
static void take_added(struct loading *l, const json_t *list)
{
    size_t i;
    json_t *one;
    json_array_foreach(list, i, one)
    {
        const char *content = json_string_value(json_object_get(one, "content"));
        const json_int_t id = json_integer_value(json_object_get(one, "id"));
        const json_t *known = json_object_get(l->vocab, content);
        if (known && (!json_is_integer(known) || json_integer_value(known) != id))
            faults_add(l->f, "%s: added_tokens: '%.60s' has id %lld, and another one in the vocabulary", l->name,
                       content, (long long)id);
        if (!take_place(l, content, id))
            continue;
        const size_t length = strlen(content);
        memcpy(l->t->arena + l->used, content, length);
        l->t->tokens[id] = (struct tokenizer_token){l->t->arena + l->used, length};
        l->used += length;
    }
}

static void take_vocab(struct loading *l, const json_t *added)
{
    const char *symbol;
    json_t *value, *names = json_object(), *one;
    size_t i;
    json_array_foreach(added, i, one)
        json_object_set_new(names, json_string_value(json_object_get(one, "content")), json_true());
    json_object_foreach(l->vocab, symbol, value)
    {
        const json_int_t id = json_is_integer(value) ? json_integer_value(value) : -1;
        if (json_object_get(names, symbol) || !take_place(l, symbol, id))
            continue;
        if (!*symbol || !take_symbol(l, symbol, &l->t->tokens[id]))
            faults_add(l->f, "%s: entry \"%.60s\": %s", l->name, symbol,
                       *symbol ? "has a character that stands for no byte (want a byte-level BPE)"
                               : "an entry is the empty string");
    }
    json_decref(names);
}

static void find_bytes(struct loading *l)
{
    bool found[256] = {false};
    for (uint32_t id = 0; id < l->t->vocab; id++)
        if (l->t->tokens[id].length == 1 && !tokenizer_is_named(l->t, id)) {
            const unsigned char byte = l->t->tokens[id].bytes[0];
            found[byte] = true;
            l->t->byte_id[byte] = id;
        }
    for (int byte = 0; byte < 256; byte++)
        if (!found[byte]) {
            faults_add(l->f, "%s: no entry for byte 0x%02x (the character U+%04X)", l->name, byte,
                       tokenizer_byte_symbol((unsigned char)byte));
            return;
        }
}

/* ------------------------------------------------------------------------------------------- merges */

static bool find_symbol(const struct loading *l, const char *symbol, size_t length, uint32_t *id)
{
    const json_t *value = json_object_getn(l->vocab, symbol, length);
    *id = (uint32_t)json_integer_value(value);
    return json_is_integer(value);
}

/* "left right", or in newer files ["left", "right"]. */
static void take_merge(struct loading *l, const json_t *merge, size_t i)
{
    const char *whole = json_string_value(merge), *left = json_string_value(json_array_get(merge, 0));
    const char *right = json_string_value(json_array_get(merge, 1)), *space = whole ? strchr(whole, ' ') : NULL;
    if (space) {
        left = whole;
        right = space + 1;
    }
    if (!left || !right || (whole && strchr(right, ' ')) || (!whole && json_array_size(merge) != 2)) {
        faults_add(l->f, "%s: merge %zu: want two symbols", l->name, i);
        return;
    }
    struct tokenizer_merge made;
    const size_t length = space ? (size_t)(space - whole) : strlen(left);
    char *result = memory_format("%.*s%s", (int)length, left, right);
    if (!find_symbol(l, left, length, &made.left) || !find_symbol(l, right, strlen(right), &made.right))
        faults_add(l->f, "%s: merge %zu: '%.*s' '%.60s': not both are entries", l->name, i,
                   length > 60 ? 60 : (int)length, left, right);
    else if (!find_symbol(l, result, strlen(result), &made.result))
        faults_add(l->f, "%s: merge %zu: the result '%.60s' is no entry", l->name, i, result);
    else
        l->t->merges[l->t->merge_count++] = made;
    free(result);
}

/* Would GPT-2's two files say it all? Every entry once a byte, made by one merge of earlier ones, or the end of text.
 */
static bool is_orderly(const struct tokenizer *t)
{
    bool orderly = true, *made = memory_alloc(t->vocab, sizeof *made);
    for (int byte = 0; byte < 256; byte++)
        made[t->byte_id[byte]] = true;
    for (uint32_t i = 0; i < t->merge_count && orderly; i++) {
        const struct tokenizer_merge *m = &t->merges[i];
        orderly = made[m->left] && made[m->right] && !made[m->result];
        made[m->result] = true;
    }
    for (uint32_t id = 0; id < t->vocab && orderly; id++)
        orderly = made[id] != (id == t->end_of_text);
    free(made);
    return orderly && t->tokens[t->end_of_text].length == strlen(TEXT_SEPARATOR) &&
           memcmp(t->tokens[t->end_of_text].bytes, TEXT_SEPARATOR, strlen(TEXT_SEPARATOR)) == 0;
}

/* ------------------------------------------------------------------------------------------- whole pieces */

uint32_t tokenizer_find_whole(const struct tokenizer *t, const unsigned char *bytes, size_t length)
{
    const struct tokenizer_steps *s = t->steps;
    for (uint32_t i = (uint32_t)pretokenizer_hash(bytes, length) & s->whole_mask;; i = (i + 1) & s->whole_mask) {
        const uint32_t id = s->whole[i];
        if (id == UINT32_MAX || (t->tokens[id].length == length && memcmp(t->tokens[id].bytes, bytes, length) == 0))
            return id;
    }
}

static void fill_whole(struct tokenizer *t)
{
    struct tokenizer_steps *s = t->steps;
    uint32_t size = 1024;
    while (size < 2 * (uint64_t)t->vocab)
        size *= 2;
    s->whole_mask = size - 1;
    s->whole = memory_alloc(size, sizeof *s->whole);
    memset(s->whole, 0xff, size * sizeof *s->whole);
    for (uint32_t id = 0; id < t->vocab; id++) {
        if (tokenizer_is_named(t, id))
            continue;
        uint32_t i = (uint32_t)pretokenizer_hash(t->tokens[id].bytes, t->tokens[id].length) & s->whole_mask;
        while (s->whole[i] != UINT32_MAX)
            i = (i + 1) & s->whole_mask;
        s->whole[i] = id;
    }
}

/* ------------------------------------------------------------------------------------------- the whole file */

static size_t total_length(const json_t *vocab, const json_t *added)
{
    size_t total = 1, i;
    const char *symbol;
    json_t *value;
    json_object_foreach((json_t *)vocab, symbol, value) total += strlen(symbol);
    json_array_foreach(added, i, value)
    {
        const char *content = json_string_value(json_object_get(value, "content"));
        total += content ? strlen(content) : 0;
    }
    return total;
}

static size_t count_entries(const json_t *vocab, const json_t *added)
{
    size_t count = json_object_size(vocab), i;
    json_t *one;
    json_array_foreach(added, i, one) count +=
        !json_object_get(vocab, json_string_value(json_object_get(one, "content")));
    return count;
}

static void find_end(struct loading *l, const char *end_of_text)
{
    const char *wanted = end_of_text ? end_of_text : TEXT_SEPARATOR;
    struct tokenizer *t = l->t;
    t->end_of_text = t->vocab;
    for (uint32_t i = 0; i < t->steps->added_count; i++) {
        const struct tokenizer_token *token =
            t->steps->added[i].id < t->vocab ? &t->tokens[t->steps->added[i].id] : NULL;
        if (token && token->length == strlen(wanted) && memcmp(token->bytes, wanted, token->length) == 0)
            t->end_of_text = t->steps->added[i].id;
    }
    if (t->end_of_text == t->vocab)
        faults_add(
            l->f,
            "%s: no added token '%.60s', which %s; tokenizer_config.json beside it names the one that ends a text "
            "as eos_token",
            l->name, wanted, end_of_text ? "is its eos_token" : "ends a text");
    for (uint32_t i = 0; i < t->steps->before_count; i++)
        if (t->steps->before[i] >= t->vocab)
            faults_add(l->f, "%s: post_processor: an id outside the %u entries", l->name, t->vocab);
}

static void read_all(struct loading *l, const json_t *object, const char *end_of_text)
{
    struct tokenizer *t = l->t;
    const json_t *model = json_object_get(object, "model"), *merges = json_object_get(model, "merges");
    const json_t *added = json_object_get(object, "added_tokens");
    size_t i;
    json_t *merge;
    l->vocab = json_object_get(model, "vocab");
    if (!json_is_object(l->vocab) || !json_is_array(merges)) {
        faults_add(l->f, "%s: model: want a BPE with an object vocab and an array merges", l->name);
        return;
    }
    tokenizer_steps_read(t->steps, object, l->name, l->f);
    if (l->f->count)
        return;
    const size_t entries = count_entries(l->vocab, added);
    if (entries < TOKENIZER_LEAST_VOCAB || entries > TOKENIZER_MOST_VOCAB) {
        faults_add(l->f, "%s: want %d to %d entries, got %zu", l->name, TOKENIZER_LEAST_VOCAB, TOKENIZER_MOST_VOCAB,
                   entries);
        return;
    }
    t->vocab = t->end_of_text = (uint32_t)entries;
    t->tokens = memory_alloc(entries, sizeof *t->tokens);
    t->arena = memory_alloc(total_length(l->vocab, added), 1);
    t->merges = memory_alloc(json_array_size(merges), sizeof *t->merges);
    take_added(l, added);
    take_vocab(l, added);
    find_end(l, end_of_text);
    find_bytes(l);
    json_array_foreach((json_t *)merges, i, merge) take_merge(l, merge, i);
}

int tokenizer_from_json(struct tokenizer **out, const json_t *object, const char *name, const char *end_of_text,
                        struct error *err)
{
    struct faults f = {.err = err};
    struct loading l = {.t = memory_alloc(1, sizeof *l.t), .name = name, .f = &f};
    l.t->steps = memory_alloc(1, sizeof *l.t->steps);
    read_all(&l, object, end_of_text);
    *out = NULL;
    if (f.count) {
        tokenizer_destroy(l.t);
        return faults_end(&f);
    }
    if (l.t->steps->whole_pieces)
        fill_whole(l.t);
    if (tokenizer_steps_are_plain(l.t->steps) && is_orderly(l.t)) {
        tokenizer_steps_destroy(l.t->steps);
        l.t->steps = NULL;
    }
    tokenizer_finish(l.t);
    *out = l.t;
    return STATUS_OK;
}

/* The token that ends a text, as tokenizer_config.json names it: a word, or an object with its content. */
static char *read_end(const char *directory, struct error *err, int *status)
{
    char *path = file_join(directory, "tokenizer_config.json"), *end = NULL;
    json_t *object = NULL;
    if (access(path, F_OK) == 0 && !(*status = json_file_read(path, &object, err))) {
        const json_t *token = json_object_get(object, "eos_token");
        const char *name = json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
        end = name ? memory_string(name) : NULL;
    }
    json_decref(object);
    free(path);
    return end;
}

int tokenizer_json_load(struct tokenizer **out, const char *directory, struct error *err)
{
    char *path = file_join(directory, "tokenizer.json");
    json_t *object = NULL;
    int status = STATUS_OK;
    *out = NULL;
    char *end = read_end(directory, err, &status);
    if (!status)
        status = json_file_read(path, &object, err);
    if (!status)
        status = tokenizer_from_json(out, object, path, end, err);
    json_decref(object);
    free(end);
    free(path);
    return status;
}

/* ------------------------------------------------------------------------------------------- writing */

static json_t *merge_list(const struct tokenizer *t)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < t->merge_count; i++) {
        char *left = tokenizer_symbol(t, t->merges[i].left), *right = tokenizer_symbol(t, t->merges[i].right);
        json_array_append_new(list, json_pack("[s, s]", left, right));
        free(left);
        free(right);
    }
    return list;
}

int tokenizer_json_save(const struct tokenizer *t, const char *directory, struct error *err)
{
    char *path = file_join(directory, "tokenizer.json"), *config = file_join(directory, "tokenizer_config.json");
    char *end = tokenizer_symbol(t, t->end_of_text);
    json_t *object = json_deep_copy(t->steps->source), *model = json_object_get(object, "model"),
           *vocab = json_object();
    for (uint32_t id = 0; id < t->vocab; id++) {
        char *symbol = tokenizer_symbol(t, id);
        json_object_set_new(vocab, symbol, json_integer(id));
        free(symbol);
    }
    json_object_set_new(object, "version", json_string("1.0"));
    json_object_set_new(model, "vocab", vocab);
    json_object_set_new(model, "merges", merge_list(t));
    json_t *companion = json_pack("{s:s}", "eos_token", end);
    int status = json_file_write(config, companion, JSON_INDENT(2), err);
    if (!status) /* last: with it the directory is a tokenizer */
        status = json_file_write(path, object, JSON_COMPACT, err);
    json_decref(object);
    json_decref(companion);
    free(path);
    free(config);
    free(end);
    return status;
}
