-- GPT-2 fine-tuned on OpenWebText: the last evaluation of each split, a row a run and split.
-- Published (Baroni et al. 2025): vanilla fine-tuned, and LN-free beside fakeln.
WITH published (size, split, variant, loss) AS (
    VALUES ('gpt2', 'openwebtext', 'vanilla', 3.0126), ('gpt2', 'openwebtext', 'fakeln', 3.0797),
           ('gpt2', 'pile', 'vanilla', 2.8511), ('gpt2', 'pile', 'fakeln', 2.8852),
           ('gpt2', 'pile-filtered', 'vanilla', 2.8112), ('gpt2', 'pile-filtered', 'fakeln', 2.8757),
           ('gpt2-medium', 'openwebtext', 'vanilla', 2.7390), ('gpt2-medium', 'openwebtext', 'fakeln', 2.7642),
           ('gpt2-medium', 'pile', 'vanilla', 2.5752), ('gpt2-medium', 'pile', 'fakeln', 2.6579),
           ('gpt2-medium', 'pile-filtered', 'vanilla', 2.5724), ('gpt2-medium', 'pile-filtered', 'fakeln', 2.6352),
           ('gpt2-large', 'openwebtext', 'vanilla', 2.6240), ('gpt2-large', 'openwebtext', 'fakeln', 2.6384),
           ('gpt2-large', 'pile', 'vanilla', 2.6233), ('gpt2-large', 'pile', 'fakeln', 2.7504),
           ('gpt2-large', 'pile-filtered', 'vanilla', 2.5074), ('gpt2-large', 'pile-filtered', 'fakeln', 2.5159),
           ('gpt2-xl', 'openwebtext', 'vanilla', 2.4799), ('gpt2-xl', 'openwebtext', 'fakeln', 2.5052),
           ('gpt2-xl', 'pile', 'vanilla', 2.4673), ('gpt2-xl', 'pile', 'fakeln', 130.2197),
           ('gpt2-xl', 'pile-filtered', 'vanilla', 2.3821), ('gpt2-xl', 'pile-filtered', 'fakeln', 2.3992)),
place (variant, place) AS (VALUES ('vanilla', 1), ('fakeln', 2), ('internal', 3), ('all', 4)),
split (split, place) AS (VALUES ('openwebtext', 1), ('pile', 2), ('pile-filtered', 3)),
last AS (
    SELECT run, split, max(step) AS step FROM eval WHERE run IN (SELECT run FROM run_shown) GROUP BY run, split)
SELECT r.grp, r.size, split.split, r.variant, r.seed, r.state,
    CASE r.state WHEN 'done' THEN e.loss END AS loss, raw.loss AS loss_raw, published.loss AS published
FROM run_shown r
JOIN split
LEFT JOIN place ON place.variant = r.variant
LEFT JOIN last ON last.run = r.run AND last.split = split.split
LEFT JOIN eval_numeric e ON e.run = r.run AND e.step = last.step AND e.split = split.split
LEFT JOIN eval raw ON raw.run = r.run AND raw.step = last.step AND raw.split = split.split
LEFT JOIN published ON published.size = r.size AND published.split = split.split AND published.variant = r.variant
WHERE r.size LIKE 'gpt2%'
ORDER BY r.d_model, r.size, split.place, place.place IS NULL, place.place, r.grp, r.seed
