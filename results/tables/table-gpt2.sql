-- Fine-tuning: the last evaluation of each text by the runs that began with weights, a row a run and text. The texts are
-- those of eval.sets; without any, the validation split. Published (Baroni et al. 2025): GPT-2 as released, fine-tuned
-- with its norms (beside vanilla), and LN-free (beside fakeln).
WITH published (size, split, released, vanilla, fakeln) AS (
    VALUES ('gpt2', 'openwebtext', 3.1006, 3.0126, 3.0797),
           ('gpt2', 'pile', 2.8450, 2.8511, 2.8852),
           ('gpt2', 'pile-filtered', 2.7899, 2.8112, 2.8757),
           ('gpt2-medium', 'openwebtext', 2.8145, 2.7390, 2.7642),
           ('gpt2-medium', 'pile', 2.5163, 2.5752, 2.6579),
           ('gpt2-medium', 'pile-filtered', 2.5390, 2.5724, 2.6352),
           ('gpt2-large', 'openwebtext', 2.6623, 2.6240, 2.6384),
           ('gpt2-large', 'pile', 2.5320, 2.6233, 2.7504),
           ('gpt2-large', 'pile-filtered', 2.4347, 2.5074, 2.5159),
           ('gpt2-xl', 'openwebtext', 2.5567, 2.4799, 2.5052),
           ('gpt2-xl', 'pile', 2.4436, 2.4673, 130.2197),
           ('gpt2-xl', 'pile-filtered', 2.3739, 2.3821, 2.3992)),
shape (size, d_model, layers) AS (VALUES ('gpt2', 768, 12), ('gpt2-medium', 1024, 24), ('gpt2-large', 1280, 36),
    ('gpt2-xl', 1600, 48)), -- what a size stands for, unless a sweep has made something else of it
place (name, place) AS (VALUES ('vanilla', 1), ('fakeln', 2), ('internal', 3), ('all', 4),
    ('openwebtext', 1), ('pile', 2), ('pile-filtered', 3)),
tuned AS (SELECT * FROM run_shown WHERE tuned),
last AS (
    SELECT run, split, max(step) AS step FROM eval
    WHERE run IN (SELECT run FROM tuned UNION SELECT baseline_run FROM tuned) GROUP BY run, split),
final AS (
    SELECT l.run, l.split, e.loss, raw.loss AS loss_raw, s.state FROM last l
    JOIN eval_numeric e ON e.run = l.run AND e.step = l.step AND e.split = l.split
    JOIN eval raw ON raw.run = l.run AND raw.step = l.step AND raw.split = l.split
    JOIN run_shown_state s ON s.id = l.run),
text AS (
    SELECT DISTINCT split FROM last WHERE split <> 'valid'
    UNION ALL SELECT 'valid' WHERE NOT EXISTS (SELECT 1 FROM last WHERE split <> 'valid'))
SELECT r.grp, r.size, r.params / 1e6 AS params, text.split, iif(text.split = 'valid', 'validation split', text.split) AS text, r.variant, r.seed,
    r.state, iif(r.state = 'done', e.loss, NULL) AS loss, e.loss_raw,
    iif(r.state = 'done' AND b.state = 'done', (e.loss - b.loss) / b.loss * 100, NULL) AS change,
    iif(r.is_base OR NOT EXISTS (SELECT 1 FROM base), 0, iif(b.state = 'done', b.loss, NULL)) AS pair,
    p.released, CASE r.variant WHEN 'vanilla' THEN p.vanilla WHEN 'fakeln' THEN p.fakeln END AS published,
    iif(r.variant = 'fakeln', (p.fakeln - p.vanilla) / p.vanilla * 100, NULL) AS published_change,
    r.corpus, r.steps, iif(text.split = 'valid', 'of the validation split alone, for want of eval.sets', NULL) AS only
FROM tuned r
JOIN text
LEFT JOIN place of_text ON of_text.name = text.split
LEFT JOIN place of_row ON of_row.name = r.variant
LEFT JOIN final e ON e.run = r.run AND e.split = text.split
LEFT JOIN final b ON b.run = r.baseline_run AND b.split = text.split
LEFT JOIN shape ON shape.size = r.size AND shape.d_model = r.d_model AND shape.layers = r.layers
LEFT JOIN published p ON p.size = shape.size AND p.split = text.split
ORDER BY r.d_model, r.layers, r.size, of_text.place IS NULL, of_text.place, text.split, of_row.place IS NULL, of_row.place,
    r.grp, r.seed
