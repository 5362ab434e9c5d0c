-- The forward pass of a whole context for its last token: a row a run, type of weights, batch, context and way of normalising.
-- Published: thousand tokens/s of the 30M model on one H100, and fused over baseline.
WITH published (batch, context, variant, ktokens, speedup) AS (
    VALUES (1, 128, 'baseline', 40.7, NULL), (1, 256, 'baseline', 79.3, NULL), (1, 512, 'baseline', 163.2, NULL),
           (4, 128, 'baseline', 149.3, NULL), (4, 256, 'baseline', 290.5, NULL), (4, 512, 'baseline', 546.3, NULL),
           (1, 128, 'fused', 48.7, 1.20), (1, 256, 'fused', 96.8, 1.22), (1, 512, 'fused', 195.5, 1.20),
           (4, 128, 'fused', 180.4, 1.21), (4, 256, 'fused', 344.9, 1.19), (4, 512, 'fused', 615.9, 1.13)),
place (variant, place) AS (VALUES ('baseline', 1), ('unfused', 2), ('fused', 3)),
asked AS (
    SELECT sweep, variant, size, count(*) AS runs FROM run_in_sweep WHERE sweep = :sweep GROUP BY sweep, variant, size)
SELECT r.size, r.variant AS trained, b.device, b.weights, b.batch, b.context, b.variant, r.seed, b.tokens_per_s / 1000 AS ktokens,
    raw.tokens_per_s AS tokens_per_s_raw, b.ms, b.repeats, asked.runs,
    CASE WHEN b.variant <> 'baseline' THEN b.tokens_per_s / base.tokens_per_s END AS speedup,
    CASE WHEN r.size = '30M' THEN published.ktokens END AS published_ktokens,
    CASE WHEN r.size = '30M' AND b.variant = 'unfused' THEN '1.08 to 1.15'
         WHEN r.size = '30M' THEN published.speedup END AS published
FROM run_in_sweep r
JOIN bench_numeric b ON b.run = r.run AND b.kind = 'last-token'
JOIN bench raw ON raw.run = b.run AND raw.kind = b.kind AND raw.variant = b.variant AND raw.batch = b.batch
    AND raw.context = b.context AND raw.weights = b.weights
JOIN asked ON asked.variant = r.variant AND asked.size IS r.size
LEFT JOIN bench_numeric base ON base.run = b.run AND base.kind = b.kind AND base.batch = b.batch
    AND base.context = b.context AND base.weights = b.weights AND base.variant = 'baseline'
JOIN variant_shown p ON p.sweep = r.sweep AND p.variant = r.variant
LEFT JOIN place ON place.variant = b.variant
LEFT JOIN published ON published.variant = b.variant AND published.batch = b.batch AND published.context = b.context
WHERE r.sweep = :sweep
ORDER BY r.config ->> '$."model.d_model"', r.config ->> '$."model.layers"', r.size, p.place, r.variant,
    b.device, b.weights DESC, b.batch, b.context, place.place IS NULL, place.place, b.variant, r.seed
