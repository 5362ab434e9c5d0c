#!/usr/bin/env bash
# taper plot and table: short names, parts of a figure that nothing can be drawn in yet, lines that can be told apart.
. "$(dirname "$0")/../support/tap.bash"
export TAPER_HOME=$T/home XDG_CACHE_HOME=$T/cache
base='model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, train.batch: 4,
    data.size: 20000, eval.tokens: 1024, log.every: 2, threads: 1, sample.tokens: 0'
drawn() { # FIGURE OPTION...: its script with the data
    "$TAPER" plot "$1" --format gp --out - "${@:2}"
}
count() { "$TAPER" query --csv "SELECT count(*) FROM $1" 2> /dev/null | tail -1; }

# ---- before the first evaluation
cat > "$T/early.yaml" <<END
sweep: early
base: {$base, train.steps: 1000000}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
END
"$TAPER" run "$T/early.yaml" --slots cpu:2 > "$T/early.log" 2>&1 &
runner=$!
trap 'kill "$runner" 2> /dev/null; wait; rm -rf "$T"' EXIT
logged() { # both runs have steps
    for ((i = 0; i < 600; i++)); do
        [ "$(count '(SELECT DISTINCT run FROM step)')" = 2 ] && return
        sleep 0.1
    done
    cat "$T/early.log"
    return 1
}
check 'two runs log their first steps' logged
check 'and have evaluated nothing' same 0 "$(count eval)"
stopped() {
    kill -INT "$runner"
    wait "$runner"
    [ "$(count eval)" = 0 ]
}
if command -v gnuplot > /dev/null; then
    check 'every figure is drawn while they train' bash -c '"$TAPER" plot all --out "$1/live" &&
        [ -s "$1/live/fig-loss.svg" ] && grep -q "no evaluation yet" "$1/live/fig-loss.svg"' - "$T"
    check 'and the report is written' bash -c '"$TAPER" report --out "$1/r.html" && grep -q "no evaluation yet" "$1/r.html"' - "$T"
fi
check 'every table too' bash -c '"$TAPER" table all --out "$1/live" 2> /dev/null && [ "$(ls "$1"/live/table-* | wc -l)" = 7 ]' - "$T"

# ---- a run timed while those train, though it is another home's
cat > "$T/timed.yaml" <<END
sweep: timed
base: {$base, train.steps: 10, taper.sites: all}
after: {fold: true, bench: {decode: {batch: [1], context: [16]}}}
END
beside() { # the query's one value in that home
    TAPER_HOME=$T/other "$TAPER" query --csv "$1" | tail -1
}
check 'a run is trained and timed beside them' env TAPER_HOME="$T/other" "$TAPER" run "$T/timed.yaml" --slots cpu:1
check 'its timings know' same 1 "$(beside 'SELECT min(beside) >= 2 AND count(*) = 3 FROM bench')"
check 'the table says so' bash -c 'TAPER_HOME=$1/other "$TAPER" table decode > "$1/t" && cat "$1/t" &&
    grep -q "taken beside other runs: 3 of 3 timings" "$1/t" && grep -q "taken beside other runs: seed 0" "$1/t"' - "$T"
check 'and the figure' bash -c 'TAPER_HOME=$1/other "$TAPER" plot decode --format gp --out - |
    grep -q "3 of 3 timings"' - "$T"
check 'they stop when asked' stopped

# ---- ablations of more lines than a figure can tell apart
{
    echo "sweep: many"
    echo "base: {$base, train.steps: 10, taper.sites: all, aux.lambda: 0.1}"
    echo 'variants: {baseline: {taper.sites: none}, all+aux: {}}'
    echo 'grid: {gate.end: [20%, 40%, 70%], train.lr: [1e-3, 2e-3, 3e-3, 4e-3, 5e-3, 6e-3, 7e-3, 8e-3, 9e-3], seed: [0]}'
} > "$T/many.yaml"
check 'a sweep of nine ablations runs' "$TAPER" run "$T/many.yaml" --slots cpu:2
styles() { # FILE...: the style of each line
    grep -hE '^series_style\[[0-9]+\] = ' "$@" | cut -d= -f2
}
parts() {
    "$TAPER" plot ablation --sweep many --format gp --out "$T/a.gp" > /dev/null && [ -s "$T/a-2.gp" ] && [ ! -e "$T/a-3.gp" ] || return
    same 8 "$(styles "$T/a.gp" | sort -u | wc -l)" && same 3 "$(styles "$T/a-2.gp" | sort -u | wc -l)" &&
        same 11 "$(styles "$T/a.gp" "$T/a-2.gp" | wc -l)" && grep -q 'part 2 of 2' "$T/a-2.gp"
}
check 'their figure has two parts, no two lines of one look alike' parts

# ---- how far it is: a line on a terminal, redrawn and cleared in the end; nothing elsewhere
on_terminal() { # TEXT COMMAND...: its standard error is a terminal, and TEXT is drawn there, then cleared
    local text=$1 tty
    shift
    script -qec "$(printf '%q ' "$@") > '$T/o'" /dev/null < /dev/null > "$T/tty" 2>&1 || { cat "$T/tty"; return 1; }
    tty=$(< "$T/tty")
    grep -qF -- $'\r\e[K'"$text ..." "$T/tty" && [[ ${tty##* ...} == $'\r\e[K'* ]] || # then what it has to say
        { od -c "$T/tty" | tail -20; return 1; }
}
quietly() { # COMMAND...: on a pipe
    "$@" 2>&1 > "$T/o" | cat > "$T/err"
    [ "${PIPESTATUS[0]}" = 0 ] && ! grep -qE ' of [0-9]+: |\x1b' "$T/err" "$T/o" || { cat "$T/err"; return 1; }
}
if command -v script > /dev/null; then
    check 'table all says how far it is' on_terminal '7 of 7: table-theory' "$TAPER" table all --sweep many --out "$T/out"
else
    skip 'table all says how far it is' 'no script(1) on this machine'
fi
check 'and not on a pipe' quietly "$TAPER" table all --sweep many --out "$T/out"
if command -v script > /dev/null && command -v gnuplot > /dev/null; then
    check 'so does plot all' on_terminal '4 of 8: fig-loss' "$TAPER" plot all --sweep many --where train.lr=1e-3 --out "$T/out"
    check 'and the report' on_terminal '15 of 15: table-runs' "$TAPER" report --sweep many --where train.lr=1e-3 --out "$T/r.html"
    check 'and not on a pipe' quietly "$TAPER" report --sweep many --where train.lr=1e-3 --out "$T/r.html"
fi

# ---- what a person wants of a figure
rm -r "$T/out" # where refuses keeps what was said
sweep_of_two() {
    { echo "sweep: two"; echo "base: {$base, train.steps: 40, train.lr: 3e-3}"
      echo 'variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}'; echo 'grid: {seed: [0, 1]}'; } > "$T/two.yaml"
    sed 's/sweep: two/sweep: three/; s/3e-3/1e-3/' "$T/two.yaml" > "$T/three.yaml"
    "$TAPER" run "$T/two.yaml" --slots cpu:2 && "$TAPER" run "$T/three.yaml" --slots cpu:2
}
check 'two sweeps run' sweep_of_two
look() { "$TAPER" plot logit-chasing --format gp --out - "$@"; }
names() { look "$@" | sed -n 's/^series_name.* = "\(.*\)"$/\1/p' | tr '\n' ' '; }
check 'the format is what the file ends in' bash -c 'cd "$1" && "$TAPER" plot loss --sweep two -o a.gp && grep -q "^set multiplot" a.gp &&
    "$TAPER" plot loss --sweep two -o a.GP && "$TAPER" plot loss --sweep two --format gp -o a.txt && cmp a.gp a.txt' - "$T"
if command -v gnuplot > /dev/null; then
    check 'so for images' bash -c 'cd "$1" && "$TAPER" plot loss --sweep two -o a.png && "$TAPER" plot loss --sweep two -o a.pdf &&
        head -c 4 a.png | grep -q PNG && head -c 4 a.pdf | grep -q %PDF' - "$T"
    check 'on a logarithmic scale, smoothed and of its own size' bash -c '"$TAPER" plot loss --sweep two --logy --smooth 4 --width 900 \
        --height 500 -o "$1/b.svg" && grep -q "width=.900. height=.500." "$1/b.svg"' - "$T"
fi
check '--variant' same 'all ' "$(names --sweep two --variant all)"
check 'several' same 'baseline all ' "$(names --sweep two --variant all --variant baseline)"
check 'one that is not there' refuses 2 "variant=x" look --sweep two --variant x
check 'several sweeps in one figure' same 'baseline all three/baseline three/all ' "$(names --sweep two --sweep three)"
check 'which says so' bash -c '"$TAPER" plot loss --sweep two --sweep three --format gp -o - | grep -q "and sweep three;"'
check 'the first has what it has alone' same "$(look --sweep three | sed -n '/^\$lines/,/^END/p' | grep -c '[0-9]')" \
    "$(look --sweep three --sweep two --variant baseline --variant all | sed -n '/^\$lines/,/^END/p' | grep -c '[0-9]')"
check 'a sweep twice' refuses 2 'two is named twice' look --sweep two --sweep two
check 'a sweep that is not there' refuses 2 "no sweep 'twoo'" look --sweep two --sweep twoo
check 'a width that is none' refuses 2 '--width: want an integer from 200' look --width wide
check 'nothing to smooth in bars' refuses 2 '--smooth is for figures of lines' "$TAPER" plot decode --smooth 3
check 'a rolling mean, and the band as it was' python3 - "$(look --sweep two --variant baseline)" "$(look --sweep two --variant baseline --smooth 3)" <<'END'
import sys
def line(text):
    rows = text.split('$lines << END\n')[1].split('END')[0].split('\n\n\n')[0].split('\n')
    return [list(map(float, r.split()[:4])) for r in rows if r]
a, b = line(sys.argv[1]), line(sys.argv[2])
assert len(a) == len(b) > 5
for i in range(len(a)):
    near = [r[1] for r in a[max(0, i - 1):i + 2]]
    assert abs(b[i][1] - sum(near) / len(near)) < 1e-9, (i, a[i], b[i])
    assert b[i][2] <= a[i][2] and b[i][3] >= a[i][3]
END

# ---- names
check 'a figure by its short name' same "$(drawn fig-logit-chasing)" "$(drawn logit-chasing)"
check 'a table by its short name' same "$("$TAPER" table table-tinystories)" "$("$TAPER" table tinystories)"
short_file() {
    (cd "$T" && "$TAPER" plot scale --format gp > o) && [ -s "$T/fig-scale.gp" ]
}
check 'its file has the whole one' short_file
check 'help names both' bash -c '"$TAPER" help plot | grep -q "  \[fig-\]logit-chasing  RMS of the logits" &&
    "$TAPER" help table | grep -q "  \[table-\]theory "'
check 'and so do completions' bash -c '"$TAPER" completion bash | grep -q "fig-loss.* loss .*all" &&
    "$TAPER" completion fish | grep -q "table-theory.* theory all"'
done_testing
