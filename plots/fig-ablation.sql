-- A column a key, its lines those on this page. Rows 1: loss at the end; 2: that of the baseline, at every value; 3: the
-- change against the baseline of the same seed, in percent.
WITH line AS (SELECT l.* FROM page JOIN ablation_line l ON l.line = page.grp)
SELECT key AS col, 1 AS row, name AS series, seed, value AS x, val_loss AS y,
    instr('gate.end gate.shape aux.lambda', key) AS ordered, place AS position
FROM line
UNION ALL
SELECT key, 3, name, seed, value, change, instr('gate.end gate.shape aux.lambda', key), place
FROM line WHERE change IS NOT NULL
UNION ALL
SELECT l.key, 2, 'baseline', l.seed, l.value, b.val_loss, instr('gate.end gate.shape aux.lambda', l.key), l.place
FROM (SELECT DISTINCT key, value, place, seed, baseline_run FROM line) l
JOIN run b ON b.id = l.baseline_run
WHERE b.state = 'done' AND typeof(b.val_loss) <> 'text'
ORDER BY ordered, row, position, series, seed
