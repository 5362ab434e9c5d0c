/* How jobs of Slurm end: what the supervisor wrote in the run directory says how the work went, and Slurm who ended it
 * when it was not done. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/base/file.h"
#include "core/base/rundir.h"
#include "harness/queue/executor_exit.h"
#include "harness/queue/executor_slurm_internal.h"

/* Slurm may send the signal before the time limit so much earlier than it was told to. */
enum { EARLY_S = 65 };

/* Opening the directory has a network file system ask its server what is in it. */
static bool read_end(const struct executor_job *job, const struct member *m, struct supervisor_end *file,
                     struct executor_end *end)
{
    DIR *dir = opendir(m->dir);
    if (dir)
        closedir(dir);
    return executor_exit_read(m->dir, job->token, m->attempt, job->asked, file, end);
}

int64_t slurm_journal_bytes(const struct executor_job *job)
{
    int64_t bytes = 0;
    for (int i = 0; i < job->runs.count; i++) {
        struct stat st;
        char *path = file_join(job->runs.at[i].dir, RUNDIR_JOURNAL);
        if (stat(path, &st) == 0)
            bytes += st.st_size;
        free(path);
    }
    return bytes;
}

/* Who ended a worker that was told to stop, or was killed, and not by us. */
static enum outcome ended_by(const struct executor_job *job)
{
    const struct slurm_row *row = &job->row;
    if (job->never != OUTCOME_COUNT)
        return job->never;
    if (!job->known || row->phase != SLURM_OVER)
        return OUTCOME_COUNT;
    if (row->outcome == OUTCOME_PREEMPTED || row->outcome == OUTCOME_TIME_LIMIT || row->outcome == OUTCOME_NODE ||
        row->outcome == OUTCOME_REVOKED || row->outcome == OUTCOME_MEMORY)
        return row->outcome;
    /* It heeded the signal that precedes the limit, and ended by itself. */
    return row->limit > 0 && row->used + job->grace + EARLY_S >= row->limit ? OUTCOME_TIME_LIMIT : OUTCOME_COUNT;
}

/* What a run left, and who ended it. */
static void report_word(struct executor_job *job, struct member *m, struct executor_end *end)
{
    enum outcome by = job->asked ? OUTCOME_COUNT : ended_by(job);
    if (by != OUTCOME_COUNT && (end->outcome == OUTCOME_STOPPED || end->outcome == OUTCOME_SIGNAL)) {
        end->outcome = by;
        end->code = end->signal = -1;
    }
    member_report(&job->owner->base, job, m, end);
}

/* The last line of what the batch script printed; "" when there is none. */
static void last_line(const struct executor_job *job, char *to, size_t room)
{
    char *path = file_join(job->runs.at[0].dir, RUNDIR_BATCH_OUT), line[512];
    FILE *in = fopen(path, "re");
    free(path);
    to[0] = '\0';
    if (in && fseek(in, -(long)sizeof line, SEEK_END) != 0)
        rewind(in);
    while (in && fgets(line, sizeof line, in)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            snprintf(to, room, "%.*s", (int)room - 1, line);
    }
    if (in)
        fclose(in);
}

/* Without a word of the run's own. */
static void report_silence(struct executor_job *job, struct member *m, const char *text)
{
    char said[400], line[160];
    struct executor_end end = {.outcome = OUTCOME_LOST,
                               .code = -1,
                               .signal = -1,
                               .asked = job->asked,
                               .cpu_us = -1,
                               .peak_bytes = -1,
                               .text = said};
    snprintf(said, sizeof said, "%s", text ? text : "");
    if (job->known && job->row.phase == SLURM_OVER && !text) {
        end.outcome = job->row.outcome;
        last_line(job, line, sizeof line);
        snprintf(said, sizeof said, "job %s %s%s%s; the run left no word%s%s", job->id, job->row.state,
                 job->row.reason[0] ? ", " : "", job->row.reason, line[0] ? ": " : "", line);
    }
    if (job->row.code == SUPERVISOR_LOCKED) { /* a node that was believed dead, and is not */
        end.outcome = OUTCOME_LOST;
        snprintf(said, sizeof said, "another worker is in the run directory");
    }
    if (job->never != OUTCOME_COUNT) {
        end.outcome = job->never;
        snprintf(said, sizeof said, "job %s waited for what was not to be", job->id);
    }
    if (job->asked)
        end.outcome = OUTCOME_STOPPED;
    member_report(&job->owner->base, job, m, &end);
}

bool slurm_words_left(struct executor_job *job)
{
    struct supervisor_end file;
    struct executor_end end;
    int silent = 0;
    for (int i = 0; i < job->runs.count; i++) {
        struct member *m = &job->runs.at[i];
        if (m->reported)
            continue;
        if (!read_end(job, m, &file, &end))
            silent++;
        else if (members_unreported(&job->runs) > 1 && end.outcome != OUTCOME_STOPPED && end.outcome != OUTCOME_SIGNAL)
            member_report(&job->owner->base, job, m, &end); /* its mates go on: nobody but itself ended it */
    }
    return silent == 0;
}

void slurm_report(struct executor_job *job, const char *text)
{
    struct supervisor_end file;
    struct executor_end end;
    for (int i = 0; i < job->runs.count; i++) {
        struct member *m = &job->runs.at[i];
        if (m->reported)
            continue;
        if (read_end(job, m, &file, &end))
            report_word(job, m, &end);
        else
            report_silence(job, m, text);
    }
    job->closed = true;
}

void slurm_report_all(struct executor_job *job, enum outcome outcome, const char *text)
{
    const struct executor_end end = {.outcome = outcome,
                                     .code = -1,
                                     .signal = -1,
                                     .asked = job->asked,
                                     .cpu_us = -1,
                                     .peak_bytes = -1,
                                     .text = text};
    for (int i = 0; i < job->runs.count; i++)
        if (!job->runs.at[i].reported)
            member_report(&job->owner->base, job, &job->runs.at[i], &end);
    job->closed = true;
}
