/* The one table of configuration keys, and the presets of model.size. */
#include <float.h>

#include "core/config/config_internal.h"

static const char *const norm_words[] = {"rmsnorm", "layernorm", NULL};
static const char *const pos_words[] = {"learned", "rope", NULL};
static const char *const rope_words[] = {"none", "linear", "llama3", NULL};
static const char *const mlp_words[] = {"gelu", "gelu_tanh", "swiglu", NULL};
static const char *const sites_words[] = {"none", "internal", "all", NULL};
static const char *const method_words[] = {"gate", "fakeln", NULL};
static const char *const gate_words[] = {"cosine", "linear", "step", "constant", NULL};
static const char *const order_words[] = {"together", "sequential", "reversed", NULL};
static const char *const optimizer_words[] = {"fresh", "keep", NULL};
static const char *const lr_words[] = {"cosine", "linear", "constant", NULL};
static const char *const device_words[] = {"cpu", "cuda", NULL};
static const char *const precision_words[] = {"auto", "fp32", "bf16", NULL};
static const char *const target_words[] = {"calibrated", NULL};

/* What a key decides. NAMED, SIZED and SHAPED are for the keys that stood in a name or shape from the first version on;
 * one that comes now is CONFIG_RESULT (and CONFIG_SHAPE), so that the names of the runs before it stay. */
#define NOTHING  0
#define NAMED    (CONFIG_RESULT | CONFIG_ALWAYS)
#define SHAPED   (CONFIG_SHAPE | CONFIG_ALWAYS)
#define SIZED    (CONFIG_RESULT | CONFIG_ALWAYS | CONFIG_SHAPE)
#define DIGESTED (CONFIG_RESULT | CONFIG_DIGEST)

/* When a key counts: ANY is always. */
#define ANY NULL

static bool tapers(const struct config *cfg)
{
    return cfg->sites != SITES_NONE;
}

static bool anchors(const struct config *cfg)
{
    return cfg->aux_lambda > 0;
}

/* The warmup ends calibration, and the anchoring loss starts behind it, calibrated or not. */
static bool has_warmup(const struct config *cfg)
{
    return tapers(cfg) || anchors(cfg);
}

/* Has the sites a gate each? */
static bool gates(const struct config *cfg)
{
    return tapers(cfg) && cfg->method == METHOD_GATE;
}

static bool moves_gate(const struct config *cfg)
{
    return gates(cfg) && cfg->gate_shape != GATE_CONSTANT;
}

static bool holds_gate(const struct config *cfg)
{
    return gates(cfg) && cfg->gate_shape == GATE_CONSTANT;
}

static bool averages(const struct config *cfg)
{
    return gates(cfg) || (!tapers(cfg) && anchors(cfg) && cfg->aux_target.word);
}

static bool rotates(const struct config *cfg)
{
    return cfg->pos == POS_ROPE;
}

static bool scales_rope(const struct config *cfg)
{
    return rotates(cfg) && cfg->rope_scaling != ROPE_PLAIN;
}

static bool scales_waves(const struct config *cfg)
{
    return rotates(cfg) && cfg->rope_scaling == ROPE_LLAMA3;
}

static bool lowers_lr(const struct config *cfg)
{
    return cfg->lr_schedule != LR_CONSTANT;
}

static bool staggers(const struct config *cfg)
{
    return gates(cfg) && cfg->gate_order != ORDER_TOGETHER;
}

static bool continues(const struct config *cfg)
{
    return cfg->init_from[0] || cfg->init_run[0];
}

static bool removes(const struct config *cfg)
{
    return config_fakeln(cfg);
}

static bool removes_final(const struct config *cfg)
{
    return config_fakeln(cfg) && cfg->sites == SITES_ALL;
}

static const struct config_condition
    if_tapers = {tapers, "with taper.sites"},
    if_gates = {gates, "with taper.sites and taper.method gate"},
    if_staggers = {staggers, "with gate.order sequential or reversed"},
    if_continues = {continues, "with init.from or init.run"},
    if_removes = {removes, "with taper.sites and taper.method fakeln"},
    if_removes_final = {removes_final, "with taper.sites all and taper.method fakeln"},
    if_anchors = {anchors, "with aux.lambda"}, if_warmup = {has_warmup, "with taper.sites or aux.lambda"},
    if_moves = {moves_gate, "with taper.sites and taper.method gate, unless gate.shape is constant"},
    if_holds = {holds_gate, "with taper.sites, taper.method gate and gate.shape constant"},
    if_averages = {averages, "with taper.sites and taper.method gate, or aux.lambda and a calibrated target"},
    if_rotates = {rotates, "with model.pos rope"},
    if_scales = {scales_rope, "with model.pos rope and a model.rope_scaling"},
    if_waves = {scales_waves, "with model.pos rope and model.rope_scaling llama3"},
    if_lowers = {lowers_lr, "unless train.lr_schedule is constant"};

/* clang-format off */
#define INT(name, field, fallback, low, high, effect, counts, help)                                                               \
    {name, CONFIG_INT, offsetof(struct config, field), fallback, low, high, NULL, effect, counts, help}
#define REAL(name, field, fallback, low, high, effect, counts, help)                                                              \
    {name, CONFIG_REAL, offsetof(struct config, field), fallback, low, high, NULL, effect, counts, help}
#define BOOL(name, field, fallback, effect, counts, help)                                                                         \
    {name, CONFIG_BOOL, offsetof(struct config, field), fallback, 0, 1, NULL, effect, counts, help}
#define WORD(name, field, fallback, words, effect, counts, help)                                                                  \
    {name, CONFIG_WORD, offsetof(struct config, field), fallback, 0, 0, words, effect, counts, help}
#define TEXT(name, field, fallback, effect, counts, help)                                                                         \
    {name, CONFIG_STRING, offsetof(struct config, field), fallback, 0, 0, NULL, effect, counts, help}
#define LENGTH(name, field, fallback, effect, counts, help)                                                                       \
    {name, CONFIG_LENGTH, offsetof(struct config, field), fallback, 0, 1e9, NULL, effect, counts, help}
/* clang-format on */

static const struct config_key keys[] = {
    TEXT("model.size", model_size, "demo", NOTHING, ANY, "preset of the model keys: " CONFIG_PRESET_NAMES),
    INT("model.d_model", d_model, "auto", 1, 65536, SIZED, ANY, "width of the residual stream (auto: the preset's)"),
    INT("model.layers", layers, "auto", 1, 1024, SIZED, ANY, "transformer blocks (auto: the preset's)"),
    INT("model.heads", heads, "auto", 1, 1024, SIZED, ANY, "attention heads (auto: d_attn / head_dim)"),
    INT("model.head_dim", head_dim, "auto", 1, 1024, NOTHING, ANY,
        "width of a head where heads is auto (auto: the preset's)"),
    INT("model.d_attn", d_attn, "auto", 1, 65536, CONFIG_RESULT | CONFIG_SHAPE, ANY,
        "width of attention, all heads together: heads * their width (auto: d_model)"),
    INT("model.context", context, "auto", 1, 1048576, SIZED, ANY, "tokens the model sees (auto: the preset's)"),
    INT("model.vocab", vocab, "auto", 2, 16777216, SIZED, ANY, "vocabulary entries (auto: the preset's)"),
    INT("model.d_ff", d_ff, "auto", 1, 262144, SIZED, ANY,
        "width of the MLP (auto: 4 d_model; swiglu: 8/3 d_model rounded up to a multiple of 32)"),
    WORD("model.norm", norm, "rmsnorm", norm_words, SIZED, ANY,
         "normalization: rmsnorm, or layernorm with its shift beta"),
    REAL("model.norm_eps", norm_eps, "1e-6", 0, 1, NAMED, ANY, "added to the mean square under the root"),
    WORD("model.pos", pos, "learned", pos_words, SIZED, ANY, "positions: a learned table, or rotary embedding"),
    REAL("model.rope_theta", rope_theta, "10000", 1, 1e9, NAMED, &if_rotates, "base of the rotary frequencies"),
    WORD("model.rope_scaling", rope_scaling, "none", rope_words, CONFIG_RESULT, &if_rotates,
         "rotary angles of a longer context than the first: linear divides all by rope_factor, llama3 those of long "
         "waves"),
    REAL("model.rope_factor", rope_factor, "8", 1, 1e6, CONFIG_RESULT, &if_scales, "what the angles are divided by"),
    REAL("model.rope_low", rope_low, "1", 0, 1e6, CONFIG_RESULT, &if_waves,
         "waves with fewer turns over rope_original tokens are divided in full"),
    REAL("model.rope_high", rope_high, "4", 0, 1e6, CONFIG_RESULT, &if_waves, "waves with more turns stay as they are"),
    INT("model.rope_original", rope_original, "8192", 1, 16777216, CONFIG_RESULT, &if_waves,
        "tokens of the context before the angles were scaled"),
    WORD("model.mlp", mlp, "gelu", mlp_words, SIZED, ANY, "activation of the MLP: gelu (erf), gelu_tanh, swiglu"),
    BOOL("model.bias", bias, "false", SIZED, ANY, "biases in the linear layers"),
    BOOL("model.tied", tied, "true", SIZED, ANY, "output head shares the token embedding"),
    REAL("model.init_std", init_std, "auto", 0, 10, NAMED, ANY,
         "standard deviation of the initial weights; residual projections divide it by sqrt(2 layers) (auto: 6.4 / "
         "d_model "
         "from 64 to 255, else 0.02; GPT-2 presets 0.02)"),
    WORD("taper.sites", sites, "none", sites_words, NAMED, ANY,
         "which norms are tapered: none, internal (both of every block), all (and the final one)"),
    WORD("taper.method", method, "gate", method_words, CONFIG_RESULT | CONFIG_SHAPE, &if_tapers,
         "how they leave: by a gate that falls (TaperNorm), or removed one after another (FakeLN)"),
    LENGTH("gate.warmup", gate_warmup, "5%", NAMED, &if_warmup, "gate 1 and calibration until here (k_warm)"),
    LENGTH("gate.end", gate_end, "40%", NAMED, &if_moves, "gate 0 from here on (k_end)"),
    WORD("gate.shape", gate_shape, "cosine", gate_words, NAMED, &if_gates,
         "between warmup and end: cosine, linear; step stays 1 until end; constant is gate.value after warmup, for "
         "good"),
    WORD("gate.order", gate_order, "together", order_words, CONFIG_RESULT, &if_gates,
         "the gates of all sites fall together, or one after another: from the first site of the first block on, or "
         "from the last site back; a site is calibrated until its own gate falls"),
    LENGTH("gate.gap", gate_gap, "1%", CONFIG_RESULT, &if_staggers,
           "steps from one site's warmup and end to the next one's"),
    REAL("gate.value", gate_value, "0.5", 0, 1, NAMED, &if_holds, "the gate of shape constant"),
    REAL("taper.ema", ema, "0.99", 0, 0.999999, NAMED, &if_averages, "decay of the calibration averages"),
    REAL("fakeln.ema", fakeln.ema, "auto", 0, 0.999999, CONFIG_RESULT, &if_removes,
         "decay of the scales' averages, a forward pass (auto: as published for GPT-2's sizes, else 0.9)"),
    INT("fakeln.mlp_start", fakeln.mlp_start, "auto", 2, 1000000000, CONFIG_RESULT, &if_removes,
        "step at which the first block's MLP norm (ln_2) is removed (auto: as published for GPT-2's sizes, else after "
        "gate.warmup)"),
    INT("fakeln.mlp_gap", fakeln.mlp_gap, "auto", 1, 1000000000, CONFIG_RESULT, &if_removes,
        "steps from one block's to the next one's (auto: as published, else all removals up to gate.end)"),
    INT("fakeln.qk_start", fakeln.qk_start, "auto", 2, 1000000000, CONFIG_RESULT, &if_removes,
        "the same for the attention norm (ln_1) as Q and K read it (auto: after the MLP norms)"),
    INT("fakeln.qk_gap", fakeln.qk_gap, "auto", 1, 1000000000, CONFIG_RESULT, &if_removes,
        "steps between blocks (auto: as fakeln.mlp_gap)"),
    INT("fakeln.v_start", fakeln.v_start, "auto", 2, 1000000000, CONFIG_RESULT, &if_removes,
        "the same for the attention norm as V reads it (auto: after Q's and K's)"),
    INT("fakeln.v_gap", fakeln.v_gap, "auto", 1, 1000000000, CONFIG_RESULT, &if_removes,
        "steps between blocks (auto: as published, else as fakeln.mlp_gap)"),
    INT("fakeln.final_start", fakeln.final_start, "auto", 2, 1000000000, CONFIG_RESULT, &if_removes_final,
        "step at which the final norm (ln_f) is removed (auto: after V's)"),
    REAL("aux.lambda", aux_lambda, "0", 0, 1e6, NAMED, ANY, "weight of the scale-anchoring loss; 0 is off"),
    {"aux.target", CONFIG_TARGET, offsetof(struct config, aux_target), "calibrated", 0, 1e6, target_words, NAMED,
     &if_anchors, "target scale s_tgt: calibrated over the warmup, or a number"},
    TEXT("init.from", init_from, "", CONFIG_LATER, ANY,
         "begin with these weights: a checkpoint, a run's directory, or a folder of Hugging Face (empty: random ones). "
         "In the name by init.digest; data.tokenizer auto is then the one that came with them"),
    TEXT("init.run", init_run, "", CONFIG_LATER, ANY,
         "the same with what another run of the sweep ends with: that of this variant at the same point of the grid, "
         "which "
         "is waited for. In the name by that run's name"),
    TEXT("init.digest", init_digest, "", CONFIG_RESULT, &if_continues,
         "digest of these weights (empty: taken from init.from); a run that finds others there refuses"),
    WORD("init.optimizer", init_optimizer, "fresh", optimizer_words, CONFIG_RESULT, &if_continues,
         "fresh moments, or keep those of the checkpoint and their step counts; the run's own steps begin with 1"),
    INT("train.steps", steps, "1000", 1, 1000000000, NAMED, ANY, "optimizer steps (K)"),
    INT("train.batch", batch, "16", 1, 1048576, SIZED, ANY, "windows of model.context tokens in a micro-batch"),
    INT("train.accumulate", accumulate, "1", 1, 65536, SIZED, ANY, "micro-batches in a step"),
    INT("train.vocab", classes, "auto", 2, 16777216, CONFIG_RESULT | CONFIG_SHAPE, ANY,
        "entries of the vocabulary that are classes of the loss (auto: all): the rows behind them pad, without a part "
        "in it"),
    REAL("train.lr", lr, "6e-4", 0, 100, NAMED, ANY, "peak learning rate"),
    REAL("train.lr_final", lr_final, "0.1", 0, 1, NAMED, &if_lowers, "final learning rate as a part of the peak"),
    LENGTH("train.lr_warmup", lr_warmup, "2%", NAMED, ANY, "linear warm-up of the learning rate"),
    WORD("train.lr_schedule", lr_schedule, "cosine", lr_words, NAMED, ANY, "after the warm-up"),
    REAL("train.beta1", beta1, "0.9", 0, 0.999999, NAMED, ANY, "AdamW: decay of the first moment"),
    REAL("train.beta2", beta2, "0.95", 0, 0.99999999, NAMED, ANY, "AdamW: decay of the second moment"),
    REAL("train.adam_eps", adam_eps, "1e-8", 0, 1, NAMED, ANY, "AdamW: added to the root of the second moment"),
    REAL("train.weight_decay", weight_decay, "0.1", 0, 10, NAMED, ANY,
         "AdamW: decay of tensors of two or more dimensions"),
    REAL("train.clip", clip, "1", 0, 1e9, NAMED, ANY, "largest global gradient norm; 0 is no clipping"),
    TEXT("data.corpus", corpus, "stories", DIGESTED, ANY,
         "stories (built in), tinystories or novels (taper data fetch), or a text file or directory"),
    INT("data.size", corpus_size, "20000000", 10000, 1000000000000, DIGESTED, ANY,
        "bytes of the built-in stories (2M hold a vocabulary of 10000)"),
    INT("data.seed", corpus_seed, "1", 0, 9007199254740991, DIGESTED, ANY, "seed of the built-in stories"),
    TEXT("data.tokenizer", tokenizer, "auto", DIGESTED, ANY,
         "directory with vocab.json and merges.txt, or auto: trained on the corpus to model.vocab entries"),
    TEXT("data.valid", valid, "auto", DIGESTED, ANY,
         "validation text: a file or directory, or the last part of the documents (5%); auto: tinystories' own, else "
         "5%"),
    LENGTH("eval.every", eval_every, "10%", NOTHING, ANY,
           "steps between evaluations (the last step is always evaluated); 0: only the last"),
    INT("eval.tokens", eval_tokens, "0", 0, 1000000000000, NOTHING, ANY,
        "validation tokens an evaluation before the last reads; 0: the whole split, as the last always does"),
    INT("log.every", log_every, "10", 1, 1000000000, NOTHING, ANY,
        "steps between logged rows (step 1 and the last always)"),
    LENGTH("checkpoint.every", checkpoint_every, "10%", NOTHING, ANY,
           "steps between checkpoints (the last step always); 0: only the last"),
    INT("sample.tokens", sample_tokens, "128", 0, 1000000, NOTHING, ANY, "tokens of text generated at the end"),
    TEXT("sample.prompt", sample_prompt, "Once upon a time", NOTHING, ANY, "what the generated text goes on from"),
    WORD("device", device, "cpu", device_words, SHAPED, ANY, "where it runs"),
    WORD("precision", precision, "auto", precision_words, SIZED, ANY,
         "auto: fp32 on the CPU, bf16 matrix work on cuda"),
    INT("threads", threads, "0", 0, 1024, NOTHING, ANY, "CPU threads; 0: as many as the process may use"),
    INT("seed", seed, "0", 0, 9007199254740991, NAMED, ANY,
        "seed of the parameters, of the batches and of the text generated at the end"),
    INT("seed.weights", seed_weights, "auto", 0, 9007199254740991, CONFIG_RESULT, ANY,
        "seed of the initial parameters alone (auto: seed)"),
    INT("seed.data", seed_data, "auto", 0, 9007199254740991, CONFIG_RESULT, ANY,
        "seed of the batches alone: which windows of the text, in which order (auto: seed)"),
};

_Static_assert(sizeof keys / sizeof keys[0] <= CONFIG_KEYS_MOST, "raise CONFIG_KEYS_MOST");

const struct config_key *config_keys(int *count)
{
    *count = (int)(sizeof keys / sizeof keys[0]);
    return keys;
}

/* clang-format off */
#define PAPER(d) {"model.d_model", d}, {"model.layers", "8"}, {"model.context", "512"}, {"model.vocab", "10000"}, \
    {"model.head_dim", "32"}
#define GPT2(d, layers_, heads_) {"model.d_model", d}, {"model.layers", layers_}, {"model.heads", heads_},            \
    {"model.context", "1024"}, {"model.vocab", "50257"}, {"model.norm", "layernorm"}, {"model.norm_eps", "1e-5"},     \
    {"model.mlp", "gelu_tanh"}, {"model.bias", "true"}, {"model.init_std", "0.02"}

static const struct config_preset presets[] = {
    {"demo", {{"model.d_model", "64"}, {"model.layers", "4"}, {"model.context", "128"}, {"model.vocab", "1024"}, {"model.head_dim", "32"}}},
    {"1M", {PAPER("64")}},
    {"3M", {PAPER("128")}},
    {"9M", {PAPER("256")}},
    {"30M", {PAPER("512")}},
    {"gpt2", {GPT2("768", "12", "12")}},
    {"gpt2-medium", {GPT2("1024", "24", "16")}},
    {"gpt2-large", {GPT2("1280", "36", "20")}},
    {"gpt2-xl", {GPT2("1600", "48", "25")}},
};
/* clang-format on */

const struct config_preset *config_preset_find(const char *name)
{
    for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++)
        if (strcmp(presets[i].name, name) == 0)
            return &presets[i];
    return NULL;
}
