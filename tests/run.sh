#!/bin/bash
# make check: every test; the last line is "N passed, N failed, N skipped".
#   run.sh [FILE...]   only these (tests/*.bats, tests/lua/*/*.lua, tests/c/*.c)
set -u
cd "$(dirname "$0")/.." || exit 2
export FIXTURES=$PWD/tests/fixtures
[ "$#" -gt 0 ] || set -- tests/c/test_*.c tests/lua/*/test_*.lua tests/*.bats
exec perl tests/run.pl "$@" </dev/null
