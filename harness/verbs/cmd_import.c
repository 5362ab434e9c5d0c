#include <stdio.h>

#include "core/trained/interop.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

static int import_exec(int argc, char **argv, struct error *err)
{
    struct interop_options o = {0};
    const struct option_spec specs[] = {{.name = "no-tokenizer", .flag = &o.no_tokenizer}, {0}};
    char summary[INTEROP_SUMMARY];
    int operands;
    int status = options_parse(&cmd_import, specs, argc, argv, &operands, err);
    if (!status && operands != 2)
        status = command_usage(&cmd_import, err, "want DIR and OUT, got %d", operands);
    if (!status)
        status = interop_import(argv[1], argv[2], &o, summary, err);
    if (!status)
        printf("%s: %s\n", argv[2], summary);
    return status;
}

static const struct option_row import_options[] = {
    {"no-tokenizer", 0, NULL, "the model alone"},
    {0},
};

const struct command cmd_import = {
    .name = "import",
    .operands = "DIR OUT",
    .brief = "read a GPT-2 or Llama model from a Hugging Face folder",
    .about = "  DIR             config.json; model.safetensors, or shards with their index; a byte-level BPE "
             "tokenizer\n"
             "  OUT             a directory of its own: checkpoint.safetensors, config.json, tokenizer\n",
    .options = import_options,
    .notes = "Tensors may be F32, F16, BF16 or F64. Norms with an epsilon from 1e6 on are taken as the affine maps "
             "they are (gate 0).\n",
    .exec = import_exec,
};
