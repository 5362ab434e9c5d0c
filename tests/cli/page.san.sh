#!/usr/bin/env bash
# taper serve and taper daemon --http: who may ask, and answers that are those of the verbs.
. "$(dirname "$0")/../support/page.bash"
cat > "$T/odd.yaml" <<'END'
sweep: odd
about: "<script>alert(1)</script> & \"quoted\" 'so' ünïcode"
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000,
       train.steps: 10, train.batch: 4, eval.every: 50%, eval.tokens: 1024, log.every: 2, threads: 1, sample.tokens: 20}
variants:
  baseline: {taper.sites: none}
  "<script>alert(2)</script>": {taper.sites: all}
  "\"><img src=x onerror=alert(3)>": {taper.sites: all, gate.end: 50%}
  "'&amp; ünï/☃": {taper.sites: internal}
END
check 'a sweep with odd names runs' "$TAPER" run "$T/odd.yaml"
run=$(query "SELECT id FROM run WHERE variant = 'baseline'")

# ---- addresses
check 'no address' refuses_silently 2 'want ADDR:PORT' "$TAPER" serve --http nowhere
check 'no port' refuses_silently 2 "got '127.0.0.1:99999': no port" "$TAPER" serve --http 127.0.0.1:99999
check 'no home' refuses_silently 2 'no home at' "$TAPER" serve --home "$T/none"
check 'an operand' refuses_silently 2 'takes no operand' "$TAPER" serve x
check 'it serves' serve
check 'at loopback' bash -c '[[ $1 == http://127.0.0.1:*/ ]]' - "$LINK"
check 'a port that is taken' refuses_silently 1 'cannot listen' "$TAPER" serve --http "${PAGE#http://}"

# ---- what the verbs print
same_json() { # VERB... then the path last
    local path=${*: -1}
    "$TAPER" "${@:1:$#-1}" --json > "$T/verb.json" && get "$path" > "$T/page.json" && cmp "$T/verb.json" "$T/page.json"
}
check 'status' same_json status /api/status.json
check 'status of a sweep' same_json status odd '/api/status.json?sweep=odd'
check 'runs' same_json runs odd '/api/runs.json?sweep=odd'
check 'runs of all' same_json runs /api/runs.json
check 'a run' same_json show "$run" "/api/run.json?run=$run"
check 'two runs' same_json compare odd/baseline/0 'odd/<script>alert(2)</script>/0' \
    "/api/compare.json?a=$run&b=odd/%3Cscript%3Ealert(2)%3C/script%3E/0"
check 'a table' bash -c '"$TAPER" table tinystories --sweep odd --format json > "$1/a" && curl -sS "$2/api/table.json?id=tinystories&sweep=odd" |
    cmp - "$1/a"' - "$T" "$PAGE"
# ---- curves: log.every 2, steps 1 2 4 6 8 10; two buckets of 0 to 5 and 6 to 10
curve() { get "/api/curves.json?sweep=odd&run=$run&$1" | tr -d '\n' | grep -o "\"$2\": \[[^]]*\]*" | head -1 | sed 's/.*: //'; }
bucket() { query "SELECT format('%.7g', $2) FROM step WHERE run = '$run' AND step $1"; }
check 'curves: as logged where there are enough points' same '[1,2,4,6,8,10]' "$(curve 'metric=ce' step)"
check 'in buckets' same '[4,10]' "$(curve 'metric=ce&points=2' step)"
check 'their means' same "[$(bucket '< 6' 'avg(ce)'),$(bucket '>= 6' 'avg(ce)')]" "$(curve 'metric=ce&points=2' mean)"
check 'the smallest' same "[$(bucket '< 6' 'min(ce)'),$(bucket '>= 6' 'min(ce)')]" "$(curve 'metric=ce&points=2' min)"
check 'the largest' same "[$(bucket '< 6' 'max(ce)'),$(bucket '>= 6' 'max(ce)')]" "$(curve 'metric=ce&points=2' max)"
check 'a part of the axis' same '[4,6]' "$(curve 'metric=ce&low=3&high=7' step)"
check 'buckets that grow' same '[2,4,10]' "$(curve 'metric=ce&points=4&logx=1' step)"
check 'evaluations' same '[5,10]' "$(curve 'metric=val_loss' step)"
get '/api/curves.json?sweep=odd&metric=agreement:final_norm' > "$T/o"
check 'a site' same 4 "$(grep -c '"step": \[1,' "$T/o")"
check 'the gate of tapered variants' bash -c '[ "$(grep -c "\"gate\": \[\[1,1\]" "$1")" = 3 ]' - "$T/o"
get '/api/curves.json?sweep=odd&x=tokens' > "$T/o"
check 'tokens of a step' grep -q '"scale": 128,' "$T/o"
check 'all runs, the rest later' grep -q '^"runs": 4, "next": null' "$T/o"
for bad in metric=loss metric=ce:final_norm 'metric=c' x=miles points=1 points=x low=-1 also=none 'metric=%27'; do
    check "curves with $bad" same 404 "$(code "/api/curves.json?sweep=odd&$bad")"
done
check 'a site that is not there is empty' same '[]' "$(curve "metric=c:x'%22" step)"

check 'a sweep that is not there' same 404 "$(code '/api/runs.json?sweep=od')"
check 'says so as JSON' grep -q '"error": "no sweep .od. (there is odd)"' "$T/body"
check 'a parameter that lacks' same 404 "$(code /api/run.json)"
check 'nothing there' same 404 "$(code /nothing)"

# ---- pages, without script
check 'the sweeps' bash -c 'curl -sS "$1/" > "$2" && grep -q "<a href=\"/sweep?name=odd\">odd</a>" "$2" && grep -q "4 done" "$2"' - "$PAGE" "$T/o"
check 'a sweep' bash -c 'curl -sS "$1/sweep?name=odd" > "$2" && grep -q "<h1>Sweep odd</h1>" "$2"' - "$PAGE" "$T/sweep"
check 'its runs' same 4 "$(grep -c '<td><a href="/run?id=' "$T/sweep")"
escaped() { # FILE: no name has become a tag or an attribute
    ! grep -qE '<script>|<img |</script>[^<]*alert' "$1" || { grep -nE '<script>|<img ' "$1"; return 1; }
}
check 'with names that are only names' escaped "$T/sweep"
check 'and are shown as they are' bash -c 'grep -qF "&lt;script&gt;alert(2)&lt;/script&gt;" "$1" && grep -qF "&quot;&gt;&lt;img src=x" "$1" &&
    grep -qF "&amp;amp; ünï/☃" "$1" && grep -qF "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quoted&quot;" "$1"' - "$T/sweep"
variants() { get "$1" | grep -o '<td><a href="/run?id=.*' | sed 's/<[^>]*>/ /g' | awk '{ print $2 }'; }
runs() { get "$1" | grep -o '<td><a href="/run?id=[0-9a-f]*' | cut -d= -f3; }
check 'sorted by a column' same "$(query 'SELECT id FROM run ORDER BY id')" "$(runs '/sweep?name=odd&sort=run')"
check 'and the other way round' same "$(query 'SELECT id FROM run ORDER BY val_loss DESC')" "$(runs '/sweep?name=odd&sort=val_loss&down=1')"
check 'filtered' same baseline "$(variants '/sweep?name=odd&q=baseline')"
get '/sweep?name=odd&q=%22%3E%3Cscript%3Ealert(4)%3C/script%3E' > "$T/o"
check 'a filter is no script' escaped "$T/o"
check 'a run' bash -c 'curl -sS "$1/run?id=$2" > "$3" && grep -q "Every key" "$3" && grep -q "final_norm\|Attempts" "$3" &&
    grep -q "The log.s end" "$3" && grep -q "<h2>Samples" "$3"' - "$PAGE" "$run" "$T/o"
check 'with names that are only names' escaped "$T/o"
get "/run?id=$run&against=$(query "SELECT id FROM run WHERE variant LIKE '%alert(3)%'")" > "$T/o"
check 'beside another' grep -q 'taper.sites' "$T/o"
check 'whose name is only a name' escaped "$T/o"
check 'a run by its name' same 200 "$(code '/run?id=odd/baseline/0')"
check 'a run that is not there' same 404 "$(code '/run?id=x%3Cscript%3E')"
check 'whose name is only a name' escaped "$T/body"
get '/paper?name=odd' > "$T/o"
check 'tables' grep -q 'Validation loss by size and variant' "$T/o"
check 'with names that are only names' bash -c '! grep -q "<script>" "$1" && ! grep "<img " "$1" | grep -v "<img loading"' - "$T/o"
if command -v gnuplot > /dev/null; then
    check 'a figure' bash -c 'curl -sS "$1/figure.svg?id=fig-loss&sweep=odd" > "$2" && grep -q "</svg>" "$2" && ! grep -q "<script" "$2"' - "$PAGE" "$T/fig"
    check 'is the same drawing the second time' bash -c 'curl -sS "$1/figure.svg?id=fig-loss&sweep=odd" | cmp - "$2"' - "$PAGE" "$T/fig"
    check 'as PNG' bash -c 'curl -sS "$1/figure.png?id=fig-loss&sweep=odd" | head -c 4 | grep -q PNG' - "$PAGE"
    check 'one without data says why' bash -c 'curl -sS "$1/figure.svg?id=fig-decode&sweep=odd" | grep -q "nothing to draw"' - "$PAGE"
else
    skip 'figures' 'no gnuplot'
fi
check 'a figure that is not there' same 404 "$(code '/figure.svg?id=fig-x&sweep=odd')"
check 'news' bash -c 'timeout 3 curl -sN "$1/events" > "$2"; grep -q "^event: change" "$2"' - "$PAGE" "$T/o"
for asset in page.css page.js curves.js icon.svg; do
    check "$asset" same 200 "$(code "/assets/$asset")"
done
unserve
export TAPER_DYGRAPHS=$T/none
check 'without dygraphs it serves too' serve
check 'and leaves it out' bash -c '! curl -sS "$1/" | grep -q dygraph && curl -sS "$1/sweep?name=odd" | grep -q "No curves without dygraphs" && [ "$(curl -s -o /dev/null -w "%{http_code}" "$1/assets/dygraph.js")" = 404 ]' - "$PAGE"
unserve
unset TAPER_DYGRAPHS
check 'and with it' serve

# ---- safety
get /api/status.json > "$T/o"
has() { tr -d '\r' < "$T/head" | grep -qiF -- "$1"; }
check 'no script from elsewhere, and no frame' has "Content-Security-Policy: default-src 'none'; script-src 'self'"
check 'no guessing of types' has 'X-Content-Type-Options: nosniff'
check 'not kept' has 'Cache-Control: no-store'
check "another name for this machine" same 403 "$(code / -H 'Host: evil.example')"
check "another origin" same 403 "$(code / -H 'Origin: http://evil.example')"
check "the page's own origin" same 404 "$(code /nothing -H "Origin: $PAGE")"
check "another site's picture of it" same 403 "$(code / -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: no-cors')"
check "another site's link to it" same 404 "$(code /nothing -H 'Sec-Fetch-Site: cross-site' -H 'Sec-Fetch-Mode: navigate')"
check 'POST' same 405 "$(code /api/status.json -X POST)"
check 'a body that nobody wants is cut off' bash -c '! curl -sS --max-time 10 -o /dev/null -X PUT -d x "$1/api/status.json" 2> /dev/null' - "$PAGE"
check 'a header that is too long' same 431 "$(code /nothing -H "X-Long: $(printf '%040000d' 0)")"
check 'an address that is too long' bash -c '[[ $1 == 414 || $1 == 431 ]]' - "$(code "/$(printf '%040000d' 0)")"
check 'more parameters than it takes' same 200 "$(code "/api/status.json?$(printf 'a=b&%.0s' {1..100})")"
check 'paths out of it' same 404 "$(code '/assets/../../../etc/passwd' --path-as-is)"
check 'odd bytes' same 404 "$(code '/api/runs.json?sweep=%00%ff%3Cscript%3E')"
check 'many at once' bash -c 'for i in {1..40}; do curl -sS --max-time 30 -o /dev/null "$1/api/status.json" & p+=($!); done
    for i in "${p[@]}"; do wait "$i" || exit 1; done' - "$PAGE"
check 'it ends when told to' unserve

# ---- an address for others
HTTP=0.0.0.0:0
check 'it serves others' serve
check 'with a token' bash -c '[[ $1 =~ /\?token=[0-9a-f]{32}$ ]]' - "$LINK"
PAGE=http://127.0.0.1:${PAGE##*:}
check 'not without it' same 401 "$(code /api/status.json)"
check 'not with another' same 401 "$(code "/api/status.json?token=$(printf '%032d' 0)")"
check 'nor with half of it' same 401 "$(code "/api/status.json?token=$(cut -d= -f2 <<< "$LINK" | cut -c1-16)")"
check 'the link gives a cookie' same 303 "$(code "/?${LINK#*\?}" -c "$T/cookies")"
check 'the cookie is for the page alone' grep -q '#HttpOnly_127.0.0.1.*taper_page' "$T/cookies"
check 'with which it answers' same 200 "$(code /api/status.json -b "$T/cookies")"
check 'not to another name' same 403 "$(code /api/status.json -b "$T/cookies" -H 'Host: evil.example')"
unserve
unset HTTP

# ---- a database alone, and a daemon
cp "$T/home/taper.db" "$T/alone.db"
check 'a database alone' serve --home "$T/alone.db"
check 'is read' bash -c 'curl -sS "$1/api/runs.json?sweep=odd" | grep -q "$2"' - "$PAGE" "$run"
unserve
check 'a daemon with a page' daemon --http 127.0.0.1:0
PAGE=$(grep -o 'http://[0-9.:]*' "$T/daemon.out")
check 'says where' bash -c '[ -n "$1" ] && grep -q "the page is at $1/" "$TAPER_HOME/daemon.log"' - "$PAGE"
check 'which answers' bash -c 'curl -sS "$1/api/status.json" | grep -q "\"pid\": $(cat "$TAPER_HOME/daemon.pid")"' - "$PAGE"
check 'and ends with it' bash -c '"$TAPER" daemon --stop && ! curl -sS --max-time 5 "$1" 2> /dev/null' - "$PAGE"
check 'a daemon whose port is no port' refuses 2 'want ADDR:PORT' "$TAPER" daemon --http nowhere
check 'no process is left' poll 10 nothing_left
done_testing
