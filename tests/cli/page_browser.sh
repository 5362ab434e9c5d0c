#!/usr/bin/env bash
# The page in a real browser, while a sweep trains; pictures of what it saw stay in build/page.
. "$(dirname "$0")/../support/page.bash"
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) ||
    { skip 'the page in a browser' 'no chromium'; done_testing; }
command -v python3 > /dev/null || { skip 'the page in a browser' 'no python3'; done_testing; }
[ -r /usr/share/javascript/dygraphs/dygraph.min.js ] || { skip 'the page in a browser' 'no libjs-dygraphs'; done_testing; }
shots=$(dirname "$TAPER")/../page
mkdir -p "$shots" "$T/profile"
cat > "$T/live.yaml" <<'END'
sweep: live
about: "Four variants of a tiny model, <b>two</b> seeds each"
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 32, model.vocab: 300, data.size: 20000,
       train.steps: 120, train.batch: 4, eval.every: 25%, eval.tokens: 1024, log.every: 1, threads: 1, sample.tokens: 20}
variants:
  baseline: {taper.sites: none}
  internal: {taper.sites: internal, gate.end: 60%}
  all: {taper.sites: all, gate.end: 60%}
  "<b>aux</b>": {taper.sites: all, gate.end: 60%, aux.lambda: 0.1}
grid: {seed: [0, 1]}
END
check 'a daemon with a page' daemon --slots cpu:1 --http 127.0.0.1:0
PAGE=$(grep -o 'http://[0-9.:]*' "$T/daemon.out")
"$TAPER" pause --all > /dev/null
check 'a sweep waits' "$TAPER" submit "$T/live.yaml"
(poll 60 test -e "$T/go" && "$TAPER" resume --all) > /dev/null 2>&1 &
looks() {
    python3 "$(dirname "$0")/../support/page_browser.py" "$browser" "$T/profile" "$PAGE" live "$shots" "$T/go" 2> "$T/looks.err"
}
while IFS= read -r line; do
    case $line in
    'ok - '*) check "${line#ok - }" true ;;
    'not ok - '*) check "${line#not ok - }" false ;;
    *) echo "$line" ;;
    esac
    last=$line
done < <(looks)
check 'it looked at everything' same 'ok - nothing was complained of' "$last"
[ ! -s "$T/looks.err" ] || sed 's/^/# /' "$T/looks.err"
"$TAPER" daemon --stop > /dev/null
check 'no process is left' poll 10 nothing_left
done_testing
