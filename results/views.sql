-- Views over schema.sql; made again whenever this text changes, so they need no migration.
-- The *_numeric views turn 'NaN' and the infinities into NULL, which aggregates leave out.

CREATE VIEW step_numeric AS
SELECT run, step, tokens, attempt,
    iif(typeof(ce) = 'text', NULL, ce) AS ce,
    iif(typeof(aux) = 'text', NULL, aux) AS aux,
    iif(typeof(lr) = 'text', NULL, lr) AS lr,
    iif(typeof(gate) = 'text', NULL, gate) AS gate,
    iif(typeof(grad_norm) = 'text', NULL, grad_norm) AS grad_norm,
    iif(typeof(scale_mean) = 'text', NULL, scale_mean) AS scale_mean,
    iif(typeof(scale_std) = 'text', NULL, scale_std) AS scale_std,
    iif(typeof(scale_max) = 'text', NULL, scale_max) AS scale_max,
    iif(typeof(scale_target) = 'text', NULL, scale_target) AS scale_target,
    iif(typeof(logit_rms) = 'text', NULL, logit_rms) AS logit_rms,
    iif(typeof(logit_max) = 'text', NULL, logit_max) AS logit_max,
    iif(typeof(logit_std) = 'text', NULL, logit_std) AS logit_std,
    iif(typeof(margin) = 'text', NULL, margin) AS margin,
    iif(typeof(p_correct) = 'text', NULL, p_correct) AS p_correct,
    iif(typeof(entropy) = 'text', NULL, entropy) AS entropy,
    iif(typeof(radial) = 'text', NULL, radial) AS radial,
    iif(typeof(radial_rms) = 'text', NULL, radial_rms) AS radial_rms,
    iif(typeof(tangential_rms) = 'text', NULL, tangential_rms) AS tangential_rms,
    iif(typeof(radial_share) = 'text', NULL, radial_share) AS radial_share,
    iif(typeof(aux_radial) = 'text', NULL, aux_radial) AS aux_radial,
    iif(typeof(ms) = 'text', NULL, ms) AS ms,
    iif(typeof(leading) = 'text', NULL, leading) AS leading,
    iif(typeof(bounded) = 'text', NULL, bounded) AS bounded
FROM step;

CREATE VIEW site_step_numeric AS
SELECT run, step, site,
    iif(typeof(c) = 'text', NULL, c) AS c,
    iif(typeof(scale_mean) = 'text', NULL, scale_mean) AS scale_mean,
    iif(typeof(agreement) = 'text', NULL, agreement) AS agreement,
    iif(typeof(gamma_norm) = 'text', NULL, gamma_norm) AS gamma_norm,
    iif(typeof(gamma_tilde_norm) = 'text', NULL, gamma_tilde_norm) AS gamma_tilde_norm
FROM site_step;

CREATE VIEW eval_numeric AS
SELECT run, step, split, iif(typeof(loss) = 'text', NULL, loss) AS loss, tokens FROM eval;

CREATE VIEW bench_numeric AS
SELECT run, kind, variant, batch, context, weights,
    iif(typeof(tokens_per_s) = 'text', NULL, tokens_per_s) AS tokens_per_s,
    iif(typeof(ms) = 'text', NULL, ms) AS ms, repeats, device, beside
FROM bench;

-- Runs by what their rows are of: one that is being redone is done until rows of the new training take their place.
CREATE VIEW run_shown_state AS
SELECT r.id, r.seed, r.params, r.steps, r.val_loss, r.fold_error, r.created, r.started, r.attempts, r.device, r.host,
    r.version, r.config, d.run IS NOT NULL AS redoing,
    iif(d.run IS NULL, r.state, 'done') AS state, iif(d.run IS NULL, r.ended, d.ended) AS ended
FROM run r LEFT JOIN redo d ON d.run = r.id AND d.since IS NOT NULL;

-- The runs of every sweep at each place they have there: a run that is the same at several points of the grid has a row
-- for each, with the point's keys in `point`. val_loss is NULL unless the run
-- is done and the value finite; val_loss_raw is as stored.
CREATE VIEW run_at_point AS
SELECT m.sweep, m.variant, m.point, m.position, r.id AS run, r.seed, r.state, r.params, r.steps,
    iif(r.state <> 'done' OR typeof(r.val_loss) = 'text', NULL, r.val_loss) AS val_loss, r.val_loss AS val_loss_raw,
    iif(typeof(r.fold_error) = 'text', NULL, r.fold_error) AS fold_error,
    r.created, r.started, r.ended, r.attempts, r.device, r.host, r.version,
    r.config ->> '$."model.size"' AS size,
    r.config
FROM sweep_run m JOIN run_shown_state r ON r.id = m.run;

-- The same with each run once for every name it has there, at its first point: what tables and figures start from.
CREATE VIEW run_in_sweep AS
SELECT p.* FROM run_at_point p
WHERE NOT EXISTS (SELECT 1 FROM sweep_run e
    WHERE e.sweep = p.sweep AND e.run = p.run AND e.variant = p.variant AND e.position < p.position);

-- Counts by state.
CREATE VIEW sweep_status AS
SELECT s.name AS sweep, s.about, s.paused, s.fail_fast, s.created, s.updated,
    count(r.id) AS runs,
    count(iif(r.state = 'queued', 1, NULL)) AS queued,
    count(iif(r.state = 'starting', 1, NULL)) AS starting,
    count(iif(r.state = 'running', 1, NULL)) AS running,
    count(iif(r.state = 'done', 1, NULL)) AS done,
    count(iif(r.state = 'failed', 1, NULL)) AS failed,
    count(iif(r.state = 'cancelled', 1, NULL)) AS cancelled,
    count(iif(r.state = 'paused', 1, NULL)) AS paused_runs
FROM sweep s LEFT JOIN (SELECT DISTINCT sweep, run FROM sweep_run) m ON m.sweep = s.name
    LEFT JOIN run r ON r.id = m.run
GROUP BY s.name;

-- Where a search compares its runs, a row for each rung of each run.
CREATE VIEW run_rung AS
SELECT m.sweep, m.bracket, m.run, m.position, j.key + 1 AS rung,
    CAST(round(iif(j.value LIKE '%\%' ESCAPE '\', CAST(j.value AS REAL) / 100 * r.steps, CAST(j.value AS REAL))) AS INTEGER)
        AS step
FROM sweep w JOIN json_each(nullif(w.stop, ''), '$.rungs') j
    JOIN (SELECT sweep, bracket, run, min(position) AS position FROM sweep_run WHERE wanted GROUP BY sweep, bracket, run) m
        ON m.sweep = w.name
    JOIN run r ON r.id = m.run;

-- The last logged step of each run.
CREATE VIEW step_last AS
SELECT n.* FROM step_numeric n
JOIN (SELECT id, (SELECT max(step) FROM step WHERE step.run = run.id) AS step FROM run) l
    ON n.run = l.id AND n.step = l.step;

-- Rows of the training's journal: those that are there, and those that a training to the end writes (train.c). Asked of a
-- run at a time: it counts its rows.
CREATE VIEW run_rows AS
WITH due AS (
    SELECT id AS run, steps, max(1, config ->> '$."log.every"') AS log_every, config ->> '$."eval.every"' AS every
    FROM run_shown_state),
whole AS (
    SELECT run, steps, log_every,
        iif(every LIKE '%\%' ESCAPE '\', CAST(round(CAST(every AS REAL) / 100 * steps) AS INTEGER), CAST(every AS INTEGER))
            AS eval_every
    FROM due)
SELECT run,
    (SELECT count(*) FROM step s WHERE s.run = w.run AND (s.step IN (1, steps) OR s.step % log_every = 0)) AS steps,
    steps / log_every + (log_every > 1 AND steps > 0) + (steps > 1 AND steps % log_every > 0) AS steps_due,
    (SELECT count(*) FROM eval e WHERE e.run = w.run AND e.split = 'valid'
        AND (e.step = steps OR (eval_every > 0 AND e.step % eval_every = 0))) AS evals,
    1 + iif(eval_every > 0, max(0, steps - 1) / eval_every, 0) AS evals_due
FROM whole w;

-- Runs that are done, with rows missing: their last training's end noted it (store_gap.c).
CREATE VIEW run_gap AS
SELECT DISTINCT r.id AS run FROM event e JOIN run_shown_state r ON r.id = e.run
WHERE e.kind = 'gap' AND r.state = 'done'
    AND e.attempt = (SELECT max(attempt) FROM attempt a WHERE a.run = r.id AND a.cause = 'done');

-- Progress of runs that are not over.
CREATE VIEW run_progress AS
SELECT r.id AS run, r.sweep, r.variant, r.seed, r.state, j.step, r.steps, j.seen,
    (SELECT ce FROM step s WHERE s.run = r.id AND s.step = j.step) AS ce,
    r.started, r.attempts, r.device, r.host
FROM run r LEFT JOIN journal j ON j.run = r.id
WHERE r.state IN ('queued', 'starting', 'running');

-- What a run's result depends on: its configuration without the keys that only say how it is computed and shown (those
-- with a * in 'taper help config').
CREATE VIEW run_essence (run, config) AS
SELECT id, json_remove(config, '$."model.size"', '$."model.head_dim"', '$."eval.every"', '$."eval.tokens"', '$."log.every"',
    '$."checkpoint.every"', '$."sample.tokens"', '$."sample.prompt"', '$."device"', '$."threads"')
FROM run;

-- The keys in which any two runs differ, for a WHERE over run_a and run_b; config_key (made by the program from its table
-- of keys) has what a key is in a run that does not name it.
CREATE VIEW config_diff AS
SELECT run_a, run_b, key, a, b FROM (
    SELECT a.id AS run_a, b.id AS run_b, e.key, e.value AS a,
        coalesce(b.config ->> ('$."' || e.key || '"'), (SELECT fallback FROM config_key k WHERE k.key = e.key)) AS b
    FROM run a JOIN run b ON b.id <> a.id JOIN json_each(a.config) e
    UNION ALL
    SELECT a.id, b.id, e.key, (SELECT fallback FROM config_key k WHERE k.key = e.key), e.value
    FROM run a JOIN run b ON b.id <> a.id JOIN json_each(b.config) e
    WHERE json_type(a.config, '$."' || e.key || '"') IS NULL)
WHERE a IS NOT b;

-- What each attempt took; of one that goes on, so far. The runs of a pack share a worker, whose time is divided among them
-- in slot_hours and gpu_hours: so a sum counts it once. A slot is what the run asked for, of processors or of GPUs.
CREATE VIEW attempt_time AS
SELECT run, attempt, device, (ended - started) / 3.6e9 AS hours,
    (max(ended) OVER worker - min(started) OVER worker) / 3.6e9 * slots / count(*) OVER worker AS slot_hours,
    iif(wants = 'cuda', (max(ended) OVER worker - min(started) OVER worker) / 3.6e9 * slots / count(*) OVER worker, 0.0)
        AS gpu_hours
FROM (SELECT a.run, a.attempt, a.device, a.started, r.slots, r.wants,
        coalesce(a.ended, CAST((julianday('now') - 2440587.5) * 86400e6 AS INTEGER)) AS ended,
        coalesce(a.boot_id || '/' || a.pid || '/' || a.pid_started, a.run || '/' || a.attempt) AS worker
    FROM attempt a JOIN run r ON r.id = a.run)
WINDOW worker AS (PARTITION BY worker);

-- The logged steps with the seconds of training until each: a step that is not logged took as long as the next that is.
CREATE VIEW step_elapsed AS
SELECT s.*, sum(ms * span) OVER (PARTITION BY run ORDER BY step) / 1000 AS elapsed_s
FROM (SELECT n.*, step - lag(step, 1, 0) OVER (PARTITION BY run ORDER BY step) AS span FROM step_numeric n) s;

-- The paper's variants in its order; the names that sweeps of its tables give them.
CREATE VIEW paper_variant (variant, place) AS
VALUES ('baseline', 1), ('internal', 2), ('internal+aux', 3), ('all', 4), ('all+aux', 5);
