#include <stdio.h>
#include <string.h>

#include "core/decode/generate.h"
#include "harness/verbs/commands.h"
#include "harness/verbs/model_options.h"
#include "harness/base/options.h"
#include "harness/base/utf8_stream.h"

static int write_stream(void *arg, const unsigned char *bytes, size_t length, struct error *err)
{
    struct utf8_stream *s = arg;
    if (utf8_stream_write(s, bytes, length) != 0 || fflush(s->out) != 0)
        return error_set(err, STATUS_FAILED, "standard output: cannot write");
    return STATUS_OK;
}

static int run(const char *path, const struct loaded_model_options *load, const struct generate_options *o, bool stats,
               struct error *err)
{
    struct loaded_model l;
    struct utf8_stream stream = {.out = stdout};
    struct generate_result result;
    int status = loaded_model_open(&l, path, load, err);
    if (status)
        return status;
    struct generate_options options = *o;
    options.sink = write_stream;
    options.arg = &stream;
    options.threads = load->threads;
    status = generate(&l.model, l.tokenizer, &options, &result, err);
    if ((utf8_stream_end(&stream) != 0 || putchar('\n') == EOF || fflush(stdout) != 0) && !status)
        status = error_set(err, STATUS_FAILED, "standard output: cannot write");
    if (!status && stats)
        fprintf(stderr, "taper: prompt of %lld tokens in %.3f s; %lld tokens in %.3f s, %.1f tokens/s\n",
                (long long)result.prompt, result.prompt_s, (long long)result.drawn, result.draw_s,
                result.draw_s > 0 ? (double)(result.drawn > 1 ? result.drawn - 1 : 0) / result.draw_s : 0);
    loaded_model_close(&l);
    return status;
}

/* The numbers among the options, as text. */
struct numbers {
    const char *tokens, *temperature, *top_k, *top_p, *seed, *threads, *weights, *device;
};

static int read_numbers(const struct numbers *n, struct generate_options *o, struct loaded_model_options *load,
                        struct error *err)
{
    long long tokens = o->tokens, top_k = o->top_k, seed = (long long)o->seed;
    int status = n->tokens ? options_integer("--tokens", n->tokens, 0, 100000000, &tokens, err) : STATUS_OK;
    if (!status && n->temperature)
        status = options_real("--temperature", n->temperature, 0, 1000, &o->temperature, err);
    if (!status && n->top_k)
        status = options_integer("--top-k", n->top_k, 0, INT32_MAX, &top_k, err);
    if (!status && n->top_p)
        status = options_real("--top-p", n->top_p, 0, 1, &o->top_p, err);
    if (!status && n->seed)
        status = options_integer("--seed", n->seed, 0, INT64_MAX, &seed, err);
    if (!status)
        status = model_option_threads(n->threads, &load->threads, err);
    if (!status)
        status = model_option_device(n->device, &load->device, err);
    if (!status)
        status = model_option_weights(n->weights, &o->weights, err);
    o->tokens = tokens;
    o->top_k = (int)top_k;
    o->seed = (uint64_t)seed;
    return status;
}

static int generate_exec(int argc, char **argv, struct error *err)
{
    struct generate_options o = {.prompt = "", .tokens = 200, .temperature = 0.8, .top_p = 0.95};
    struct loaded_model_options load = {.tokenizer = true};
    struct numbers n = {0};
    bool greedy = false, stats = false;
    const struct option_spec specs[] = {{.name = "prompt", .value = &o.prompt},
                                        {.name = "tokens", .value = &n.tokens},
                                        {.name = "temperature", .value = &n.temperature},
                                        {.name = "top-k", .value = &n.top_k},
                                        {.name = "top-p", .value = &n.top_p},
                                        {.name = "seed", .value = &n.seed},
                                        {.name = "greedy", .flag = &greedy},
                                        {.name = "no-cache", .flag = &o.no_cache},
                                        {.name = "weights", .value = &n.weights},
                                        {.name = "tokenizer", .value = &load.tokenizer_dir},
                                        {.name = "threads", .value = &n.threads},
                                        {.name = "device", .value = &n.device},
                                        {.name = "stats", .flag = &stats},
                                        {0}};
    int operands;
    int status = options_parse(&cmd_generate, specs, argc, argv, &operands, err);
    if (!status && operands != 1)
        status = command_usage(&cmd_generate, err, "want one CHECKPOINT, got %d", operands);
    if (!status)
        status = read_numbers(&n, &o, &load, err);
    if (!status && o.no_cache && o.weights != WEIGHTS_FP32)
        status = command_usage(&cmd_generate, err, "--no-cache runs the model in fp32 only");
    if (greedy)
        o.temperature = 0;
    return status ? status : run(argv[1], &load, &o, stats, err);
}

static const struct option_row generate_options[] = {
    {"prompt", 0, "TEXT", "what to go on from (nothing: a new document)"},
    {"tokens", 0, "N", "stop after N tokens (200), or earlier at <|endoftext|>"},
    {"temperature", 0, "T", "0 is the most likely token (0.8)"},
    {"greedy", 0, NULL, "--temperature 0"},
    {"top-k", 0, "K", "only the K most likely (0: all)"},
    {"top-p", 0, "P", "only the fewest whose probability reaches P (0.95; 1: all)"},
    {"seed", 0, "S", "the same seed draws the same text (0)"},
    {"weights", 0, "fp32|bf16|int8", "how they are read, a half or a quarter of the memory; sums are in fp32"},
    {"no-cache", 0, NULL, "run the whole window for every token: slow, for comparison"},
    {"tokenizer", 0, "DIR", "instead of `tokenizer` beside the checkpoint"},
    {"device", 0, "cpu|cuda", "cpu (the default) or cuda"},
    OPTION_THREADS_DECODING,
    {"stats", 0, NULL, "the speed, on standard error"},
    {0},
};

const struct command cmd_generate = {
    .name = "generate",
    .operands = "CHECKPOINT",
    .brief = "text from a checkpoint, folded or not",
    .about = "  CHECKPOINT       a checkpoint, a folded one, or the directory of a run\n",
    .options = generate_options,
    .notes = "Text is written as it comes, whole characters only.\n",
    .exec = generate_exec,
};
