-- Rows 1: mean s(h) before the final norm; 2: the gate; 3: the target, where there is one.
SELECT size AS col, 1 AS row, variant AS series, seed, state, step AS x, scale_mean AS y, d_model, place,
    variant || iif((SELECT count(DISTINCT size) FROM run_in_sweep WHERE sweep = :sweep) > 1, ' ' || size, '') AS who
FROM step_shown WHERE sweep = :sweep
UNION ALL
SELECT size, 2, 'gate', seed, 'done', step, gate, d_model, 0, '' FROM step_shown WHERE sweep = :sweep AND sites <> 'none'
UNION ALL
SELECT size, 3, variant, seed, 'done', step, scale_target, d_model, place, ''
FROM step_shown WHERE sweep = :sweep AND scale_target IS NOT NULL AND variant LIKE '%aux%'
ORDER BY d_model, col, row, place, series, x, seed
