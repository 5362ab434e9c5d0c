/* GPT-2's two files. The JSON object is also the table in which symbols are looked up while loading. */
#include <errno.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/data/text.h"
#include "core/data/tokenizer_internal.h"
#include "core/base/file.h"
#include "core/base/memory.h"

#define VOCAB_NAME  "vocab.json"
#define MERGES_NAME "merges.txt"
#define FIRST_LINE  "#version:"

struct loading {
    struct tokenizer *t;
    json_t *vocab;
    char *vocab_path, *merges_path;
    unsigned char *made;    /* [vocab]: by a byte, a merge or as end of text */
    size_t used;            /* of the arena */
    int16_t byte_of[0x144]; /* from the stand-in's code point; -1 for none */
};

/* ---- reading vocab.json ---- */

/* The bytes a symbol stands for. Every stand-in is one or two bytes of UTF-8, and JSON text is valid UTF-8. */
static int decode_symbol(struct loading *l, const char *symbol, struct tokenizer_token *token, struct error *err)
{
    unsigned char *to = l->t->arena + l->used;
    token->bytes = to;
    for (const unsigned char *s = (const unsigned char *)symbol; *s;) {
        uint32_t code = *s++;
        if (code >= 0xc0 && code < 0xe0)
            code = (code & 0x1f) << 6 | (*s++ & 0x3f);
        else if (code >= 0x80)
            code = UINT32_MAX;
        if (code >= 0x144 || l->byte_of[code] < 0)
            return error_set(err, STATUS_BAD_INPUT, "%s: entry \"%s\": has a character that stands for no byte",
                             l->vocab_path, symbol);
        *to++ = (unsigned char)l->byte_of[code];
    }
    token->length = (size_t)(to - token->bytes);
    l->used += token->length;
    if (token->length == 0)
        return error_set(err, STATUS_BAD_INPUT, "%s: an entry is the empty string", l->vocab_path);
    return STATUS_OK;
}

static const char *symbol_of_id(const struct loading *l, json_int_t id, const char *other_than)
{
    const char *key;
    json_t *value;
    json_object_foreach(l->vocab, key,
                        value) if (strcmp(key, other_than) != 0 && json_integer_value(value) == id) return key;
    return "?";
}

static int read_entry(struct loading *l, const char *symbol, json_t *value, struct error *err)
{
    struct tokenizer *t = l->t;
    if (!json_is_integer(value))
        return error_set(err, STATUS_BAD_INPUT, "%s: entry \"%s\": the id is not an integer", l->vocab_path, symbol);
    json_int_t id = json_integer_value(value);
    if (id < 0 || id >= (json_int_t)t->vocab)
        return error_set(err, STATUS_BAD_INPUT, "%s: entry \"%s\": id %lld; %u entries want the ids 0 to %u, each once",
                         l->vocab_path, symbol, (long long)id, t->vocab, t->vocab - 1);
    if (t->tokens[id].bytes)
        return error_set(err, STATUS_BAD_INPUT, "%s: entry \"%s\": id %lld is also that of \"%s\"", l->vocab_path,
                         symbol, (long long)id, symbol_of_id(l, id, symbol));
    if (strcmp(symbol, TEXT_SEPARATOR) != 0)
        return decode_symbol(l, symbol, &t->tokens[id], err);
    t->end_of_text = (uint32_t)id;
    l->made[id] = 1;
    t->tokens[id] = (struct tokenizer_token){t->arena + l->used, strlen(symbol)};
    memcpy(t->arena + l->used, symbol, strlen(symbol));
    l->used += strlen(symbol);
    return STATUS_OK;
}

static int find_bytes(struct loading *l, struct error *err)
{
    bool found[256] = {false};
    for (uint32_t id = 0; id < l->t->vocab; id++)
        if (l->t->tokens[id].length == 1) {
            unsigned char byte = l->t->tokens[id].bytes[0];
            found[byte] = true;
            l->t->byte_id[byte] = id;
            l->made[id] = 1;
        }
    for (int byte = 0; byte < 256; byte++)
        if (!found[byte])
            return error_set(err, STATUS_BAD_INPUT, "%s: no entry for byte 0x%02x (the character U+%04X)",
                             l->vocab_path, byte, tokenizer_byte_symbol((unsigned char)byte));
    return STATUS_OK;
}

static int read_vocab(struct loading *l, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, l->vocab_path, err);
    if (status)
        return status;
    json_error_t problem;
    l->vocab = json_loadb((const char *)map.data, map.size, JSON_REJECT_DUPLICATES, &problem);
    size_t arena = map.size + 1; /* no symbol has more bytes than it is written with */
    file_map_close(&map);
    if (!l->vocab)
        return error_set(err, STATUS_BAD_INPUT, "%s:%d: %s", l->vocab_path, problem.line, problem.text);
    if (!json_is_object(l->vocab))
        return error_set(err, STATUS_BAD_INPUT, "%s: want a JSON object", l->vocab_path);
    size_t entries = json_object_size(l->vocab);
    if (!json_object_get(l->vocab, TEXT_SEPARATOR))
        return error_set(err, STATUS_BAD_INPUT, "%s: no entry \"" TEXT_SEPARATOR "\"", l->vocab_path);
    if (entries < TOKENIZER_LEAST_VOCAB || entries > TOKENIZER_MOST_VOCAB)
        return error_set(err, STATUS_BAD_INPUT, "%s: want %d to %d entries, got %zu", l->vocab_path,
                         TOKENIZER_LEAST_VOCAB, TOKENIZER_MOST_VOCAB, entries);
    struct tokenizer *t = l->t;
    t->vocab = (uint32_t)entries;
    t->tokens = memory_alloc(entries, sizeof *t->tokens);
    t->arena = memory_alloc(arena, 1);
    l->made = memory_alloc(entries, 1);
    const char *key;
    json_t *value;
    json_object_foreach(l->vocab, key, value) if ((status = read_entry(l, key, value, err))) return status;
    return find_bytes(l, err);
}

/* ---- reading merges.txt ---- */

static int merge_part(struct loading *l, size_t line, const char *symbol, uint32_t *id, struct error *err)
{
    json_t *value = json_object_get(l->vocab, symbol);
    *id = (uint32_t)json_integer_value(value);
    if (!value)
        return error_set(err, STATUS_BAD_INPUT, "%s:%zu: \"%s\" is not in " VOCAB_NAME, l->merges_path, line, symbol);
    if (*id == l->t->end_of_text)
        return error_set(err, STATUS_BAD_INPUT, "%s:%zu: " TEXT_SEPARATOR " cannot be merged", l->merges_path, line);
    if (!l->made[*id])
        return error_set(err, STATUS_BAD_INPUT, "%s:%zu: \"%s\" is neither a byte nor made by an earlier line",
                         l->merges_path, line, symbol);
    return STATUS_OK;
}

/* One line, "left right", not terminated; text is its copy to cut up. */
static int read_merge(struct loading *l, size_t line, char *text, size_t length, struct error *err)
{
    char *space = strchr(text, ' ');
    if (strlen(text) != length || !space || space == text || !space[1] || strchr(space + 1, ' '))
        return error_set(err, STATUS_BAD_INPUT, "%s:%zu: want two symbols with a space between, got \"%s\"",
                         l->merges_path, line, text);
    struct tokenizer *t = l->t;
    if (t->merge_count + TOKENIZER_LEAST_VOCAB >= t->vocab)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s:%zu: more merges than the %u entries of " VOCAB_NAME " leave room for", l->merges_path,
                         line, t->vocab);
    struct tokenizer_merge merge;
    *space = '\0';
    int status = merge_part(l, line, text, &merge.left, err);
    if (!status)
        status = merge_part(l, line, space + 1, &merge.right, err);
    if (status)
        return status;
    memmove(space, space + 1, strlen(space + 1) + 1);
    json_t *value = json_object_get(l->vocab, text);
    if (!value)
        return error_set(err, STATUS_BAD_INPUT, "%s:%zu: the result \"%s\" is not in " VOCAB_NAME, l->merges_path, line,
                         text);
    merge.result = (uint32_t)json_integer_value(value);
    if (l->made[merge.result])
        return error_set(err, STATUS_BAD_INPUT, "%s:%zu: \"%s\" is there already", l->merges_path, line, text);
    l->made[merge.result] = 1;
    t->merges[t->merge_count++] = merge;
    return STATUS_OK;
}

static int read_merge_lines(struct loading *l, const struct file_map *map, struct error *err)
{
    const char *at = (const char *)map->data, *end = at + map->size;
    for (size_t line = 1; at < end; line++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((newline ? newline : end) - at);
        int status = STATUS_OK;
        if (line > 1 || length < strlen(FIRST_LINE) || memcmp(at, FIRST_LINE, strlen(FIRST_LINE)) != 0) {
            char *copy = memory_alloc(length + 1, 1);
            memcpy(copy, at, length);
            status = read_merge(l, line, copy, length, err);
            free(copy);
        }
        if (status)
            return status;
        at += length + (newline != NULL);
    }
    return STATUS_OK;
}

static int read_merges(struct loading *l, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, l->merges_path, err);
    if (status)
        return status;
    l->t->merges = memory_alloc(l->t->vocab, sizeof *l->t->merges);
    status = read_merge_lines(l, &map, err);
    file_map_close(&map);
    for (uint32_t id = 0; !status && id < l->t->vocab; id++)
        if (!l->made[id])
            status =
                error_set(err, STATUS_BAD_INPUT, "%s: entry \"%s\": neither a byte nor made by a line of " MERGES_NAME,
                          l->vocab_path, symbol_of_id(l, id, ""));
    return status;
}

static int load_two(struct tokenizer **out, const char *directory, struct error *err)
{
    struct loading l = {.t = memory_alloc(1, sizeof *l.t),
                        .vocab_path = file_join(directory, VOCAB_NAME),
                        .merges_path = file_join(directory, MERGES_NAME)};
    memset(l.byte_of, -1, sizeof l.byte_of);
    for (int byte = 0; byte < 256; byte++)
        l.byte_of[tokenizer_byte_symbol((unsigned char)byte)] = (int16_t)byte;
    int status = read_vocab(&l, err);
    if (!status)
        status = read_merges(&l, err);
    if (!status) {
        tokenizer_finish(l.t);
    } else {
        tokenizer_destroy(l.t);
        l.t = NULL;
    }
    *out = l.t;
    json_decref(l.vocab);
    free(l.made);
    free(l.vocab_path);
    free(l.merges_path);
    return status;
}

int tokenizer_load(struct tokenizer **out, const char *directory, struct error *err)
{
    char *fast = file_join(directory, "tokenizer.json");
    const bool found = access(fast, F_OK) == 0;
    free(fast);
    return found ? tokenizer_json_load(out, directory, err) : load_two(out, directory, err);
}

/* ---- writing ---- */

static void write_vocab(const struct tokenizer *t, FILE *stream)
{
    json_t *vocab = json_object();
    for (uint32_t id = 0; id < t->vocab; id++) {
        char *symbol = tokenizer_symbol(t, id);
        json_object_set_new(vocab, symbol, json_integer(id));
        free(symbol);
    }
    json_dumpf(vocab, stream, JSON_ENSURE_ASCII);
    json_decref(vocab);
}

static void write_merges(const struct tokenizer *t, FILE *stream)
{
    fputs(FIRST_LINE " 0.2\n", stream);
    for (uint32_t i = 0; i < t->merge_count; i++) {
        char *left = tokenizer_symbol(t, t->merges[i].left), *right = tokenizer_symbol(t, t->merges[i].right);
        fprintf(stream, "%s %s\n", left, right);
        free(left);
        free(right);
    }
}

int tokenizer_save(const struct tokenizer *t, const char *directory, struct error *err)
{
    int status = file_make_directories(directory, err);
    if (status)
        return status;
    if (t->steps)
        return tokenizer_json_save(t, directory, err);
    char *vocab_path = file_join(directory, VOCAB_NAME), *merges_path = file_join(directory, MERGES_NAME);
    struct file_writer vocab = {0}, merges = {0};
    status = file_create(&vocab, vocab_path, err);
    if (!status)
        status = file_create(&merges, merges_path, err);
    if (!status) {
        write_vocab(t, vocab.stream);
        write_merges(t, merges.stream);
        fflush(vocab.stream);
        if (fflush(merges.stream) != 0 || ferror(vocab.stream) || ferror(merges.stream))
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot write the tokenizer", directory);
    }
    if (!status)
        status = file_commit(&vocab, err);
    if (!status)
        status = file_commit(&merges, err);
    file_abandon(&vocab);
    file_abandon(&merges);
    free(vocab_path);
    free(merges_path);
    return status;
}
