/* Where a run goes on: its checkpoint, the one before it where that is damaged or stands on rows that are gone, or the
 * seed. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base/memory.h"
#include "core/base/rundir.h"
#include "core/train/train_internal.h"

struct checkpoint_data run_data(const struct run *r)
{
    return (struct checkpoint_data){.corpus = r->data.corpus_digest, .tokenizer = r->data.tokenizer_digest};
}

/* Rename a checkpoint out of the way and note why; the note ends in what is done instead when that is known. */
static int set_aside(struct run *r, const char *path, const char *aside, const char *kind, const char *why,
                     struct error *err)
{
    struct run_aside *note = &r->aside[r->asides++];
    const char *name = strrchr(aside, '/');
    note->kind = kind;
    snprintf(note->text, sizeof note->text, "%.800s: set aside as %s", why, name ? name + 1 : aside);
    if (rename(path, aside) != 0)
        return error_errno(err, STATUS_FAILED, errno, "%s: cannot be set aside", path);
    return STATUS_OK;
}

/* A checkpoint is only gone on from when the journal holds the rows up to it: what a power cut or a hand took from the
 * journal would else be missing for good, without a word. */
static int check_covered(struct run *r, const struct safetensors *f, bool *covered, struct error *err)
{
    const int64_t stands_on = checkpoint_logged(f);
    int64_t last = 0;
    char *journal = file_join(r->options->dir, RUNDIR_JOURNAL);
    int status = journal_last_step(journal, &last, err);
    free(journal);
    *covered = last >= stands_on;
    if (status || *covered)
        return status;
    char *aside = file_join(r->options->dir, RUNDIR_UNCOVERED);
    char *why = memory_format("%s: the journal ends at step %lld, it stands on step %lld", f->path, (long long)last,
                              (long long)stands_on);
    status = set_aside(r, f->path, aside, "uncovered", why, err);
    free(why);
    free(aside);
    return status;
}

/* Go on from the file if it is good; it is set aside when it is not. One of another run is an error. */
static int try_checkpoint(struct run *r, const char *path, bool *resumed, struct error *err)
{
    struct checkpoint_data data = run_data(r);
    struct safetensors f;
    bool damaged, covered = false;
    struct error why = {0};
    if (access(path, F_OK) != 0)
        return STATUS_OK;
    int status = checkpoint_open(&f, path, &damaged, &why);
    if (damaged) {
        char *aside = memory_format("%s" RUNDIR_DAMAGED, path);
        status = set_aside(r, path, aside, "damaged", why.text, err);
        free(aside);
        return status;
    }
    if (status)
        return error_set(err, status, "%s", why.text);
    struct config found;
    status = checkpoint_config(&f, &found, err);
    if (!status) /* another run's is refused, and stays where it is */
        status = checkpoint_compare(path, r->cfg, &found, err);
    if (!status)
        status = check_covered(r, &f, &covered, err);
    if (!status && covered)
        status = checkpoint_load(&f, &r->trainer, &data, err);
    *resumed = !status && covered;
    safetensors_close(&f);
    return status;
}

/* The end of the notes, and the same for who watches. */
static void tell(struct run *r, bool resumed)
{
    for (int i = 0; i < r->asides; i++) {
        char *text = r->aside[i].text;
        const size_t used = strlen(text), room = sizeof r->aside[i].text - used;
        if (resumed)
            snprintf(text + used, room, "; the one before it, of step %lld, is used", (long long)r->trainer.step);
        else
            snprintf(text + used, room, "; the training starts anew");
        fprintf(stderr, "taper: warning: %s\n", text);
    }
}

int run_restore(struct run *r, bool *resumed, struct error *err)
{
    *resumed = false;
    int status = try_checkpoint(r, r->checkpoint_path, resumed, err);
    if (!status && !*resumed) {
        status = try_checkpoint(r, r->before_path, resumed, err);
        if (!status && *resumed && rename(r->before_path, r->checkpoint_path) != 0)
            status = error_errno(err, STATUS_FAILED, errno, "%s: cannot be renamed", r->before_path);
    }
    if (status)
        return status;
    tell(r, *resumed);
    if (!*resumed)
        status = model_initialize(&r->model, err);
    if (status || *resumed || !r->cfg->init_from[0])
        return status;
    if (!r->options->begin)
        return error_set(err, STATUS_FAILED, "init.from: nothing here can read %s", r->cfg->init_from);
    return r->options->begin(r->options->begin_arg, &r->trainer, err);
}
