-- A column a tapered variant (and size). Rows 1: c * mean(s) of every site; 2: the gate.
WITH many AS (SELECT count(DISTINCT size) > 1 AS sizes FROM run_in_sweep WHERE sweep = :sweep),
shown AS (
    SELECT r.run, r.variant || iif((SELECT sizes FROM many), ' ' || r.size, '') AS name, r.seed, r.state, v.place,
        r.config ->> '$."model.d_model"' AS d_model
    FROM run_in_sweep r JOIN variant_shown v ON v.sweep = r.sweep AND v.variant = r.variant
    WHERE r.sweep = :sweep AND r.config ->> '$."taper.sites"' <> 'none')
SELECT r.name AS col, 1 AS row, s.site AS series, r.seed, r.state, s.step AS x, s.agreement AS y, r.d_model, r.place,
    r.name AS who,
    iif(s.site LIKE 'blocks.%', 2 * substr(s.site, 8) + (s.site LIKE '%mlp%'), 1e9) AS depth
FROM shown r JOIN site_step_numeric s ON s.run = r.run
WHERE s.agreement IS NOT NULL
UNION ALL
SELECT r.name, 2, 'gate', r.seed, 'done', s.step, s.gate, r.d_model, r.place, r.name, -1
FROM shown r JOIN step_numeric s ON s.run = r.run
ORDER BY d_model, place, col, row, depth, x, seed
