#!/usr/bin/env bash
# How fast the page of a large home opens: 500 runs of 10,000 logged steps, made up by SQL. Never part of the tests.
#   tests/bench_page.sh [RUNS [STEPS [DIRECTORY]]]   DIRECTORY: the home is made there, or found there, and kept
set -euo pipefail
cd "$(dirname "$0")/.."
runs=${1:-500} steps=${2:-10000} dir=${3:-}
TAPER=${TAPER:-./taper}
if [ -z "$dir" ]; then
    dir=$(mktemp -d)
    trap 'rm -rf "$dir"' EXIT
fi
export TAPER_HOME=$dir/home
if [ ! -e "$TAPER_HOME/taper.db" ]; then
    cat > "$dir/deep.yaml" <<END_OF_SPEC
sweep: deep
base: {train.steps: $steps, model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000}
variants:
  baseline: {taper.sites: none}
  internal: {taper.sites: internal}
  internal+aux: {taper.sites: internal, aux.lambda: 0.1}
  all: {taper.sites: all}
  all+aux: {taper.sites: all, aux.lambda: 0.1}
grid: {seed: {range: [0, $((runs / 5 - 1))]}}
END_OF_SPEC
    "$TAPER" submit "$dir/deep.yaml" > /dev/null
    sqlite3 "$TAPER_HOME/taper.db" > /dev/null <<END_OF_SQL
PRAGMA synchronous = OFF;
PRAGMA cache_size = -500000;
BEGIN;
UPDATE run SET state = 'done', val_loss = 2 + 0.001 * (abs(random()) % 100);
INSERT INTO journal (run, offset, inode, device, lines, bad, step, seen) SELECT id, 1, 1, 1, $steps, 0, $steps, 0 FROM run;
CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $steps) SELECT i FROM n;
INSERT INTO step (run, step, tokens, ce, aux, lr, gate, grad_norm, scale_mean, scale_std, scale_max, scale_target, logit_rms,
    logit_max, logit_std, margin, p_correct, entropy, radial, radial_rms, tangential_rms, radial_share, aux_radial, ms,
    attempt, leading, bounded)
SELECT r.id, i, i * 2048, 2 + 5 * exp(-i / 900.0) + 0.1 * (random() / 9.2e18), 0.1, 1e-3,
    iif(r.variant = 'baseline', 1, max(0, min(1, 1.5 - i * 3.0 / $steps))), 1, 1.5, 0.1, 3, 1.4, 2.5 + i * 0.001, 9, 2, 0.5, 0.3,
    4, -0.01, 0.02, 0.5, 0.1, 0.01, 20, 1, 0.2, 1
FROM (SELECT id, variant FROM run ORDER BY id) r, n ORDER BY r.id, i;
INSERT INTO eval (run, step, split, loss, tokens, attempt)
SELECT r.id, i, 'valid', 2 + 5 * exp(-i / 900.0), 8192, 1 FROM run r, n WHERE i % ($steps / 10) = 0;
COMMIT;
END_OF_SQL
fi
"$TAPER" serve --http 127.0.0.1:0 > "$dir/link" &
server=$!
trap 'kill $server; wait $server || true; [ -n "${3:-}" ] || rm -rf "$dir"' EXIT
until grep -q http "$dir/link"; do sleep 0.05; done
page=$(cat "$dir/link")
for path in '' 'sweep?name=deep' 'api/runs.json?sweep=deep' 'api/curves.json?sweep=deep&metric=ce&points=240'; do
    curl -sS -o "$dir/body" -w "%{time_total} s  %{size_download} bytes  /$path\n" "$page$path"
done
from=0 begin=$(date +%s.%N) asked=0
while [ "$from" != null ]; do # all curves, as the page asks for them
    curl -sS -o "$dir/body" "${page}api/curves.json?sweep=deep&metric=ce&points=240&from=$from"
    from=$(grep -o '"next": [0-9nul]*' "$dir/body" | cut -d' ' -f2)
    asked=$((asked + 1))
done
echo "$begin $(date +%s.%N) $asked" | awk '{ printf "%.1f s  all curves, in %d answers\n", $2 - $1, $3 }'
