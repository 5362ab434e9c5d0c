-- Rows 1: training loss; 2: the gate; 3: validation loss.
SELECT size AS col, 1 AS row, variant AS series, seed, state, step AS x, ce AS y, d_model, place,
    variant || iif((SELECT count(DISTINCT size) FROM run_in_sweep WHERE sweep = :sweep) > 1, ' ' || size, '') AS who
FROM step_shown WHERE sweep = :sweep
UNION ALL
SELECT size, 2, 'gate', seed, 'done', step, gate, d_model, 0, '' FROM step_shown WHERE sweep = :sweep AND sites <> 'none'
UNION ALL
SELECT r.size, 3, r.variant, r.seed, 'done', e.step, e.loss, r.config ->> '$."model.d_model"', v.place, ''
FROM run_in_sweep r JOIN variant_shown v ON v.sweep = r.sweep AND v.variant = r.variant
JOIN eval_numeric e ON e.run = r.run AND e.split = 'valid'
WHERE r.sweep = :sweep
ORDER BY d_model, col, row, place, series, x, seed
