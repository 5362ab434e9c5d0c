/* Checkpoints: parameters, moments, averages and the step, in one safetensors file replaced atomically.
 *
 * Tensors: every parameter under its name, SITE.c [1] of tapered sites; adam.m/NAME and adam.v/NAME; state/step [1],
 * state/adam_step [counters], state/ema_updates [1] (I64), state/ema [sites,3], state/target [1] (F64);
 * state/logged [1] (I64): the last step whose row the journal held when this was written;
 * where steps were skipped, state/skipped [2] (I64): of the whole run, and in a row up to this step.
 * __metadata__: config (JSON), corpus and tokenizer (digests), version. */
#ifndef TAPER_CORE_TRAIN_CHECKPOINT_H
#define TAPER_CORE_TRAIN_CHECKPOINT_H

#include "core/train/trainer.h"

/* Digests of the data a run was trained on, as dataset_digests gives them. */
struct checkpoint_data {
    const char *corpus, *tokenizer;
};

/* Write the state of a trainer that is settled; what path held stays as `keep` (NULL: it does not). On failure both old
 * files are untouched: disk full, or a parameter or moment that is not finite (the error names step and tensor). */
int checkpoint_write(const char *path, const char *keep, const struct trainer *t, const struct checkpoint_data *data,
                     struct error *err);

/* Open one that is to be gone on from. *damaged: it can be read and is not what was written, or not whole; the error
 * says what is wrong. One without a digest (taper 0.1) is damaged when a weight or moment is not finite, which none was
 * when it was written. */
int checkpoint_open(struct safetensors *f, const char *path, bool *damaged, struct error *err);

/* state/logged, 0 where there is none. */
int64_t checkpoint_logged(const struct safetensors *f);

/* Read a state into a trainer of the same configuration: every tensor, or an error naming those that do not fit and the
 * keys that differ; the trainer is then unusable. */
int checkpoint_load(const struct safetensors *f, struct trainer *t, const struct checkpoint_data *data,
                    struct error *err);

/* Both at once. */
int checkpoint_read(const char *path, struct trainer *t, const struct checkpoint_data *data, struct error *err);

/* The finished configuration in a checkpoint's metadata. */
int checkpoint_config(const struct safetensors *f, struct config *cfg, struct error *err);

/* Do the keys that change the result agree? STATUS_BAD_INPUT lists those that do not, "found" being other's. */
int checkpoint_compare(const char *where, const struct config *cfg, const struct config *other, struct error *err);

#endif
