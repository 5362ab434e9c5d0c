#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/trained/compare.h"
#include "core/trained/interop_internal.h"
#include "core/trained/loaded_model.h"
#include "core/base/memory.h"

/* What the norms of a model are: all real, or all affine maps (or neither, which no class has). */
enum norm_form { FORM_NORMED, FORM_AFFINE, FORM_OTHER };

static enum norm_form form_of(const struct loaded_model *l)
{
    const struct param_table *t = &l->model.table;
    int affine = 0;
    for (int i = 0; i < t->site_count; i++)
        if (l->model.site_phase[i] == PHASE_MIXED)
            return FORM_OTHER;
        else
            affine += l->model.site_phase[i] == PHASE_FOLDED;
    return affine == 0 ? FORM_NORMED : affine == t->site_count ? FORM_AFFINE : FORM_OTHER;
}

static bool head_is_biased(const struct loaded_model *l)
{
    const struct param_table *t = &l->model.table;
    const float *bias = model_row(&l->model, l->model.params, t->head_bias);
    for (int64_t v = 0; bias && v < l->model.cfg.vocab; v++)
        if (bias[v] != 0)
            return true;
    return false;
}

/* What of the model the class has no place for, into f. Returns how much. */
static int list_misfits(const struct loaded_model *l, enum interop_class class, bool widen, struct faults *f)
{
    const struct config *cfg = &l->model.cfg;
    const char *name = interop_class_name(class);
    const int before = f->count;
    if (class == INTEROP_GPT2) {
        const bool only_norm = cfg->pos == POS_LEARNED && cfg->mlp != MLP_SWIGLU;
        if (cfg->norm != NORM_LAYER && !(widen && only_norm))
            faults_add(f, "%s: model.norm is rmsnorm, it has layernorm (and centres, also when folded)%s", name,
                       only_norm ? "; --widen writes it all the same, twice as wide" : "");
        if (cfg->pos != POS_LEARNED)
            faults_add(f, "%s: model.pos is rope, it has learned positions", name);
        if (cfg->d_attn)
            faults_add(f, "%s: model.d_attn is %lld, its attention is as wide as the model (%lld)", name,
                       (long long)cfg->d_attn, (long long)cfg->d_model);
        if (cfg->mlp == MLP_SWIGLU)
            faults_add(f, "%s: model.mlp is swiglu, it has gelu or gelu_tanh", name);
    } else {
        if (cfg->norm != NORM_RMS)
            faults_add(f, "%s: model.norm is layernorm, it has rmsnorm", name);
        if (cfg->pos != POS_ROPE)
            faults_add(f, "%s: model.pos is learned, it has rope", name);
        if (cfg->mlp != MLP_SWIGLU)
            faults_add(f, "%s: model.mlp is no swiglu", name);
    }
    if (config_fakeln(cfg) && form_of(l) == FORM_AFFINE && cfg->norm == NORM_LAYER && !cfg->bias &&
        l->folded == SITES_NONE)
        faults_add(f,
                   "%s: V's norm has a constant of its own, which a bias would take in, and model.bias is false (fold "
                   "it first)",
                   name);
    if (form_of(l) == FORM_OTHER && l->gate > 0 && config_fakeln(cfg))
        faults_add(f, "%s: some norms are removed and some are real at step %lld, it has one kind (train on)", name,
                   (long long)l->step);
    else if (form_of(l) == FORM_OTHER && l->gate > 0)
        faults_add(f,
                   "%s: the gate is %g at step %lld; it has norms, or affine maps at gate 0, but no mixture (train on "
                   "to gate 0, or export what `taper fold --at-gate-zero` makes of it)",
                   name, l->gate, (long long)l->step);
    else if (form_of(l) == FORM_OTHER)
        faults_add(f,
                   "%s: taper.sites is internal, so the last norm is real and the others are not, which no folding "
                   "changes; it has one epsilon for all (what it can hold: a checkpoint from before the gate falls, "
                   "or taper.sites all at gate 0)",
                   name);
    if (head_is_biased(l))
        faults_add(
            f, "%s: lm_head.bias has no place (export the checkpoint before folding: its shift goes to the last norm)",
            name);
    return f->count - before;
}

static int choose_class(const struct loaded_model *l, bool widen, enum interop_class *out, struct error *err)
{
    struct error dropped = {0};
    struct faults f = {.err = err};
    for (int class = 0; class < INTEROP_CLASSES; class ++) {
        struct faults quiet = {.err = &dropped};
        if (list_misfits(l, (enum interop_class) class, widen, &quiet) == 0) {
            *out = (enum interop_class) class;
            return STATUS_OK;
        }
    }
    faults_add(&f, "%s: no class of the loaders fits this model exactly:", l->path);
    for (int class = 0; class < INTEROP_CLASSES; class ++)
        list_misfits(l, (enum interop_class) class, widen, &f);
    return faults_end(&f);
}

/* ------------------------------------------------------------------------------------------- tensors */

/* A norm's vector as the class wants it. */
static void fill_norm(const struct loaded_model *l, const struct interop_tensor *t, const float *c, double root,
                      float *to)
{
    const struct model *m = &l->model;
    const struct param_site *s = &m->table.sites[t->site];
    const bool folded = s->tapered && m->site_phase[t->site] == PHASE_FOLDED, gain = t->how == INTEROP_NORM_GAIN;
    const float *from =
        model_row(m, m->params, gain ? (folded ? s->gamma_tilde : s->gamma) : (folded ? s->beta_tilde : s->beta));
    for (size_t i = 0; i < t->count; i++) {
        if (s->absent)
            to[i] = gain ? (float)root : 0;
        else if (gain && folded)
            to[i] = (float)(root * (double)c[t->site] * (double)from[i]);
        else
            to[i] = from ? from[i] : 0;
    }
}

static float *fill_tensor(const struct loaded_model *l, const struct interop_tensor *t, const float *c, double root)
{
    const struct model *m = &l->model;
    float *to = memory_alloc(t->count, sizeof *to);
    if (t->how == INTEROP_NORM_GAIN || t->how == INTEROP_NORM_SHIFT) {
        fill_norm(l, t, c, root, to);
        return to;
    }
    const float *from = model_row(m, m->params, t->row);
    if (!from)
        return to;
    if (t->how == INTEROP_SAME) {
        memcpy(to, from + t->first, t->count * sizeof *to);
        return to;
    }
    const int64_t I = t->shape[0], O = t->shape[1];
    for (int64_t o = 0; o < O; o++)
        for (int64_t i = 0; i < I; i++)
            to[i * O + o] = from[o * I + i];
    return to;
}

static bool is_widened(const struct loaded_model *l, enum interop_class class)
{
    return class == INTEROP_GPT2 && l->model.cfg.norm == NORM_RMS;
}

/* How the folder is written. */
struct writing {
    enum interop_class class;
    enum interop_dtype dtype;
    double root; /* of the epsilon, where norms are affine maps */
};

static void add_lost(const struct writing *w, const struct interop_tensor *t, double value, struct faults *f)
{
    const struct interop_number *number = interop_number(w->dtype);
    faults_add(f, "tensor %s: %g does not fit %s, whose largest number is %g%s", t->name, value, number->name,
               number->most, t->how == INTEROP_NORM_GAIN ? " (a gain that stands for an affine map)" : "");
}

static int write_tensors(const struct loaded_model *l, const struct writing *w, const char *path, struct error *err)
{
    struct interop_map map;
    struct faults f = {.err = err};
    const struct model *m = &l->model;
    float *c = model_download_c(m);
    interop_map_create(&map, w->class, &m->cfg, &m->table,
                       &(struct interop_extras){.biases = m->cfg.bias, .key_heads = m->cfg.heads});
    struct tensor *tensors = memory_alloc((size_t)map.count, sizeof *tensors);
    for (int i = 0; i < map.count; i++) {
        struct interop_tensor *t = &map.tensors[i];
        float *numbers = fill_tensor(l, t, c, w->root);
        if (is_widened(l, w->class))
            numbers = interop_widen(t, numbers);
        size_t lost;
        void *stored = interop_narrow(w->dtype, numbers, t->count, &lost);
        if (lost < t->count)
            add_lost(w, t, (double)numbers[lost], &f);
        if (stored != numbers)
            free(numbers);
        tensors[i] = (struct tensor){.name = t->name,
                                     .type = interop_number(w->dtype)->type,
                                     .rank = t->rank,
                                     .shape = {t->shape[0], t->shape[1]},
                                     .count = t->count,
                                     .data = stored};
    }
    json_t *metadata = json_pack("{s:s}", "format", "pt");
    int status = faults_end(&f);
    if (!status)
        status = safetensors_write(path, NULL, tensors, (size_t)map.count, metadata, err);
    json_decref(metadata);
    for (int i = 0; i < map.count; i++)
        free((void *)tensors[i].data);
    free(tensors);
    free(c);
    interop_map_destroy(&map);
    return status;
}

/* ------------------------------------------------------------------------------------------- config.json */

static json_t *gpt2_config(const struct config *cfg)
{
    return json_pack("{s:[s], s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:f, s:f, s:b}", "architectures",
                     "GPT2LMHeadModel", "model_type", "gpt2", "n_embd", (json_int_t)cfg->d_model, "n_layer",
                     (json_int_t)cfg->layers, "n_head", (json_int_t)cfg->heads, "n_positions", (json_int_t)cfg->context,
                     "n_ctx", (json_int_t)cfg->context, "n_inner", (json_int_t)cfg->d_ff, "activation_function",
                     cfg->mlp == MLP_GELU_TANH ? "gelu_new" : "gelu", "attn_pdrop", 0.0, "embd_pdrop", 0.0,
                     "resid_pdrop", 0.0, "scale_attn_weights", 1);
}

/* How the rotary angles are scaled; null where they are not. */
static json_t *rope_scaling(const struct config *cfg)
{
    if (cfg->rope_scaling == ROPE_PLAIN)
        return json_null();
    if (cfg->rope_scaling == ROPE_LINEAR)
        return json_pack("{s:s, s:f}", "rope_type", "linear", "factor", cfg->rope_factor);
    return json_pack("{s:s, s:f, s:f, s:f, s:I}", "rope_type", "llama3", "factor", cfg->rope_factor, "low_freq_factor",
                     cfg->rope_low, "high_freq_factor", cfg->rope_high, "original_max_position_embeddings",
                     (json_int_t)cfg->rope_original);
}

static json_t *llama_config(const struct config *cfg)
{
    return json_pack("{s:[s], s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:f, s:o, s:b, s:b, s:f}", "architectures",
                     "LlamaForCausalLM", "model_type", "llama", "hidden_size", (json_int_t)cfg->d_model,
                     "num_hidden_layers", (json_int_t)cfg->layers, "num_attention_heads", (json_int_t)cfg->heads,
                     "num_key_value_heads", (json_int_t)cfg->heads, "head_dim", (json_int_t)config_head(cfg),
                     "max_position_embeddings", (json_int_t)cfg->context, "intermediate_size", (json_int_t)cfg->d_ff,
                     "hidden_act", "silu", "rope_theta", cfg->rope_theta, "rope_scaling", rope_scaling(cfg),
                     "attention_bias", (int)cfg->bias, "mlp_bias", (int)cfg->bias, "attention_dropout", 0.0);
}

static int write_config(const struct loaded_model *l, const struct writing *w, const char *path, struct error *err)
{
    const enum interop_class class = w->class;
    struct config wide = l->model.cfg;
    const struct config *cfg = &wide;
    const bool affine = form_of(l) == FORM_AFFINE;
    if (is_widened(l, class)) {
        wide.d_model *= 2;
        wide.heads *= 2;
    }
    json_t *object = class == INTEROP_GPT2 ? gpt2_config(cfg) : llama_config(cfg);
    json_object_set_new(object, class == INTEROP_GPT2 ? "layer_norm_epsilon" : "rms_norm_eps",
                        json_real(affine ? w->root * w->root : cfg->norm_eps));
    json_object_set_new(object, "vocab_size", json_integer(cfg->vocab));
    json_object_set_new(object, "tie_word_embeddings",
                        json_boolean(l->model.table.lm_head == l->model.table.tok_embed));
    json_object_set_new(object, "torch_dtype", json_string(interop_number(w->dtype)->name));
    json_object_set_new(object, "use_cache", json_true());
    if (l->tokenizer) {
        json_object_set_new(object, "bos_token_id", json_integer(tokenizer_end_of_text(l->tokenizer)));
        json_object_set_new(object, "eos_token_id", json_integer(tokenizer_end_of_text(l->tokenizer)));
    }
    int status = json_file_write(path, object, JSON_INDENT(2) | JSON_SORT_KEYS, err);
    json_decref(object);
    return status;
}

/* ------------------------------------------------------------------------------------------- the check */

enum { WINDOWS = 2, WINDOW_MOST = 128 };

/* Random windows [WINDOWS][*T], on the heap. */
static int32_t *make_windows(const struct loaded_model *l, int *T)
{
    *T = l->model.cfg.context < WINDOW_MOST ? (int)l->model.cfg.context : WINDOW_MOST;
    int32_t *windows = memory_alloc((size_t)WINDOWS * (size_t)*T, sizeof *windows);
    compare_random_windows(l->model.cfg.vocab, WINDOWS, *T, windows);
    return windows;
}

/* The root of the epsilon that leaves this model's stream room. */
static int choose_root(const struct loaded_model *l, enum interop_dtype dtype, double *root, struct error *err)
{
    double rms;
    int T;
    *root = interop_number(dtype)->least_root;
    if (form_of(l) != FORM_AFFINE)
        return STATUS_OK;
    int32_t *windows = make_windows(l, &T);
    int status = compare_stream_rms(&l->model, windows, T, &rms, err);
    free(windows);
    while (!status && *root < INTEROP_HEADROOM * rms)
        *root *= interop_number(dtype)->root_step;
    if (!status && (isnan(rms) || *root > INTEROP_MOST_ROOT))
        status = error_set(err, STATUS_FAILED, "%s: its stream grows to %g, which no epsilon in fp32 is far above",
                           l->path, rms);
    return status;
}

/* What a loader will compute against what the model is; a folder that is another model is none: its config.json goes.
 */
static int check_written(const struct loaded_model *l, enum interop_dtype dtype, const char *dir, const char *config,
                         struct logits_difference *difference, struct error *err)
{
    const double most = interop_number(dtype)->tolerance;
    struct model written;
    int T;
    int status = interop_open_as_written(&written, dir, l->model.ops, l->be, err);
    if (!status) {
        const struct model *const both[2] = {&l->model, &written};
        int32_t *windows = make_windows(l, &T);
        status = compare_logits(both, windows, WINDOWS, T, difference, err);
        free(windows);
        model_destroy(&written);
    }
    if (!status && !(difference->error <= most))
        status =
            error_set(err, STATUS_FAILED,
                      "%s: the logits of what was written differ by %.3g (relative, over %lld tokens), more than %g",
                      dir, difference->error, (long long)difference->tokens, most);
    if (status)
        unlink(config);
    return status;
}

int interop_export(const char *checkpoint, const char *dir, const struct interop_options *options,
                   char summary[INTEROP_SUMMARY], struct error *err)
{
    struct loaded_model l;
    struct writing w = {.dtype = options->dtype};
    int status = loaded_model_open(&l, checkpoint,
                                   &(struct loaded_model_options){.threads = 1,
                                                                  .tokenizer = !options->no_tokenizer,
                                                                  .tokenizer_dir = options->tokenizer_dir},
                                   err);
    if (status)
        return status;
    char *tensors = file_join(dir, "model.safetensors"), *config = file_join(dir, "config.json");
    struct logits_difference difference = {0};
    status = choose_class(&l, options->widen, &w.class, err);
    if (!status && form_of(&l) == FORM_AFFINE && l.folded == SITES_NONE)
        interop_join_values(&l.model);
    if (!status)
        status = choose_root(&l, w.dtype, &w.root, err);
    if (!status)
        status = file_make_directories(dir, err);
    if (!status)
        status = write_tensors(&l, &w, tensors, err);
    if (!status && l.tokenizer)
        status = interop_tokenizer_write(dir, l.tokenizer, w.class, l.model.cfg.context, err);
    if (!status) /* last: with it the folder is a model */
        status = write_config(&l, &w, config, err);
    if (!status)
        status = check_written(&l, w.dtype, dir, config, &difference, err);
    if (!status) {
        char affine[96] = "";
        if (form_of(&l) == FORM_AFFINE)
            snprintf(affine, sizeof affine, "; its norms are affine maps (epsilon %g%s)", w.root * w.root,
                     w.dtype == INTEROP_FLOAT16 ? "" : ": not to be loaded in float16");
        snprintf(summary, INTEROP_SUMMARY, "%s, %lld parameters in %s%s%s; logits differ by %.2g",
                 interop_class_name(w.class), (long long)l.model.table.parameters, interop_number(w.dtype)->name,
                 is_widened(&l, w.class) ? "; written twice as wide" : "", affine, difference.error);
    }
    free(tensors);
    free(config);
    loaded_model_close(&l);
    return status;
}
