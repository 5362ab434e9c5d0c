-- Validation loss by configuration: a row a run, whether or not it is done.
-- The paper's changes are ranges over its sizes; internal's is the replication's (one size, three seeds).
WITH published (variant, change) AS (
    VALUES ('internal', '+0.28 to +0.34 (replication)'),
           ('internal+aux', '+0.7 to +1.5'),
           ('all+aux', '+0.8 to +1.8')),
last AS (
    SELECT DISTINCT run, (SELECT iif(typeof(gate) = 'text', NULL, gate) FROM step s WHERE s.run = r.run
        ORDER BY step DESC LIMIT 1) AS gate
    FROM run_shown r WHERE sites <> 'none' AND state = 'done')
SELECT r.grp, r.size, r.variant, r.seed, r.state, r.params, r.val_loss, r.val_loss_raw,
    (r.val_loss - r.baseline_val_loss) / r.baseline_val_loss * 100 AS change,
    iif(r.is_base OR NOT EXISTS (SELECT 1 FROM base), 0, r.baseline_val_loss) AS pair,
    published.change AS published, r.corpus, r.steps,
    iif(last.gate > 0, format('gate %g at the end, norms kept', last.gate), NULL) AS flag
FROM run_shown r
LEFT JOIN published ON published.variant = r.variant
LEFT JOIN last ON last.run = r.run
ORDER BY r.grp, r.seed, r.position
