#include <math.h>
#include <stdio.h>

#include "core/decode/decoder_loss.h"
#include "core/train/evaluate.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/eval_text.h"
#include "harness/verbs/model_options.h"
#include "harness/base/options.h"

enum { SEQUENCES = 16 }; /* side by side in a decoder */

struct eval_arguments {
    const char *text, *field, *tokenizer, *tokens;
    bool json, no_padding;
    struct loaded_model_options load;
    enum decoder_weights weights;
    long long most;
};

static int print_result(const struct loaded_model *l, const struct eval_arguments *a, const struct evaluation *e,
                        struct error *err)
{
    const char *folded = saved_model_sites_name(l->folded);
    if (a->json) {
        json_t *object =
            json_pack("{s:s, s:o, s:o, s:I, s:f, s:I, s:s}", "checkpoint", l->path, "loss", journal_number(e->loss),
                      "perplexity", journal_number(exp(e->loss)), "tokens", (json_int_t)e->tokens, "gate", l->gate,
                      "step", (json_int_t)l->step, "folded", folded);
        int failed =
            !object || json_dumpf(object, stdout, JSON_COMPACT | JSON_REAL_PRECISION(17)) != 0 || putchar('\n') == EOF;
        json_decref(object);
        return failed ? error_set(err, STATUS_FAILED, "standard output: cannot write") : STATUS_OK;
    }
    printf("%s: loss %.6f (perplexity %.3f) over %lld tokens of %s; step %lld, ", l->path, e->loss, exp(e->loss),
           (long long)e->tokens, a->text ? a->text : "the validation text", (long long)l->step);
    if (l->folded != SITES_NONE)
        printf("folded: %s\n", folded);
    else
        printf("gate %g\n", l->gate);
    return STATUS_OK;
}

/* As `taper generate --weights` reads the model. */
static int decode_all(const struct loaded_model *l, const struct tokens *tokens, const struct eval_arguments *a,
                      struct evaluation *out, struct error *err)
{
    const struct decoder_options o = {.batch = SEQUENCES, .threads = a->load.threads, .weights = a->weights};
    struct decoder_loss loss;
    int status = decoder_loss(&l->model, &o, tokens, a->most, (int)l->model.cfg.vocab, &loss, err);
    *out = (struct evaluation){.loss = loss.loss, .tokens = loss.tokens};
    return status;
}

static int run(const char *path, const struct eval_arguments *a, struct error *err)
{
    struct loaded_model l;
    struct eval_text text;
    struct evaluation e;
    int status = loaded_model_open(&l, path, &a->load, err);
    if (status)
        return status;
    status = eval_text_open(&text, &l, a->text, a->field, err);
    if (!status) {
        if (a->no_padding) /* its head then ends with the tokenizer's last entry */
            l.model.cfg.vocab = tokenizer_vocab_size(l.tokenizer);
        status = a->weights == WEIGHTS_FP32
                     ? evaluate(&l.model, text.tokens, (int)l.model.cfg.batch, a->most, NULL, &e, err)
                     : decode_all(&l, text.tokens, a, &e, err);
        if (!status)
            status = print_result(&l, a, &e, err);
        eval_text_close(&text);
    }
    loaded_model_close(&l);
    return status;
}

static int eval_exec(int argc, char **argv, struct error *err)
{
    struct eval_arguments a = {0};
    const char *threads = NULL, *device = NULL, *weights = NULL;
    const struct option_spec specs[] = {{.name = "text", .value = &a.text},
                                        {.name = "tokenizer", .value = &a.tokenizer},
                                        {.name = "tokens", .value = &a.tokens},
                                        {.name = "threads", .value = &threads},
                                        {.name = "device", .value = &device},
                                        {.name = "no-padding", .flag = &a.no_padding},
                                        {.name = "weights", .value = &weights},
                                        {.name = "json", .flag = &a.json},
                                        {0}};
    int operands;
    int status = options_parse(&cmd_eval, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_eval, err, "want one CHECKPOINT, got %d", operands);
    if (!status && a.tokens)
        status = options_integer("--tokens", a.tokens, 1, INT64_MAX / 2, &a.most, err);
    if (!status)
        status = model_option_threads(threads, &a.load.threads, err);
    if (!status)
        status = model_option_device(device, &a.load.device, err);
    if (!status)
        status = model_option_weights(weights, &a.weights, err);
    a.load.tokenizer = a.text != NULL || a.no_padding;
    a.load.tokenizer_dir = a.tokenizer;
    return status ? status : run(argv[1], &a, err);
}

static const struct option_row eval_options[] = {
    {"text", 0, "FILE", "the text (a file or directory); else the validation split of the checkpoint's run"},
    {"field", 0, "NAME", "the text is JSON lines, and this field of each a document"},
    {"tokens", 0, "N", "read no more than this many targets (all)"},
    {"tokenizer", 0, "DIR", "the tokenizer of --text (`tokenizer` beside the checkpoint)"},
    {"device", 0, "cpu|cuda", "cpu (the default) or cuda"},
    OPTION_THREADS_DECODING,
    {"no-padding", 0, NULL, "leave rows of the vocabulary that the tokenizer has no entry for out of the loss"},
    {"weights", 0, "fp32|bf16|int8", "as `generate` reads them, a token at a time: what that costs in loss; CPU only"},
    {"json", 0, NULL, "one JSON object"},
    {0},
};

const struct command cmd_eval = {
    .name = "eval",
    .operands = "CHECKPOINT",
    .brief = "the loss of a checkpoint, folded or not",
    .about = "  CHECKPOINT       a checkpoint, a folded one, or the directory of a run\n",
    .options = eval_options,
    .notes = "The model is taken at its step's gate. The loss is the mean cross-entropy, in nats a token, without "
             "the aux loss.\n",
    .exec = eval_exec,
};
