-- A column a key. Rows 1: loss at the end; 2: that of the baseline, at every value; 3: the change
-- against the baseline of the same seed, in percent.
WITH many AS (SELECT count(DISTINCT size) > 1 AS sizes FROM ablation WHERE sweep = :sweep),
groups AS (SELECT DISTINCT key, rest, label, size FROM ablation WHERE sweep = :sweep),
doubled AS (SELECT key, label, size, count(*) > 1 AS twice FROM groups GROUP BY key, label, size),
line AS (
    SELECT a.*, a.label || iif((SELECT sizes FROM many), ' ' || a.size, '') ||
        iif(d.twice, ' ' || dense_rank() OVER (PARTITION BY a.key, a.label, a.size ORDER BY a.rest), '') AS name
    FROM ablation a JOIN doubled d ON d.key = a.key AND d.label = a.label AND d.size = a.size
    WHERE a.sweep = :sweep)
SELECT key AS col, 1 AS row, name AS series, seed, state, value AS x, iif(state = 'done', val_loss, NULL) AS y,
    instr('gate.end gate.shape aux.lambda', key) AS place, place AS position
FROM line
UNION ALL
SELECT key, 3, name, seed, 'done', value, change, instr('gate.end gate.shape aux.lambda', key), place
FROM line WHERE state = 'done' AND change IS NOT NULL
UNION ALL
SELECT l.key, 2, 'baseline', r.seed, 'done', l.value, r.val_loss,
    instr('gate.end gate.shape aux.lambda', l.key), l.position
FROM (SELECT DISTINCT key, value, place AS position, size FROM line) l
JOIN run_in_sweep r ON r.sweep = :sweep AND r.variant = 'baseline' AND r.size = l.size AND r.state = 'done'
ORDER BY place, row, position, series, seed
