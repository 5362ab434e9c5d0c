-- What ran, where, and how long. The time is that of all attempts; tokens/s from the median of the logged steps.
WITH spent AS (
    SELECT run, sum(ended - started) AS us, max(peak_bytes) AS peak_bytes FROM attempt
    WHERE ended IS NOT NULL AND run IN (SELECT run FROM run_shown) GROUP BY run),
ranked AS (
    SELECT run, ms, row_number() OVER (PARTITION BY run ORDER BY ms) AS place, count(*) OVER (PARTITION BY run) AS n
    FROM step_numeric
    WHERE ms IS NOT NULL AND run IN (SELECT run FROM run_shown)),
median AS (SELECT run, avg(ms) AS ms FROM ranked WHERE place IN ((n + 1) / 2, (n + 2) / 2) GROUP BY run)
SELECT r.sweep, r.variant, r.size, r.seed, r.run, r.state, r.attempts, r.device, r.host, r.version, r.started, spent.us,
    r.steps, n.steps || '/' || n.steps_due AS rows, n.evals || '/' || n.evals_due AS evals, spent.peak_bytes / 1e6 AS peak_mb,
    (r.config ->> '$."train.batch"') * (r.config ->> '$."train.accumulate"') * (r.config ->> '$."model.context"')
        / median.ms * 1000 AS tokens_per_s,
    r.val_loss_raw AS val_loss,
    CASE WHEN r.state IN ('failed', 'cancelled') THEN
        (SELECT coalesce(a.outcome_text, a.text, a.cause) FROM attempt a WHERE a.run = r.run
         ORDER BY a.attempt DESC LIMIT 1)
    WHEN r.state = 'paused' THEN (SELECT d.why FROM decision d WHERE d.run = r.run ORDER BY d.id DESC LIMIT 1)
    END AS why
FROM (SELECT DISTINCT sweep, variant, run, position FROM run_shown) m
JOIN run_in_sweep r ON r.run = m.run AND r.sweep = m.sweep AND r.variant = m.variant
JOIN run_rows n ON n.run = r.run
LEFT JOIN spent ON spent.run = r.run
LEFT JOIN median ON median.run = r.run
ORDER BY r.sweep, r.position, r.variant
