/* Folding: the folded model computes what the tapered one does at gate 0, has no site left, and survives its file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/train/evaluate.h"
#include "core/base/file.h"
#include "core/trained/fold.h"
#include "core/trained/loaded_model.h"
#include "core/base/memory.h"
#include "tests/support/data.h"
#include "tests/support/tiny_model.h"

/* A kind's configuration with a choice of sites. */
static struct config config_of(int kind, const char *sites)
{
    const char *pairs[12] = {sites};
    int n = 1;
    for (const char *const *p = tiny_model_pairs[kind]; *p; p++)
        pairs[n++] = *p;
    return tiny_model_config(pairs);
}

static void fill_windows(const struct config *cfg, int32_t *windows, int count)
{
    uint64_t state = 7;
    for (int i = 0; i < count; i++)
        windows[i] = (int32_t)data_random(&state, (uint32_t)cfg->vocab);
}

static void check_kind(int kind, const char *sites)
{
    struct config cfg = config_of(kind, sites);
    struct tiny_model t;
    struct model folded;
    struct logits_difference check;
    struct error err = {0};
    int32_t windows[60];
    tiny_model_open(&t, &cfg, ops_reference(), 3);
    fill_windows(&cfg, windows, 60);
    if (fold_model(&t.m, &folded, &err) || fold_verify(&t.m, &folded, windows, 3, 20, &check, &err))
        fail_msg("%s: %s", tiny_model_names[kind], err.text);
    if (!(check.error < 2e-6) || check.tokens != 60)
        fail_msg("%s, %s: logits differ by %g over %lld tokens", tiny_model_names[kind], sites, check.error,
                 (long long)check.tokens);
    for (int i = 0; i < folded.table.site_count; i++) {
        bool final = i == folded.table.site_count - 1;
        assert_int_equal(folded.table.sites[i].absent, cfg.sites == SITES_ALL || !final);
        assert_false(folded.table.sites[i].tapered);
    }
    if (cfg.sites == SITES_ALL) { /* no normalisation at all, and a head of its own */
        for (int i = 0; i < folded.table.count; i++)
            assert_null(strstr(folded.table.rows[i].name, "norm"));
        assert_int_not_equal(folded.table.lm_head, folded.table.tok_embed);
    }
    model_destroy(&folded);
    tiny_model_close(&t);
}

static void test_folded_equals_tapered(void **state)
{
    (void)state;
    for (int kind = 0; kind < TINY_MODEL_KINDS; kind++) {
        check_kind(kind, "taper.sites=internal");
        check_kind(kind, "taper.sites=all");
    }
}

/* The check must see a fault: a single changed weight shows. */
static void test_verify_sees_a_difference(void **state)
{
    (void)state;
    struct config cfg = config_of(0, "taper.sites=all");
    struct tiny_model t;
    struct model folded;
    struct logits_difference check;
    struct error err = {0};
    int32_t windows[40];
    tiny_model_open(&t, &cfg, ops_reference(), 3);
    fill_windows(&cfg, windows, 40);
    assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
    model_row(&folded, folded.params, folded.table.blocks[1].in)[5] += 0.1f;
    assert_int_equal(fold_verify(&t.m, &folded, windows, 2, 20, &check, &err), STATUS_OK);
    assert_true(check.error > 1e-4);
    model_row(&folded, folded.params, folded.table.blocks[1].in)[5] = NAN;
    assert_int_equal(fold_verify(&t.m, &folded, windows, 2, 20, &check, &err), STATUS_OK);
    assert_true(isnan(check.error));
    model_destroy(&folded);
    tiny_model_close(&t);
}

/* W diag(c gamma) by hand, in double, rounded once. */
static void test_columns_are_scaled_in_double(void **state)
{
    (void)state;
    struct config cfg = config_of(0, "taper.sites=internal");
    struct tiny_model t;
    struct model folded;
    struct error err = {0};
    tiny_model_open(&t, &cfg, ops_reference(), 5);
    assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
    const float *w = model_row(&t.m, t.m.params, t.m.table.blocks[1].qkv);
    const float *g = model_row(&t.m, t.m.params, t.m.table.sites[2].gamma_tilde);
    const float *f = model_row(&folded, folded.params, folded.table.blocks[1].qkv);
    for (int i = 0; i < 3 * 24 * 24; i++)
        assert_true(f[i] == (float)((double)w[i] * (double)t.m.c[2] * (double)g[i % 24]));
    model_destroy(&folded);
    tiny_model_close(&t);
}

static void write_model(const char *path, const struct model *m)
{
    struct error err = {0};
    float *params = model_download(m, m->params), *c = model_download_c(m);
    const struct saved_model_content content = {
        .cfg = &m->cfg, .table = &m->table, .params = params, .c = c, .step = 4};
    if (saved_model_write(path, &content, &err))
        fail_msg("%s", err.text);
    free(params);
    free(c);
}

/* Tokens that live in memory, for evaluate(). */
static struct tokens some_tokens(const struct config *cfg, uint32_t *ids, int count)
{
    uint64_t state = 11;
    for (int i = 0; i < count; i++)
        ids[i] = data_random(&state, (uint32_t)cfg->vocab);
    return (struct tokens){.wide = ids, .count = (uint64_t)count, .width = 4, .vocab = (uint32_t)cfg->vocab};
}

static void check_file(const char *folder, int kind, const char *sites)
{
    struct config cfg = config_of(kind, sites);
    struct tiny_model t;
    struct model folded;
    struct loaded_model plain = {0}, again = {0};
    struct evaluation before, after, direct;
    struct error err = {0};
    uint32_t ids[130];
    struct tokens tokens = some_tokens(&cfg, ids, 130);
    char *one = file_join(folder, "plain.safetensors"), *two = file_join(folder, "folded.safetensors");
    tiny_model_open(&t, &cfg, ops_cpu(), 9);
    assert_int_equal(fold_model(&t.m, &folded, &err), STATUS_OK);
    write_model(one, &t.m);
    write_model(two, &folded);
    if (loaded_model_open(&plain, one, &(struct loaded_model_options){.threads = 1}, &err) ||
        loaded_model_open(&again, two, &(struct loaded_model_options){.threads = 1}, &err))
        fail_msg("%s: %s", tiny_model_names[kind], err.text);
    assert_true(plain.gate == 0 && again.gate == 0);
    assert_int_equal(again.folded, cfg.sites);
    model_set_gate(&t.m, 0);
    assert_int_equal(evaluate(&t.m, &tokens, 2, 0, NULL, &direct, &err), STATUS_OK);
    assert_int_equal(evaluate(&plain.model, &tokens, 2, 0, NULL, &before, &err), STATUS_OK);
    assert_int_equal(evaluate(&again.model, &tokens, 3, 0, NULL, &after, &err), STATUS_OK);
    assert_true(before.loss == direct.loss);
    assert_true(before.tokens == 129 && after.tokens == 129);
    if (fabs(after.loss - before.loss) > 1e-5)
        fail_msg("%s, %s: loss %.8f, folded %.8f", tiny_model_names[kind], sites, before.loss, after.loss);
    loaded_model_close(&plain);
    loaded_model_close(&again);
    model_destroy(&folded);
    tiny_model_close(&t);
    free(one);
    free(two);
}

static void test_files_keep_the_loss(void **state)
{
    (void)state;
    char *folder = data_folder_make();
    for (int kind = 0; kind < TINY_MODEL_KINDS; kind++) {
        check_file(folder, kind, "taper.sites=internal");
        check_file(folder, kind, "taper.sites=all");
    }
    data_folder_remove(folder);
}

/* ------------------------------------------------------------------------------------------- bad files */

struct broken {
    struct safetensors file;
    struct tensor tensors[64];
    size_t count;
};

static struct tensor *tensor_named(struct broken *b, const char *name)
{
    for (size_t i = 0; i < b->count; i++)
        if (strcmp(b->tensors[i].name, name) == 0)
            return &b->tensors[i];
    fail_msg("no tensor %s", name);
    return NULL;
}

static void expect_refusal(const char *path, const char *const *texts)
{
    struct loaded_model l;
    struct error err = {0};
    assert_int_equal(loaded_model_open(&l, path, &(struct loaded_model_options){.threads = 1}, &err), STATUS_BAD_INPUT);
    for (; *texts; texts++)
        if (!strstr(err.text, *texts))
            fail_msg("want '%s' in:\n%s", *texts, err.text);
}

static void test_bad_files_are_understood(void **state)
{
    (void)state;
    struct config cfg = config_of(0, "taper.sites=all");
    struct tiny_model t;
    struct broken b = {.count = 0};
    struct error err = {0};
    char *folder = data_folder_make(), *good = file_join(folder, "good"), *bad = file_join(folder, "bad");
    float numbers[24] = {0};
    tiny_model_open(&t, &cfg, ops_cpu(), 9);
    write_model(good, &t.m);
    assert_int_equal(safetensors_open(&b.file, good, &err), STATUS_OK);
    const json_t *metadata = json_object_get(b.file.header, "__metadata__");

    /* Missing, unknown and misshapen tensors are all named at once. */
    b.count = b.file.count;
    memcpy(b.tensors, b.file.tensors, b.count * sizeof *b.tensors);
    tensor_named(&b, "blocks.0.attn.out.weight")->name = "blocks.0.attn.outt.weight";
    struct tensor *wide = tensor_named(&b, "blocks.1.mlp_norm.gamma");
    wide->rank = 2;
    wide->shape[0] = 4;
    wide->shape[1] = 6;
    tensor_named(&b, "final_norm.c")->name = "final_norm.cc";
    assert_int_equal(safetensors_write(bad, NULL, b.tensors, b.count, metadata, &err), STATUS_OK);
    expect_refusal(bad, (const char *const[]){"bad: tensor blocks.0.attn.out.weight: missing, want shape [24, 24]",
                                              "tensor blocks.0.attn.outt.weight: no part of the model",
                                              "tensor blocks.1.mlp_norm.gamma: want shape [24], got [4, 6]",
                                              "tensor final_norm.c: missing", "tensor final_norm.cc: no part", NULL});

    /* Numbers that are none. */
    memcpy(b.tensors, b.file.tensors, b.count * sizeof *b.tensors);
    numbers[3] = NAN;
    numbers[4] = INFINITY;
    tensor_named(&b, "blocks.1.attn_norm.gamma_tilde")->data = numbers;
    tensor_named(&b, "final_norm.c")->data = numbers + 4;
    assert_int_equal(safetensors_write(bad, NULL, b.tensors, b.count, metadata, &err), STATUS_OK);
    expect_refusal(
        bad, (const char *const[]){"tensor blocks.1.attn_norm.gamma_tilde: 2 of 24 numbers are not finite; nan at [3]",
                                   "tensor final_norm.c: 1 of 1 numbers are not finite; inf at [0]", NULL});

    /* Metadata that does not fit. */
    json_t *other = json_deep_copy(metadata);
    json_object_set_new(other, "folded", json_string("internal"));
    assert_int_equal(safetensors_write(bad, NULL, b.file.tensors, b.count, other, &err), STATUS_OK);
    expect_refusal(bad, (const char *const[]){"__metadata__.folded is internal, but taper.sites is all", NULL});
    json_object_set_new(other, "folded", json_string("some"));
    assert_int_equal(safetensors_write(bad, NULL, b.file.tensors, b.count, other, &err), STATUS_OK);
    expect_refusal(bad, (const char *const[]){"want none, internal or all, got 'some'", NULL});
    json_object_del(other, "config");
    assert_int_equal(safetensors_write(bad, NULL, b.file.tensors, b.count, other, &err), STATUS_OK);
    expect_refusal(bad, (const char *const[]){"no configuration in __metadata__.config", NULL});
    json_decref(other);

    safetensors_close(&b.file);
    tiny_model_close(&t);
    data_folder_remove(folder);
    free(good);
    free(bad);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folded_equals_tapered),        cmocka_unit_test(test_verify_sees_a_difference),
        cmocka_unit_test(test_columns_are_scaled_in_double), cmocka_unit_test(test_files_keep_the_loss),
        cmocka_unit_test(test_bad_files_are_understood),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
