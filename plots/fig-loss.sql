-- Rows 1: training loss; 2: the gate; 3: validation loss; 4: its change against the baseline of the same seed, in percent.
-- An evaluation that read other tokens than the run's first (the last one may read the whole split) is no point of the
-- same curve: it is left out here, and stands in the tables.
WITH valid AS (
    SELECT e.run, e.step, e.loss, e.tokens FROM eval_numeric e
    WHERE e.split = 'valid' AND e.run IN (SELECT run FROM run_shown UNION SELECT baseline_run FROM run_shown)
        AND e.tokens IS (SELECT f.tokens FROM eval f WHERE f.run = e.run AND f.split = 'valid' ORDER BY f.step LIMIT 1))
SELECT r.grp, 1 AS row, r.seed, s.step AS x, s.ce AS y FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 2, r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run WHERE r.sites <> 'none'
UNION ALL
SELECT r.grp, 3, r.seed, e.step, e.loss FROM run_drawn r JOIN valid e ON e.run = r.run
UNION ALL
SELECT r.grp, 4, r.seed, e.step, (e.loss - b.loss) / b.loss * 100
FROM run_drawn r JOIN valid e ON e.run = r.run
JOIN valid b ON b.run = r.baseline_run AND b.step = e.step AND b.tokens IS e.tokens
