#include "harness/verbs/result_verb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/file.h"
#include "core/base/memory.h"

static int add(const char **list, int *count, const char *value, const char *option, struct error *err)
{
    if (*count == RESULT_CHOICES_MOST)
        return error_set(err, STATUS_BAD_INPUT, "%s: at most %d of them", option, RESULT_CHOICES_MOST);
    list[(*count)++] = value;
    return STATUS_OK;
}

int result_verb_where(void *choice, const char *value, struct error *err)
{
    struct result_choice *c = choice;
    return add(c->where, &c->where_count, value, "--where", err);
}

int result_verb_variant(void *verb, const char *value, struct error *err)
{
    struct result_verb *v = verb;
    char *text = memory_format("variant=%s", value);
    int status = add(v->choice.where, &v->choice.where_count, text, "--variant", err);
    if (status)
        free(text);
    else
        v->variants[v->variant_count++] = text;
    return status;
}

int result_verb_by(void *choice, const char *value, struct error *err)
{
    struct result_choice *c = choice;
    return add(c->by, &c->by_count, value, "--by", err);
}

int result_verb_vary(void *choice, const char *value, struct error *err)
{
    struct result_choice *c = choice;
    return add(c->vary, &c->vary_count, value, "--vary", err);
}

int result_verb_open(struct result_verb *v, struct error *err)
{
    struct home home = {0};
    int status = home_init_reader(&home, v->home, err);
    if (!status)
        status = store_open(&v->store, &home, STORE_READ, err);
    if (!status)
        status = results_init(&v->from, v->store, &v->choice, err);
    home_fini(&home);
    return status;
}

void result_verb_close(struct result_verb *v)
{
    results_fini(&v->from);
    for (int i = 0; i < v->variant_count; i++)
        free(v->variants[i]);
    store_close(v->store);
}

int result_verb_write(const char *path, const char *bytes, size_t size, const char *what, struct error *err)
{
    if (strcmp(path, "-") != 0)
        return file_write_all(path, bytes, size, err);
    if (fwrite(bytes, 1, size, stdout) != size || fflush(stdout) != 0)
        return error_set(err, STATUS_FAILED, "cannot write %s", what);
    return STATUS_OK;
}
