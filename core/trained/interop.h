/* Models of other programs: folders that Hugging Face loaders read (docs/formats.md, "Export and import").
 *
 * Two classes have a counterpart here. GPT2LMHeadModel: LayerNorm, learned positions, an MLP of GELU. LlamaForCausalLM:
 * RMSNorm, rotary positions, SwiGLU. A model that is neither is refused, with the list of what fits neither; one with
 * RMSNorm that fits GPT-2 otherwise can be written as a wider one. */
#ifndef TAPER_CORE_TRAINED_INTEROP_H
#define TAPER_CORE_TRAINED_INTEROP_H

#include <stdbool.h>
#include <stddef.h>

#include "core/base/error.h"

/* What exported numbers are stored as. */
enum interop_dtype { INTEROP_FLOAT32, INTEROP_BFLOAT16, INTEROP_FLOAT16, INTEROP_DTYPES };

struct interop_options {
    const char *tokenizer_dir; /* export: NULL: beside the checkpoint */
    bool no_tokenizer;
    bool widen; /* export: RMSNorm, learned positions and GELU as a GPT-2 of twice the width, the same function */
    enum interop_dtype dtype; /* export */
};

enum { INTEROP_SUMMARY = 256 };

/* Write a checkpoint (folded or not, or a run's directory) as a folder: config.json, model.safetensors,
 * tokenizer.json, vocab.json, merges.txt and their small companions. Norms that are affine maps (gate 0, or folded
 * away) become the published trick: an epsilon of r^2 and gains r times as large. A number that the dtype does not
 * hold is named. summary says what was written, and how far its logits are from the model's. */
int interop_export(const char *checkpoint, const char *dir, const struct interop_options *options,
                   char summary[INTEROP_SUMMARY], struct error *err);

/* Read such a folder into a directory of its own: checkpoint.safetensors, config.json, tokenizer. Takes one file or
 * shards behind model.safetensors.index.json; F32, F16, BF16, F64; GPT-2's names with and without their prefix. Every
 * tensor that is missing, misshapen, unknown or not finite is named. */
int interop_import(const char *dir, const char *out, const struct interop_options *options,
                   char summary[INTEROP_SUMMARY], struct error *err);

#endif
