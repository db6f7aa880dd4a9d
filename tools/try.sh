#!/usr/bin/env bash
# The main job, on real input: a git history in, 16 processes that edit, commit and land on it at once, and what came of it.
#   tools/try.sh WEFT [GIT-REPOSITORY]
set -euo pipefail

weft=${1:?usage: try.sh WEFT [GIT-REPOSITORY]}
weft=$(realpath "$weft")
here=$(cd "$(dirname "$0")/.." && pwd)
repository=${2:-$here}
workers=${WEFT_TRY_WORKERS:-16}
rounds=${WEFT_TRY_ROUNDS:-20}

# Everything happens below this directory, and only it is removed.
dir=$(mktemp -d "${TMPDIR:-/tmp}/weft-try.XXXXXXXX")
cleanup() {
    case ${dir:?} in
        */weft-try.????????) [ -n "${WEFT_TRY_KEEP:-}" ] || rm -rf -- "${dir:?}" ;;
    esac
}
trap cleanup EXIT
export WEFT_AUTHOR="Try <try@example.org>"

say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; }
run() { say "weft $*"; "$weft" "$@"; }

mkdir "$dir/project"
cd "$dir/project"
run init
run git import "$repository"
run status

# Where the git HEAD's branch went is where the workers land.
ref=$("$weft" --json info | sed -n 's/.*"follow": *"\([^"]*\)".*/\1/p')
ref=${ref:-main}

number() { "$weft" --json info | sed -n "s/.*\"$1\": *\([0-9]*\).*/\1/p"; }
flushes_before=$(number flushes)
transactions_before=$(number transactions)
start=$(date +%s%N)

say "$workers processes, each: workspace add, then $rounds times edit and commit, landing on $ref after every fifth"
worker() {
    local id=$1 name=worker-$1
    "$weft" -q workspace add "$name" --path "$dir/$name" --follow "$ref"
    cd "$dir/$name"
    # Each edits a tracked file of its own (if there are enough) and adds files: different nodes, different names.
    local mine round
    mine=$(find . -type f -name '*.*' -not -path './.weft*' | sort | sed -n "$((id * 3))p")
    mkdir -p "$name"
    for round in $(seq 1 "$rounds"); do
        if [ -n "$mine" ]; then printf 'worker %s was here, round %s\n' "$id" "$round" >>"$mine"; fi
        printf 'worker %s, round %s\n' "$id" "$round" >>"$name/log.txt"
        printf '%s\n' "$round" >"$name/file-$((round % 7)).txt"
        "$weft" -q commit -m "worker $id, round $round"
        if [ $((round % 5)) = 0 ] || [ "$round" = "$rounds" ]; then "$weft" -q land "$ref"; fi
    done
}
pids=()
for id in $(seq 1 "$workers"); do
    (worker "$id") >"$dir/worker-$id.out" 2>&1 &
    pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do wait "$pid" || failed=$((failed + 1)); done
elapsed_ms=$((($(date +%s%N) - start) / 1000000))
if [ "$failed" != 0 ]; then
    printf '%s of %s workers failed:\n' "$failed" "$workers"
    cat "$dir"/worker-*.out
    exit 1
fi

flushes=$(($(number flushes) - flushes_before))
transactions=$(($(number transactions) - transactions_before))
run --no-pager log --graph -n 25 "$ref"
cd "$dir/worker-1"
run status
cd "$dir/project"
run switch "$ref"
run status
run verify --deep

# Nothing any of them recorded may be missing.
lines=$(cat worker-*/log.txt | wc -l)
expected=$((workers * rounds))
printf '\n%s transactions by %s processes (%s commits, and the landings) in %s ms: %s per second, %s flushes\n' \
    "$transactions" "$workers" "$expected" "$elapsed_ms" "$((transactions * 1000 / (elapsed_ms > 0 ? elapsed_ms : 1)))" "$flushes"
if [ "$lines" != "$expected" ]; then
    printf 'lost work: %s of %s lines arrived on %s\n' "$lines" "$expected" "$ref"
    exit 1
fi
printf 'all %s lines of all workers arrived on %s\n' "$lines" "$ref"
