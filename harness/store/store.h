/* The store: a home's SQLite database, and every change that is made to it.
 *
 * One process writes: it holds HOME/taper.lock (flock, and a lease for other machines: store_lease.c) for as long as it
 * has the store open. Any number read. WAL, so
 * neither waits for the other. Tables and columns are described in results/schema.sql.
 *
 * Durability: every function that changes something returns after its commit. A killed process loses nothing that was
 * returned. A power cut may lose the last seconds of attempts and journal rows (synchronous=NORMAL; a daemon syncs what
 * was written every two seconds), which repeats no finished training: a run found "running" from another boot is queued
 * again and goes on from its checkpoint, and journals are read again. What a person was told (submit, cancel, retry,
 * pause) is on the disk (FULL).
 *
 * Failures: a change is made whole or not at all. store_trouble() says whether it pays to try again later.
 * A store belongs to one thread. The lock's descriptor is close-on-exec. */
#ifndef TAPER_HARNESS_STORE_STORE_H
#define TAPER_HARNESS_STORE_STORE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/config/config.h"
#include "core/base/outcome.h"
#include "harness/base/home.h"
#include "harness/spec/spec.h"

struct store;

enum store_mode {
    STORE_READ,  /* never waits for the writer; a read-only home is fine. An older schema is brought up to date first,
                    and refused where that cannot be: somebody is writing, or may not write */
    STORE_QUERY, /* the same, but an older schema is then read as it is: for SQL that people bring */
    STORE_WRITE, /* takes the lock; makes the database, or migrates it to this program's schema */
};

enum store_trouble {
    STORE_FINE,
    STORE_BUSY,   /* another process holds SQLite's write lock: the same call later will do */
    STORE_FULL,   /* no space (or quota) left: the same call later, when there is */
    STORE_BROKEN, /* damaged, unreadable, or a mistake of the caller */
};

/* STATUS_BAD_INPUT: no database (STORE_READ), one of a newer program, or not a database at all. STATUS_FAILED: the
 * lock is held (the text names the process), or the machine refused. */
int store_open(struct store **out, const struct home *home, enum store_mode mode, struct error *err);
void store_close(struct store *s); /* NULL is fine; releases the lock */

/* Whether a process has the home's store open for writing, as far as its lock's text says: the lock itself is not
 * tried, since that would refuse a daemon that starts at this moment. */
bool store_is_held(const struct home *home);

/* Give the connection this program's views (results/views.sql, and run_flat and config_key, made from the table of
 * keys) as temporary ones, whatever program made those in the database: a reader changes nothing there. Cheap the
 * second time. A reader whose database has another program's views, but this one's schema, has them from store_open. */
int store_own_views(struct store *s, struct error *err);

/* Run statements that make temporary tables and views, of this connection alone, and touch nothing else. `name` is what
 * they make, for errors. */
int store_make_temporary(struct store *s, const char *name, const char *sql, struct error *err);

/* The sign of life of a writer, due every so many seconds: by it one on another machine, where the lock may not be
 * seen, knows that the home is taken. STATUS_STOPPED: another has taken it all the same, and nothing more may be
 * written. */
enum { STORE_LEASE_S = 10 };
int store_lease_beat(struct store *s, struct error *err);

/* Of the last call that failed. */
enum store_trouble store_trouble(const struct store *s);

/* How long a change waits for another process' write lock before it fails as STORE_BUSY; 250 ms at first. */
void store_set_patience(struct store *s, int milliseconds);

/* Make the changes from here to the end of the group in one transaction, which costs less than one each. When one of
 * them fails none is made, and those after it fail too. No submit, cancel, retry or pause in it. A group in a group is
 * a part of it: it has no end of its own, and undone it undoes all. */
int store_group_begin(struct store *s, struct error *err);

/* Commit, or with `keep` false undo. After a change that failed: undone, STATUS_FAILED with that change's trouble, and
 * err as that change left it. */
int store_group_end(struct store *s, bool keep, struct error *err);

/* Rows changed since it was opened: whether there is anything new. */
int64_t store_changes(const struct store *s);

/* UTC, microseconds since 1970. */
int64_t store_now(void);

/* --------------------------------------------------------------------------------------------------- runs */

/* queued -> starting -> running -> done | failed | cancelled | paused; back to queued from all, from done to be done
 * again. paused: its search has it wait at a rung (store_search.h). */
enum run_state { RUN_QUEUED, RUN_STARTING, RUN_RUNNING, RUN_DONE, RUN_FAILED, RUN_CANCELLED, RUN_PAUSED, RUN_STATES };

const char *run_state_name(enum run_state state);

/* A run, without its configuration. */
struct store_run {
    char id[CONFIG_ID];
    char sweep[SPEC_NAME], variant[SPEC_NAME]; /* of the sweep that submitted it first */
    int64_t seed;
    enum run_state state;
    int device;                 /* enum device_kind: which pool of slots it needs */
    int64_t priority, position; /* higher priority first, then lower position */
    int64_t slots, retries, timeout_us;
    int64_t pack;                    /* runs that may share a worker; 1: none with it */
    char shape[CONFIG_ID];           /* of those; "" when pack is 1 */
    int attempts;                    /* made so far; the number of the last one */
    int failures;                    /* failed attempts that count against retries */
    int64_t created, started, ended; /* UTC us; 0: not yet */
    int64_t not_before;              /* queued: a retry's delay */
    int64_t cancel;                  /* when a cancel was asked for while it was live; 0: not */
    int64_t steps, step;             /* of the training, and the last one in the journal */
    bool fail_fast;                  /* one of its sweeps is fail-fast */
};

/* The attempt as stored. Texts are owned: store_attempt_fini. */
struct store_attempt {
    char run[CONFIG_ID];
    int attempt;
    int64_t started, ended;
    char *executor;             /* "local", "slurm" */
    char *host, *device, *slot; /* device: "cpu", a GPU's opaque id */
    char *handle;               /* what the executor needs to find it again; opaque here */
    int64_t pid, pid_started;   /* 0: none. pid_started: field 22 of /proc/PID/stat */
    char *boot_id;
    int pack;                     /* runs its worker was given */
    char *outcome, *outcome_text; /* the journal's last word (done, failed, stopped); NULL: none */
    char *cause;                  /* how it ended; NULL: it has not */
};

void store_attempt_fini(struct store_attempt *a); /* fine on a zeroed one */

/* Called for each row; a non-zero return ends the walk and is returned. */
typedef int store_run_each(void *arg, const struct store_run *run);

struct store_filter {
    const char *sweep; /* NULL: any; matches every sweep that holds the run */
    unsigned states;   /* bits 1 << state; 0: any */
    int64_t limit;     /* 0: none */
};

/* In queue order (priority, position). The callback must not change the store. */
int store_runs_each(struct store *s, const struct store_filter *filter, store_run_each *each, void *arg,
                    struct error *err);

/* By id, the start of one, or SWEEP/VARIANT/SEED, if only one run is meant so (STATUS_BAD_INPUT otherwise). What people
 * type for a run goes through here. */
int store_run_find(struct store *s, const char *id, struct store_run *run, struct error *err);

/* The configuration, and what to do after training. */
int store_run_config(struct store *s, const char *id, struct config *cfg, struct error *err);
int store_run_after(struct store *s, const char *id, struct spec_after *after, struct error *err);

/* --------------------------------------------------------------------------------------------------- sweeps */

/* The digests of a configuration's data: dataset_digests. Called once for each different set of data keys. Reading a
 * big corpus takes long, and what it names may be anything: see store_identities_prepare. */
typedef int store_digests(const struct config *cfg, char *corpus, char *tokenizer, struct error *err);

/* Names and full JSON of many configurations, faster than one by one. */
struct store_identities;
struct store_identities *store_identities_create(store_digests *digests);
void store_identities_destroy(struct store_identities *ids); /* NULL is fine */

/* Take the digests of all of a sweep's data beforehand, on any thread: no store is needed, and store_submit_named reads
 * no data then. */
int store_identities_prepare(struct store_identities *ids, const struct spec *spec, struct error *err);

struct store_submitted {
    int64_t runs;              /* of the sweep, after doubles */
    int64_t fresh;             /* new, now queued */
    int64_t requeued;          /* known: cancelled before, or done with more to do after */
    int64_t known[RUN_STATES]; /* known, by the state they are in now (requeued ones count as queued) */
    int64_t doubles;           /* runs of the spec that are the same run under the same variant name */
    int64_t dropped;           /* runs an earlier version of this sweep held and this one does not ... */
    int64_t dropped_queued;    /* ... of these, queued and wanted by no other sweep: cancelled */
};

/* Make the sweep and its runs. A run that exists is not repeated: the sweep holds it too, under its own variant name.
 * It takes from the spec what is not in a run's name (device, log.every, slots, retries ...), unless it is live or
 * done, or another sweep wants it too; priority is then the higher one, `after` what both ask for. A done run remembers
 * how the next training is wanted (store_retry). Submitting a changed sweep of the same name replaces what it holds.
 * Failed runs stay failed (store_retry). All or nothing; with `dry` nothing, and out and notes say what would be.
 *
 * notes: NULL, or an array that gets an object for each kind of what happens to runs: change (new, changed, kept,
 * dropped); why (changed: its state. kept: done, running, shared, alone, twice. dropped: cancelled, shared, or its
 * state); sweep (shared: which other one); differences {key: [stored, wanted]}; count; runs, the first of them. */
int store_submit(struct store *s, const struct spec *spec, store_digests *digests, bool dry, json_t *notes,
                 struct store_submitted *out, struct error *err);

/* The same with names that are the caller's, prepared or not. */
int store_submit_named(struct store *s, const struct spec *spec, struct store_identities *ids, bool dry, json_t *notes,
                       struct store_submitted *out, struct error *err);

/* STATUS_BAD_INPUT, with the nearest name, when there is no such sweep. */
int store_sweep_find(struct store *s, const char *name, struct error *err);

/* *finished: none of its runs is queued or live on its behalf; only then *all_done means something: each is done, or
 * paused by the search that it is of. Asked after every
 * end of a run, so what it costs must not grow with the runs that are over. */
int store_sweep_finished(struct store *s, const char *name, bool *finished, bool *all_done, struct error *err);

int store_sweep_pause(struct store *s, const char *name, bool paused, struct error *err);

/* The whole queue, also of what is submitted later (store_queue_next); beside, not instead of, the sweeps' own. */
int store_queue_pause(struct store *s, bool paused, struct error *err);
int store_queue_paused(struct store *s, bool *paused, struct error *err);

struct store_changed {
    int64_t queued; /* cancel: cancelled at once. retry: queued again */
    int64_t live;   /* cancel: starting or running, now marked (store_run.cancel); the scheduler ends them */
    int64_t kept;   /* cancel: another sweep still wants them */
};

/* Exactly one of sweep and run is not NULL (run: a whole id). reason goes into the event. */
int store_cancel(struct store *s, const char *sweep, const char *run, const char *reason, struct store_changed *out,
                 struct error *err);

/* failed and cancelled runs -> queued, with a full set of retries. One that is just ending because of a cancel is
 * queued when it has ended: the later wish wins (also store_submit's). With `done` it is the done ones instead, to be
 * trained afresh (harness/store/store_redo.h). */
int store_retry(struct store *s, const char *sweep, const char *run, bool done, struct store_changed *out,
                struct error *err);

struct store_forgotten {
    char (*runs)[CONFIG_ID]; /* those that go; on the heap */
    int64_t count;
    int64_t kept; /* of the sweep, held by another too: they stay */
};

void store_forgotten_fini(struct store_forgotten *f);

/* Take a sweep, with the runs that no other holds, or one run (exactly one is not NULL) out of the database, with every
 * row of theirs. checkpoints: take nothing out, only list those that are done. dry: only list. Files are the caller's
 * to remove. STATUS_BAD_INPUT when one that goes is live, or is needed by a run that is yet to run. All or nothing. */
int store_forget(struct store *s, const char *sweep, const char *run, bool checkpoints, bool dry,
                 struct store_forgotten *out, struct error *err);

/* --------------------------------------------------------------------------------------------------- attempts
 * Each checks the run's state and returns STATUS_FAILED (trouble STORE_BROKEN) when the change is not allowed.
 * Each records an event, in the same transaction. */

struct store_start {
    const char *executor, *host, *device, *slot;
    const char *libraries; /* JSON object: name -> version; NULL: unknown */
    int pack;              /* runs its worker is given, this one counted; 0 is 1 */
};

/* queued -> starting. *attempt: its number, from 1. Call before the worker is started. */
int store_attempt_begin(struct store *s, const char *run, const struct store_start *start, int *attempt,
                        struct error *err);

/* starting -> running: the worker is there. Also allowed on a running one, to replace the handle. NULLs and 0 where
 * the executor has none. */
int store_attempt_running(struct store *s, const char *run, int attempt, const char *handle, int64_t pid,
                          int64_t pid_started, const char *boot_id, struct error *err);

/* What a batch system says of a live attempt. NULL: as before. */
struct store_news {
    const char *handle, *host, *note;
    bool running; /* starting -> running */
};

int store_attempt_news(struct store *s, const char *run, int attempt, const struct store_news *news, struct error *err);

struct store_exit {
    enum outcome cause;
    const char *text;           /* a line for people, NULL for none */
    int code, signal;           /* -1: none */
    int64_t cpu_us, peak_bytes; /* -1: unknown */
    bool counts;                /* against the retries (a lost worker or a stop does not) */
    int64_t not_before;         /* next == RUN_QUEUED: when it may start again; 0: at once */
    bool alone;                 /* from now on it shares no worker */
};

/* starting | running -> next: done, failed, cancelled, paused or queued. Take in the journal first
 * (harness/store/intake.h). A run whose cancel was asked for becomes cancelled where next says queued. */
int store_attempt_end(struct store *s, const char *run, int attempt, const struct store_exit *exit, enum run_state next,
                      struct error *err);

/* A run that is done and lacks rows which its training wrote (view run_rows) gets an event `gap` that counts them, by
 * which `status` and tables know it. *text (NULL to drop): the event's, on the heap; NULL: none is missing. */
int store_note_gap(struct store *s, const char *run, char **text, struct error *err);

/* An attempt (0: the last). Texts are the caller's to release. STATUS_BAD_INPUT when there is none. */
int store_attempt_get(struct store *s, const char *run, int attempt, struct store_attempt *out, struct error *err);

/* Something worth keeping that is no change of state. Any of sweep and run may be NULL, attempt 0. */
int store_event(struct store *s, const char *sweep, const char *run, int attempt, const char *kind, const char *text,
                struct error *err);

#endif
