#include "harness/queue/slurm_script.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/queue/executor_words.h"
#include "harness/queue/slurm_calls.h"
#include "harness/queue/slurm_state.h"
#include "harness/spec/spec_slurm.h"

/* sbatch's --signal takes whole seconds up to this. */
enum { GRACE_MOST_S = 65535, TRY_TIMEOUT_S = 20 };

/* ------------------------------------------------------------------------------------------ the script */

/* A word as the shell reads it back. */
static void put_quoted(FILE *out, const char *word)
{
    fputc('\'', out);
    for (; *word; word++)
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    fputc('\'', out);
}

/* The worker's words, but those that only the node knows: which GPUs are its are in the environment that Slurm makes,
 * and its processors are counted there. */
static void put_worker(FILE *out, const struct slurm_script *script, const struct executor_launch *launch)
{
    struct executor_words a;
    executor_words_init(&a, launch, -1, script->token, script->payload, NULL);
    fputs("exec ", out);
    put_quoted(out, script->program);
    fputs(" worker --threads \"${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-0}}\"", out);
    for (int i = 2; i < a.count; i++) { /* behind "taper worker" */
        if (strcmp(a.words[i], "--go") == 0 || strcmp(a.words[i], "--device") == 0 ||
            strcmp(a.words[i], "--threads") == 0) {
            i++;
            continue;
        }
        fputc(' ', out);
        put_quoted(out, a.words[i]);
    }
    fputc('\n', out);
    executor_words_fini(&a);
}

static void put_lines(FILE *out, const json_t *list, const char *before)
{
    for (size_t i = 0; i < json_array_size(list); i++)
        fprintf(out, "%s%s\n", before, json_string_value(json_array_get(list, i)));
}

static void put_script(FILE *out, const struct slurm_script *script, const struct executor_launch *launch,
                       char *const *words, const json_t *options)
{
    fputs("#!/bin/bash\n# Submitted as:\n#  ", out); /* read by taper show */
    for (int i = 0; words[i]; i++) {
        fputc(' ', out);
        for (const char *p = words[i]; *p; p++) /* for people, and on one line whatever a path holds */
            fputc((unsigned char)*p < ' ' ? '?' : *p, out);
    }
    fputs("\nunset TAPER_CALL\n", out);
    put_lines(out, json_object_get(options, "modules"), "module load ");
    put_lines(out, json_object_get(options, "before"), "");
    fprintf(out, "export TAPER_TOKEN=%s\n", script->token);
    /* Libraries that count the processors by themselves are told the same as the worker. */
    fputs("export OMP_NUM_THREADS=\"${SLURM_CPUS_PER_TASK:-${SLURM_CPUS_ON_NODE:-1}}\"\n"
          "export OPENBLAS_NUM_THREADS=$OMP_NUM_THREADS\n",
          out);
    put_worker(out, script, launch);
}

/* ------------------------------------------------------------------------------------------ sbatch's words */

struct words {
    char **words;
    int count, most;
    bool full;
};

static void add(struct words *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void add(struct words *w, const char *format, ...)
{
    char *word = NULL;
    va_list args;
    va_start(args, format);
    if (vasprintf(&word, format, args) < 0)
        memory_exhausted("for the words of sbatch");
    va_end(args);
    if (w->count + 1 < w->most) {
        w->words[w->count++] = word;
        w->words[w->count] = NULL;
    } else {
        w->full = true;
        free(word);
    }
}

/* Minutes, rounded up: Slurm knows no finer limit. */
static long long minutes(double seconds)
{
    return (long long)ceil(seconds / 60);
}

static void add_option(struct words *w, const struct spec_slurm_option *option, const json_t *value)
{
    if (!value)
        return;
    if (option->kind == SLURM_EXTRA)
        for (size_t i = 0; i < json_array_size(value); i++)
            add(w, "%s", json_string_value(json_array_get(value, i)));
    else if (!option->flag)
        return;
    else if (option->kind == SLURM_DURATION)
        add(w, "--%s=%lld", option->flag, minutes(json_number_value(value)));
    else if (json_is_integer(value))
        add(w, "--%s=%lld", option->flag, (long long)json_integer_value(value));
    else
        add(w, "--%s=%s", option->flag, json_string_value(value));
}

/* The longest time limit of the runs; 0: one has none. */
static double longest(const struct executor_launch *launch)
{
    double most = 0;
    for (int i = 0; i < launch->count; i++) {
        if (launch->runs[i].timeout <= 0)
            return 0;
        most = fmax(most, launch->runs[i].timeout);
    }
    return most;
}

static int make_words(struct words *w, const struct slurm_script *script, const struct executor_launch *launch,
                      const char *path, const json_t *options, struct error *err)
{
    const struct spec_slurm_option *option;
    const double grace = fmin(fmax(ceil(launch->grace), 1), GRACE_MOST_S), own = longest(launch);
    const bool gpus = json_object_get(options, "gpus") || json_object_get(options, "gres");
    add(w, "sbatch");
    add(w, "--hold");
    add(w, "--parsable");
    add(w, "--no-requeue");
    add(w, "--nodes=1");
    add(w, "--ntasks=1");
    add(w, "--job-name=%s", script->name);
    add(w, "--signal=B:TERM@%.0f", grace);
    add(w, "--chdir=%s", launch->runs[0].dir);
    add(w, "--output=" RUNDIR_BATCH_OUT);
    add(w, "--open-mode=append");
    for (size_t i = 0; (option = spec_slurm_option_at(i)); i++)
        add_option(w, option, json_object_get(options, option->name));
    if (own > 0 && !json_object_get(options, "time"))
        add(w, "--time=%lld", minutes(own + grace + 60));
    if (strcmp(launch->device, "cpu") != 0 && !gpus)
        add(w, "--gpus=1");
    add(w, "%s", path);
    return w->full ? error_set(err, STATUS_BAD_INPUT, "slurm: more than %d words for sbatch", w->most - 1) : STATUS_OK;
}

static void free_words(char **words)
{
    for (int i = 0; words[i]; i++) {
        free(words[i]);
        words[i] = NULL;
    }
}

int slurm_script_write(const struct slurm_script *script, const struct executor_launch *launch, char **words, int most,
                       struct error *err)
{
    struct words w = {words, 0, most, false};
    char *name = memory_format(RUNDIR_BATCH, launch->runs[0].attempt), *path = file_join(launch->runs[0].dir, name);
    json_t *options = launch->options ? json_loads(launch->options, 0, NULL) : NULL;
    char *text = NULL;
    size_t size = 0;
    int status = make_words(&w, script, launch, path, options, err);
    FILE *out = status ? NULL : open_memstream(&text, &size);
    if (out) {
        put_script(out, script, launch, words, options);
        fclose(out);
        status = file_replace(path, text, size, err);
    }
    if (status)
        free_words(words);
    json_decref(options);
    free(text);
    free(path);
    free(name);
    return status;
}

/* ------------------------------------------------------------------------------------------ a question */

struct answer {
    bool answered, fine;
    char *text;
    size_t room;
};

static void on_answer(void *arg, const struct slurm_reply *reply)
{
    struct answer *a = arg;
    a->answered = reply->answered;
    a->fine = reply->answered && reply->code == 0;
    slurm_reply_text(reply, a->text, a->room);
}

int slurm_script_try(const char *options, const char *device, double grace, char *text, size_t room, struct error *err)
{
    char *words[SLURM_WORDS_MOST] = {NULL};
    struct words w = {words, 0, SLURM_WORDS_MOST, false};
    const struct executor_run run = {.dir = "/", .attempt = 1};
    const struct executor_launch launch = {.runs = &run, .count = 1, .device = device, .grace = grace};
    const struct slurm_script script = {.name = "taper-try"};
    struct answer a = {.text = text, .room = room};
    json_t *object = options ? json_loads(options, 0, NULL) : NULL;
    uv_loop_t loop;
    int status = make_words(&w, &script, &launch, "--wrap=true", object, err);
    json_decref(object);
    if (!status) {
        add(&w, "--test-only");
        /* Options end at a script, and this has none. */
        uv_loop_init(&loop);
        struct slurm_calls *calls = slurm_calls_create(&loop, TRY_TIMEOUT_S);
        slurm_call(calls, (const char *const *)words, on_answer, &a);
        uv_run(&loop, UV_RUN_DEFAULT);
        slurm_calls_destroy(calls);
        uv_run(&loop, UV_RUN_DEFAULT);
        uv_loop_close(&loop);
        if (!a.answered)
            status = error_set(err, STATUS_FAILED, "sbatch --test-only: %s", text);
        else if (!a.fine)
            status =
                error_set(err, slurm_refuses(text) ? STATUS_BAD_INPUT : STATUS_FAILED, "sbatch --test-only: %s", text);
    }
    free_words(words);
    return status;
}
