-- Views over run_shown, which the program makes for one sweep at a time: a row for every run that is shown (--where),
-- its group (grp: one configuration, its runs the seeds), the keys that differ within the sweep under their own names,
-- and the run it is compared with. Temporary, of the connection.

DROP VIEW IF EXISTS temp.step_shown;
DROP VIEW IF EXISTS temp.run_against_baseline;
DROP VIEW IF EXISTS temp.valid_curve;
DROP VIEW IF EXISTS temp.ablation_line;
DROP VIEW IF EXISTS temp.ablation;
DROP TABLE IF EXISTS temp.page;
DROP TABLE IF EXISTS temp.page_line;
DROP VIEW IF EXISTS temp.loss_drawn;
DROP VIEW IF EXISTS temp.run_drawn;

-- The logged steps of the runs shown.
CREATE TEMP VIEW step_shown AS
SELECT r.sweep, r.grp, r.size, r.d_model, r.sites, r.place, r.variant, r.seed, r.state, s.*
FROM run_shown r JOIN step_numeric s ON s.run = r.run;

-- Each finished run beside the one it is compared with: same seed, same point of the grid.
CREATE TEMP VIEW run_against_baseline AS
SELECT sweep, grp, variant, size, seed, run, baseline_run, val_loss, baseline_val_loss,
    (val_loss - baseline_val_loss) / baseline_val_loss * 100 AS change_percent
FROM run_shown WHERE val_loss IS NOT NULL AND baseline_val_loss IS NOT NULL;

-- The validation loss over the steps, of the runs shown and of those they are compared with. An evaluation that read
-- other tokens than the run's first (the last one may read the whole split) is no point of the same curve: it is left
-- out here, and stands in the tables.
CREATE TEMP VIEW valid_curve AS
SELECT e.run, e.step, e.loss, e.tokens FROM eval_numeric e
WHERE e.split = 'valid' AND e.run IN (SELECT run FROM run_shown UNION SELECT baseline_run FROM run_shown)
    AND e.tokens IS (SELECT f.tokens FROM eval f WHERE f.run = e.run AND f.split = 'valid' ORDER BY f.step LIMIT 1);

-- The groups of the figure that is being drawn, and their runs.
CREATE TEMP TABLE page (grp INTEGER PRIMARY KEY);
-- And its lines, where the figure and not the groups name them.
CREATE TEMP TABLE page_line (place INTEGER PRIMARY KEY, line TEXT NOT NULL);
CREATE TEMP VIEW run_drawn AS SELECT r.* FROM page JOIN run_shown r ON r.grp = page.grp;

-- What fig-loss and fig-finetune draw of those, rows 1: training loss; 2: the gate; 3: validation loss; 4: its change
-- against the baseline of the same seed, in percent.
CREATE TEMP VIEW loss_drawn AS
SELECT r.grp, 1 AS row, r.seed, s.step AS x, s.ce AS y FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 2, r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run WHERE r.sites <> 'none'
UNION ALL
SELECT r.grp, 3, r.seed, e.step, e.loss FROM run_drawn r JOIN valid_curve e ON e.run = r.run
UNION ALL
SELECT r.grp, 4, r.seed, e.step, (e.loss - b.loss) / b.loss * 100
FROM run_drawn r JOIN valid_curve e ON e.run = r.run
JOIN valid_curve b ON b.run = r.baseline_run AND b.step = e.step AND b.tokens IS e.tokens;
