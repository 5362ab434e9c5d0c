-- Validation loss by size and variant: a row a run, whether or not it is done.
-- The paper's changes are ranges over its sizes; internal's is the replication's (one size, three seeds).
WITH published (variant, change) AS (
    VALUES ('internal', '+0.28 to +0.34 (replication)'),
           ('internal+aux', '+0.7 to +1.5'),
           ('all+aux', '+0.8 to +1.8'))
SELECT r.size, r.variant, r.seed, r.state, r.params,
    CASE r.state WHEN 'done' THEN r.val_loss END AS val_loss,
    r.val_loss_raw,
    CASE WHEN r.variant <> 'baseline' THEN a.change_percent END AS change,
    CASE WHEN r.variant = 'baseline' THEN 0 ELSE a.change_percent END AS pair,
    published.change AS published,
    r.config ->> '$."data.corpus"' AS corpus, r.steps
FROM run_in_sweep r
JOIN variant_shown p ON p.sweep = r.sweep AND p.variant = r.variant
LEFT JOIN run_against_baseline a ON a.sweep = r.sweep AND a.variant = r.variant AND a.run = r.run
LEFT JOIN published ON published.variant = r.variant
WHERE r.sweep = :sweep
ORDER BY r.config ->> '$."model.d_model"', r.config ->> '$."model.layers"', r.size, p.place, r.seed, r.position
