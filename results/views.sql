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
    iif(typeof(ms) = 'text', NULL, ms) AS ms, repeats, device
FROM bench;

-- The runs of every sweep at each place they have there: a run that is the same at several points of the grid has a row
-- for each, with the point's keys in `point`. val_loss is NULL when it is not finite; val_loss_raw is as stored.
CREATE VIEW run_at_point AS
SELECT m.sweep, m.variant, m.point, m.position, r.id AS run, r.seed, r.state, r.params, r.steps,
    iif(typeof(r.val_loss) = 'text', NULL, r.val_loss) AS val_loss, r.val_loss AS val_loss_raw,
    iif(typeof(r.fold_error) = 'text', NULL, r.fold_error) AS fold_error,
    r.created, r.started, r.ended, r.attempts, r.device, r.host, r.version,
    r.config ->> '$."model.size"' AS size,
    r.config
FROM sweep_run m JOIN run r ON r.id = m.run;

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
    count(iif(r.state = 'cancelled', 1, NULL)) AS cancelled
FROM sweep s LEFT JOIN (SELECT DISTINCT sweep, run FROM sweep_run) m ON m.sweep = s.name
    LEFT JOIN run r ON r.id = m.run
GROUP BY s.name;

-- The last logged step of each run.
CREATE VIEW step_last AS
SELECT n.* FROM step_numeric n
JOIN (SELECT id, (SELECT max(step) FROM step WHERE step.run = run.id) AS step FROM run) l
    ON n.run = l.id AND n.step = l.step;

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

-- Each finished run beside the runs of variant "baseline" that share everything else: same sweep, same seed, and a
-- configuration that differs in the keys of the taper alone.
CREATE VIEW run_against_baseline AS
SELECT v.sweep, v.variant, v.size, v.seed, v.run, b.run AS baseline_run, v.val_loss, b.val_loss AS baseline_val_loss,
    (v.val_loss - b.val_loss) / b.val_loss * 100 AS change_percent
FROM run_in_sweep v JOIN run_in_sweep b
    ON b.sweep = v.sweep AND b.variant = 'baseline' AND b.seed = v.seed AND b.size IS v.size
JOIN run_essence be ON be.run = b.run JOIN run_essence ve ON ve.run = v.run
    AND json_remove(be.config, '$."taper.sites"', '$."taper.ema"', '$."gate.warmup"', '$."gate.end"', '$."gate.shape"',
            '$."gate.value"', '$."aux.lambda"', '$."aux.target"')
        = json_remove(ve.config, '$."taper.sites"', '$."taper.ema"', '$."gate.warmup"', '$."gate.end"',
            '$."gate.shape"', '$."gate.value"', '$."aux.lambda"', '$."aux.target"')
WHERE v.state = 'done' AND b.state = 'done';

-- The paper's variants in its order; the names that sweeps of its tables give them.
CREATE VIEW paper_variant (variant, place) AS
VALUES ('baseline', 1), ('internal', 2), ('internal+aux', 3), ('all', 4), ('all+aux', 5);

-- Ablations: runs of a sweep that differ in one key of the taper and the seed alone, where that key takes three values
-- or more. place orders the values: percent of the run, the shapes as configured, or lambda itself. label tells the
-- groups of one key apart; rest is the configuration they share.
CREATE VIEW ablation AS
WITH key (key) AS (VALUES ('gate.end'), ('gate.shape'), ('aux.lambda')),
keyed AS (
    SELECT r.sweep, key.key, min(r.variant) AS variant, r.run, r.size, r.seed, r.state, r.steps, r.val_loss, r.val_loss_raw,
        CASE key.key WHEN 'gate.shape' THEN r.config ->> '$."gate.shape"'
            WHEN 'aux.lambda' THEN format('%g', r.config ->> '$."aux.lambda"')
            ELSE iif(r.config ->> '$."gate.end"' LIKE '%!%' ESCAPE '!',
                format('%g%%', rtrim(r.config ->> '$."gate.end"', '%')), r.config ->> '$."gate.end"') END AS value,
        json_remove(e.config, '$."seed"', '$."' || key.key || '"') AS rest,
        r.config ->> '$."taper.sites"' AS sites, r.config ->> '$."aux.lambda"' AS lambda,
        r.config ->> '$."model.d_model"' AS d_model
    FROM run_in_sweep r JOIN run_essence e ON e.run = r.run JOIN key WHERE r.config ->> '$."taper.sites"' <> 'none'
    GROUP BY r.sweep, key.key, r.run),
axis AS (SELECT sweep, key, rest FROM keyed GROUP BY sweep, key, rest HAVING count(DISTINCT value) >= 3)
SELECT k.sweep, k.key, k.value, k.variant, k.run, k.size, k.d_model, k.seed, k.state, k.sites, k.val_loss, k.val_loss_raw,
    CASE k.key WHEN 'aux.lambda' THEN k.value + 0.0
        WHEN 'gate.shape' THEN instr('cosine linear step constant', k.value) + 0.0
        ELSE iif(k.value LIKE '%!%' ESCAPE '!', rtrim(k.value, '%') + 0.0, 100.0 * k.value / k.steps) END AS place,
    k.sites || iif(k.key <> 'aux.lambda' AND k.lambda > 0, '+aux', '') AS label,
    (SELECT max(change_percent) FROM run_against_baseline a WHERE a.sweep = k.sweep AND a.run = k.run) AS change,
    (SELECT logit_rms FROM step_last l WHERE l.run = k.run) AS logit_rms, k.rest
FROM keyed k JOIN axis a ON a.sweep = k.sweep AND a.key = k.key AND a.rest = k.rest;

-- The variants of a sweep that tables and figures compare: the paper's where the sweep has any, else all of them.
CREATE VIEW variant_shown AS
SELECT v.sweep, v.variant, coalesce(p.place, v.position + 6) AS place
FROM (SELECT sweep, variant, min(position) AS position FROM sweep_run GROUP BY sweep, variant) v
LEFT JOIN paper_variant p ON p.variant = v.variant
WHERE p.place IS NOT NULL
    OR NOT EXISTS (SELECT 1 FROM sweep_run o JOIN paper_variant q ON q.variant = o.variant WHERE o.sweep = v.sweep);

-- The logged steps of those variants' runs, in the order to draw them in.
CREATE VIEW step_shown AS
SELECT r.sweep, r.size, r.config ->> '$."model.d_model"' AS d_model, r.config ->> '$."taper.sites"' AS sites, v.place,
    r.variant, r.seed, r.state, s.*
FROM run_in_sweep r
JOIN variant_shown v ON v.sweep = r.sweep AND v.variant = r.variant
JOIN step_numeric s ON s.run = r.run;
