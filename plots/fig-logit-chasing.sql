-- Rows 1: RMS of the logits; 2: the gate.
SELECT r.grp, 1 AS row, r.seed, s.step AS x, s.logit_rms AS y FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 2, r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run WHERE r.sites <> 'none'
