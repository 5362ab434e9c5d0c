/* The configuration of a run: a flat set of dotted keys with typed values, from ONE table in config_keys.c.
 *
 * The table drives YAML files, --set, `taper help config`, the checks, the canonical JSON and the run's identity.
 * Life: config_init, config_set any number of times (later wins), config_finish once. Only a finished configuration
 * may be trained on; finishing fills what was left to the preset or to `auto`, and checks keys against each other.
 * A struct config holds no heap memory: copy it by assignment. Not thread-safe while being set. */
#ifndef TAPER_CORE_CONFIG_CONFIG_H
#define TAPER_CORE_CONFIG_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <jansson.h>

#include "core/base/error.h"
#include "core/base/kinds.h"

enum { CONFIG_TEXT = 512, CONFIG_KEYS_MOST = 96, CONFIG_DIGEST_TEXT = 65 /* hex of 32 bytes, and the terminator */ };

/* A length of training: steps ("500") or a part of the run ("5%"). */
struct config_length {
    double value; /* steps, or percent of the run */
    bool fraction;
};

/* A number, or the word that stands for "found out by the run". */
struct config_target {
    double value;
    bool word;
};

struct config {
    char model_size[32]; /* a preset's name */
    int64_t d_model, layers, heads, head_dim, context, vocab, d_ff;
    int64_t d_attn;     /* 0: d_model; read it by config_attn */
    int norm, pos, mlp; /* enum norm_kind, pos_kind, mlp_kind */
    double norm_eps, rope_theta, init_std;
    int rope_scaling; /* enum rope_scaling */
    double rope_factor, rope_low, rope_high;
    int64_t rope_original;
    bool bias, tied;

    int sites, method, gate_shape, gate_order; /* enum taper_sites, taper_method, gate_shape, gate_order */
    struct config_length gate_warmup, gate_end, gate_gap;
    double gate_value, ema;
    struct config_fakeln { /* finished: every site's removal, where config_fakeln */
        double ema;
        int64_t mlp_start, mlp_gap, qk_start, qk_gap, v_start, v_gap, final_start;
    } fakeln;
    double aux_lambda;
    struct config_target aux_target;

    char init_from[CONFIG_TEXT], init_run[CONFIG_TEXT], init_digest[CONFIG_TEXT];
    int init_optimizer; /* enum init_optimizer */

    int64_t steps, batch, accumulate;
    int64_t classes; /* below 2: all entries; read it by config_classes */
    double lr, lr_final;
    struct config_length lr_warmup;
    int lr_schedule;
    double beta1, beta2, adam_eps, weight_decay, clip;

    char corpus[CONFIG_TEXT], tokenizer[CONFIG_TEXT], valid[CONFIG_TEXT];
    int64_t corpus_size, corpus_seed;

    struct config_length eval_every, checkpoint_every;
    int64_t log_every, eval_tokens, sample_tokens;
    char sample_prompt[CONFIG_TEXT];

    int device, precision;
    int64_t threads;
    int64_t seed;
    int64_t seed_weights, seed_data; /* -1: as seed; read them by config_seed_weights and config_seed_data */

    bool given[CONFIG_KEYS_MOST]; /* by table row: set explicitly, so that a preset leaves it alone */
    bool finished;
};

enum config_type { CONFIG_INT, CONFIG_REAL, CONFIG_BOOL, CONFIG_WORD, CONFIG_STRING, CONFIG_LENGTH, CONFIG_TARGET };

enum {
    CONFIG_RESULT = 1, /* the key changes the result, and so the run's name */
    CONFIG_SHAPE = 2,  /* it changes the sizes of what is in memory, or of a step's matrix work */
    CONFIG_ALWAYS = 4, /* it stands in the name at its default too: a key of the first version */
    CONFIG_DIGEST = 8, /* it stands there by the digest of the data, corpus or tokenizer, that it leads to */
    CONFIG_LATER = 16, /* it came after the first version, and changes no result: at its default it stands in no JSON */
};

/* When a key has an effect. */
struct config_condition {
    bool (*holds)(const struct config *cfg); /* of a finished configuration */
    const char *words;                       /* for the help: "with model.pos rope" */
};

/* One row of the table. */
struct config_key {
    const char *name; /* "model.d_model" */
    enum config_type type;
    size_t offset;            /* in struct config */
    const char *fallback;     /* default, as text ("auto" for an INT or REAL that is derived: stored as low - 1) */
    double low, high;         /* inclusive bounds (INT, REAL, TARGET, LENGTH in steps) */
    const char *const *words; /* CONFIG_WORD: the spellings, in the order of the enum, NULL-terminated;
                                 CONFIG_TARGET: words[0] is the word */
    unsigned effect;          /* CONFIG_RESULT, CONFIG_SHAPE, CONFIG_ALWAYS, CONFIG_DIGEST */
    const struct config_condition *counts; /* NULL: always; where it does not hold the key is as at its default */
    const char *help;
};

/* The table; *count rows. */
const struct config_key *config_keys(int *count);

/* The row of a name, NULL when unknown. */
const struct config_key *config_key_find(const char *name);

/* The known key nearest to a misspelt one (edit distance), NULL when none is near. */
const char *config_key_nearest(const char *name);

/* Every key at its default, none given. */
void config_init(struct config *cfg);

/* Set one key from its textual value. Errors (STATUS_BAD_INPUT) name the key, what is wanted and what was found;
 * cfg is then unchanged. */
int config_set(struct config *cfg, const char *name, const char *value, struct error *err);

/* config_set of "KEY=VALUE". */
int config_set_pair(struct config *cfg, const char *pair, struct error *err);

/* Apply the preset, derive what is auto, check keys against each other. All faults are reported at once, a line each.
 */
int config_finish(struct config *cfg, struct error *err);

/* The number of "12.5%", -1 when the text is not of that kind. */
double config_percent(const char *text);

/* The width of all heads together, and of one of them: of a finished configuration. */
int64_t config_attn(const struct config *cfg);
int64_t config_head(const struct config *cfg);

/* The entries of the vocabulary that are classes of the loss, from the first on; the rows behind them pad. */
int64_t config_classes(const struct config *cfg);

/* init.digest of a run that begins with what another run ends with: this, and that run's name. */
#define CONFIG_OF_RUN "run:"

/* Are sites removed as FakeLN does it? */
bool config_fakeln(const struct config *cfg);

/* The seeds of the initial parameters and of the batches: set apart, or seed. */
int64_t config_seed_weights(const struct config *cfg);
int64_t config_seed_data(const struct config *cfg);

/* Steps of a length in a run of `steps` steps (rounded to nearest). */
int64_t config_steps(struct config_length length, int64_t steps);

/* One key's value as text that config_set takes back; to must hold CONFIG_TEXT bytes. Returns to. */
char *config_get(const struct config *cfg, const struct config_key *key, char *to);

/* All keys as a JSON object, typed ("5%" stays a string), but for those that came after the first version, change the
 * result and are at their default. A new reference. */
json_t *config_to_json(const struct config *cfg);

/* The keys that change the result but do not count in this configuration, with their values, as a JSON object: what two
 * configurations of one name may differ in, beside what says only how a run is computed. Left out as in config_to_json.
 * A new reference. */
json_t *config_uncounted(const struct config *cfg);

/* The reverse of config_to_json; the result is finished. `where` names the source in errors. Unknown keys are errors.
 */
int config_from_json(struct config *cfg, const json_t *object, const char *where, struct error *err);

/* The canonical JSON (sorted, compact) of the keys that change the result: lengths in steps, keys that do not count at
 * their defaults, the data as the digests given. Keys that are not CONFIG_ALWAYS are left out at their defaults, so a
 * new key renames no run. On the heap; the caller frees it. */
char *config_canonical(const struct config *cfg, const char *corpus_digest, const char *tokenizer_digest);

enum { CONFIG_ID = 13 };

/* The run's name: the first 12 hex digits of the BLAKE2b-256 of config_canonical. */
void config_identity(const struct config *cfg, const char *corpus_digest, const char *tokenizer_digest,
                     char id[CONFIG_ID]);

/* Do both configurations give one result as far as this key goes? True for keys that change no result, or count by a
 * digest. */
bool config_same_result(const struct config *a, const struct config *b, const struct config_key *key);

/* The shape: the same digits of the keys that are CONFIG_SHAPE. Runs of equal shape take as much memory, and as long
 * for a step, as one another, but for what is done element by element at the tapered sites and for the auxiliary loss.
 */
void config_shape(const struct config *cfg, char shape[CONFIG_ID]);

/* `taper help config`: every key with type, default, bounds and help. */
void config_print_help(FILE *out);

/* The same of one key, or of those whose names begin so at a dot ("train"). Returns how many that are. */
int config_print_key_help(const char *name, FILE *out);

#endif
