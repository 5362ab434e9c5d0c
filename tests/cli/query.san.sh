#!/usr/bin/env bash
# taper query: reading a home's database from the command line.
. "$(dirname "$0")/../support/tap.bash"
dir=$T
trap 'chmod -R u+rwX "$dir"; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

# A database without a daemon: an empty file becomes one when it is first opened.
export TAPER_HOME="$dir/a home %41?é"
mkdir -p "$TAPER_HOME/runs"
: > "$TAPER_HOME/taper.db"
version=$("$TAPER" query --csv 'PRAGMA user_version' | tail -n 1)
sqlite3 "$TAPER_HOME/taper.db" "
    INSERT INTO sweep (name, about, spec, path, created, updated) VALUES ('s', '', '', '', 1, 1);
    INSERT INTO run (id, sweep, variant, seed, state, created, val_loss, wants, priority, position, slots, retries,
        timeout_us, steps, after, config) VALUES
        ('00000000000a', 's', 'all', 1, 'done', 1, 3.25, 'cpu', 0, 1, 1, 2, 0, 10, '{}', '{\"model.size\":\"1M\"}'),
        ('00000000000b', 's', 'all', 2, 'done', 1, 'NaN', 'cpu', 0, 2, 1, 2, 0, 10, '{}', '{\"model.size\":\"1M\"}'),
        ('00000000000c', 's', 'all', 3, 'done', 1, 'Infinity', 'cpu', 0, 3, 1, 2, 0, 10, '{}',
        '{\"model.size\":\"1M\"}');
    INSERT INTO sweep_run (sweep, run, variant, point, position) VALUES ('s', '00000000000a', 'all', '{}', 0),
        ('s', '00000000000b', 'all', '{}', 1), ('s', '00000000000c', 'all', '{}', 2);"
that 'a database was made' $?

same '[{"id":"00000000000a","val_loss":3.25},
{"id":"00000000000b","val_loss":"NaN"},
{"id":"00000000000c","val_loss":"Infinity"}]' "$("$TAPER" query --json 'SELECT id, val_loss FROM run ORDER BY id')"
that 'JSON keeps what is not finite' $?

same $'id\n00000000000a' "$("$TAPER" query --csv $'-- a comment first\nSELECT id FROM run LIMIT 1')"
that 'SQL may begin with a comment' $?

same $'id,val_loss\n00000000000a,3.25\n00000000000b,NaN\n00000000000c,Infinity' \
    "$("$TAPER" query 'SELECT id, val_loss FROM run ORDER BY id' --csv)"
that 'so does CSV' $?

same 'id            val_loss
------------  --------
00000000000a      3.25
00000000000b       NaN
00000000000c  Infinity' "$("$TAPER" query 'SELECT id, val_loss FROM run ORDER BY id')"
that 'and the table' $?

same $'best,mean,size\n3.25,3.25,1M' \
    "$("$TAPER" query --csv 'SELECT min(val_loss) AS best, avg(val_loss) AS mean, size FROM run_in_sweep')"
that 'what is not finite never wins a minimum' $?

printf 'SELECT count(*) AS n -- a comment\nFROM run;\n-- the end\n' > 'q 1.sql'
same $'n\n3' "$("$TAPER" query --csv -f 'q 1.sql')" && same $'n\n3' "$("$TAPER" query --csv - < 'q 1.sql')" &&
    same $'n\n3' "$("$TAPER" query --csv --file=- < 'q 1.sql')"
that 'SQL from a file and from standard input' $?

refuses() { # STATUS TEXT ARGUMENTS...
    local status=$1 text=$2 out code
    shift 2
    out=$("$TAPER" query "$@" 2>&1)
    code=$?
    [ "$code" -eq "$status" ] && [[ $out == *"$text"* ]] || { echo "# $code: $out"; return 1; }
}

refuses 2 'SQL, line 2, column 3: no such column: nope' $'SELECT 1,\n  nope FROM run' &&
    refuses 2 $'    nope FROM run\n    ^' $'SELECT 1,\n  nope FROM run' && refuses 2 'syntax error' 'SELEC 1' &&
    refuses 2 'no such table: nope' 'SELECT 1 FROM nope'
that 'bad SQL: its message and its place' $?

for sql in 'DELETE FROM run' 'INSERT INTO meta VALUES (1, 2)' 'CREATE TABLE t (x)' 'PRAGMA journal_mode = DELETE' \
    "VACUUM INTO '$dir/copy'" 'BEGIN IMMEDIATE' 'PRAGMA user_version = 7'; do
    refuses 2 'only reads' "$sql" || echo "# $sql" >> bad
done
refuses 2 'not authorized' "ATTACH '$dir/new.db' AS x" && [ ! -e bad ] && [ ! -e copy ] && [ ! -e new.db ]
that 'whatever would write is refused' $?

refuses 2 'want one statement' 'SELECT 1; SELECT 2' && refuses 2 'nothing to run' ' -- nothing' &&
    refuses 2 'nothing to run' '' && refuses 2 'wants SQL in one argument' &&
    refuses 2 'one of --csv and --json' 'SELECT 1' --csv --json && refuses 2 'not both' 'SELECT 1' -f x &&
    refuses 2 'No such file' -f none.sql && refuses 2 'no home at' 'SELECT 1' --home "$dir/none" &&
    refuses 2 'no database' 'SELECT 1' --home "$dir" && refuses 2 'integer overflow' "SELECT abs(-9223372036854775808)"
that 'bad arguments and failing statements' $?

sqlite3 "$TAPER_HOME/taper.db" 'PRAGMA user_version = 99' && refuses 2 'its schema is version 99' 'SELECT 1' &&
    sqlite3 "$TAPER_HOME/taper.db" "PRAGMA user_version = $version"
that 'a newer schema is refused' $?

same $'-- 1\nid  00000000000a\nx   1\n\n-- 2\nid  00000000000b\nx   1' \
    "$("$TAPER" query --vertical 'SELECT id, 1 AS x FROM run ORDER BY id LIMIT 2')"
that 'a line a value' $?
[ "$("$TAPER" query --vertical 'SELECT 1 WHERE 0' | wc -c)" = 0 ]
that 'and none of no row' $?
if command -v script > /dev/null; then
    window() { # COLUMNS ROWS SQL OPTION...: what a terminal of that size gets
        local columns=$1 rows=$2
        shift 2
        script -qec "stty cols $columns rows $rows; $(printf '%q ' "$TAPER" query "$@")" /dev/null < /dev/null 2>&1 | tr -d '\r'
    }
    wide="SELECT id, 'a long text that goes on and on' AS text, 3.5 AS x, val_loss FROM run WHERE id LIKE '%a'"
    window 40 24 "$wide" > fits
    [ "$(wc -L < fits)" -le 40 ] && grep -q '\.\.' fits && grep -q '3.25$' fits
    that 'a table fits the terminal' $?
    [ "$(window 40 24 "$wide" --vertical | grep -c 'on and on')" = 1 ]
    that '--vertical has the whole of it' $?
    rows='WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50) SELECT i FROM n'
    same 1 "$(PAGER='wc -l > paged; echo one' window 40 24 "$rows" | grep -c one)" && same 52 "$(cat paged)"
    that 'what is longer than the window goes through the pager' $?
    same 52 "$(PAGER=cat window 40 24 "$rows" | wc -l)" && same 52 "$(PAGER=/no/such/pager window 40 24 "$rows" 2>&1 | grep -vc such)"
    that 'not without one' $?
    rm paged
    PAGER='wc -l > paged' window 40 60 "$rows" > whole && [ ! -e paged ] && PAGER='wc -l > paged' "$TAPER" query "$rows" | cat > whole &&
        [ ! -e paged ]
    that 'nor what fits, nor on a pipe' $?
fi

# Somebody else holds the write lock: a reader does not notice.
coproc writer { sqlite3 "$TAPER_HOME/taper.db"; }
pid=$writer_PID # bash forgets the variable when the process ends
printf 'BEGIN IMMEDIATE; DELETE FROM run;\n.print locked\n' >&"${writer[1]}"
read -r line <&"${writer[0]}"
same locked "$line" && same $'n\n3' "$("$TAPER" query --csv 'SELECT count(*) AS n FROM run')"
that 'a reader does not wait for a writer' $?
printf 'ROLLBACK;\n.quit\n' >&"${writer[1]}"
wait "$pid"

# A home that nobody can write: as an ordinary user where this one is root.
chmod -R a+rX "$dir" && chmod a-w "$TAPER_HOME" "$TAPER_HOME/taper.db" && rm -f "$TAPER_HOME"/taper.db-*
as=()
[ "$(id -u)" -eq 0 ] && as=(setpriv --reuid=65534 --regid=65534 --clear-groups)
if ! "${as[@]}" test -x "$TAPER" 2> /dev/null || ! "${as[@]}" test -r "$TAPER_HOME/taper.db"; then
    number=$((number + 1)) && echo "ok $n - a read-only home # SKIP another user cannot reach the files"
else
    same $'n\n3' "$("${as[@]}" "$TAPER" query --csv 'SELECT count(*) AS n FROM run')" &&
        ! ls "$TAPER_HOME"/taper.db-* > /dev/null 2>&1
    that 'a read-only home' $?
fi

echo "1..$n"
exit $failed
