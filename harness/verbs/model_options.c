#include "harness/verbs/model_options.h"

#include <string.h>

#include "harness/base/options.h"

int model_option_weights(const char *text, enum decoder_weights *out, struct error *err)
{
    if (!text)
        return STATUS_OK;
    for (int i = 0; i < WEIGHTS_KINDS; i++)
        if (strcmp(text, decoder_weights_name((enum decoder_weights)i)) == 0) {
            *out = (enum decoder_weights)i;
            return STATUS_OK;
        }
    return error_set(err, STATUS_BAD_INPUT, "--weights: want fp32, bf16 or int8, got '%s'", text);
}

int model_option_device(const char *text, enum load_device *out, struct error *err)
{
    if (!text)
        return STATUS_OK;
    if (strcmp(text, "cpu") != 0 && strcmp(text, "cuda") != 0)
        return error_set(err, STATUS_BAD_INPUT, "--device: want cpu or cuda, got '%s'", text);
    *out = strcmp(text, "cuda") == 0 ? LOAD_CUDA : LOAD_CPU;
    return STATUS_OK;
}

int model_option_threads(const char *text, int *out, struct error *err)
{
    long long value = *out;
    int status = text ? options_integer("--threads", text, 1, 1024, &value, err) : STATUS_OK;
    *out = (int)value;
    return status;
}

int model_journal_line(const char *path, const char *table, json_t *object, struct error *err)
{
    struct journal journal;
    int status = journal_open(&journal, path, 1, err);
    if (status) {
        json_decref(object);
        return status;
    }
    status = journal_next_attempt(&journal, err);
    if (!status) {
        journal.attempt = journal.attempt > 1 ? journal.attempt - 1 : 1;
        status = journal_append(&journal, table, object, err);
    } else {
        json_decref(object);
    }
    struct error closing = {0};
    int closed = journal_close(&journal, &closing);
    return status ? status : closed ? error_set(err, closed, "%s", closing.text) : STATUS_OK;
}
