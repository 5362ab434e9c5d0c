#include "harness/daemon/rebuild.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/base/file.h"
#include "core/base/json_file.h"
#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "harness/daemon/submit.h"
#include "harness/daemon/sweep_copy.h"
#include "harness/store/store_rebuild.h"
#include "harness/worker/supervisor.h"

struct rebuild {
    const struct home *home;
    struct store *store;
    struct intake *intake;
    FILE *out;
    struct rebuild_result *result;
};

/* --------------------------------------------------------------------------------------------- directories */

struct entry {
    char *name;
    int64_t changed; /* UTC us */
};

static int64_t changed_at(const struct stat *st)
{
    return (int64_t)st->st_mtim.tv_sec * 1000000 + st->st_mtim.tv_nsec / 1000;
}

static int by_change(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    return a->changed != b->changed ? (a->changed > b->changed) - (a->changed < b->changed) : strcmp(a->name, b->name);
}

static void free_entries(struct entry *entries, int count)
{
    for (int i = 0; i < count; i++)
        free(entries[i].name);
    free(entries);
}

/* What a directory holds, the oldest first: what was submitted first comes first again. None when it is not there. */
static int list(const char *path, struct entry **entries, int *count, struct error *err)
{
    DIR *dir = opendir(path);
    *entries = NULL;
    *count = 0;
    if (!dir)
        return errno == ENOENT ? STATUS_OK : error_errno(err, STATUS_FAILED, errno, "%s: cannot read", path);
    for (struct dirent *entry; (entry = readdir(dir));) {
        struct stat st;
        if (entry->d_name[0] == '.' || fstatat(dirfd(dir), entry->d_name, &st, 0) != 0)
            continue;
        *entries = memory_resize(*entries, (size_t)*count + 1, sizeof **entries);
        (*entries)[(*count)++] = (struct entry){memory_string(entry->d_name), changed_at(&st)};
    }
    closedir(dir);
    if (*count)
        qsort(*entries, (size_t)*count, sizeof **entries, by_change);
    return STATUS_OK;
}

/* --------------------------------------------------------------------------------------------- sweeps */

static int submit_copy(struct rebuild *b, const char *file, struct error *err)
{
    json_t *request = NULL, *body = NULL;
    struct submit_job *job = NULL;
    int status = sweep_copy_read(file, &request, err);
    if (!status)
        status = submit_job_create(&job, request, err);
    if (!status)
        status = submit_job_prepare(job, err);
    if (!status)
        status = submit_job_commit(job, b->store, &body, err);
    submit_job_destroy(job);
    json_decref(request);
    json_decref(body);
    return status;
}

/* A copy that cannot be taken costs its sweep alone; trouble with the new database ends it all. */
static int submit_copies(struct rebuild *b, struct error *err)
{
    struct entry *entries;
    int count, status = list(b->home->sweeps, &entries, &count, err);
    for (int i = 0; i < count && !status; i++) {
        const char *dot = strrchr(entries[i].name, '.');
        if (!dot || strcmp(dot, ".yaml") != 0)
            continue;
        struct error why = {0};
        char *file = file_join(b->home->sweeps, entries[i].name);
        if (submit_copy(b, file, &why) == STATUS_OK) {
            b->result->sweeps++;
        } else if (store_trouble(b->store) != STORE_FINE) {
            status = error_set(err, why.status, "%s", why.text);
        } else {
            b->result->sweeps_lost++;
            fprintf(b->out, "sweep %.*s: not submitted again: %s\n", (int)(dot - entries[i].name), entries[i].name,
                    why.text);
        }
        free(file);
    }
    free_entries(entries, count);
    return status;
}

/* --------------------------------------------------------------------------------------------- runs */

static bool is_run_name(const char *name)
{
    return strlen(name) == CONFIG_ID - 1 && strspn(name, "0123456789abcdef") == CONFIG_ID - 1;
}

static int read_config(const struct home *home, const char *run, struct config *cfg, struct error *err)
{
    json_t *object = NULL;
    char *path = home_run_file(home, run, RUNDIR_CONFIG);
    int status = json_file_read(path, &object, err);
    if (!status)
        status = config_from_json(cfg, object, path, err);
    json_decref(object);
    free(path);
    return status;
}

/* A run that no sweep named. *known: it is in the database now. */
static int add_nameless(struct rebuild *b, const char *run, bool *known, struct error *err)
{
    struct config cfg;
    struct error why = {0};
    if (read_config(b->home, run, &cfg, &why) != STATUS_OK) {
        b->result->lost++;
        fprintf(b->out, "run %s: left out: %s\n", run, why.text);
        return STATUS_OK;
    }
    b->result->recovered++;
    *known = true;
    return store_rebuild_add(b->store, run, &cfg, err);
}

static struct store_rebuild_files files_of(const struct home *home, const char *run)
{
    struct store_rebuild_files files = {0};
    struct supervisor_end end;
    struct stat st;
    char *dir = home_run_dir(home, run), *journal = home_run_file(home, run, RUNDIR_JOURNAL);
    if (stat(journal, &st) == 0)
        files.changed = changed_at(&st);
    if (supervisor_end_read(dir, &end, NULL) == STATUS_OK) {
        files.ended = end.attempt;
        files.outcome = end.outcome;
        files.changed = files.changed ? files.changed : end.ended;
    }
    free(dir);
    free(journal);
    return files;
}

static int take_run(struct rebuild *b, const char *run, struct error *err)
{
    bool known = false;
    enum run_state state = RUN_QUEUED;
    int status = store_rebuild_has(b->store, run, &known, err);
    if (!status && !known)
        status = add_nameless(b, run, &known, err);
    if (status || !known)
        return status;
    struct store_rebuild_files files = files_of(b->home, run);
    status = store_rebuild_run(b->store, b->intake, run, &files, &state, err);
    b->result->runs++;
    b->result->done += state == RUN_DONE;
    return status;
}

static int take_runs(struct rebuild *b, struct error *err)
{
    struct entry *entries;
    int count, status = list(b->home->runs, &entries, &count, err);
    b->intake = intake_create(b->store, b->home);
    for (int i = 0; i < count && !status; i++) {
        if (is_run_name(entries[i].name))
            status = take_run(b, entries[i].name, err);
        else
            fprintf(b->out, "runs/%s: no run's directory: left alone\n", entries[i].name);
    }
    intake_destroy(b->intake);
    free_entries(entries, count);
    return status;
}

int rebuild_home(const struct home *home, bool force, FILE *out, struct rebuild_result *result, struct error *err)
{
    struct rebuild b = {.home = home, .out = out, .result = result};
    *result = (struct rebuild_result){0};
    int status = store_rebuild_open(&b.store, home, force, err);
    if (!status)
        status = store_queue_pause(b.store, true, err);
    if (!status)
        status = submit_copies(&b, err);
    if (!status)
        status = take_runs(&b, err);
    if (!status)
        status = store_rebuild_finish(b.store, home, err);
    store_close(b.store);
    return status;
}
