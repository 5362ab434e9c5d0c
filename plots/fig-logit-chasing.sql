-- Rows 1: RMS of the logits; 2: the gate.
SELECT size AS col, 1 AS row, variant AS series, seed, state, step AS x, logit_rms AS y, d_model, place,
    variant || iif((SELECT count(DISTINCT size) FROM run_in_sweep WHERE sweep = :sweep) > 1, ' ' || size, '') AS who
FROM step_shown WHERE sweep = :sweep
UNION ALL
SELECT size, 2, 'gate', seed, 'done', step, gate, d_model, 0, '' FROM step_shown WHERE sweep = :sweep AND sites <> 'none'
ORDER BY d_model, col, row, place, series, x, seed
