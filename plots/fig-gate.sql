-- A column a tapered group. Rows 1: c * mean(s) of every site; 2: the gate.
SELECT r.grp, 1 AS row, s.site AS series, r.seed, s.step AS x, s.agreement AS y
FROM run_drawn r JOIN site_step_numeric s ON s.run = r.run
WHERE s.agreement IS NOT NULL
UNION ALL
SELECT r.grp, 2, 'gate', r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run
