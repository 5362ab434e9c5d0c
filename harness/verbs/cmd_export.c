#include <stdio.h>

#include "core/trained/interop.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

static int export_exec(int argc, char **argv, struct error *err)
{
    struct interop_options o = {0};
    const struct option_spec specs[] = {{.name = "tokenizer", .value = &o.tokenizer_dir},
                                        {.name = "no-tokenizer", .flag = &o.no_tokenizer},
                                        {.name = "widen", .flag = &o.widen},
                                        {0}};
    char summary[INTEROP_SUMMARY];
    int operands;
    int status = options_parse(&cmd_export, specs, argc, argv, &operands, err);
    if (!status && operands != 2)
        status = command_usage(&cmd_export, err, "want CHECKPOINT and DIR, got %d", operands);
    if (!status)
        status = interop_export(argv[1], argv[2], &o, summary, err);
    if (!status)
        printf("%s: %s\n", argv[2], summary);
    return status;
}

static const struct option_row export_options[] = {
    {"widen", 0, NULL,
     "RMSNorm with learned positions and GELU: a GPT2LMHeadModel of twice the width, the same function"},
    {"tokenizer", 0, "DIR", "instead of `tokenizer` beside the checkpoint"},
    {"no-tokenizer", 0, NULL, "the model alone"},
    {0},
};

const struct command cmd_export = {
    .name = "export",
    .operands = "CHECKPOINT DIR",
    .brief = "write a model as Hugging Face loaders read it",
    .about = "  CHECKPOINT       a checkpoint, a folded one, or the directory of a run\n"
             "  DIR              gets config.json, model.safetensors (fp32), tokenizer.json, vocab.json, "
             "merges.txt ...\n",
    .options = export_options,
    .notes =
        "A model with LayerNorm, learned positions and GELU becomes a GPT2LMHeadModel, one with RMSNorm, "
        "rotary positions and\n"
        "SwiGLU a LlamaForCausalLM; others have no counterpart and are refused with what does not fit. Norms "
        "that are affine\n"
        "maps (gate 0, or folded) are written with an epsilon of 1e12 (or above, for a large stream) and gains of its "
        "root: to be\n"
        "loaded in fp32. The logits of what was written are compared with the model's.\n",
    .exec = export_exec,
};
