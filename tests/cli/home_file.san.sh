#!/usr/bin/env bash
# Which home is meant, and a database file in the place of one.
. "$(dirname "$0")/../support/tap.bash"
export XDG_CACHE_HOME=$T/cache XDG_DATA_HOME=$T/data
unset TAPER_HOME
mkdir "$T/here" && cd "$T/here" || exit 1
cat > tiny.yaml <<'END'
sweep: tiny
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000,
       train.steps: 10, train.batch: 4, eval.tokens: 1024, log.every: 2, threads: 1, sample.tokens: 0}
variants: {baseline: {taper.sites: none}, all: {taper.sites: all}}
END

# ---- which
"$TAPER" submit tiny.yaml > "$T/o" 2> "$T/err"
check 'without any it is in the data directory, and said to be new' bash -c '[ -e "$1/data/taper/taper.db" ] &&
    grep -qx "new home: $(realpath "$1")/data/taper" "$1/err"' - "$T"
check 'the second time nothing is said' bash -c '"$TAPER" submit tiny.yaml 2>&1 | { ! grep "new home"; }'
check 'status finds it' bash -c '"$TAPER" status | grep -q "^tiny "'
XDG_DATA_HOME=not/absolute HOME=$T/user "$TAPER" submit tiny.yaml > "$T/o" 2>&1
check 'else in the home directory of the user' test -e "$T/user/.local/share/taper/taper.db"
mkdir -p results/home
check 'results/home goes before it, where it is' refuses 2 'results/home/taper.db: no database' "$TAPER" status
check 'TAPER_HOME before that' bash -c 'TAPER_HOME=$1/data/taper "$TAPER" status | grep -q "^tiny "' - "$T"
check 'and --home first' bash -c 'TAPER_HOME=/nowhere "$TAPER" status --home "$1/data/taper" | grep -q "^tiny "' - "$T"
check 'a run says so too' bash -c '"$TAPER" run tiny.yaml --home "$1/new" --slots cpu:1 2>&1 | grep "^new home: .*/new$"' - "$T"

# ---- a file
"$TAPER" query --home "$T/new" "SELECT 1" > "$T/o"
mkdir "$T/mail" && sqlite3 "$T/new/taper.db" "VACUUM INTO '$T/mail/a result.db'"
cp "$T/new/taper.db" "$T/mail/copy.db"
for file in 'a result' copy; do
    db=$T/mail/$file.db
    check "$file: status" bash -c '"$TAPER" status --home "$1" | grep -q "^tiny .* 2 done"' - "$db"
    check "$file: query" same $'n\n2' "$("$TAPER" query --home "$db" --csv 'SELECT count(*) AS n FROM run')"
    check "$file: runs" same 3 "$("$TAPER" runs tiny --home "$db" --csv | wc -l)"
    check "$file: show and compare" bash -c '"$TAPER" show tiny/all/0 --home "$1" | grep -q "^state  *done" &&
        "$TAPER" compare tiny/all/0 tiny/baseline/0 --home "$1" | grep -q taper.sites' - "$db"
    check "$file: table" same "$("$TAPER" table tinystories --home "$T/new")" "$("$TAPER" table tinystories --home "$db")"
    check "$file: plot" bash -c '"$TAPER" plot loss --home "$1" --format gp --out - | grep -q "^set multiplot"' - "$db"
    if command -v gnuplot > /dev/null; then
        check "$file: report" "$TAPER" report --home "$db" --out "$T/r.html"
    fi
    check "$file: by TAPER_HOME" bash -c 'TAPER_HOME=$1 "$TAPER" status | grep -qx "database: $(realpath "$1")"' - "$db"
done
check 'nothing appears beside it' same "a result.db copy.db" "$(cd "$T/mail" && echo *)"
for verb in "submit tiny.yaml" "run tiny.yaml" "pause" "cancel tiny" "wait tiny" "daemon"; do
    # shellcheck disable=SC2086 # words
    check "${verb%% *} wants a home" refuses_silently 2 'copy.db' "$TAPER" $verb --home "$T/mail/copy.db"
done
check 'and says what a file is for' grep -q 'a database file is for what only reads' "$T/err"
check 'a file that is none' refuses_silently 2 'not a database' "$TAPER" status --home tiny.yaml
sqlite3 "$T/mail/copy.db" 'PRAGMA user_version = 4'
check 'an older schema is not changed in a file' refuses_silently 2 'a database alone is only read' "$TAPER" status --home "$T/mail/copy.db"
check 'but may be asked' same $'n\n2' "$("$TAPER" query --home "$T/mail/copy.db" --csv 'SELECT count(*) AS n FROM run' 2> /dev/null)"

# ---- one that is being written
sqlite3 "$T/new/taper.db" > "$T/o" 2>&1 <<END
BEGIN IMMEDIATE;
UPDATE sweep SET about = 'half';
.shell "$TAPER" query --home "$T/new/taper.db" --csv "SELECT about = '' AS before FROM sweep" > "$T/seen" 2>&1
COMMIT;
.shell "$TAPER" query --home "$T/new/taper.db" --csv "SELECT about FROM sweep" >> "$T/seen" 2>&1
END
check 'a reader of a file that is being written sees what is committed' same $'before\n1\nabout\nhalf' "$(cat "$T/seen")"
done_testing
