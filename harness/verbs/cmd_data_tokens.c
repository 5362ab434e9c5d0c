/* taper data tokenizer, encode, decode. */
#include <stdio.h>

#include "core/data/bpe_train.h"
#include "core/data/text.h"
#include "core/data/tokenizer.h"
#include "core/data/tokens.h"
#include "harness/verbs/cmd_data.h"
#include "harness/verbs/commands.h"
#include "harness/base/options.h"

static int train(const char *path, const char *field, const char *out, uint32_t vocab, int threads, struct error *err)
{
    struct text text;
    struct tokenizer *t;
    int status = text_open_field(&text, path, field, err);
    if (status)
        return status;
    data_warn(&text);
    struct progress progress = data_progress();
    status = tokenizer_train(&t, &text, vocab, threads, &progress, err);
    data_progress_end(&progress);
    if (status)
        error_wrap(err, "%s", path);
    else
        status = tokenizer_save(t, out, err);
    tokenizer_destroy(t);
    text_close(&text);
    return status;
}

int data_tokenizer(int argc, char **argv, struct error *err)
{
    const char *vocab_text = NULL, *threads_text = NULL, *field = NULL;
    const struct option_spec specs[] = {{.name = "vocab", .value = &vocab_text},
                                        {.name = "threads", .value = &threads_text},
                                        {.name = "field", .value = &field},
                                        {0}};
    int operands, threads;
    long long vocab;
    int status = options_parse(&cmd_data, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (operands != 2 || !vocab_text)
        return command_usage(&cmd_data, err, "tokenizer wants --vocab N TEXT OUTDIR");
    status = options_integer("--vocab", vocab_text, TOKENIZER_LEAST_VOCAB, TOKENIZER_MOST_VOCAB, &vocab, err);
    if (!status)
        status = data_threads(threads_text, &threads, err);
    return status ? status : train(argv[1], field, argv[2], (uint32_t)vocab, threads, err);
}

static int encode(const char *directory, const char *path, const char *field, const char *out, int threads,
                  struct error *err)
{
    struct tokenizer *t;
    struct text text;
    int status = tokenizer_load(&t, directory, err);
    if (status)
        return status;
    status = text_open_field(&text, path, field, err);
    if (!status) {
        data_warn(&text);
        struct progress progress = data_progress();
        uint64_t count = 0;
        status = tokens_write(out, t, &text, threads, &count, &progress, err);
        data_progress_end(&progress);
        if (!status)
            printf("%llu tokens, %zu documents, %llu bytes\n", (unsigned long long)count, text.count,
                   (unsigned long long)text.bytes);
        text_close(&text);
    }
    tokenizer_destroy(t);
    return status;
}

int data_encode(int argc, char **argv, struct error *err)
{
    const char *threads_text = NULL, *field = NULL;
    const struct option_spec specs[] = {
        {.name = "threads", .value = &threads_text}, {.name = "field", .value = &field}, {0}};
    int operands, threads;
    int status = options_parse(&cmd_data, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (operands != 3)
        return command_usage(&cmd_data, err, "encode wants TOKENIZER TEXT OUT");
    status = data_threads(threads_text, &threads, err);
    return status ? status : encode(argv[1], argv[2], field, argv[3], threads, err);
}

int data_decode(int argc, char **argv, struct error *err)
{
    const struct option_spec specs[] = {{0}};
    int operands;
    int status = options_parse(&cmd_data, specs, argc, argv, &operands, err);
    if (status)
        return status;
    if (operands != 2)
        return command_usage(&cmd_data, err, "decode wants TOKENIZER TOKENS");
    struct tokenizer *t;
    struct tokens tokens;
    status = tokenizer_load(&t, argv[1], err);
    if (status)
        return status;
    status = tokens_open(&tokens, argv[2], err);
    if (!status) {
        status = tokens_decode(&tokens, t, argv[2], stdout, err);
        tokens_close(&tokens);
    }
    tokenizer_destroy(t);
    return status;
}
