#!/usr/bin/env bash
# A row is a configuration and n its seeds: sweeps over grids and with variants of any name, through the real program; and
# the numbers of a table once more from the journals and configurations alone.
. "$(dirname "$0")/../support/tap.bash"
export TAPER_HOME=$T/home XDG_CACHE_HOME=$T/cache
table() { "$TAPER" table table-tinystories --format csv "$@"; }

base='model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, train.steps: 20,
    train.batch: 4, train.lr: 3e-3, data.size: 20000, eval.tokens: 1024, log.every: 2, threads: 1, sample.tokens: 0'
sweep() { # NAME < the rest of its spec: run it
    { echo "sweep: $1"; echo "base: {$base}"; cat; } > "$T/$1.yaml"
    "$TAPER" run "$T/$1.yaml" --slots cpu:2
}

# ---- a grid of learning rates and seeds
check 'a grid over the learning rate runs' sweep grid <<'END'
variants:
  baseline: {taper.sites: none}
  all+aux: {taper.sites: all, aux.lambda: 0.1}
grid: {train.lr: [1e-5, 3e-3, 1e-2], seed: [0, 1]}
END
check 'its rows are configurations, its n their seeds' same 'size,train.lr,variant 2 2
demo,1e-05,baseline 2 2
demo,1e-05,all+aux 2 2
demo,0.003,baseline 2 2
demo,0.003,all+aux 2 2
demo,0.01,baseline 2 2
demo,0.01,all+aux 2 2' "$(table | awk -F, 'NR == 1 { print $1 "," $2 "," $3, 2, 2; next } { print $1 "," $2 "," $3, $6, $7 }')"

# The same from the files alone: a run's last word and its configuration, by awk.
numbers() { # one line a run: sites lr seed loss
    for run in "$T"/home/runs/*/; do
        printf '%s ' "$(grep -o '"taper.sites":"[a-z]*"' "$run/config.json" | cut -d'"' -f4)" \
            "$(grep -o '"train.lr":[0-9.e+-]*' "$run/config.json" | cut -d: -f2)" \
            "$(grep -o '"seed":[0-9]*' "$run/config.json" | cut -d: -f2)"
        grep '"table":"run".*"state":"done"' "$run/journal.jsonl" | tail -1 | grep -o '"val_loss":[0-9.e+-]*' | cut -d: -f2
    done
}
recomputed() {
    numbers | awk '{ loss[$1, $2 + 0, $3] = $4; lr[$2 + 0] = 1 }
        function row(sites, l,    s, m, d, x, c, e) {
            m = (loss[sites, l, 0] + loss[sites, l, 1]) / 2
            d = sqrt((loss[sites, l, 0] - m) ^ 2 + (loss[sites, l, 1] - m) ^ 2)
            for (s = 0; s < 2; s++) x[s] = (loss[sites, l, s] / loss["none", l, s] - 1) * 100
            c = (x[0] + x[1]) / 2
            e = 12.706204736 * sqrt(((x[0] - c) ^ 2 + (x[1] - c) ^ 2) / 2)
            printf "%g %s %.6f %.6f", l, sites, m, d
            if (sites == "all") printf " %.4f %.4f %.4f", c, c - e, c + e
            print ""
        }
        END { for (l in lr) { row("none", l); row("all", l) } }' | sort
}
printed() {
    table | tail -n +2 | awk -F, '{ printf "%g %s %.6f %.6f", $2, $3 == "baseline" ? "none" : "all", $4, $5
        if ($3 != "baseline") printf " %.4f %.4f %.4f", $9, $10, $11
        print "" }' | sort
}
check 'its numbers are those of the journals' same "$(recomputed)" "$(printed)"
check 'and so they are in JSON, where a key is a number' bash -c \
    '"$TAPER" table table-tinystories --format json | grep -q "\"train.lr\": 0.003,"'
check 'and in TeX' bash -c '"$TAPER" table table-tinystories --format tex | grep -q "size & train.lr & variant"'

check '--where leaves one value, and its column out' same $'size,variant\ndemo,baseline\ndemo,all+aux' \
    "$(table --where train.lr=3e-3 | cut -d, -f1,2)"
check '--where of several values keeps the runs of any' same $'0.003\n0.003\n0.01\n0.01' \
    "$("$TAPER" table table-tinystories --format json --sweep grid --where train.lr=3e-3 --where train.lr=1e-2 |
        grep -o '"train.lr": [0-9.]*' | cut -d' ' -f2 | sort)"
check 'and of several variants' same $'baseline\nall+aux' \
    "$(table --sweep grid --where variant=baseline --where variant=all+aux --where train.lr=3e-3 | tail -n +2 | cut -d, -f2)"
check '--where of a variant keeps what it is compared with' same '2' \
    "$(table --where variant=all+aux --where train.lr=0.003 | tail -1 | cut -d, -f11)"
check '--vary puts the values beside each other' same 'baseline baseline baseline all+aux all+aux all+aux' \
    "$(table --vary train.lr | tail -n +2 | cut -d, -f3 | xargs)"
check '--by shows a key that nothing differs in' same '20' "$(table --by train.steps | sed -n 2p | cut -d, -f3)"
check 'a value that is not there' refuses_silently 2 'its values of train.lr: ' table --where train.lr=5
check 'a key that is not there' refuses_silently 2 "did you mean 'train.lr'?" table --by train.lrr
check 'a value that is none' refuses_silently 2 '--where' table --where train.lr=much
check 'no value' refuses_silently 2 "want KEY=VALUE, got 'train.lr'" table --where train.lr
check 'nobody to compare with' refuses_silently 2 "has no variant 'nine'; it has baseline, all+aux" table --compare nine
check 'a sweep that is not there to compare with' refuses_silently 2 "has no variant 'x'" table --compare nine/x
check 'the views of a query are grouped too' same $'n\n2\n2' \
    "$("$TAPER" query --csv --where train.lr=0.01 'SELECT count(*) AS n FROM run_against_baseline GROUP BY grp
        UNION ALL SELECT count(*) FROM run_shown WHERE is_base')"
check 'as are its keys' same $'lr\n0.003' \
    "$("$TAPER" query --csv 'SELECT "train.lr" AS lr FROM run_shown WHERE grp = 2 LIMIT 1')"

# ---- variants of any name, and what they are compared with
check 'variants with other names run' sweep dropped <<'END'
variants:
  base: {taper.sites: none}
  mine: {taper.sites: all, aux.lambda: 0.3}
grid: {seed: [0, 1]}
END
check 'none vanishes, and the untapered one is the baseline' same $'base,0\nmine,2' \
    "$(table | tail -n +2 | cut -d, -f2,11)"
check 'which is said' bash -c '"$TAPER" table table-tinystories | grep -q "compared with base;"'
check 'a spec names what to compare with' sweep named <<'END'
compare: mine
variants:
  base: {taper.sites: none}
  mine: {taper.sites: all, aux.lambda: 0.3}
grid: {seed: [0, 1]}
END
check 'and that is done' same $'mine,0\nbase,2' "$(table | tail -n +2 | cut -d, -f2,11)"
printf 'sweep: nobody\ncompare: nine\nvariants: {base: {taper.sites: none}}\n' > "$T/nobody.yaml"
check 'a spec that names nobody' refuses_silently 2 'nobody.yaml:2:10: compare: want a variant of this sweep, or SWEEP/VARIANT' \
    "$TAPER" run "$T/nobody.yaml"
check 'a run of another sweep is compared with' same $'base,2\nmine,2' \
    "$(table --sweep dropped --compare grid/baseline | tail -n +2 | cut -d, -f2,11)"
check 'where it agrees in every key' same 'no baseline to compare with: seeds 0; 1' \
    "$(table --sweep grid --compare dropped/base | sed -n 2p | grep -o 'no base.*[01]' | tr , ';')"

# ---- figures
check 'variants that share what they had shared run' sweep colours <<'END'
variants: {a: {train.lr: 1e-3}, b: {train.lr: 2e-3}, c: {train.lr: 3e-3}, d: {train.lr: 4e-3}, e: {train.lr: 5e-3}}
grid: {taper.sites: [all]}
END
styles() { # the styles of a figure's lines
    "$TAPER" plot "$1" --format gp --out - "${@:2}" 2> /dev/null | grep '^series_style\[.*=' | cut -d= -f2
}
check 'no two lines of a figure look alike' same 5 "$(styles fig-loss | sort -u | wc -l)"
check 'letters that no font has' sweep cjk <<'END'
variants:
  "日本": {taper.sites: all}
  "x": {taper.sites: all, train.lr: 4e-3}
END
check 'are in the data as they are' bash -c '"$TAPER" plot fig-loss --format gp --out - | grep -q "= \"日本\""'
check 'a dozen variants run' sweep many < <(
    echo 'variants:'
    echo '  baseline: {taper.sites: none}'
    for i in 1 2 3 4 5 6 7 8 9 10 11; do echo "  v$i: {taper.sites: all, gate.end: $((5 + i))}"; done
)
if command -v gnuplot > /dev/null; then
    check 'a figure of them is divided' bash -c '"$TAPER" plot fig-loss --out "$1/many.svg" && [ -s "$1/many-2.svg" ] &&
        grep -q "part 2 of 2" "$1/many-2.svg" && ! [ -e "$1/many-3.svg" ]' - "$T"
    check 'the first part alone goes to standard output, and how to narrow it is said' bash -c \
        '"$TAPER" plot fig-loss --out - 2> "$1/err" > /dev/null && grep -q "narrow with .taper plot fig-loss --sweep many --where" "$1/err"' - "$T"
    check 'every figure of a grid, a panel a value' bash -c '"$TAPER" plot fig-loss --sweep grid --out "$1/grid.svg" &&
        [ "$(grep -cE ">train.lr (1e-05|0.003|0.01)<" "$1/grid.svg")" = 3 ]' - "$T"
    check 'letters without a font are spelled, in an image drawn here' bash -c '"$TAPER" plot fig-loss --sweep cjk \
        --format png --out "$1/cjk.png" && [ -s "$1/cjk.png" ]' - "$T"
else
    n=$((n + 1))
    echo "ok $n - divided figures # SKIP no gnuplot on this machine"
fi
check 'the baseline leads every part' same 2 "$("$TAPER" plot fig-loss --format gp --out "$T/m.gp" > "$T/o" &&
    cat "$T/m.gp" "$T/m-2.gp" | grep -c '^series_name\[1\] = "baseline"')"

# ---- a last evaluation that reads the whole split is no point of a curve over fewer tokens
aside() { # SWEEP OPTION...: what the small print says of it
    "$TAPER" plot fig-loss --format gp --out - --sweep "$@" 2> /dev/null | tr '\n' ' ' | sed 's/\\n/ /g' |
        grep -o 'not in the curve: [^;]*'
}
check 'a sweep that evaluates on fewer runs' sweep cut <<'END'
variants:
  a: {taper.sites: none, train.lr: 7e-3, eval.tokens: 256}
  b: {taper.sites: all, train.lr: 7e-3, eval.tokens: 256}
grid: {seed: [0, 1]}
END
whole=$("$TAPER" query --csv "SELECT max(e.tokens) FROM eval e JOIN run r ON r.id = e.run WHERE r.sweep = 'cut'" | tail -1)
check 'the evaluations left out of the curve are said' same \
    "not in the curve: the last evaluation of 4 of 4 runs, over other tokens ($whole)" "$(aside cut)"
check 'of the runs that are drawn' same \
    "not in the curve: the last evaluation of 2 of 2 runs, over other tokens ($whole)" "$(aside cut --where variant=b)"
check 'a sweep whose evaluations all read the same runs' sweep whole <<'END'
variants: {a: {taper.sites: none, train.lr: 6e-3, eval.tokens: 0}}
grid: {seed: [0]}
END
check 'and has nothing to say' same '' "$(aside whole)"

# ---- any number that was recorded
metric() { "$TAPER" plot --sweep grid --format gp --out - "$@"; }
check 'any metrics, a panel each' bash -c '"$TAPER" plot --sweep grid --metric margin,entropy,c:final_norm --format gp \
    --out - > "$1/m.gp" && grep -q "panel_label\[3\] = \"c:final_norm\"" "$1/m.gp" && grep -q "^panels = 3" "$1/m.gp"' - "$T"
check 'against the tokens' same "$("$TAPER" query --csv 'SELECT max(tokens) FROM step WHERE step = 20' | tail -1)" \
    "$(metric --metric entropy --x tokens | sed -n '/^\$lines/,/^END/p' | awk '$1 + 0 > most { most = $1 + 0 } END { print most }')"
check 'a metric that is not there' refuses_silently 2 "no 'nine'; there are ce aux" metric --metric nine
check 'a site of a metric that has none' refuses_silently 2 "no 'entropy:final_norm'" metric --metric entropy:final_norm
check 'an x that is not there' refuses_silently 2 "want step, tokens or time, got 'y'" metric --metric ce --x y
check 'an id and metrics' refuses_silently 2 'wants an id or --metric, not both' metric fig-loss --metric ce
# ---- of every site at once
check 'a deep model runs' sweep deep <<'END'
variants: {baseline: {taper.sites: none}, all: {taper.sites: all, model.layers: 5}}
END
names() { # FILE: the lines in their order
    sed -n 's/^series_name\[[0-9]*\] = //p' "$1" | tr -d '"' | xargs
}
sites() {
    "$TAPER" plot --sweep deep --metric "$1" --format gp --out "$T/s.gp" > /dev/null && [ ! -e "$T/s-3.gp" ] &&
        same "$2" "$(names "$T/s.gp")" && same "$3" "$(names "$T/s-2.gp")" && grep -q 'part 2 of 2' "$T/s-2.gp" &&
        same 8 "$(grep -h '^series_style\[.*=' "$T/s.gp" | cut -d= -f2 | sort -u | wc -l)"
}
check 'a line a site, by depth, and as many figures as they take' sites c \
    'blocks.0.attn_norm blocks.0.mlp_norm blocks.1.attn_norm blocks.1.mlp_norm blocks.2.attn_norm blocks.2.mlp_norm blocks.3.attn_norm blocks.3.mlp_norm' \
    'blocks.4.attn_norm blocks.4.mlp_norm final_norm'
check 'beside a number of the step' sites agreement,margin \
    'blocks.0.attn_norm blocks.0.mlp_norm blocks.1.attn_norm blocks.1.mlp_norm blocks.2.attn_norm blocks.2.mlp_norm blocks.3.attn_norm the step' \
    'blocks.3.mlp_norm blocks.4.attn_norm blocks.4.mlp_norm final_norm the step'
check 'which is said on standard output' bash -c '"$TAPER" plot --sweep deep --metric c --format gp --out - 2>&1 > "$1/o" |
    grep -q "11 sites of 2 configurations are too many lines for one figure"' - "$T"
check 'its values are those logged' same "$("$TAPER" query --csv "SELECT count(*), max(agreement) FROM site_step s JOIN run r
        ON r.id = s.run WHERE r.sweep = 'deep' AND site = 'blocks.2.mlp_norm' AND agreement IS NOT NULL" | tail -1)" \
    "$("$TAPER" plot --sweep deep --metric agreement --format gp --out - 2> /dev/null | sed -n '/^\$lines/,/^END/{/^\$lines\|^END/d;p}' |
        awk 'NF == 0 { blank++; next } blank >= 2 { set++ } { blank = 0 } set == 5 { n++; if ($2 + 0 > most + 0) most = $2 }
            END { print n "," most }')"
check 'what a step and its sites both have, of the sites' bash -c '"$TAPER" plot --sweep deep --metric scale_mean:all \
    --format gp --out - 2> "$1/e" | grep -q "= \"blocks.3.mlp_norm\"" && ! "$TAPER" plot --sweep deep --metric scale_mean \
    --format gp --out - | grep -q "= \"blocks"' - "$T"
if command -v gnuplot > /dev/null; then
    check 'sites are drawn, and the one configuration named' bash -c '"$TAPER" plot --sweep deep --metric c,agreement \
        --out "$1/s.svg" && [ -s "$1/s-2.svg" ] && grep -q ">final_norm<" "$1/s-2.svg" && grep -q ">all" "$1/s.svg"' - "$T"
    check 'they are drawn' bash -c '"$TAPER" plot --sweep grid --metric ms,agreement:final_norm --x time \
        --out "$1/m.svg" && grep -q "seconds of training" "$1/m.svg"' - "$T"
fi
done_testing
