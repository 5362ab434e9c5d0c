/* The tokenizer's files beside a model: GPT-2's two, and the one file that fast tokenizers read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/trained/interop_internal.h"
#include "core/base/memory.h"

int interop_json_read(const char *path, json_t **out, struct error *err)
{
    struct file_map map;
    json_error_t fault;
    int status = file_map_open(&map, path, err);
    *out = NULL;
    if (status)
        return status;
    json_t *object = json_loadb((const char *)map.data, map.size, JSON_REJECT_DUPLICATES, &fault);
    if (!object)
        status = error_set(err, STATUS_BAD_INPUT, "%s:%d: %s", path, fault.line, fault.text);
    else if (!json_is_object(object))
        status = error_set(err, STATUS_BAD_INPUT, "%s: want a JSON object", path);
    file_map_close(&map);
    if (status)
        json_decref(object);
    else
        *out = object;
    return status;
}

int interop_json_write(const char *path, const json_t *object, size_t flags, struct error *err)
{
    char *text = json_dumps(object, flags | JSON_REAL_PRECISION(17));
    if (!text)
        return error_set(err, STATUS_FAILED, "%s: no JSON", path);
    size_t length = strlen(text);
    text = memory_resize(text, length + 2, 1);
    memcpy(text + length, "\n", 2);
    int status = file_write_all(path, text, length + 1, err);
    free(text);
    return status;
}

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
    int status = interop_json_read(vocab_path, &vocab, err);
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
        status = object ? interop_json_write(path, object, JSON_COMPACT, err)
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
    const struct {
        const char *name;
        json_t *object;
    } files[] = {
        {"tokenizer_config.json",
         json_pack("{s:s, s:s, s:s, s:s, s:b, s:I}", "tokenizer_class",
                   class == INTEROP_GPT2 ? "GPT2Tokenizer" : "PreTrainedTokenizerFast", "bos_token", "<|endoftext|>",
                   "eos_token", "<|endoftext|>", "unk_token", "<|endoftext|>", "add_prefix_space", 0,
                   "model_max_length", (json_int_t)context)},
        {"special_tokens_map.json", json_pack("{s:s, s:s, s:s}", "bos_token", "<|endoftext|>", "eos_token",
                                              "<|endoftext|>", "unk_token", "<|endoftext|>")},
        {"generation_config.json", json_pack("{s:I, s:I}", "bos_token_id", end, "eos_token_id", end)},
    };
    int status = tokenizer_save(t, dir, err);
    if (!status)
        status = write_fast(dir, t, err);
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char *path = file_join(dir, files[i].name);
        if (!status)
            status = interop_json_write(path, files[i].object, JSON_INDENT(2), err);
        json_decref(files[i].object);
        free(path);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------- reading */

/* Is there a ByteLevel step in this pre-tokenizer (alone, or in a sequence)? */
static bool is_byte_level(const json_t *pre)
{
    const char *type = json_string_value(json_object_get(pre, "type"));
    size_t i;
    json_t *one;
    if (type && strcmp(type, "ByteLevel") == 0)
        return true;
    json_array_foreach(json_object_get(pre, "pretokenizers"), i, one) if (is_byte_level(one)) return true;
    return false;
}

/* A merge is "left right", or in newer files ["left", "right"]. */
static int append_merge(const char *path, FILE *out, const json_t *merge, size_t i, struct error *err)
{
    const char *whole = json_string_value(merge), *left = json_string_value(json_array_get(merge, 0));
    const char *right = json_string_value(json_array_get(merge, 1));
    if (!whole && !(left && right && json_array_size(merge) == 2))
        return error_set(err, STATUS_BAD_INPUT, "%s: model.merges[%zu]: want two symbols", path, i);
    if (whole)
        fprintf(out, "%s\n", whole);
    else
        fprintf(out, "%s %s\n", left, right);
    return STATUS_OK;
}

static int write_merges(const char *path, const char *to, const json_t *merges, struct error *err)
{
    struct file_writer w;
    size_t i;
    json_t *merge;
    int status = file_create(&w, to, err);
    if (status)
        return status;
    fputs("#version: 0.2\n", w.stream);
    json_array_foreach((json_t *)merges, i, merge) if (!status) status = append_merge(path, w.stream, merge, i, err);
    if (!status)
        return file_commit(&w, err);
    file_abandon(&w);
    return status;
}

/* The parts of tokenizer.json as GPT-2's two files in a folder of their own, which tokenizer_load then judges. */
static int split_fast(const char *path, const json_t *object, const char *folder, struct error *err)
{
    const json_t *model = json_object_get(object, "model"), *merges = json_object_get(model, "merges");
    const char *type = json_string_value(json_object_get(model, "type"));
    size_t i;
    json_t *added;
    if ((type && strcmp(type, "BPE") != 0) || !json_is_object(json_object_get(model, "vocab")) ||
        !json_is_array(merges) || !is_byte_level(json_object_get(object, "pre_tokenizer")))
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: want a byte-level BPE as GPT-2's (model BPE, pre_tokenizer ByteLevel); "
                         "--no-tokenizer imports the model alone",
                         path);
    json_t *vocab = json_copy(json_object_get(model, "vocab"));
    json_array_foreach(json_object_get(object, "added_tokens"), i, added)
    {
        const char *content = json_string_value(json_object_get(added, "content"));
        if (content && !json_object_get(vocab, content))
            json_object_set(vocab, content, json_object_get(added, "id"));
    }
    char *vocab_path = file_join(folder, "vocab.json"), *merges_path = file_join(folder, "merges.txt");
    int status = interop_json_write(vocab_path, vocab, JSON_COMPACT, err);
    if (!status)
        status = write_merges(path, merges_path, merges, err);
    json_decref(vocab);
    free(vocab_path);
    free(merges_path);
    return status;
}

static void remove_folder(const char *folder)
{
    static const char *const names[] = {"vocab.json", "merges.txt"};
    for (size_t i = 0; i < 2; i++) {
        char *path = file_join(folder, names[i]);
        unlink(path);
        free(path);
    }
    rmdir(folder);
}

static int read_fast(const char *path, struct tokenizer **out, struct error *err)
{
    const char *base = getenv("TMPDIR");
    char *folder = memory_format("%s/taper-tokenizer-XXXXXX", base && *base ? base : "/tmp");
    json_t *object = NULL;
    int status = interop_json_read(path, &object, err);
    if (!status && !mkdtemp(folder))
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot make the folder", folder);
    else if (!status) {
        status = split_fast(path, object, folder, err);
        if (!status && (status = tokenizer_load(out, folder, err)))
            error_wrap(err, "%s, as vocab.json and merges.txt", path);
        remove_folder(folder);
    }
    json_decref(object);
    free(folder);
    return status;
}

int interop_tokenizer_read(const char *dir, struct tokenizer **out, struct error *err)
{
    char *vocab = file_join(dir, "vocab.json"), *merges = file_join(dir, "merges.txt"),
         *fast = file_join(dir, "tokenizer.json");
    int status;
    if (access(vocab, F_OK) == 0 && access(merges, F_OK) == 0)
        status = tokenizer_load(out, dir, err);
    else if (access(fast, F_OK) == 0)
        status = read_fast(fast, out, err);
    else
        status = error_set(err, STATUS_BAD_INPUT,
                           "%s: no tokenizer: want vocab.json and merges.txt, or tokenizer.json "
                           "(--no-tokenizer imports the model alone)",
                           dir);
    free(vocab);
    free(merges);
    free(fast);
    return status;
}
