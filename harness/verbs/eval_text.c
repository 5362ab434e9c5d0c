#include "harness/verbs/eval_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "harness/verbs/cmd_data.h"

/* Through a token file, as every text goes; it is removed as soon as it is mapped. */
static int encode_own(struct eval_text *t, const struct loaded_model *l, const char *path, const char *field,
                      struct error *err)
{
    struct text text;
    const char *folder = getenv("TMPDIR");
    int status = text_open_field(&text, path, field, err);
    if (status)
        return status;
    data_warn(&text);
    char *temporary = memory_format("%s/taper-text-XXXXXX", folder && *folder ? folder : "/tmp");
    int fd = mkstemp(temporary);
    if (fd < 0) {
        status = error_errno(err, STATUS_FAILED, errno, "%s: cannot create", temporary);
    } else {
        close(fd);
        status = tokens_write(temporary, l->tokenizer, &text, l->threads, NULL, NULL, err);
        if (!status)
            status = tokens_open(&t->own, temporary, err);
        unlink(temporary);
    }
    free(temporary);
    text_close(&text);
    t->tokens = &t->own;
    return status;
}

static int open_split(struct eval_text *t, const struct loaded_model *l, struct error *err)
{
    if (!l->corpus[0])
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: it was not trained here and has no validation text; give --text FILE", l->path);
    int status = dataset_open(&t->dataset, &l->model.cfg, l->threads, NULL, err);
    if (status)
        return error_wrap(err, "%s: the run's validation text (--text FILE takes another)", l->path);
    t->tokens = &t->dataset.valid;
    if (strcmp(t->dataset.corpus_digest, l->corpus) != 0)
        return error_set(err, STATUS_BAD_INPUT,
                         "%s: trained beside another text: want digest %.16s, %s is %.16s; --text FILE "
                         "takes it as it is",
                         l->path, l->corpus, l->model.cfg.corpus, t->dataset.corpus_digest);
    return STATUS_OK;
}

int eval_text_open(struct eval_text *t, const struct loaded_model *l, const char *path, const char *field,
                   struct error *err)
{
    *t = (struct eval_text){0};
    int status = path ? encode_own(t, l, path, field, err) : open_split(t, l, err);
    if (!status && t->tokens->count < 2)
        status = error_set(err, STATUS_BAD_INPUT, "%s: want at least two tokens, got %llu",
                           path ? path : l->model.cfg.valid, (unsigned long long)t->tokens->count);
    if (status)
        eval_text_close(t);
    return status;
}

void eval_text_close(struct eval_text *t)
{
    tokens_close(&t->own);
    dataset_close(&t->dataset);
    *t = (struct eval_text){0};
}
