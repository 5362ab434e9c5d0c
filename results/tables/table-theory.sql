-- What theory says of the gradient at h, and what the runs logged: a row a run.
-- With a final norm (none of them tapered away at that step) the radial part is zero, up to eps and rounding: it is
-- compared with the tangential part. Without one, proposition 2 bounds it for every token whose correct class leads.
WITH runs AS (
    SELECT *, config ->> '$."taper.sites"' AS sites FROM run_in_sweep WHERE sweep = :sweep),
normed AS (
    SELECT s.run, max(abs(s.radial)) AS radial, max(s.radial_rms / nullif(s.tangential_rms, 0)) AS relative
    FROM step_numeric s JOIN (SELECT DISTINCT run, sites FROM runs) r ON r.run = s.run
    WHERE r.sites <> 'all' OR s.gate = 1 GROUP BY s.run),
bare AS (
    SELECT s.run, sum(s.leading) AS leading, sum(s.leading * s.bounded) AS bounded, avg(s.radial) AS radial
    FROM step_numeric s JOIN (SELECT DISTINCT run, sites FROM runs) r ON r.run = s.run
    WHERE r.sites = 'all' AND s.gate = 0 GROUP BY s.run),
broken AS (
    SELECT run, count(*) AS steps FROM step
    WHERE run IN (SELECT run FROM runs) AND typeof(radial) = 'text' GROUP BY run)
SELECT r.size, r.variant, r.seed, r.state, normed.radial AS normed_radial, normed.relative AS normed_relative,
    bare.leading, bare.bounded, bare.radial AS bare_radial, r.fold_error, 1 AS present,
    CASE WHEN broken.steps > 0 THEN broken.steps || ' logged steps not finite' END AS flag
FROM runs r
LEFT JOIN paper_variant p ON p.variant = r.variant
LEFT JOIN normed ON normed.run = r.run
LEFT JOIN bare ON bare.run = r.run
LEFT JOIN broken ON broken.run = r.run
ORDER BY r.config ->> '$."model.d_model"', r.config ->> '$."model.layers"', r.size, p.place IS NULL, p.place,
    r.variant, r.seed
