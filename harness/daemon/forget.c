#include "harness/daemon/forget.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/file_tree.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/daemon/sweep_copy.h"

/* A run's files that only a training that goes on, an evaluation or an export reads. */
static const char *const checkpoints[] = {RUNDIR_CHECKPOINT, RUNDIR_BEFORE, RUNDIR_UNCOVERED,
                                          RUNDIR_CHECKPOINT RUNDIR_DAMAGED, RUNDIR_BEFORE RUNDIR_DAMAGED};
enum { CHECKPOINTS = sizeof checkpoints / sizeof checkpoints[0] };

static char *aside(const struct home *home)
{
    return file_join(home->runs, ".forgotten");
}

/* What stays where it is, is in nobody's way: a run that comes again takes its directory over. */
static void move(const char *path, const char *to, const char *run, size_t number)
{
    char *name = memory_format("%s/%s.%zu.%lld", to, run, number, (long long)store_now());
    if (rename(path, name) != 0 && errno != ENOENT)
        fprintf(stderr, "%s: cannot be moved aside\n", path);
    free(name);
}

static void move_all(const struct home *home, const struct store_forgotten *gone, bool only_checkpoints)
{
    char *to = aside(home);
    mkdir(to, 0777);
    for (int64_t i = 0; i < gone->count; i++) {
        char *dir = home_run_dir(home, gone->runs[i]);
        if (!only_checkpoints)
            move(dir, to, gone->runs[i], 0);
        for (size_t k = 0; only_checkpoints && k < CHECKPOINTS; k++) {
            char *path = file_join(dir, checkpoints[k]);
            move(path, to, gone->runs[i], k + 1);
            free(path);
        }
        free(dir);
    }
    free(to);
}

static json_t *list(const struct store_forgotten *gone)
{
    json_t *runs = json_array();
    for (int64_t i = 0; i < gone->count; i++)
        json_array_append_new(runs, json_string(gone->runs[i]));
    return runs;
}

int forget_carry_out(struct store *store, const struct home *home, const char *sweep, const struct store_run *run,
                     const json_t *request, json_t **body, struct error *err)
{
    const bool only_checkpoints = json_is_true(json_object_get(request, "checkpoints"));
    const bool dry = !json_is_true(json_object_get(request, "yes"));
    struct store_forgotten gone = {0};
    int status = STATUS_OK;
    if (only_checkpoints && run && run->state != RUN_DONE)
        return error_set(err, STATUS_BAD_INPUT, "run %s is %s: it may still need its checkpoint", run->id,
                         run_state_name(run->state));
    status = store_forget(store, sweep, run ? run->id : NULL, only_checkpoints, dry, &gone, err);
    if (!status && !dry)
        move_all(home, &gone, only_checkpoints);
    if (!status && !dry && !only_checkpoints && sweep)
        sweep_copy_remove(home, sweep);
    if (!status)
        *body = json_pack("{s:b, s:b, s:b, s:o, s:I}", "sweep", sweep != NULL, "dry", (int)dry, "checkpoints",
                          (int)only_checkpoints, "runs", list(&gone), "kept", (json_int_t)gone.kept);
    store_forgotten_fini(&gone);
    return status;
}

int64_t forget_size(const struct home *home, const json_t *reply)
{
    const bool only_checkpoints = json_is_true(json_object_get(reply, "checkpoints"));
    int64_t bytes = 0;
    size_t i;
    json_t *run;
    json_array_foreach(json_object_get(reply, "runs"), i, run)
    {
        char *dir = home_run_dir(home, json_string_value(run));
        if (!only_checkpoints)
            file_tree_size(dir, &bytes);
        for (size_t k = 0; only_checkpoints && k < CHECKPOINTS; k++) {
            char *path = file_join(dir, checkpoints[k]);
            file_tree_size(path, &bytes);
            free(path);
        }
        free(dir);
    }
    return bytes;
}

int forget_empty(const struct home *home, int64_t *bytes, struct error *err)
{
    char *dir = aside(home);
    *bytes = 0;
    int status = file_tree_remove(dir, bytes, err);
    free(dir);
    return status;
}
