#!/usr/bin/env bash
# taper table, plot and report from the outside, over a sweep that was really trained; the queries of docs/queries.md.
. "$(dirname "$0")/../support/tap.bash"
top=$PWD
export TAPER_HOME=$T/home XDG_CACHE_HOME=$T/cache
is() { # VALUE SQL: the query's one value
    local got
    got=$("$TAPER" query --csv "$2" | tail -1) && [ "$got" = "$1" ] || { echo "want $1, got $got of: $2"; return 1; }
}
holds() { # FILE TEXT...
    local file=$1 text
    shift
    for text; do
        grep -qF -- "$text" "$file" || { echo "no '$text' in $file"; return 1; }
    done
}

cat > "$T/tiny.yaml" <<'END'
sweep: tiny
about: As small as it gets
base: {model.d_model: 16, model.layers: 2, model.context: 32, model.vocab: 300, model.head_dim: 8, data.size: 60000,
       train.steps: 60, train.batch: 4, train.lr: 1e-2, log.every: 5, eval.every: 50%, sample.tokens: 0, threads: 1}
variants:
  baseline: {taper.sites: none}
  internal: {taper.sites: internal}
  all:      {taper.sites: all}
  all+aux:  {taper.sites: all, aux.lambda: 0.1}
  end-20:   {taper.sites: all, aux.lambda: 0.1, gate.end: 20%}
  end-70:   {taper.sites: all, aux.lambda: 0.1, gate.end: 70%}
grid: {seed: [0, 1]}
after: {fold: true, bench: {decode: {batch: [1], context: [16]}, last-token: {batch: [1], context: [16]}}}
END
check 'no home is an error' refuses_silently 2 "$T/home" "$TAPER" table table-runs
check 'a sweep runs' "$TAPER" run "$T/tiny.yaml" --slots cpu:2
check 'every run is done' is 12 "SELECT count(*) FROM run WHERE state = 'done'"

# A token's <G,h> is ce - entropy: the means of its two factors, <G,h>/|h| and |h|, give that up to their covariance.
check 'the slack in proposition 2 is said, and above zero' bash -c '"$TAPER" table theory --format csv > "$1/theory" &&
    cat "$1/theory" && awk -F, "NR == 1 { for (i = 1; i <= NF; i++) at[\$i] = i; next }
        \$at[\"bounded\"] != \"\" { n++; if (\$at[\"bounded\"] != 1 || \$at[\"slack\"] <= 0) bad++ }
        END { exit n != 4 || bad }" "$1/theory" && "$TAPER" table theory | grep -q "checks the arithmetic, not the paper"' - "$T"
check 'where its <G,h> is ce - entropy' is 1 "SELECT count(*) > 9 AND min(abs(ce - entropy - radial * sqrt(16) *
    scale_mean) <= radial_rms * sqrt(16) * scale_std + 1e-3) FROM step_numeric s JOIN run r ON r.id = s.run
    WHERE r.variant LIKE 'all%' AND gate = 0"
for id in table-tinystories table-decode table-last-token table-ablation table-runs table-theory; do
    check "$id has rows" bash -c '"$TAPER" table '"$id"' --format json | grep -q "\"empty\": null"'
done
check 'table-gpt2 says why it is empty' \
    bash -c '"$TAPER" table table-gpt2 | grep -q "^No rows: no run of this home began with weights"'
check 'and an empty CSV says so beside it' \
    bash -c '"$TAPER" table table-gpt2 --format csv 2>&1 > /dev/null | grep -q "table-gpt2: no rows: "'
check 'the losses of a table are those of the runs' bash -c '
    "$TAPER" query --csv "SELECT variant, val_loss FROM run" |
        tail -n +2 | awk -F, "{ sum[\$1] += \$2; n[\$1]++; x[\$1, n[\$1]] = \$2 }
            END { for (v in sum) { m = sum[v] / n[v]; d = (x[v, 1] - m) ^ 2 + (x[v, 2] - m) ^ 2
                                   printf \"%s %.6f %.6f\n\", v, m, sqrt(d) } }" | sort > "$1/want"
    "$TAPER" table table-tinystories --format csv |
        tail -n +2 | awk -F, "{ printf \"%s %.6f %.6f\n\", \$2, \$3, \$4 }" | sort > "$1/got"
    diff "$1/want" "$1/got" && [ "$(wc -l < "$1/got")" = 6 ]' - "$T"
check 'the steps without a norm obey proposition 2' is 1 "SELECT min(bounded) > 0.99 AND count(*) > 10
    FROM step JOIN run ON run.id = step.run WHERE variant IN ('all', 'all+aux', 'end-20') AND gate = 0 AND leading > 0"
check 'those with one do not, having no radial part' is 1 "SELECT max(bounded) < 0.05
    AND max(abs(radial)) < 1e-3 * max(tangential_rms) FROM step JOIN run ON run.id = step.run
    WHERE variant = 'baseline' AND leading > 0"
check 'every table goes to a folder' \
    bash -c '"$TAPER" table all --out "$1/t" --format tex && [ "$(ls "$1/t"/table-*.tex | wc -l)" = 7 ]' - "$T"

if command -v sqlite3 > /dev/null; then
    mkdir "$T/torn" && "$TAPER" query 'SELECT 1' > "$T/o" && cp "$TAPER_HOME"/taper.db* "$T/torn"
    sqlite3 "$T/torn/taper.db" 'DROP TABLE bench'
    check 'a table that fails stops no other, and is named' refuses 1 'could not be made: table-decode, table-last-token' \
        "$TAPER" table all --home "$T/torn" --out "$T/u"
    check 'all others are there' same 5 "$(ls "$T/u" | wc -l)"
else
    skip 'a table that fails stops no other' 'no sqlite3 on this machine'
fi
check 'a table that is not there' refuses_silently 2 "no table 'table-x'" "$TAPER" table table-x
check 'a sweep that is not there' refuses_silently 2 'tiny' "$TAPER" table table-runs --sweep tinny
check 'a table format that is not there' refuses_silently 2 'md, csv, tex, json or html' \
    "$TAPER" table table-runs --format xml
check 'no table' refuses_silently 2 'wants the id of one table, or all' "$TAPER" table
check 'all tables to nowhere' refuses_silently 2 'all wants --out DIR' "$TAPER" table all
check 'a folder that cannot be' refuses_silently 1 "$T/tiny.yaml" "$TAPER" table all --out "$T/tiny.yaml/x"
check 'a full standard output' \
    bash -c '! "$TAPER" table table-runs > /dev/full 2> "$1/err" && grep -q "cannot write" "$1/err"' - "$T"

# Figures want gnuplot, which is no more than recommended.
check 'without gnuplot a figure fails and says what to install' \
    bash -c 'PATH=/nonexistent "$TAPER" plot fig-loss --out "$1/x.svg" 2> "$1/err"; [ $? = 1 ] && [ ! -e "$1/x.svg" ] &&
        /usr/bin/grep -q "apt-get install gnuplot-nox" "$1/err"' - "$T"
check 'without it the script is still there' \
    bash -c 'PATH=/nonexistent "$TAPER" plot fig-loss --format gp --out - | /usr/bin/grep -q "^set multiplot"'
check 'without it there is no report, and no half of one' \
    bash -c 'PATH=/nonexistent "$TAPER" report --out "$1/r.html" 2> "$1/err"; [ $? = 1 ] && [ ! -e "$1/r.html" ]' - "$T"
check 'a figure that is not there' refuses_silently 2 "no figure 'fig-x'" "$TAPER" plot fig-x
check 'a figure format that is not there' refuses_silently 2 'want svg, png, pdf or gp' "$TAPER" plot fig-loss --format gif
check 'a report with an operand' refuses_silently 2 "takes no operand, got 'tiny'" "$TAPER" report tiny
if command -v gnuplot > /dev/null; then
    check 'every figure goes to a folder' \
        bash -c '"$TAPER" plot all --out "$1/f" && [ "$(ls "$1/f"/fig-*.svg | wc -l)" = 8 ]' - "$T"
    check 'a script runs by itself' bash -c '"$TAPER" plot fig-scale --format gp --out "$1/a.gp" &&
        gnuplot -d "$1/a.gp" 2> /dev/null | grep -q "</svg>"' - "$T"
    check 'an image goes to standard output' \
        bash -c '"$TAPER" plot fig-gate --format png --out - | head -c 4 | tail -c 3 | grep -q PNG'
    check 'the report' "$TAPER" report --out "$T/report.html"
    check 'has every section, table and figure' holds "$T/report.html" 'Sweep tiny' 'As small as it gets' \
        'id="fig-loss"' 'id="fig-logit-chasing"' 'id="fig-scale"' 'id="fig-radial"' 'id="fig-gate"' \
        'id="fig-ablation"' 'id="fig-decode"' 'Validation loss by size and variant' 'Every run: where' 'taper run tiny.yaml' \
        'Proposition 2' 'Folding: the logits' '</html>'
    check 'has eight drawings, decoding in two parts, each to its end' bash -c \
        '[ "$(grep -c "<svg role" "$1")" = 8 ] && [ "$(grep -c "</svg>" "$1")" = 8 ]' - "$T/report.html"
    tr "'" '"' < "$T/report.html" > "$T/page"
    grep -oE ' id="[^"]*' "$T/page" | cut -d'"' -f2 | sort > "$T/there"
    grep -oE 'href="#[^"]*' "$T/page" | cut -d'#' -f2 | sort -u > "$T/used"
    check 'needs nothing from outside' \
        bash -c '! grep -oE "(src|href|url)[=(][\" ]*[a-z]+:[^\" )]*" "$1" | grep -v "http://www.w3.org/"' - "$T/page"
    mkdir "$T/bin"
    cat > "$T/bin/gnuplot" <<END
#!/bin/sh
cat > "$T/script.gp"
grep -q '^# fig-scale:' "$T/script.gp" && { echo ' line 7: out of ink' >&2; exit 1; }
exec $(command -v gnuplot) "\$@" < "$T/script.gp"
END
    chmod +x "$T/bin/gnuplot"
    check 'a figure that fails stops no other, and is named' refuses 1 'could not be drawn: fig-scale' \
        env PATH="$T/bin:$PATH" "$TAPER" plot all --out "$T/g"
    check 'all others are there' same 7 "$(ls "$T/g" | wc -l)"
    check 'nor the report' refuses 1 'the page is written, but without: fig-scale' \
        env PATH="$T/bin:$PATH" "$TAPER" report --out "$T/most.html"
    check 'which says why in its place' holds "$T/most.html" 'out of ink' 'id="fig-loss"' 'Every run: where' '</html>'
    check 'is dark where the reader wants it, and prints every run' holds "$T/report.html" '@media screen and (prefers-color-scheme: dark)' \
        "addEventListener('beforeprint'" 'details::details-content'
    check 'names no id twice' [ -z "$(uniq -d "$T/there")" ]
    check 'refers to ids that are there' \
        bash -c '[ -s "$1/used" ] && [ -z "$(sort -u "$1/there" | comm -23 "$1/used" -)" ]' - "$T"
else
    n=$((n + 1))
    echo "ok $n - figures and the report # SKIP no gnuplot on this machine"
fi

# Each query of the document gives rows or, where nothing went wrong or nothing grew, none.
awk -v dir="$T" '/^```sql/ { n++; file = dir "/" n ".sql"; next } /^```/ { file = "" } file { print > file }' \
    "$top/docs/queries.md"
check 'docs/queries.md has fourteen queries' bash -c '[ "$(ls "$1"/*.sql | wc -l)" = 14 ]' - "$T"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14; do
    least=1
    [ $i = 2 ] || [ $i = 7 ] && least=0
    check "query $i" bash -c '"$TAPER" query --csv -f "$1/$2.sql" > "$1/rows" && cat "$1/rows" &&
        [ "$(wc -l < "$1/rows")" -gt "$3" ]' - "$T" $i $least
done
check 'query 1 finds the best seed' bash -c '
    "$TAPER" query --csv -f "$1/1.sql" | grep "^baseline," | cut -d, -f4 > "$1/got"
    "$TAPER" query --csv "SELECT min(val_loss) FROM run WHERE variant = \"baseline\"" | tail -1 | cmp - "$1/got"' - "$T"
check 'the last four in one line each' bash -c 'cd "$1" && [ "$(cat 11.sql 12.sql 13.sql 14.sql | wc -l)" = 4 ]' - "$T"
check 'query 13 finds what makes the variant' bash -c '"$TAPER" query --csv -f "$1/13.sql" | grep -qx "taper.sites,none,all"' - "$T"
check 'query 14 finds the best mean' bash -c '"$TAPER" query --csv -f "$1/14.sql" | grep "^all," | cut -d, -f3 > "$1/got"
    "$TAPER" query --csv "SELECT avg(val_loss) FROM run_in_sweep WHERE variant = \"all\"" | tail -1 | cmp - "$1/got"' - "$T"
cat > "$T/bad.yaml" <<'END'
sweep: bad
base: {model.d_model: 16, model.layers: 1, model.context: 32, model.vocab: 300, model.head_dim: 8, data.size: 60000,
       train.steps: 40, train.lr: 100, train.clip: 0, sample.tokens: 0, model.init_std: 10}
run: {retries: 0}
END
check 'query 7 finds a run that failed' bash -c '! "$TAPER" run "$1/bad.yaml" > /dev/null 2>&1
    "$TAPER" query --csv -f "$1/7.sql" | grep -q "^default,0,failed"' - "$T"
check 'and its table says so' bash -c '"$TAPER" table table-tinystories --sweep bad | grep -q "failed: seed 0"'
echo "1..$n"
exit $failed
