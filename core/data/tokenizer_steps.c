#include "core/data/tokenizer_steps.h"

#include <stdlib.h>
#include <string.h>

#include "core/base/memory.h"
#include "core/data/pretokenize.h"
#include "core/data/split_pattern.h"
#include "core/data/text_cuts.h"

struct reading {
    struct tokenizer_steps *s;
    const char *name;
    struct faults *f;
    bool byte_level; /* seen: it is the last step of the pre-tokenizer */
};

static const char *type_of(const json_t *step)
{
    const char *type = json_string_value(json_object_get(step, "type"));
    return type ? type : "(no type)";
}

static bool flag(const struct reading *r, const json_t *step, const char *key, bool fallback)
{
    const json_t *value = json_object_get(step, key);
    if (value && !json_is_null(value) && !json_is_boolean(value))
        faults_add(r->f, "%s: %s.%s: want true or false", r->name, type_of(step), key);
    return json_is_boolean(value) ? json_is_true(value) : fallback;
}

static void refuse(const struct reading *r, const char *part, const char *what, const char *known)
{
    faults_add(r->f, "%s: %s: %.60s has no counterpart here (%s)", r->name, part, what, known);
}

/* ------------------------------------------------------------------------------------------- before the pieces */

static void read_normalizer(struct reading *r, const json_t *step)
{
    size_t i;
    json_t *one;
    if (!step || json_is_null(step))
        return;
    const char *type = type_of(step);
    if (strcmp(type, "NFC") == 0)
        r->s->nfc = true;
    else if (strcmp(type, "Sequence") == 0)
        json_array_foreach(json_object_get(step, "normalizers"), i, one) read_normalizer(r, one);
    else
        refuse(r, "normalizer", type, "NFC has");
}

static void add_pattern(struct reading *r, char *pattern)
{
    struct tokenizer_steps *s = r->s;
    s->patterns = memory_resize(s->patterns, (size_t)s->pattern_count + 1, sizeof *s->patterns);
    s->patterns[s->pattern_count++] = pattern;
}

static void read_split(struct reading *r, const json_t *step)
{
    const json_t *pattern = json_object_get(step, "pattern");
    const char *regex = json_string_value(json_object_get(pattern, "Regex"));
    const char *text = json_string_value(json_object_get(pattern, "String"));
    const char *behavior = json_string_value(json_object_get(step, "behavior"));
    char why[SPLIT_WHY];
    if (!behavior || strcmp(behavior, "Isolated") != 0)
        refuse(r, "pre_tokenizer: Split: behavior", behavior ? behavior : "(none)", "Isolated has");
    if (!regex && !text) {
        faults_add(r->f, "%s: pre_tokenizer: Split: want a pattern, Regex or String", r->name);
        return;
    }
    char *made = text ? split_pattern_literal(text) : split_pattern_translate(regex, why);
    struct error one = {0};
    if (!made) {
        faults_add(r->f, "%s: pre_tokenizer: Split: in its Regex %s", r->name, why);
    } else if (text_cuts_check_pattern(made, &one)) {
        faults_add(r->f, "%s: pre_tokenizer: Split: %s", r->name, one.text);
        free(made);
    } else {
        add_pattern(r, made);
    }
}

static void read_byte_level(struct reading *r, const json_t *step)
{
    const bool first = r->s->pattern_count == 0;
    r->byte_level = true;
    r->s->prefix_space = flag(r, step, "add_prefix_space", true);
    if (r->s->prefix_space && !first)
        refuse(r, "pre_tokenizer", "add_prefix_space behind a Split", "before every other step it has");
    if (flag(r, step, "use_regex", true)) {
        add_pattern(r, memory_string(pretokenizer_gpt2_pattern()));
        r->s->own_pattern = !first;
    }
}

static void read_pre_tokenizer(struct reading *r, const json_t *step)
{
    size_t i;
    json_t *one;
    const char *type = type_of(step);
    if (r->byte_level)
        refuse(r, "pre_tokenizer: behind ByteLevel", type, "nothing comes after it");
    else if (strcmp(type, "Sequence") == 0)
        json_array_foreach(json_object_get(step, "pretokenizers"), i, one) read_pre_tokenizer(r, one);
    else if (strcmp(type, "ByteLevel") == 0)
        read_byte_level(r, step);
    else if (strcmp(type, "Split") == 0)
        read_split(r, step);
    else if (strcmp(type, "Digits") == 0)
        add_pattern(r, memory_string(flag(r, step, "individual_digits", false) ? "\\p{N}" : "\\p{N}+"));
    else
        refuse(r, "pre_tokenizer", type, "ByteLevel, Split, Digits and a Sequence of them have");
}

/* ------------------------------------------------------------------------------------------- around the ids */

static void read_template(struct reading *r, const json_t *step)
{
    size_t i, k;
    json_t *part, *id;
    bool text = false;
    json_array_foreach(json_object_get(step, "single"), i, part)
    {
        const json_t *token = json_object_get(part, "SpecialToken");
        if (!token) {
            text = true;
            continue;
        }
        const char *name = json_string_value(json_object_get(token, "id"));
        const json_t *known = json_object_get(json_object_get(step, "special_tokens"), name ? name : "");
        const json_t *ids = json_object_get(known, "ids");
        if (text)
            refuse(r, "post_processor: behind the text", name ? name : "a token", "only tokens in front of it have");
        if (!json_is_array(ids))
            faults_add(r->f, "%s: post_processor: special_tokens: want the ids of '%.60s'", r->name, name ? name : "");
        json_array_foreach(ids, k, id)
        {
            struct tokenizer_steps *s = r->s;
            const json_int_t value = json_is_integer(id) ? json_integer_value(id) : -1;
            s->before = memory_resize(s->before, s->before_count + 1, sizeof *s->before);
            s->before[s->before_count++] = value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
        }
    }
    if (!text)
        faults_add(r->f, "%s: post_processor: single: want the text in it", r->name);
}

static void read_post_processor(struct reading *r, const json_t *step)
{
    size_t i;
    json_t *one;
    if (!step || json_is_null(step))
        return;
    const char *type = type_of(step);
    if (strcmp(type, "Sequence") == 0)
        json_array_foreach(json_object_get(step, "processors"), i, one) read_post_processor(r, one);
    else if (strcmp(type, "TemplateProcessing") == 0)
        read_template(r, step);
    else if (strcmp(type, "ByteLevel") != 0) /* which only moves offsets */
        refuse(r, "post_processor", type, "TemplateProcessing and ByteLevel have");
}

static void read_decoder(struct reading *r, const json_t *step)
{
    size_t i;
    json_t *one;
    if (!step || json_is_null(step))
        return;
    const char *type = type_of(step);
    if (strcmp(type, "Sequence") == 0)
        json_array_foreach(json_object_get(step, "decoders"), i, one) read_decoder(r, one);
    else if (strcmp(type, "ByteLevel") != 0)
        refuse(r, "decoder", type, "ByteLevel has");
}

static void read_model(struct reading *r, const json_t *model)
{
    static const char *const affixes[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const json_t *type = json_object_get(model, "type");
    const double dropout = json_number_value(json_object_get(model, "dropout"));
    if (type && strcmp(type_of(model), "BPE") != 0)
        refuse(r, "model", type_of(model), "BPE has");
    if (dropout != 0)
        faults_add(r->f, "%s: model: a dropout of %g has no counterpart here: the same text would get other ids",
                   r->name, dropout);
    for (size_t i = 0; i < 2; i++) {
        const char *text = json_string_value(json_object_get(model, affixes[i]));
        if (text && *text)
            faults_add(r->f, "%s: model: %s '%.20s' has no counterpart here", r->name, affixes[i], text);
    }
    if (flag(r, model, "byte_fallback", false))
        refuse(r, "model", "byte_fallback", "bytes are symbols of their own");
    r->s->whole_pieces = flag(r, model, "ignore_merges", false);
}

static void read_added(struct reading *r, const json_t *list)
{
    static const char *const habits[] = {"single_word", "lstrip", "rstrip"};
    struct tokenizer_steps *s = r->s;
    size_t i;
    json_t *token;
    s->added = memory_alloc(json_array_size(list), sizeof *s->added);
    json_array_foreach(list, i, token)
    {
        const char *content = json_string_value(json_object_get(token, "content"));
        const json_t *id = json_object_get(token, "id");
        if (!content || !*content || !json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) >= UINT32_MAX) {
            faults_add(r->f, "%s: added_tokens[%zu]: want a content, and an id of 0 or more", r->name, i);
            continue;
        }
        const bool special = flag(r, token, "special", false);
        for (size_t k = 0; k < 3 && !special; k++)
            if (flag(r, token, habits[k], false))
                faults_add(r->f, "%s: added_tokens: '%.40s': %s has no counterpart here", r->name, content, habits[k]);
        s->added[s->added_count++] = (struct tokenizer_added){.id = (uint32_t)json_integer_value(id),
                                                              .special = special,
                                                              .normalized = flag(r, token, "normalized", !special)};
    }
}

/* What is kept of the file: all but the vocabulary, the merges and what only concerns batches. */
static json_t *take_source(const json_t *object)
{
    static const char *const parts[] = {"added_tokens", "normalizer", "pre_tokenizer", "post_processor", "decoder"};
    static const char *const habits[] = {
        "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk", "byte_fallback", "ignore_merges"};
    json_t *source = json_object(), *model = json_object(), *from = json_object_get(object, "model");
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; i++) {
        json_t *part = json_object_get(object, parts[i]);
        json_object_set(source, parts[i], part ? part : json_null());
    }
    for (size_t i = 0; i < sizeof habits / sizeof habits[0]; i++) {
        json_t *part = json_object_get(from, habits[i]);
        if (part)
            json_object_set(model, habits[i], part);
    }
    json_object_set_new(model, "type", json_string("BPE"));
    json_object_set_new(model, "dropout", json_null());
    json_object_set_new(source, "model", model);
    return source;
}

void tokenizer_steps_read(struct tokenizer_steps *out, const json_t *object, const char *name, struct faults *f)
{
    *out = (struct tokenizer_steps){.own_pattern = true};
    struct reading r = {.s = out, .name = name, .f = f};
    read_model(&r, json_object_get(object, "model"));
    read_normalizer(&r, json_object_get(object, "normalizer"));
    read_pre_tokenizer(&r, json_object_get(object, "pre_tokenizer"));
    read_post_processor(&r, json_object_get(object, "post_processor"));
    read_decoder(&r, json_object_get(object, "decoder"));
    read_added(&r, json_object_get(object, "added_tokens"));
    if (!r.byte_level && !f->count)
        faults_add(f, "%s: pre_tokenizer: want a ByteLevel at its end", name);
    out->source = take_source(object);
}

bool tokenizer_steps_are_plain(const struct tokenizer_steps *s)
{
    for (uint32_t i = 0; i < s->added_count; i++)
        if (!s->added[i].special)
            return false;
    return !s->nfc && !s->prefix_space && !s->whole_pieces && !s->own_pattern && s->before_count == 0;
}

void tokenizer_steps_destroy(struct tokenizer_steps *s)
{
    if (!s)
        return;
    for (int i = 0; i < s->pattern_count; i++)
        free(s->patterns[i]);
    free(s->patterns);
    free(s->added);
    free(s->before);
    free(s->whole);
    json_decref(s->source);
    free(s);
}
