-- A column a size, tapered variant, device and type of weights. Rows 1: tokens/s; 2: speedup over the baseline of the same run.
WITH norms (variant, place) AS (VALUES ('baseline', 1), ('unfused', 2), ('fused', 3)),
timed AS (
    SELECT r.size || ', ' || r.variant || ', ' || coalesce(b.device, 'unknown') || ', ' || b.weights AS col, b.variant AS series, r.seed,
        'batch ' || b.batch || char(10) || 'context ' || b.context AS x, b.tokens_per_s AS y,
        b.tokens_per_s / base.tokens_per_s AS speedup, r.config ->> '$."model.d_model"' AS d_model,
        p.place, norms.place AS norm, b.batch, b.context
    FROM run_in_sweep r JOIN bench_numeric b ON b.run = r.run AND b.kind = 'decode'
    JOIN norms ON norms.variant = b.variant
    LEFT JOIN bench_numeric base ON base.run = b.run AND base.kind = b.kind AND base.batch = b.batch
        AND base.context = b.context AND base.weights = b.weights AND base.variant = 'baseline'
    JOIN variant_shown p ON p.sweep = r.sweep AND p.variant = r.variant
    WHERE r.sweep = :sweep AND r.config ->> '$."taper.sites"' <> 'none')
SELECT col, 1 AS row, series, seed, 'done' AS state, x, y, d_model, place, batch, context, norm FROM timed
UNION ALL
SELECT col, 2, series, seed, 'done', x, speedup, d_model, place, batch, context, norm FROM timed WHERE norm > 1
ORDER BY d_model, place, col, row, batch, context, norm, seed
