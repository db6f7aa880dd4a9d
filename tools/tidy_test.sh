#!/usr/bin/env bash
# tools/tidy must pass clean code and fail on every planted violation. Prints one line per case; exits 1 on any surprise.
set -euo pipefail

tools=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tree=$(mktemp -d "${TMPDIR:-/tmp}/weft-tidy.XXXXXX")
remove_tree() {
    case $tree in
        */weft-tidy.??????) rm -rf -- "$tree" ;;
        *) echo "tidy_test: will not remove '$tree'" >&2 ;;
    esac
}
trap remove_tree EXIT
failures=0

plant() { # FILE CONTENT
    mkdir -p "$tree/$(dirname "$1")"
    printf '%b\n' "$2" >"$tree/$1"
}

# expect NAME FILE CONTENT [LINE]: with LINE, tidy must point at FILE:LINE; without, it must accept the file.
expect() {
    local name=$1 file=$2 content=$3 line=${4:-} output status=0
    plant "$file" "$content"
    output=$("$tools/tidy" "$tree" 2>&1) || status=$?
    rm -f -- "$tree/$file"
    if [ -n "$line" ]; then
        if [ "$status" -eq 1 ] && grep -q "^$file:$line: " <<<"$output"; then
            echo "ok   finds $name"
            return
        fi
        echo "FAIL does not find $name at $file:$line (exit $status): $output"
    else
        if [ "$status" -eq 0 ]; then
            echo "ok   accepts $name"
            return
        fi
        echo "FAIL does not accept $name: $output"
    fi
    failures=$((failures + 1))
}

plant src/base/a.cc '#include <fcntl.h>\n#include "base/a.h"\nint f() { return ::open("x", 0); }'
plant src/store/ok.cc '#include <vector>\n\n#include "base/a.h"\n#include "log/a.h"\n#include "store/ok.h"'
plant docs/x.md 'Plain text.'

expect 'clean code' src/repo/a.cc '#include "store/ok.h"\nvoid f(Fs& fs) { fs.open("x"); fs->rename("a", "b"); HostDir::open("x"); }'
# R1
expect 'an upward include' src/base/b.h '#pragma once\n#include "store/store.h"' 2
expect 'a sideways include' src/log/b.cc '#include "object/object.h"' 1
expect 'an upward include in a test' src/tree/b_test.cc '\n#include "work/work.h"' 2
expect 'an unknown folder' src/repo/b.cc '#include "nowhere/a.h"' 1
expect 'a folder in no layer' src/nowhere/b.cc 'int x;' 1
expect 'an include without its folder' src/repo/b.cc '#include "repository.h"' 1
expect 'testing/ in product code' src/repo/b.cc '#include "base/testing/temp_dir.h"' 1
expect 'testing/ in a test' src/repo/b_test.cc '#include "base/testing/temp_dir.h"'
expect 'the command line in main' src/main.cc '#include "cli/command.h"'
expect 'cli in git' src/git/b.cc '#include "cli/command.h"' 1
# R2
expect 'a global open' src/store/b.cc 'int f() { return ::open("x", 0); }' 1
expect 'mmap' src/store/b.cc '\nvoid* f() { return mmap(nullptr, 1, 0, 0, 0, 0); }' 2
expect 'fopen' src/cli/b.cc 'auto* f = std::fopen("x", "r");' 1
expect 'fcntl.h' src/log/b.cc '#include <fcntl.h>' 1
expect 'std::filesystem' src/work/b.h '#include <filesystem>' 1
expect 'a call only named in a comment' src/work/b.cc '// as ::open() does, and fsync(2)\nint x;'
expect 'a call only named in a message' src/work/b.cc 'const char* m = "fsync() failed";'
expect 'a file call in a test' src/work/b_test.cc '#include <fcntl.h>\nint f() { return ::open("x", 0); }'
expect 'a file call in the git helper' src/git/helper/b.cc 'int f() { return ::open("x", 0); }'
# R3
expect 'a chrono clock' src/repo/b.cc 'auto t = std::chrono::steady_clock::now();' 1
expect 'clock_gettime' src/log/b.cc 'void f() { clock_gettime(0, nullptr); }' 1
expect 'time()' src/log/b.cc 'auto t = ::time(nullptr);' 1
expect 'a sleep' src/log/b.cc 'void f() { std::this_thread::sleep_for(x); }' 1
expect 'random_device' src/log/b.cc 'std::random_device d;' 1
expect 'getrandom' src/store/b.cc 'void f() { getrandom(b, 1, 0); }' 1
expect 'a global clock' src/repo/b.cc 'auto t = system_clock().now_ns();' 1
expect 'a global clock in cli' src/cli/b.cc 'auto t = system_clock().now_ns();'
# R4
expect 'system()' src/cli/b.cc 'int f() { return std::system("ls"); }' 1
expect 'getpwuid' src/cli/b.cc 'auto* p = getpwuid(0);' 1
expect 'iostream' src/cli/b.cc '#include <iostream>' 1
# R5
expect 'nlohmann in a header' src/cli/b.h '#include <nlohmann/json.hpp>' 1
expect 'OpenSSL in a header' src/base/b.h '#include <openssl/sha.h>' 1
expect 'zstd in a .cc' src/object/b.cc '#include <zstd.h>'
# R6
expect 'a machine path in a document' docs/b.md "See /ro""ot/notes." 1
expect 'a machine path in a script' tools/b.sh "cd /wo""rk/main" 1
expect 'a machine path in a test' src/repo/b_test.cc "const char* p = \"/ho""me/somebody/x\";" 1

if [ "$failures" -gt 0 ]; then
    echo "$failures surprises"
    exit 1
fi
