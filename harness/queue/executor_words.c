#include "harness/queue/executor_words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/version.h"

static void add(struct executor_words *a, const char *name, char *value)
{
    if (name)
        a->words[a->count++] = memory_string(name);
    a->words[a->count++] = value;
}

static int64_t attempt_of(const struct executor_run *run)
{
    return run->attempt;
}

static int64_t until_of(const struct executor_run *run)
{
    return run->until;
}

/* "1,3,1"; NULL where all are 0. */
static char *number_list(const struct executor_launch *launch, int64_t (*of)(const struct executor_run *run))
{
    char *list = memory_format("%lld", (long long)of(&launch->runs[0]));
    bool any = of(&launch->runs[0]) != 0;
    for (int i = 1; i < launch->count; i++) {
        char *longer = memory_format("%s,%lld", list, (long long)of(&launch->runs[i]));
        any |= of(&launch->runs[i]) != 0;
        free(list);
        list = longer;
    }
    if (any)
        return list;
    free(list);
    return NULL;
}

/* NULL: no run has one. */
static char *timeout_list(const struct executor_launch *launch)
{
    char *list = memory_format("%.17g", launch->runs[0].timeout);
    bool any = launch->runs[0].timeout > 0;
    for (int i = 1; i < launch->count; i++) {
        char *longer = memory_format("%s,%.17g", list, launch->runs[i].timeout);
        any |= launch->runs[i].timeout > 0;
        free(list);
        list = longer;
    }
    if (any)
        return list;
    free(list);
    return NULL;
}

static const char *data_of(const struct executor_run *run)
{
    return run->data;
}

static const char *after_of(const struct executor_run *run)
{
    return run->after;
}

/* The same of JSON objects; one run's as it is, a pack's as a list. */
static char *object_list(const struct executor_launch *launch, const char *(*of)(const struct executor_run *run))
{
    if (launch->count == 1)
        return of(&launch->runs[0]) ? memory_string(of(&launch->runs[0])) : NULL;
    char *list = memory_string("");
    bool any = false;
    for (int i = 0; i < launch->count; i++) {
        const char *object = of(&launch->runs[i]);
        char *longer = memory_format("%s%s%s", list, i ? "," : "[", object ? object : "{}");
        any |= object != NULL;
        free(list);
        list = longer;
    }
    char *whole = any ? memory_format("%s]", list) : NULL;
    free(list);
    return whole;
}

/* What a worker gets of our environment (docs/formats.md has the same list): the daemon's own may hold keys to what no
 * training needs, and everything a worker starts could read them. A '*' ends a beginning. */
static const char *const passed[] = {
    "PATH", "HOME", "USER", "LOGNAME", "SHELL", "PWD", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE", "LC_*", "XDG_*",
    /* loading and memory */
    "LD_*", "MALLOC_*", "GLIBC_TUNABLES", "ASAN_OPTIONS", "LSAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS", "GCOV_*",
    /* threads and devices */
    "OMP_*", "GOMP_*", "KMP_*", "OPENBLAS_*", "GOTO_*", "MKL_*", "CUDA_*", "CUBLAS_*", "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "SLURM_JOB*",
    /* ours; and where a payload in Python finds its packages */
    "TAPER", "TAPER_*", "VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONPATH", "PYTHONHOME"};

/* Whether NAME of "NAME=..." is in a list of names, separated by commas or spaces. */
static bool is_listed(const char *variable, size_t length, const char *list)
{
    while (list && *list) {
        size_t word = strcspn(list, ", ");
        if (word == length && strncmp(list, variable, length) == 0)
            return true;
        list += word + (list[word] != '\0');
    }
    return false;
}

static bool is_passed(const char *variable)
{
    size_t length = strcspn(variable, "=");
    for (size_t i = 0; i < sizeof passed / sizeof passed[0]; i++) {
        size_t size = strlen(passed[i]);
        bool begins = passed[i][size - 1] == '*';
        if (begins ? length >= size - 1 && strncmp(variable, passed[i], size - 1) == 0
                   : length == size && strncmp(variable, passed[i], size) == 0)
            return true;
    }
    return is_listed(variable, length, getenv("TAPER_PASS_ENV"));
}

/* What is passed of our environment, with the variables replaced or added. The array alone is on the heap. */
static char **environment(const struct executor_words *a)
{
    size_t count = 0, kept = 0;
    while (environ[count])
        count++;
    char **all = memory_alloc(count + (size_t)a->changed + 1, sizeof *all);
    for (size_t i = 0; i < count; i++) {
        bool dropped = !is_passed(environ[i]);
        for (int j = 0; j < a->changed && !dropped; j++)
            dropped = strncmp(environ[i], a->variables[j], strcspn(a->variables[j], "=") + 1) == 0;
        if (!dropped)
            all[kept++] = environ[i];
    }
    for (int j = 0; j < a->changed; j++)
        all[kept++] = a->variables[j];
    return all;
}

void executor_words_init(struct executor_words *a, const struct executor_launch *launch, int go, const char *token,
                         const char *payload, const char *program)
{
    char *timeouts = timeout_list(launch), *after = object_list(launch, after_of);
    char *until = payload ? NULL : number_list(launch, until_of);
    char *data = payload ? NULL : object_list(launch, data_of); /* a training's alone */
    int n = 0;
    *a = (struct executor_words){0};
    add(a, "taper", memory_string("worker"));
    add(a, "--attempt", number_list(launch, attempt_of));
    add(a, "--go", memory_format("%d", go));
    add(a, "--device", memory_string(launch->device));
    add(a, "--threads", memory_format("%d", launch->threads));
    add(a, "--grace", memory_format("%.17g", launch->grace));
    if (timeouts)
        add(a, "--timeout", timeouts);
    if (until)
        add(a, "--until", until);
    if (launch->processors)
        add(a, "--processors", memory_string(launch->processors));
    if (data)
        add(a, "--data", data);
    if (after)
        add(a, "--after", after);
    if (payload)
        add(a, "--payload", memory_string(payload));
    if (program) {
        add(a, "--program", memory_string(program));
        add(a, "--revision", memory_string(version_full()));
    }
    for (int i = 0; i < launch->count; i++)
        add(a, i ? NULL : "--", memory_string(launch->runs[i].dir));
    a->variables[n++] = memory_format("TAPER_TOKEN=%s", token);
    if (launch->threads > 0) {
        a->variables[n++] = memory_format("OMP_NUM_THREADS=%d", launch->threads);
        a->variables[n++] = memory_format("OPENBLAS_NUM_THREADS=%d", launch->threads);
    }
    if (strcmp(launch->device, "cpu") != 0)
        a->variables[n++] = memory_format("CUDA_VISIBLE_DEVICES=%s", launch->device);
    a->changed = n;
    a->environment = environment(a);
}

void executor_words_fini(struct executor_words *a)
{
    for (int i = 0; i < a->count; i++)
        free(a->words[i]);
    for (int i = 0; i < a->changed; i++)
        free(a->variables[i]);
    free(a->environment);
}
