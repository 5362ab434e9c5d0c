#!/usr/bin/env bash
# Odd command lines, made from the rows of options that help prints: every option of every verb without its value and with
# values that nobody means, operands that are no files, too many or too long. Each ends soon, with exit status 0, 1 or 2 and,
# unless it is 0, a message; none by a signal, and no sanitizer has anything to say. (A file as the home, or a program that is
# not there, keeps the daemon from serving and sweeps from being run, whatever else is said.)
. "$(dirname "$0")/../support/tap.bash"
export HOME=$T/user TAPER_HOME=$T/home TAPER_CACHE=$T/cache TMPDIR=$T LC_ALL=C.UTF-8
export TAPER_TINYSTORIES_URL=http://127.0.0.1:1 TAPER_NOVELS_URL=http://127.0.0.1:1 # nobody listens there
mkdir "$T/user" "$T/home" "$T/work" "$T/empty" "$T/dir"
cd "$T/work" || exit 1
none=$T/none file=$T/file dir=$T/dir
echo 'a text that is no spec, model, journal or vocabulary' > "$file"
long=$(printf '%0100000d' 0)
bytes=$'\xff\xfe\x80'
huge=99999999999999999999999999
odd=('' "$huge" -1 NaN "$bytes" "$long" "$dir" "$none" 1e400 '=' 0x '%s%n' $'a\nb')
cat > "$T/tiny.yaml" << 'E'
{model.size: demo, model.d_model: 16, model.layers: 1, model.heads: 1, model.context: 16, model.vocab: 300,
 data.size: 20000, train.steps: 2, train.batch: 2, eval.tokens: 64, sample.tokens: 0, threads: 1}
E
cat > "$T/sweep.yaml" << 'E'
sweep: odd
base: {model.size: demo, data.size: 20000, train.steps: 2}
E
check 'a model to ask about' "$TAPER" train "$T/tiny.yaml" --out "$T/run"
model=$T/run/checkpoint.safetensors

# The words before an odd one: a line that would do something short, or nothing.
words_of() { # VERB [WORD]: into the array words
    case $1 in
    bench) words=(bench "$none") ;;
    completion) words=(completion bash) ;;
    daemon) words=(daemon --home "$file" --payload "$none/none") ;;
    data)
        case $2 in
        corpus) words=(data corpus --size 1000 "$T/corpus.txt") ;;
        tokenizer) words=(data tokenizer --vocab 260 "$file" "$T/tokenizer") ;;
        encode) words=(data encode "$T/run/tokenizer" "$file" "$T/tokens") ;;
        decode) words=(data decode "$T/run/tokenizer" "$file") ;;
        text) words=(data text --field a "$file" "$T/text") ;;
        fetch) words=(data fetch tinystories) ;;
        esac
        ;;
    debug) words=(debug "$2" "$file" "$T/debugged") ;;
    devices | help | pause | rebuild | report | resume | status | version) words=("$1") ;;
    eval) words=(eval "$model" --tokens 16) ;;
    export) words=(export "$model" "$T/exported") ;;
    fold) words=(fold "$model" "$T/folded") ;;
    generate) words=(generate "$model" --tokens 2 --threads 1) ;;
    import) words=(import "$dir" "$T/imported") ;;
    plot) words=(plot loss --format gp) ;;
    query) words=(query 'SELECT 1') ;;
    run) words=(run "$T/sweep.yaml" --home "$file" --payload "$none/none") ;;
    submit) words=(submit "$T/sweep.yaml") ;;
    table) words=(table runs) ;;
    train) words=(train "$T/tiny.yaml") ;;
    worker) words=(worker "$file") ;;
    *) words=("$1" 0123456789ab) ;;
    esac
}

bad() { # STATUS WHAT WORDS...
    local status=$1 what=$2
    shift 2
    faults=$((faults + 1))
    printf 'status %s, %s: taper' "$status" "$what"
    printf ' %.60q' "${@:0:12}"
    echo
    head -c 2000 "$out/err"
}
line() { # WORDS...: one command line
    local status
    timeout -s KILL 20 "$TAPER" "$@" > "$out/out" 2> "$out/err" < /dev/null
    status=$?
    lines=$((lines + 1))
    # A worker's words stand in its log; nobody to let it go, and a directory that another has, are statuses of its own.
    if [ "${1:-}" = worker ] && [[ $status =~ ^(1|2|125|126)$ ]]; then status=0; fi
    if [ $status -gt 2 ]; then bad $status 'not 0, 1 or 2' "$@"; fi
    if [ $status -gt 0 ] && [ ! -s "$out/err" ]; then bad $status 'no message' "$@"; fi
    if grep -aqE 'Sanitizer|runtime error:' "$out/err"; then bad $status 'a sanitizer' "$@"; fi
}
option_lines() { # HELP-LINE: every way to get this row wrong
    local name value v
    name=$(grep -oE -- '--[a-z0-9-]+' <<< "$1" | head -n 1)
    value=$(sed -nE 's/^ *(-[A-Za-z], )?--[a-z0-9-]+ ([^ ]+)  .*/\2/p; s/^ *(-[A-Za-z], )?--[a-z0-9-]+ ([^ ]+)$/\2/p' <<< "$1")
    if [ -n "$value" ]; then
        line "${words[@]}" "$name"
        line "${words[@]}" "$name="
        for _ in 1 2; do # the others at the next options: all of them at each would take minutes
            v=${odd[turn++ % ${#odd[@]}]}
            line "${words[@]}" "$name" "$v"
        done
    else
        line "${words[@]}" "$name"
        line "${words[@]}" "$name=${odd[turn++ % ${#odd[@]}]}"
    fi
}
verb_lines() { # VERB [WORD]
    local out v row verb=$1 turn=$((${#1} * 3)) lines=0 faults=0 words
    out=$(mktemp -d "$T/lines.XXXXXX")
    words_of "$@"
    "$TAPER" help "$verb" > "$out/help"
    grep -E '^ +(-[A-Za-z], )?--[a-z]' "$out/help" > "$out/rows"
    while read -r row; do option_lines "$row"; done < <(sed 's/$/ /' "$out/rows")
    line "${words[@]}" --no-such-option
    line "${words[@]}" "--$bytes" "-$long" -
    line "${words[@]}" "$file" "$file" "$file" "$file" "$file" "$file" "$file" "$file"
    line "${words[@]}" --help
    case $verb in daemon | serve | train) ;; *) # by themselves these go on
        line "$@"
        TAPER_HOME=$T/empty line "${words[@]}"
        for _ in 1 2 3 4 5 6; do line "$@" "${odd[turn++ % ${#odd[@]}]}"; done
        line "$@" ''
        line "$@" "$none" "$none" "$none"
        line "$@" "$dir" "$dir" "$dir"
        ;;
    esac
    echo "$lines" >> "$T/counts"; echo "$lines lines of $*, $faults faults"
    [ "$lines" -ge 5 ] && [ "$faults" -eq 0 ]
}

line_home=$T/lines
mkdir "$line_home"
out=$line_home lines=0 faults=0
first() {
    line
    for v in "${odd[@]}"; do line "$v"; done
    line --help
    line --version
    line -h x
    line help "$huge"
    [ $faults -eq 0 ]
}
check 'no verb, and none that there is' first
for verb in $("$TAPER" help | sed -n 's/^  \([a-z]*\) .*/\1/p'); do
    case $verb in
    data) for word in corpus tokenizer encode decode text fetch; do check "data $word" verb_lines data $word; done ;;
    debug) for word in step train; do check "debug $word" verb_lines debug $word; done ;;
    *) check "$verb" verb_lines "$verb" ;;
    esac
done
check 'nothing is left running' bash -c '! env -u TAPER_HOME grep -lzx "TAPER_HOME=$1/home" /proc/[0-9]*/environ 2> /dev/null | cut -d/ -f3 | grep -vwE "$$|$PPID" | xargs -r -I{} readlink /proc/{}/exe | grep -q taper' - "$T"
done_testing
