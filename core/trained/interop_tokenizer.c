/* The tokenizer's files beside a model: GPT-2's two, and the one file that fast tokenizers read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/trained/interop_internal.h"
#include "core/base/memory.h"

/* ------------------------------------------------------------------------------------------- writing */

/* The lines of merges.txt after its version, as an array. */
static int read_merges(const char *path, json_t *merges, struct error *err)
{
    struct file_map map;
    int status = file_map_open(&map, path, err);
    if (status)
        return status;
    const char *at = (const char *)map.data, *end = at + map.size;
    while (at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t length = newline ? (size_t)(newline - at) : (size_t)(end - at);
        bool version = at == (const char *)map.data && length >= 8 && strncmp(at, "#version", 8) == 0;
        if (length && !version)
            json_array_append_new(merges, json_stringn(at, length));
        at += length + 1;
    }
    file_map_close(&map);
    return STATUS_OK;
}

static int write_fast(const char *dir, const struct tokenizer *t, struct error *err)
{
    char *vocab_path = file_join(dir, "vocab.json"), *merges_path = file_join(dir, "merges.txt");
    char *path = file_join(dir, "tokenizer.json");
    json_t *vocab = NULL, *merges = json_array();
    int status = json_file_read(vocab_path, &vocab, err);
    if (!status)
        status = read_merges(merges_path, merges, err);
    if (!status) {
        json_t *object = json_pack(
            "{s:s, s:n, s:n, s:[{s:I, s:s, s:b, s:b, s:b, s:b, s:b}], s:n, s:{s:s, s:b, s:b, s:b}, s:n, s:{s:s, s:b, "
            "s:b, s:b}, "
            "s:{s:s, s:n, s:n, s:s, s:s, s:b, s:b, s:b, s:O, s:O}}",
            "version", "1.0", "truncation", "padding", "added_tokens", "id", (json_int_t)tokenizer_end_of_text(t),
            "content", "<|endoftext|>", "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", 0, "special", 1,
            "normalizer", "pre_tokenizer", "type", "ByteLevel", "add_prefix_space", 0, "trim_offsets", 1, "use_regex",
            1, "post_processor", "decoder", "type", "ByteLevel", "add_prefix_space", 1, "trim_offsets", 1, "use_regex",
            1, "model", "type", "BPE", "dropout", "unk_token", "continuing_subword_prefix", "", "end_of_word_suffix",
            "", "fuse_unk", 0, "byte_fallback", 0, "ignore_merges", 0, "vocab", vocab, "merges", merges);
        status = object ? json_file_write(path, object, JSON_COMPACT, err)
                        : error_set(err, STATUS_FAILED, "%s: no JSON", path);
        json_decref(object);
    }
    json_decref(vocab);
    json_decref(merges);
    free(vocab_path);
    free(merges_path);
    free(path);
    return status;
}

int interop_tokenizer_write(const char *dir, const struct tokenizer *t, enum interop_class class, int64_t context,
                            struct error *err)
{
    const json_int_t end = tokenizer_end_of_text(t);
    char *name = tokenizer_name_of_end(t);
    const struct {
        const char *name;
        json_t *object;
    } files[] = {
        {"tokenizer_config.json",
         json_pack("{s:s, s:s, s:s, s:s, s:b, s:I}", "tokenizer_class",
                   class == INTEROP_GPT2 && !tokenizer_is_foreign(t) ? "GPT2Tokenizer" : "PreTrainedTokenizerFast",
                   "bos_token", name, "eos_token", name, "unk_token", name, "add_prefix_space",
                   (int)tokenizer_prefixes_blank(t), "model_max_length", (json_int_t)context)},
        {"special_tokens_map.json",
         json_pack("{s:s, s:s, s:s}", "bos_token", name, "eos_token", name, "unk_token", name)},
        {"generation_config.json", json_pack("{s:I, s:I}", "bos_token_id", end, "eos_token_id", end)},
    };
    int status = tokenizer_save(t, dir, err);
    if (!status && !tokenizer_is_foreign(t))
        status = write_fast(dir, t, err);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = file_join(dir, files[i].name);
        if (!status)
            status = json_file_write(path, files[i].object, JSON_INDENT(2), err);
        json_decref(files[i].object);
        free(path);
    }
    free(name);
    return status;
}

/* ------------------------------------------------------------------------------------------- reading */

/* The lines of a merges.txt and the names of the two-file form, as the object of a tokenizer.json would say it: GPT-2's
 * steps, or those of `like`. */
static int read_two(const char *dir, const json_t *like, json_t **out, struct error *err)
{
    char *vocab_path = file_join(dir, "vocab.json"), *merges_path = file_join(dir, "merges.txt");
    char *added_path = file_join(dir, "added_tokens.json");
    json_t *vocab = NULL, *merges = json_array(), *added = NULL, *id;
    const char *name;
    int status = json_file_read(vocab_path, &vocab, err);
    if (!status)
        status = read_merges(merges_path, merges, err);
    if (!status && access(added_path, F_OK) == 0)
        status = json_file_read(added_path, &added, err);
    json_t *object = like ? json_deep_copy(like)
                          : json_pack("{s:[], s:{s:s}, s:{s:s, s:b}}", "added_tokens", "model", "type", "BPE",
                                      "pre_tokenizer", "type", "ByteLevel", "add_prefix_space", 0);
    json_t *tokens = json_object_get(object, "added_tokens");
    if (!like && vocab && json_object_get(vocab, "<|endoftext|>"))
        json_array_append_new(tokens, json_pack("{s:O, s:s, s:b}", "id", json_object_get(vocab, "<|endoftext|>"),
                                                "content", "<|endoftext|>", "special", 1));
    json_object_foreach(added, name, id) if (!like && strcmp(name, "<|endoftext|>") != 0)
        json_array_append_new(tokens, json_pack("{s:O, s:s, s:b}", "id", id, "content", name, "special", 1));
    json_object_set(json_object_get(object, "model"), "vocab", vocab);
    json_object_set(json_object_get(object, "model"), "merges", merges);
    *out = object;
    json_decref(vocab);
    json_decref(merges);
    json_decref(added);
    free(vocab_path);
    free(merges_path);
    free(added_path);
    return status;
}

/* Texts whose ids two tokenizers are compared on: what cutting, normalizing and merging stumble over. */
static const char *const hard[] = {
    "Hello world",
    " leading and trailing ",
    "I'll say it's what they've DON'T'VE done",
    "a  b   c\t\td\n\ne\r\nf",
    "   \n  \n",
    "1 22 333 4444 55555 3.14159 1,000,000",
    "x=[1,2];if(a!=b){return c->d;}",
    "caf\u00e9 cafe\u0301 \u212b \uac00 \u1100\u1161",
    "\u4f60\u597d\u4e16\u754c \u3053\u3093\u306b\u3061\u306f \ud55c\uad6d\uc5b4",
    "\u0645\u0631\u062d\u0628\u0627 \u0939\u093f\u0928\u094d\u0926\u0940 \u0e44\u0e17\u0e22",
    "\U0001f600\U0001f468\u200d\U0001f469\u200d\U0001f467 \u2764\ufe0f",
    "\u00a0nbsp\u2003em\u3000wide\u180emongolian",
    "\u0664\u0665 \u216b \u00bd \u00b2",
    "UPPER lower Title \u0130 \u00df \ufb01",
};

static int encode_hard(const struct tokenizer *t, const char *text, uint32_t **ids, size_t *count, struct error *err)
{
    struct encoder *e;
    int status = encoder_create(&e, t, err);
    *ids = memory_alloc(tokenizer_room(t, strlen(text)), sizeof **ids);
    if (!status)
        status = tokenizer_encode(e, text, strlen(text), *ids, count, err);
    encoder_destroy(e);
    return status;
}

/* The first hard text that the two give other ids; NULL for none. */
static int find_difference(const struct tokenizer *const both[2], const char **text, struct error *err)
{
    int status = STATUS_OK;
    *text = NULL;
    for (size_t i = 0; !status && !*text && i < sizeof hard / sizeof hard[0]; i++) {
        uint32_t *ids[2] = {NULL, NULL};
        size_t count[2] = {0, 0};
        for (int k = 0; k < 2 && !status; k++)
            status = encode_hard(both[k], hard[i], &ids[k], &count[k], err);
        if (!status && (count[0] != count[1] || memcmp(ids[0], ids[1], count[0] * sizeof **ids) != 0))
            *text = hard[i];
        free(ids[0]);
        free(ids[1]);
    }
    return status;
}

/* Two forms of one tokenizer must be one: the two files, with the steps that only tokenizer.json says. */
static int compare(const struct tokenizer *t, const char *dir, struct error *err)
{
    struct tokenizer *other = NULL;
    json_t *like = NULL, *object = NULL;
    char *fast = file_join(dir, "tokenizer.json"), *end = tokenizer_name_of_end(t);
    const char *text = NULL;
    int status = json_file_read(fast, &like, err);
    if (!status)
        status = read_two(dir, like, &object, err);
    if (!status)
        status = tokenizer_from_json(&other, object, dir, end, err);
    if (!status)
        status = find_difference((const struct tokenizer *const[2]){t, other}, &text, err);
    if (!status && (text || memcmp(tokenizer_digest(t), tokenizer_digest(other), TOKENIZER_DIGEST_BYTES) != 0))
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: tokenizer.json is not the tokenizer of vocab.json and merges.txt%s%s%s (take away what "
                           "is wrong)",
                           dir, text ? ": '" : "", text ? text : "", text ? "' gets other ids" : "");
    tokenizer_destroy(other);
    json_decref(like);
    json_decref(object);
    free(end);
    free(fast);
    return status;
}

/* What tokenizer_config.json turns on must be there: loaders let it overrule tokenizer.json. */
static int check_switches(const struct tokenizer *t, const char *dir, struct error *err)
{
    char *path = file_join(dir, "tokenizer_config.json");
    json_t *object = NULL;
    size_t before;
    tokenizer_before(t, &before);
    int status = access(path, F_OK) == 0 ? json_file_read(path, &object, err) : STATUS_OK;
    const json_t *blank = json_object_get(object, "add_prefix_space");
    if (!status && json_is_boolean(blank) && json_is_true(blank) != tokenizer_prefixes_blank(t))
        status = error_set(err, STATUS_BAD_INPUT, "%s: add_prefix_space is %s, and the tokenizer's ByteLevel says %s",
                           path, json_is_true(blank) ? "true" : "false", json_is_true(blank) ? "false" : "true");
    else if (!status && json_is_true(json_object_get(object, "add_bos_token")) && before == 0)
        status = error_set(err, STATUS_BAD_INPUT, "%s: add_bos_token is true, and no post_processor adds one", path);
    else if (!status && json_is_true(json_object_get(object, "add_eos_token")))
        status = error_set(err, STATUS_BAD_INPUT, "%s: add_eos_token has no counterpart here", path);
    json_decref(object);
    free(path);
    return status;
}

int interop_tokenizer_read(const char *dir, struct tokenizer **out, struct error *err)
{
    char *vocab = file_join(dir, "vocab.json"), *merges = file_join(dir, "merges.txt"),
         *fast = file_join(dir, "tokenizer.json"), *added = file_join(dir, "added_tokens.json");
    const bool two = access(vocab, F_OK) == 0 && access(merges, F_OK) == 0, one = access(fast, F_OK) == 0;
    json_t *object = NULL;
    int status;
    *out = NULL;
    if (!one && two && access(added, F_OK) == 0) {
        status = read_two(dir, NULL, &object, err);
        if (!status)
            status = tokenizer_from_json(out, object, dir, NULL, err);
    } else if (one || two) {
        status = tokenizer_load(out, dir, err);
    } else {
        status = error_set(err, STATUS_BAD_INPUT, "%s: no tokenizer: want tokenizer.json, or vocab.json and merges.txt",
                           dir);
    }
    if (!status)
        status = check_switches(*out, dir, err);
    if (!status && one && two)
        status = compare(*out, dir, err);
    if (status) {
        tokenizer_destroy(*out);
        *out = NULL;
        error_wrap(err, "the tokenizer (--no-tokenizer imports the model alone)");
    }
    json_decref(object);
    free(vocab);
    free(merges);
    free(fast);
    free(added);
    return status;
}
