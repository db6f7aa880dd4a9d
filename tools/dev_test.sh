#!/usr/bin/env bash
# `./dev test` must count right and fail when it should: runs it in a scratch tree on programs that pass, fail, crash, skip
# and hang, with a cmake that does nothing. Prints one line per case; exits 1 on any surprise.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/weft-devtest.XXXXXX")
remove_tree() {
    case $tree in
        */weft-devtest.??????) rm -rf -- "$tree" ;;
        *) echo "dev_test: will not remove '$tree'" >&2 ;;
    esac
}
trap remove_tree EXIT
failures=0

script() { # FILE BODY
    mkdir -p "$tree/$(dirname "$1")"
    printf '#!/bin/sh\n%b\n' "$2" >"$tree/$1"
    chmod +x "$tree/$1"
}

# program NAME EXIT-CODE OUTPUT: a test program of the scratch tree.
program() {
    script "build/dev/$1" "cat <<'END'\n$3\nEND\n$2"
    echo "$tree/build/dev/$1" >>"$tree/build/dev/tests.txt"
}

fresh() {
    rm -rf -- "${tree:?}/build" "${tree:?}/tools" "${tree:?}/bin"
    mkdir -p "$tree/build/dev"
    cp "$root/dev" "$tree/dev"
    touch "$tree/build/dev/build.ninja"
    : >"$tree/build/dev/tests.txt"
    : >"$tree/build/dev/fuzz_targets.txt"
    script bin/cmake 'exit 0'
    script tools/tidy 'exit 0'
    script tools/tidy_test.sh 'exit 0'
    script tools/dev_test.sh 'exit 0'
}

# expect NAME STATUS LAST-LINE [TEXT-IN-OUTPUT]
expect() {
    local name=$1 want_status=$2 want_line=$3 want_text=${4:-} output status=0
    output=$(PATH="$tree/bin:$PATH" WEFT_TEST_TIMEOUT=2 "$tree/dev" test 2>&1) || status=$?
    if [ "$status" -eq "$want_status" ] && [ "$(tail -n 1 <<<"$output")" = "$want_line" ] &&
        [ "$(grep -c ' passed, [0-9]* failed\(, [0-9]* skipped\)\{0,1\}$' <<<"$(grep -v '^FAIL\|^ok' <<<"$output")")" -eq 1 ] &&
        grep -qF -- "$want_text" <<<"$output"; then
        echo "ok   $name"
    else
        echo "FAIL $name: exit $status, output:"
        echo "$output"
        failures=$((failures + 1))
    fi
}

good='[==========] Running 12 tests from 2 test suites.\n[       OK ] A.a (0 ms)\n[==========] 12 tests from 2 test suites ran. (5 ms total)\n[  PASSED  ] 12 tests.'
bad='[  FAILED  ] A.b (0 ms)\na.cc:7: Failure\n[==========] 3 tests from 1 test suite ran. (5 ms total)\n[  PASSED  ] 1 test.\n[  FAILED  ] 2 tests, listed below:\n[  FAILED  ] A.b\n[  FAILED  ] A.c\n\n 2 FAILED TESTS'

fresh
program test_a '' "$good"
program test_b '' '[==========] 1 test from 1 test suite ran. (5 ms total)\n[  PASSED  ] 1 test.'
expect 'all pass' 0 '16 passed, 0 failed'

fresh
program test_a '' "$good"
program test_bad 'exit 1' "$bad"
expect 'failures are counted and shown' 1 '16 passed, 2 failed' 'a.cc:7: Failure'

fresh
program test_crash 'kill -SEGV $$' '[ RUN      ] A.a\n[       OK ] A.a (0 ms)\n[ RUN      ] A.b'
expect 'a crash is a failure, what passed before counts' 1 '4 passed, 1 failed' 'before its summary'

fresh
program test_exit 'exit 66' "$good"
expect 'a bad end after a good summary is a failure' 1 '15 passed, 1 failed'

fresh
program test_hang 'exec sleep 60' '[ RUN      ] A.a'
expect 'a hang is ended and a failure' 1 '3 passed, 1 failed'

fresh
program test_skip '' '[==========] 2 tests from 1 test suite ran. (5 ms total)\n[  PASSED  ] 1 test.\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] A.b'
expect 'skipped tests are named' 0 '4 passed, 0 failed, 1 skipped'

fresh
echo "$tree/build/dev/not_built" >>"$tree/build/dev/tests.txt"
expect 'a program that is not there is a failure' 1 '3 passed, 1 failed'

fresh
script build/dev/fuzz_x 'test "$1" = corpus/x || exit 1; echo crashed on corpus/x; exit 134'
echo "$tree/build/dev/fuzz_x corpus/x" >>"$tree/build/dev/fuzz_targets.txt"
expect 'a corpus that crashes its target is a failure' 1 '3 passed, 1 failed' 'crashed on corpus/x'

fresh
script tools/tidy 'echo src/a.cc:1: wrong; exit 1'
expect 'what tools/tidy finds is a failure' 1 '2 passed, 1 failed' 'src/a.cc:1: wrong'

fresh
script bin/cmake 'echo a.cc: error; exit 1'
expect 'a build that fails is a failure' 1 '3 passed, 1 failed'

fresh
for name in tidy tidy_test.sh dev_test.sh; do script "tools/$name" 'exit 1'; done
expect 'nothing passed' 1 '0 passed, 3 failed'

if [ "$failures" -gt 0 ]; then
    echo "$failures surprises"
    exit 1
fi
