-- As fig-loss, of the runs that began with weights: rows 1: training loss; 2: the gate; 3: validation loss; 4: its
-- change against the vanilla run of the same seed, in percent.
SELECT r.grp, 1 AS row, r.seed, s.step AS x, s.ce AS y FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 2, r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run WHERE r.sites <> 'none'
UNION ALL
SELECT r.grp, 3, r.seed, e.step, e.loss FROM run_drawn r JOIN valid_curve e ON e.run = r.run
UNION ALL
SELECT r.grp, 4, r.seed, e.step, (e.loss - b.loss) / b.loss * 100
FROM run_drawn r JOIN valid_curve e ON e.run = r.run
JOIN valid_curve b ON b.run = r.baseline_run AND b.step = e.step AND b.tokens IS e.tokens
