# Sourced by the scripts that ask a page: starting one, and asking it.
. "$(dirname "${BASH_SOURCE[0]}")/daemon.bash"
serve() { # ARGUMENT...: taper serve at a free port; its address in $PAGE, without the slash at the end
    "$TAPER" serve --http "${HTTP:-127.0.0.1:0}" "$@" > "$T/serve.out" 2> "$T/serve.err" &
    SERVER=$!
    poll 20 grep -q '^http' "$T/serve.out" || { cat "$T/serve.err"; return 1; }
    LINK=$(cat "$T/serve.out")
    PAGE=${LINK%%\?*} PAGE=${PAGE%/}
}
unserve() {
    kill "$SERVER"
    wait "$SERVER" 2> "$T/unserve"
}
get() { # PATH [CURL ARGUMENT...]: the body; the headers in $T/head
    local path=$1
    shift
    curl -sS --max-time 30 -D "$T/head" "$@" "$PAGE$path"
}
code() { # PATH [CURL ARGUMENT...]
    local path=$1
    shift
    curl -sS --max-time 30 -o "$T/body" -w '%{http_code}' "$@" "$PAGE$path"
}
