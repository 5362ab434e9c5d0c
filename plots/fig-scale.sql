-- Rows 1: mean s(h) before the final norm; 2: the gate; 3: the target of those that are held to one.
SELECT r.grp, 1 AS row, r.seed, s.step AS x, s.scale_mean AS y FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 2, r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run WHERE r.sites <> 'none'
UNION ALL
SELECT r.grp, 3, r.seed, s.step, s.scale_target FROM run_drawn r JOIN step_numeric s ON s.run = r.run
WHERE r.lambda > 0 AND s.scale_target IS NOT NULL
