/* Shared by the files of the store and the intake; nothing else includes it. */
#ifndef TAPER_HARNESS_STORE_STORE_INTERNAL_H
#define TAPER_HARNESS_STORE_STORE_INTERNAL_H

#include <sqlite3.h>

#include "harness/store/store.h"

enum { STORE_STATEMENTS = 160 };

struct store {
    sqlite3 *db;
    enum store_mode mode;
    enum store_trouble trouble;
    int lock;    /* descriptor; -1: none */
    bool leased; /* and what its file says is ours */
    char *path;
    int patience;
    bool full_sync;
    bool in_transaction;
    int grouped;       /* store_group_begin less _end: above 0 begin and commit of the changes do nothing ... */
    bool group_failed; /* ... and one of them wanted to roll back, so that nothing of the group may stay */
    struct {
        const char *sql; /* the literal's address is the key */
        sqlite3_stmt *statement;
    } cache[STORE_STATEMENTS];
    int cached;
};

/* Note what SQLite reports and make it the error; returns its status. */
int store_fail(struct store *s, struct error *err, const char *doing);

/* The same for a fault that is the caller's: STORE_BROKEN, STATUS_FAILED. */
int store_refuse(struct store *s, struct error *err, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* A prepared statement for a string literal, reset and unbound; kept until the store closes. NULL on failure. */
sqlite3_stmt *store_prepare(struct store *s, const char *sql, struct error *err);

/* The same as it was left: NULL when it was not prepared before. For a statement whose every parameter is bound again
 * and whose every use ended in store_step. */
sqlite3_stmt *store_prepared(const struct store *s, const char *sql);

/* BEGIN IMMEDIATE, waiting as long as the patience; a full one is synced to the disk at its commit. */
int store_begin(struct store *s, bool full, struct error *err);
int store_commit(struct store *s, struct error *err); /* rolls back when it fails */
void store_rollback(struct store *s);

/* Run a bound statement that returns no row, and reset it. */
int store_step(struct store *s, sqlite3_stmt *statement, const char *doing, struct error *err);

/* Plain SQL without results. */
int store_exec(struct store *s, const char *sql, const char *doing, struct error *err);

/* Bind by position: text (NULL: a NULL), integers, and integers for which `none` stands for NULL. */
void store_bind_text(sqlite3_stmt *statement, int at, const char *text);
void store_bind_int(sqlite3_stmt *statement, int at, int64_t value);
void store_bind_int_or_null(sqlite3_stmt *statement, int at, int64_t value, int64_t none);

/* The columns of struct store_run, for a SELECT from run r, and the row that they make into one. */
#define STORE_RUN_COLUMNS                                                                                              \
    "r.id, r.sweep, r.variant, r.seed, r.state, r.wants, r.priority, r.position, r.slots, r.retries, r.timeout_us, "   \
    "r.attempts, r.failures, r.created, r.started, r.ended, r.not_before, r.cancel, r.steps, "                         \
    "coalesce((SELECT step FROM journal j WHERE j.run = r.id), 0), "                                                   \
    "EXISTS (SELECT 1 FROM sweep_run m JOIN sweep s ON s.name = m.sweep WHERE m.run = r.id AND s.fail_fast), "         \
    "r.pack, r.shape "
void store_read_run(sqlite3_stmt *row, struct store_run *run);

/* Insert an event inside a transaction. 0 attempt: none. */
int store_add_event(struct store *s, const char *sweep, const char *run, int attempt, const char *kind,
                    const char *text, struct error *err);

/* store_cancel() of a sweep, inside a transaction. */
int store_cancel_sweep(struct store *s, const char *sweep, const char *reason, struct error *err);

/* Redos (store_redo.h), each inside a transaction: the runs of the temporary table chosen are to be done again; queued
 * ones that were just cancelled are done as before; the first step row of a new training is stored; a run is done. */
int store_redo_ask(struct store *s, struct error *err);
int store_redo_take_back(struct store *s, struct error *err);
int store_redo_swap(struct store *s, const char *run, int64_t step, struct error *err);
int store_redo_done(struct store *s, const char *run, struct error *err);

/* The id and the JSON of a finished configuration; the text is good until the next call. */
int store_identify(struct store_identities *ids, const struct config *cfg, char id[CONFIG_ID], const char **json,
                   struct error *err);

/* The digests of a configuration's data, as the names of its runs have them; owned by ids. *tokenizer is NULL where the
 * run takes that of another run (init.run), which need not have one yet. */
int store_identity_digests(struct store_identities *ids, const struct config *cfg, const char **corpus,
                           const char **tokenizer, struct error *err);
/* Take HOME/taper.lock, or say who has it; let it go. */
int store_lease_take(struct store *s, const struct home *home, struct error *err);
void store_lease_drop(struct store *s);

/* Steps of migration: to[i] takes a database of version i + 1 to version i + 2. */
struct store_migration {
    const char *sql;
};

/* Bring the open database to `version` inside one transaction: the schema's text when it is empty, else the steps
 * from its version on. A newer one is STATUS_BAD_INPUT. */
int store_migrate_with(struct store *s, const struct store_migration *steps, int version, const char *schema,
                       struct error *err);

/* The same with this program's steps and schema, and the views when their text has changed. */
int store_migrate(struct store *s, struct error *err);
int store_refresh_views(struct store *s, struct error *err);
int store_newest_views(struct store *s, struct error *err); /* own ones where the database's are not this program's */
int store_drop_views(struct store *s, struct error *err);   /* inside a transaction */

/* The schema version this program knows, and a database's. */
int store_version_known(void);
int store_version(struct store *s, int *version, struct error *err);

#endif
