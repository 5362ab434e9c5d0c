-- Rows 1: mean radial part of the loss's gradient at h (signed); 2: the gate; 3: RMS of the radial part; 4: RMS of the
-- tangential part; 5: mean radial part of the auxiliary loss's gradient, where there is one.
SELECT r.grp, 1 AS row, r.seed, s.step AS x, s.radial AS y FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 2, r.seed, s.step, s.gate FROM run_drawn r JOIN step_numeric s ON s.run = r.run WHERE r.sites <> 'none'
UNION ALL
SELECT r.grp, 3, r.seed, s.step, s.radial_rms FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 4, r.seed, s.step, s.tangential_rms FROM run_drawn r JOIN step_numeric s ON s.run = r.run
UNION ALL
SELECT r.grp, 5, r.seed, s.step, s.aux_radial FROM run_drawn r JOIN step_numeric s ON s.run = r.run
WHERE r.lambda > 0 AND s.aux_radial <> 0
