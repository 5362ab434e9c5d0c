-- Decoding speed: a row a run, type of weights, batch, context and way of normalising. The speedup is within one run, whose three ways
-- were timed in one process.
WITH published (variant, speedup) AS (VALUES ('unfused', '1.10 to 1.14'), ('fused', '1.15 to 1.18')),
place (variant, place) AS (VALUES ('baseline', 1), ('unfused', 2), ('fused', 3)),
asked AS (
    SELECT sweep, variant, size, count(*) AS runs FROM run_in_sweep WHERE sweep = :sweep GROUP BY sweep, variant, size)
SELECT r.size, r.variant AS trained, b.device, b.weights, b.batch, b.context, b.variant, r.seed, b.tokens_per_s,
    raw.tokens_per_s AS tokens_per_s_raw, b.ms, b.repeats, asked.runs,
    CASE WHEN b.variant <> 'baseline' THEN b.tokens_per_s / base.tokens_per_s END AS speedup,
    published.speedup AS published
FROM run_in_sweep r
JOIN bench_numeric b ON b.run = r.run AND b.kind = 'decode'
JOIN bench raw ON raw.run = b.run AND raw.kind = b.kind AND raw.variant = b.variant AND raw.batch = b.batch
    AND raw.context = b.context AND raw.weights = b.weights
JOIN asked ON asked.variant = r.variant AND asked.size IS r.size
LEFT JOIN bench_numeric base ON base.run = b.run AND base.kind = b.kind AND base.batch = b.batch
    AND base.context = b.context AND base.weights = b.weights AND base.variant = 'baseline'
JOIN variant_shown p ON p.sweep = r.sweep AND p.variant = r.variant
LEFT JOIN place ON place.variant = b.variant
LEFT JOIN published ON published.variant = b.variant
WHERE r.sweep = :sweep
ORDER BY r.config ->> '$."model.d_model"', r.config ->> '$."model.layers"', r.size, p.place, r.variant,
    b.device, b.weights DESC, b.batch, b.context, place.place IS NULL, place.place, b.variant, r.seed
