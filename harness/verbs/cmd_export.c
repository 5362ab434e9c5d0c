#include <stdio.h>
#include <string.h>

#include "core/trained/interop.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

static int read_dtype(const char *text, enum interop_dtype *out, struct error *err)
{
    static const char *const names[INTEROP_DTYPES] = {
        [INTEROP_FLOAT32] = "float32", [INTEROP_BFLOAT16] = "bfloat16", [INTEROP_FLOAT16] = "float16"};
    for (int i = 0; i < INTEROP_DTYPES; i++)
        if (strcmp(text, names[i]) == 0) {
            *out = (enum interop_dtype)i;
            return STATUS_OK;
        }
    return error_set(err, STATUS_BAD_INPUT, "--dtype: want float32, bfloat16 or float16, got '%.40s'", text);
}

static int export_exec(int argc, char **argv, struct error *err)
{
    struct interop_options o = {0};
    const char *dtype = NULL;
    const struct option_spec specs[] = {{.name = "tokenizer", .value = &o.tokenizer_dir},
                                        {.name = "no-tokenizer", .flag = &o.no_tokenizer},
                                        {.name = "widen", .flag = &o.widen},
                                        {.name = "dtype", .value = &dtype},
                                        {0}};
    char summary[INTEROP_SUMMARY];
    int operands;
    int status = options_parse(&cmd_export, specs, argc, argv, &operands, err);
    if (!status && operands != 2)
        status = command_usage(&cmd_export, err, "want CHECKPOINT and DIR, got %d", operands);
    if (!status && dtype)
        status = read_dtype(dtype, &o.dtype, err);
    if (!status)
        status = interop_export(argv[1], argv[2], &o, summary, err);
    if (!status)
        printf("%s: %s\n", argv[2], summary);
    return status;
}

static const struct option_row export_options[] = {
    {"widen", 0, NULL,
     "RMSNorm with learned positions and GELU: a GPT2LMHeadModel of twice the width, the same function"},
    {"dtype", 0, "TYPE", "store float32 (default), bfloat16 or float16; what does not fit is named"},
    {"tokenizer", 0, "DIR", "instead of `tokenizer` beside the checkpoint"},
    {"no-tokenizer", 0, NULL, "the model alone"},
    {0},
};

const struct command cmd_export = {
    .name = "export",
    .operands = "CHECKPOINT DIR",
    .brief = "write a model as Hugging Face loaders read it",
    .about = "  CHECKPOINT       a checkpoint, a folded one, or the directory of a run\n"
             "  DIR              gets config.json, model.safetensors, tokenizer.json, vocab.json, "
             "merges.txt ...\n",
    .options = export_options,
    .notes =
        "A model with LayerNorm, learned positions and GELU becomes a GPT2LMHeadModel, one with RMSNorm, "
        "rotary positions and\n"
        "SwiGLU a LlamaForCausalLM; others have no counterpart and are refused with what does not fit. Norms "
        "that are affine\n"
        "maps (gate 0, or folded) are written with an epsilon of 1e12 (or above, for a large stream) and gains of its "
        "root, not to be\n"
        "loaded in float16; --dtype float16 chooses an epsilon whose gains it holds, or names the one it does not. The "
        "logits of\n"
        "what was written are compared with the model's: by how much they differ is in the last line.\n",
    .exec = export_exec,
};
