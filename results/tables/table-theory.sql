-- What theory says of the gradient at h, and what the runs logged: a row a run.
-- With a final norm (none of them tapered away at that step) the radial part is zero, up to eps and rounding: it is
-- compared with the tangential part. Without one, proposition 2 bounds it for every token whose correct class leads: an
-- identity of a linear head, whose <G,h> is sum_v (p_v - y_v) z_v = cross-entropy - entropy, token by token. That gives
-- the slack of a step's means. LayerNorm's bias breaks the identity; there `bounded` is NULL.
WITH runs AS (SELECT DISTINCT run, sites FROM run_shown),
logged AS (
    SELECT s.run,
        max(iif(r.sites <> 'all' OR s.gate = 1, abs(s.radial), NULL)) AS normed_radial,
        max(iif(r.sites <> 'all' OR s.gate = 1, s.radial_rms / nullif(s.tangential_rms, 0), NULL)) AS normed_relative,
        sum(iif(r.sites = 'all' AND s.gate = 0 AND s.bounded IS NOT NULL, s.leading, NULL)) AS leading,
        sum(iif(r.sites = 'all' AND s.gate = 0, s.leading * s.bounded, NULL)) AS bounded,
        avg(iif(r.sites = 'all' AND s.gate = 0 AND s.bounded IS NOT NULL,
            s.entropy - s.ce - (1 - s.p_correct) * s.margin, NULL)) AS slack,
        avg(iif(r.sites = 'all' AND s.gate = 0, s.radial, NULL)) AS bare_radial,
        avg(iif(r.sites = 'all' AND s.gate = 0, s.radial_share, NULL)) AS bare_share
    FROM runs r JOIN step_numeric s ON s.run = r.run GROUP BY s.run),
broken AS (
    SELECT s.run, count(*) AS steps FROM runs r JOIN step s ON s.run = r.run
    WHERE typeof(s.radial) = 'text' GROUP BY s.run)
SELECT r.grp, r.size, r.variant, r.seed, r.state, l.normed_radial, l.normed_relative,
    l.leading, l.bounded, l.slack, l.bare_radial, l.bare_share, r.fold_error, 1 AS present,
    CASE WHEN broken.steps > 0 THEN broken.steps || ' logged steps not finite' END AS flag
FROM run_shown r
LEFT JOIN logged l ON l.run = r.run
LEFT JOIN broken ON broken.run = r.run
ORDER BY r.grp, r.seed
