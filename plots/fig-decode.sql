-- A column a tapered group, device and type of weights. Rows 1: tokens/s; 2: speedup over the baseline of the same run.
WITH norms (variant, place) AS (VALUES ('baseline', 1), ('unfused', 2), ('fused', 3)),
timed AS (
    SELECT r.grp, g.name || ', ' || coalesce(b.device, 'unknown') || ', ' || b.weights AS col, b.variant AS series, r.seed,
        'batch ' || b.batch || char(10) || 'context ' || b.context AS x, b.tokens_per_s AS y,
        b.tokens_per_s / base.tokens_per_s AS speedup, norms.place AS norm, b.batch, b.context, b.beside > 0 AS beside
    FROM run_drawn r JOIN group_name g ON g.grp = r.grp
    JOIN bench_numeric b ON b.run = r.run AND b.kind = 'decode'
    JOIN norms ON norms.variant = b.variant
    LEFT JOIN bench_numeric base ON base.run = b.run AND base.kind = b.kind AND base.batch = b.batch
        AND base.context = b.context AND base.weights = b.weights AND base.variant = 'baseline')
SELECT col, 1 AS row, series, seed, x, y, grp AS place, batch, context, norm, beside FROM timed
UNION ALL
SELECT col, 2, series, seed, x, speedup, grp, batch, context, norm, beside FROM timed WHERE norm > 1
ORDER BY place, col, row, batch, context, norm, seed
