-- Speed: a row a run, kind of pass, type of weights, batch, context and way of normalising; table-decode and
-- table-last-token each take their kind. The speedup is within one run, whose three ways were timed in one process.
-- Published: decoding on one H100; for the last token thousand tokens/s of the 30M model there, and fused over baseline.
WITH last_token (batch, context, variant, ktokens, speedup) AS (
    VALUES (1, 128, 'baseline', 40.7, NULL), (1, 256, 'baseline', 79.3, NULL), (1, 512, 'baseline', 163.2, NULL),
           (4, 128, 'baseline', 149.3, NULL), (4, 256, 'baseline', 290.5, NULL), (4, 512, 'baseline', 546.3, NULL),
           (1, 128, 'fused', 48.7, 1.20), (1, 256, 'fused', 96.8, 1.22), (1, 512, 'fused', 195.5, 1.20),
           (4, 128, 'fused', 180.4, 1.21), (4, 256, 'fused', 344.9, 1.19), (4, 512, 'fused', 615.9, 1.13)),
decode (variant, speedup) AS (VALUES ('unfused', '1.10 to 1.14'), ('fused', '1.15 to 1.18')),
place (variant, place) AS (VALUES ('baseline', 1), ('unfused', 2), ('fused', 3)),
asked AS (SELECT grp, count(*) AS runs FROM run_shown GROUP BY grp)
SELECT r.grp, b.kind, r.size, r.variant AS trained, b.device, b.weights, b.batch, b.context, b.variant, r.seed,
    b.tokens_per_s, b.tokens_per_s / 1000 AS ktokens, raw.tokens_per_s AS tokens_per_s_raw, b.ms, b.repeats, asked.runs,
    CASE WHEN b.variant <> 'baseline' THEN b.tokens_per_s / base.tokens_per_s END AS speedup,
    CASE WHEN b.kind = 'last-token' AND r.size = '30M' THEN published.ktokens END AS published_ktokens,
    CASE WHEN b.kind = 'decode' THEN decode.speedup
         WHEN r.size = '30M' AND b.variant = 'unfused' THEN '1.08 to 1.15'
         WHEN r.size = '30M' THEN published.speedup END AS published,
    iif(b.beside > 0, 'taken beside other runs', NULL) AS flag,
    nullif(sum(b.beside > 0) OVER (), 0) || ' of ' || count(*) OVER () || ' timings' AS beside
FROM run_shown r
JOIN bench_numeric b ON b.run = r.run
JOIN bench raw ON raw.run = b.run AND raw.kind = b.kind AND raw.variant = b.variant AND raw.batch = b.batch
    AND raw.context = b.context AND raw.weights = b.weights
JOIN asked ON asked.grp = r.grp
LEFT JOIN bench_numeric base ON base.run = b.run AND base.kind = b.kind AND base.batch = b.batch
    AND base.context = b.context AND base.weights = b.weights AND base.variant = 'baseline'
LEFT JOIN place ON place.variant = b.variant
LEFT JOIN decode ON decode.variant = b.variant
LEFT JOIN last_token published ON published.variant = b.variant AND published.batch = b.batch
    AND published.context = b.context
WHERE b.kind = :kind
ORDER BY r.grp, b.device, b.weights DESC, b.batch, b.context, place.place IS NULL, place.place, b.variant, r.seed
