#!/usr/bin/env bash
# A home handed to somebody who may only read it: what looks works, what would change says so.
set -u
if [ "$(id -u)" -ne 0 ] || ! command -v setpriv > /dev/null; then
    echo '1..0 # SKIP switching the user takes root and setpriv'
    exit 0
fi
. "$(dirname "$0")/../support/tap.bash"
trap 'chmod -R u+w "$T"; rm -rf "$T"' EXIT
export TAPER_CACHE=$T/cache
cp "$TAPER" "$T/taper" # where another user may run it
other() { setpriv --reuid 65534 --regid 65534 --clear-groups env TAPER_CACHE="$T/none" "$T/taper" "$@"; }
cat > "$T/spec.yaml" <<'S'
sweep: read
base: {model.d_model: 16, model.layers: 1, model.heads: 2, model.context: 16, model.vocab: 300, data.size: 60000,
       train.steps: 2, train.batch: 2, eval.every: 0, sample.tokens: 4}
S
check 'a sweep runs' "$TAPER" run "$T/spec.yaml" --home "$T/home"
chmod -R a+rX,a-w "$T/home" && chmod 755 "$T"
check 'another user reads its status' other status --home "$T/home"
check 'and queries it' other query --home "$T/home" 'SELECT count(*) FROM run'
check 'nothing was written there' bash -c '[ -z "$(find "$1" -newer "$1/../taper" -user 65534)" ]' - "$T/home"
echo "1..$n"
exit $failed
