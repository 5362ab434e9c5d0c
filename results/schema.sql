-- The database of a home, taper.db. This text makes an empty one of the version in harness/store/store_migrate.c.
--
-- Times (created, started, ended, time ...) are UTC, in integer microseconds since 1970-01-01; lengths of time in
-- columns *_us are microseconds, columns ms are milliseconds.
--
-- Measured numbers stand in columns of type ANY: an INTEGER or REAL when finite, else the text 'NaN', 'Infinity' or
-- '-Infinity' (SQLite itself turns a NaN into NULL, and lets infinities into averages). NULL means not measured.
-- Text sorts behind every number, so none of the three ever wins min(); before avg() or max() use the views
-- *_numeric of views.sql, in which they are NULL.
--
-- step, site_step, eval and bench have no foreign keys: their rows come by the hundred thousand, from journals whose
-- run was looked up once.

CREATE TABLE sweep (
    name TEXT PRIMARY KEY,
    about TEXT NOT NULL,
    spec TEXT NOT NULL,              -- the YAML, as last submitted
    path TEXT NOT NULL,              -- where that stood
    created INTEGER NOT NULL,        -- first submitted
    updated INTEGER NOT NULL,        -- last submitted
    paused INTEGER NOT NULL DEFAULT 0,
    fail_fast INTEGER NOT NULL DEFAULT 0,
    stop TEXT NOT NULL DEFAULT ''    -- JSON: how its search pauses runs on the way; '': it does not
) STRICT, WITHOUT ROWID;

-- A run belongs to the sweep that submitted it first; every sweep that holds it has a row in sweep_run.
CREATE TABLE run (
    id TEXT PRIMARY KEY,             -- the first 12 hex digits of the BLAKE2b of its canonical configuration
    sweep TEXT NOT NULL REFERENCES sweep (name),
    variant TEXT NOT NULL,
    seed INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('queued', 'starting', 'running', 'done', 'failed', 'cancelled', 'paused')),
    params INTEGER,                  -- parameters of the model, a tied head counted once
    created INTEGER NOT NULL,
    started INTEGER,                 -- of the latest attempt
    ended INTEGER,                   -- NULL unless done, failed, cancelled or paused
    device TEXT,                     -- the latest attempt's, with host and version
    host TEXT,
    version TEXT,
    val_loss ANY,                    -- of the last step
    fold_error ANY,                  -- largest difference of logits, folded against tapered
    wants TEXT NOT NULL CHECK (wants IN ('cpu', 'cuda')),
    priority INTEGER NOT NULL,
    position INTEGER NOT NULL,       -- first come, first served within a priority
    slots INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    timeout_us INTEGER NOT NULL,     -- of one attempt; 0: none
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0, -- attempts that count against retries
    not_before INTEGER NOT NULL DEFAULT 0, -- a retry's delay
    cancel INTEGER NOT NULL DEFAULT 0, -- when a cancel was asked for while it was live
    steps INTEGER NOT NULL,          -- train.steps
    after TEXT NOT NULL,             -- JSON: fold, bench
    config TEXT NOT NULL,            -- JSON: every key
    pack INTEGER NOT NULL DEFAULT 1, -- runs of its shape that may share a worker, itself counted
    shape TEXT NOT NULL DEFAULT '',  -- equal for runs that may share one; '' when pack is 1
    needs TEXT REFERENCES run (id),  -- a run that must be done before this one may start; NULL: none
    slurm TEXT NOT NULL DEFAULT '',  -- JSON: what its jobs are given on Slurm; '': nothing
    corpus TEXT,                     -- digests of its data, of which its name was made; NULL: not known
    tokenizer TEXT
) STRICT;
CREATE INDEX run_queue ON run (state, wants, priority DESC, position);
CREATE INDEX run_pack ON run (shape, priority, position) WHERE pack > 1 AND state = 'queued';
CREATE INDEX run_sweep ON run (sweep);

-- A row for every place a run has in a sweep: a baseline is one run at every value of gate.end. So who counts runs
-- takes them once each (DISTINCT, or the view run_in_sweep).
CREATE TABLE sweep_run (
    sweep TEXT NOT NULL REFERENCES sweep (name),
    run TEXT NOT NULL REFERENCES run (id),
    variant TEXT NOT NULL,           -- the run's name in this sweep
    point TEXT NOT NULL,             -- JSON: the grid's keys that take several values, as its spec has them at this place
    position INTEGER NOT NULL,       -- in this sweep, from 0
    wanted INTEGER NOT NULL DEFAULT 1, -- 0: cancelled for this sweep; a run nobody wants is cancelled
    bracket TEXT NOT NULL DEFAULT '', -- of a search that pauses runs: with which it is compared, its variant and point
    PRIMARY KEY (sweep, run, variant, point)
) STRICT, WITHOUT ROWID;
CREATE INDEX sweep_run_run ON sweep_run (run);

-- What a search decided at its rungs, in order: a run that reached one is kept (it goes on) or paused, and may be kept
-- later when more have come. One that diverged before it is diverged.
CREATE TABLE decision (
    id INTEGER PRIMARY KEY,
    time INTEGER NOT NULL,
    sweep TEXT NOT NULL REFERENCES sweep (name),
    bracket TEXT NOT NULL,
    run TEXT NOT NULL REFERENCES run (id),
    rung INTEGER NOT NULL,           -- from 1
    step INTEGER NOT NULL,           -- the rung's
    metric ANY,                      -- of the last evaluation up to it
    rank INTEGER NOT NULL,           -- by it, of all of the bracket that had reached the rung; from 1, the best
    ranked INTEGER NOT NULL,         -- how many those were
    verdict TEXT NOT NULL CHECK (verdict IN ('kept', 'paused', 'diverged')),
    why TEXT NOT NULL,
    UNIQUE (sweep, bracket, rung, run, verdict)
) STRICT;
CREATE INDEX decision_run ON decision (run);

-- One start of a worker.
CREATE TABLE attempt (
    run TEXT NOT NULL REFERENCES run (id),
    attempt INTEGER NOT NULL,        -- from 1
    started INTEGER NOT NULL,
    ended INTEGER,
    cause TEXT,                      -- done failed input stopped diverged memory disk paused signal timeout lost start cancelled preempted time-limit node revoked refused dependency; NULL: not ended
    text TEXT,
    code INTEGER,                    -- exit code
    signal INTEGER,
    outcome TEXT,                    -- the journal's last word: done failed stopped; with its text
    outcome_text TEXT,
    executor TEXT NOT NULL,          -- local, slurm
    host TEXT,
    device TEXT,                     -- cpu, or the opaque id of a GPU
    slot TEXT,
    handle TEXT,                     -- what the executor finds it by
    pid INTEGER,                     -- a pid is only believed with its start time and boot id
    pid_started INTEGER,             -- clock ticks since boot
    boot_id TEXT,
    version TEXT NOT NULL,
    revision TEXT NOT NULL,          -- git's
    libraries TEXT,                  -- JSON: name -> version
    cpu_us INTEGER,                  -- user and system, of all its processes; of a pack's worker its share
    peak_bytes INTEGER,
    pack INTEGER NOT NULL DEFAULT 1, -- runs its worker was given, this one counted
    note TEXT,                       -- where it stands in a batch system, as last heard
    corpus TEXT,                     -- digests of what its training opened: of the text, of what the tokenizer does,
    tokenizer TEXT,
    train_tokens TEXT,               -- of all bytes of the token files
    valid_tokens TEXT,
    PRIMARY KEY (run, attempt)
) STRICT, WITHOUT ROWID;

-- Meanings and equations: core/train/journal.h and docs; losses in nats.
CREATE TABLE step (
    run TEXT NOT NULL,
    step INTEGER NOT NULL,
    tokens ANY,                      -- seen so far
    ce ANY,
    aux ANY,
    lr ANY,
    gate ANY,
    grad_norm ANY,                   -- global, before clipping
    scale_mean ANY,                  -- over tokens, of s(h) before the final norm
    scale_std ANY,
    scale_max ANY,
    scale_target ANY,
    logit_rms ANY,
    logit_max ANY,
    logit_std ANY,
    margin ANY,
    p_correct ANY,
    entropy ANY,
    radial ANY,                      -- of the gradient at h, signed
    radial_rms ANY,
    tangential_rms ANY,
    radial_share ANY,
    aux_radial ANY,
    ms ANY,                          -- the step's time
    attempt INTEGER NOT NULL,
    step_ms TEXT,                    -- JSON: the time of every step since the row before; NULL: only this one
    leading ANY,                     -- share of the tokens whose correct class leads, and of these the share that obeys
    bounded ANY,                     -- proposition 2's bound
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE site_step (
    run TEXT NOT NULL,
    step INTEGER NOT NULL,
    site TEXT NOT NULL,              -- blocks.0.attn_norm ... final_norm
    c ANY,
    scale_mean ANY,
    agreement ANY,                   -- c * scale_mean; 1: both branches agree
    gamma_norm ANY,
    gamma_tilde_norm ANY,
    PRIMARY KEY (run, step, site)
) STRICT, WITHOUT ROWID;

CREATE TABLE eval (
    run TEXT NOT NULL,
    step INTEGER NOT NULL,
    split TEXT NOT NULL,
    loss ANY,
    tokens INTEGER,
    attempt INTEGER,
    PRIMARY KEY (run, step, split)
) STRICT, WITHOUT ROWID;

CREATE TABLE bench (
    run TEXT NOT NULL,
    kind TEXT NOT NULL,              -- decode, last-token
    variant TEXT NOT NULL,           -- what was timed: the norms as trained, unfused or folded
    batch INTEGER NOT NULL,
    context INTEGER NOT NULL,
    weights TEXT NOT NULL,           -- as the products read them: fp32, bf16, int8
    tokens_per_s ANY,
    ms ANY,
    repeats INTEGER,
    device TEXT,
    attempt INTEGER,
    beside INTEGER,                  -- other workers on the same device before or after; NULL: not known
    PRIMARY KEY (run, kind, variant, batch, context, weights)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    id INTEGER PRIMARY KEY,          -- in the order they happened, whatever the clock said
    time INTEGER NOT NULL,
    sweep TEXT,
    run TEXT,
    attempt INTEGER,
    step INTEGER,
    kind TEXT NOT NULL,
    text TEXT NOT NULL,
    journal INTEGER                  -- from a journal: the byte its line starts at
) STRICT;
CREATE UNIQUE INDEX event_journal ON event (run, journal) WHERE journal IS NOT NULL;
CREATE INDEX event_run ON event (run);

-- How far each journal was taken in.
CREATE TABLE journal (
    run TEXT PRIMARY KEY REFERENCES run (id),
    offset INTEGER NOT NULL,         -- the byte after the last line taken
    inode INTEGER NOT NULL,
    device INTEGER NOT NULL,         -- of the file system
    lines INTEGER NOT NULL,          -- taken since the start of the file
    bad INTEGER NOT NULL,            -- of these, not understood
    step INTEGER NOT NULL,           -- the last step logged
    seen INTEGER NOT NULL            -- when it last grew
) STRICT, WITHOUT ROWID;

-- Trainings that are done and are to be done again. Until the first step row of a later attempt comes, the rows that are
-- there are those of the training before.
CREATE TABLE redo (
    run TEXT PRIMARY KEY REFERENCES run (id),
    since INTEGER,                   -- the last attempt before it was asked for; NULL: not asked for, only how is known
    cleared INTEGER NOT NULL DEFAULT 0, -- the directory is free for the new training: no way back
    next_config TEXT,                -- how the next one is to be computed, as its sweep was last submitted; NULL: as before
    next_wants TEXT,
    next_shape TEXT,
    config TEXT,                     -- of the run as it was, should the wish be taken back
    wants TEXT,
    shape TEXT,
    ended INTEGER
) STRICT, WITHOUT ROWID;

-- GPUs that are given no more runs until 'taper devices --use' takes them back.
CREATE TABLE device_aside (
    device TEXT PRIMARY KEY,         -- the opaque id
    since INTEGER NOT NULL,
    why TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What the program needs to know about the database itself.
CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;
