/* Tokenizers of other programs: the same ids as the program they were made with, or a refusal that names the step. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/base/file.h"
#include "core/base/json_file.h"
#include "core/base/memory.h"
#include "core/data/text.h"
#include "core/data/tokenizer.h"
#include "core/data/tokens.h"
#include "core/trained/interop_internal.h"
#include "tests/support/data.h"
#include "tests/support/interop_files.h"

static const char *const kinds[] = {"gpt2",   "llama3", "qwen2",   "digits", "prefix",
                                    "splits", "cased",  "literal", "uncut"};
enum { KINDS = sizeof kinds / sizeof kinds[0] };

static char *golden_folder(const char *kind)
{
    char *name = memory_format("tokenizer_%s", kind), *folder = interop_golden(name, NULL);
    free(name);
    return folder;
}

static struct tokenizer *load(const char *folder)
{
    struct tokenizer *t;
    struct error err = {0};
    if (tokenizer_load(&t, folder, &err))
        fail_msg("%s", err.text);
    return t;
}

static size_t unhex(const char *hex, unsigned char *to)
{
    size_t n = 0;
    for (; hex[2 * n]; n++) {
        const char pair[3] = {hex[2 * n], hex[2 * n + 1], '\0'};
        to[n] = (unsigned char)strtoul(pair, NULL, 16);
    }
    return n;
}

static int check_case(const char *kind, struct encoder *e, const struct tokenizer *t, const json_t *one)
{
    const char *hex = json_string_value(json_object_get(one, "text"));
    const json_t *want = json_object_get(one, "ids");
    unsigned char *text = memory_alloc(strlen(hex) / 2 + 1, 1);
    const size_t length = unhex(hex, text);
    uint32_t *ids = memory_alloc(tokenizer_room(t, length) + 1, sizeof *ids);
    size_t count;
    struct error err = {0};
    if (tokenizer_encode(e, text, length, ids, &count, &err))
        fail_msg("%s: %s", kind, err.text);
    int wrong = count != json_array_size(want);
    for (size_t i = 0; i < count && !wrong; i++)
        wrong = json_integer_value(json_array_get(want, i)) != (json_int_t)ids[i];
    if (wrong) {
        print_message("%s: other ids for '%s': %zu, want %zu:", kind, (const char *)text, count, json_array_size(want));
        for (size_t i = 0; i < count; i++)
            print_message(" %u", ids[i]);
        print_message("\n");
    }
    free(text);
    free(ids);
    return wrong;
}

/* Every hard text of every kind gets the ids that the reference gives it; also after the tokenizer was written. */
static void test_ids_are_the_references(void **state)
{
    (void)state;
    int wrong = 0, cases = 0;
    for (int k = 0; k < KINDS; k++) {
        char *folder = golden_folder(kinds[k]), *path = file_join(folder, "ids.json"), *again = data_folder_make();
        json_t *golden = json_load_file(path, 0, NULL), *list = json_object_get(golden, "cases"), *one;
        struct tokenizer *both[2] = {load(folder), NULL};
        struct error err = {0};
        size_t i;
        assert_int_equal(tokenizer_save(both[0], again, &err), STATUS_OK);
        both[1] = load(again);
        assert_memory_equal(tokenizer_digest(both[0]), tokenizer_digest(both[1]), TOKENIZER_DIGEST_BYTES);
        assert_int_equal(tokenizer_vocab_size(both[0]), json_integer_value(json_object_get(golden, "vocab")));
        for (int way = 0; way < 2; way++) {
            struct encoder *e;
            assert_int_equal(encoder_create(&e, both[way], &err), STATUS_OK);
            json_array_foreach(list, i, one)
            {
                wrong += check_case(kinds[k], e, both[way], one);
                cases++;
            }
            encoder_destroy(e);
            tokenizer_destroy(both[way]);
        }
        json_decref(golden);
        data_folder_remove(again);
        free(folder);
        free(path);
    }
    assert_int_equal(wrong, 0);
    assert_true(cases > 2 * KINDS * 40);
}

/* A file is plain GPT-2 in one file as in two: the same digest, so runs keep their names. */
static void test_a_plain_file_is_the_two_files(void **state)
{
    (void)state;
    char *folder = golden_folder("gpt2"), *two = data_folder_make(), *fast = file_join(two, "tokenizer.json");
    struct tokenizer *t = load(folder), *again;
    struct error err = {0};
    assert_false(tokenizer_is_foreign(t));
    assert_int_equal(tokenizer_save(t, two, &err), STATUS_OK);
    assert_int_not_equal(access(fast, F_OK), 0);
    again = load(two);
    assert_memory_equal(tokenizer_digest(t), tokenizer_digest(again), TOKENIZER_DIGEST_BYTES);
    tokenizer_destroy(t);
    tokenizer_destroy(again);
    data_folder_remove(two);
    free(folder);
    free(fast);
}

/* Each change of the golden GPT-2 is refused by its name. */
static void test_what_is_not_understood_is_named(void **state)
{
    (void)state;
    static const struct {
        const char *part, *json, *want;
    } changes[] = {
        {"normalizer", "{\"type\":\"Lowercase\"}", "normalizer: Lowercase"},
        {"normalizer", "{\"type\":\"NFKC\"}", "normalizer: NFKC"},
        {"normalizer", "{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFC\"},{\"type\":\"Strip\"}]}",
         "normalizer: Strip"},
        {"pre_tokenizer", "{\"type\":\"Whitespace\"}", "pre_tokenizer: Whitespace"},
        {"pre_tokenizer", "null", "pre_tokenizer: (no type)"},
        {"pre_tokenizer", "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"}]}", "want a ByteLevel"},
        {"pre_tokenizer",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"ByteLevel\",\"add_prefix_space\":false},"
         "{\"type\":\"Digits\"}]}",
         "behind ByteLevel: Digits"},
        {"pre_tokenizer",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Digits\"},{\"type\":\"ByteLevel\","
         "\"add_prefix_space\":true}]}",
         "add_prefix_space behind a Split"},
        {"pre_tokenizer",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Removed\",\"pattern\":{"
         "\"Regex\":\"\\\\s\"}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
         "Split: behavior: Removed"},
        {"pre_tokenizer",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"\\\\w+|[a-z&&[^b]]\"}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
         "in its Regex '\\w' has no counterpart"},
        {"pre_tokenizer",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"[a-z&&[^b]]\"}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
         "in its Regex '[a-z&' has no counterpart"},
        {"pre_tokenizer",
         "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"behavior\":\"Isolated\",\"pattern\":{"
         "\"Regex\":\"(a\"}},{\"type\":\"ByteLevel\",\"add_prefix_space\":false}]}",
         "PCRE2 cannot compile"},
        {"post_processor", "{\"type\":\"RobertaProcessing\"}", "post_processor: RobertaProcessing"},
        {"post_processor",
         "{\"type\":\"TemplateProcessing\",\"single\":[{\"Sequence\":{\"id\":\"A\",\"type_id\":0}},{\"SpecialToken\":{"
         "\"id\":\"E\",\"type_id\":0}}],\"special_tokens\":{\"E\":{\"id\":\"E\",\"ids\":[0],\"tokens\":[\"E\"]}}}",
         "behind the text: E"},
        {"decoder", "{\"type\":\"Metaspace\"}", "decoder: Metaspace"},
        {"model.type", "\"WordPiece\"", "model: WordPiece"},
        {"model.dropout", "0.1", "model: a dropout of 0.1"},
        {"model.end_of_word_suffix", "\"</w>\"", "end_of_word_suffix '</w>'"},
        {"model.continuing_subword_prefix", "\"##\"", "continuing_subword_prefix '##'"},
        {"model.byte_fallback", "true", "byte_fallback"},
        {"model.vocab", "[]", "want a BPE with an object vocab"},
        {"added_tokens", "[{\"id\":480,\"content\":\"<m>\",\"special\":false,\"lstrip\":true}]", "'<m>': lstrip"},
        {"added_tokens", "[{\"id\":0,\"content\":\"<|end|>\",\"special\":true}]", "no added token '<|endoftext|>'"},
        {"added_tokens", "[{\"id\":7,\"content\":\"<|endoftext|>\",\"special\":true}]",
         "'<|endoftext|>' has id 7, and another one"},
        {"added_tokens", "[{\"id\":9999,\"content\":\"<m>\",\"special\":true}]", "id 9999; 481 entries want"},
    };
    char *from = golden_folder("gpt2"), *path = file_join(from, "tokenizer.json");
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        json_t *object = json_load_file(path, 0, NULL), *value = json_loads(changes[i].json, JSON_DECODE_ANY, NULL);
        const char *dot = strchr(changes[i].part, '.');
        struct tokenizer *t;
        struct error err = {0};
        assert_non_null(value);
        json_object_set_new(dot ? json_object_get(object, "model") : object, dot ? dot + 1 : changes[i].part, value);
        assert_int_equal(tokenizer_from_json(&t, object, "here", NULL, &err), STATUS_BAD_INPUT);
        if (!strstr(err.text, changes[i].want) || strncmp(err.text, "here: ", 6) != 0)
            fail_msg("want '%s' in: %s", changes[i].want, err.text);
        json_decref(object);
    }
    free(from);
    free(path);
}

/* Ids in front of every document are written to token files, and are no part of the text that comes back. */
static void test_token_files_with_a_begin(void **state)
{
    (void)state;
    static const char words[] = "the cat\n<|endoftext|>\n12 345\n<|endoftext|>\n\n\n<|endoftext|>\nsat on";
    char *folder = data_folder_make(), *in = data_file_write(folder, "in", words, sizeof words - 1);
    char *out = file_join(folder, "tokens"), *back = file_join(folder, "back"), *golden = golden_folder("llama3");
    struct tokenizer *t = load(golden);
    struct text text;
    struct tokens tokens;
    struct error err = {0};
    uint64_t count;
    size_t size, before, begins = 0;
    assert_int_equal(text_open(&text, in, &err), STATUS_OK);
    if (tokens_write(out, t, &text, 2, &count, NULL, &err) || tokens_open(&tokens, out, &err))
        fail_msg("%s", err.text);
    const uint32_t begin = tokenizer_before(t, &before)[0];
    assert_int_equal(before, 1);
    for (uint64_t i = 0; i < tokens.count; i++)
        begins += tokens_get(&tokens, i) == begin;
    assert_int_equal(begins, 4);
    FILE *stream = fopen(back, "w");
    assert_int_equal(tokens_decode(&tokens, t, out, stream, &err), STATUS_OK);
    fclose(stream);
    unsigned char *bytes = data_file_read(back, &size);
    assert_int_equal(size, sizeof words - 1);
    assert_memory_equal(bytes, words, size);
    free(bytes);
    tokens_close(&tokens);
    text_close(&text);
    tokenizer_destroy(t);
    data_folder_remove(folder);
    char *all[] = {in, out, back, golden};
    for (size_t i = 0; i < 4; i++)
        free(all[i]);
}

/* Both forms in one folder must be one tokenizer; names in added_tokens.json belong to the two files. */
static void test_two_forms_are_compared(void **state)
{
    (void)state;
    char *folder = data_folder_make(), *golden = golden_folder("gpt2"), *merges = file_join(folder, "merges.txt");
    char *fast = file_join(folder, "tokenizer.json");
    struct tokenizer *t = load(golden), *again;
    struct error err = {0};
    assert_int_equal(tokenizer_save(t, folder, &err), STATUS_OK);
    interop_copy_file(golden, folder, "tokenizer.json");
    if (interop_tokenizer_read(folder, &again, &err))
        fail_msg("%s", err.text);
    tokenizer_destroy(again);
    size_t size;
    unsigned char *bytes = data_file_read(merges, &size);
    char *line = strstr((char *)bytes, "\n") + 1;
    char *rest = strstr(line, "\n") + 1; /* without its first merge */
    memmove(line, rest, strlen(rest) + 1);
    free(data_file_write(folder, "merges.txt", bytes, strlen((char *)bytes)));
    assert_int_equal(interop_tokenizer_read(folder, &again, &err), STATUS_BAD_INPUT);
    assert_non_null(strstr(err.text, "tokenizer.json is not the tokenizer of vocab.json"));
    free(bytes);
    assert_int_equal(tokenizer_save(t, folder, &err), STATUS_OK);
    unlink(fast);
    static const char added[] = "{\"<|pad|>\": 480, \"<|user|>\": 481}";
    free(data_file_write(folder, "added_tokens.json", added, sizeof added - 1));
    if (interop_tokenizer_read(folder, &again, &err))
        fail_msg("%s", err.text);
    assert_int_equal(tokenizer_vocab_size(again), 482);
    const unsigned char *name = tokenizer_decode_bytes(again, 481, &size);
    assert_memory_equal(name, "<|user|>", size);
    tokenizer_destroy(again);
    tokenizer_destroy(t);
    data_folder_remove(folder);
    free(golden);
    free(merges);
    free(fast);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ids_are_the_references),          cmocka_unit_test(test_a_plain_file_is_the_two_files),
        cmocka_unit_test(test_what_is_not_understood_is_named), cmocka_unit_test(test_token_files_with_a_begin),
        cmocka_unit_test(test_two_forms_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
