#!/bin/bash
# make check: every test; the last line is "N passed, N failed, N skipped".
#   run.sh [FILE...]   only these: tests/*.bats, tests/lua/*/*.lua, tests/c/*.c, or their names (60-cluster, test_level);
#                      all: every one
set -u
cd "$(dirname "$0")/.." || exit 2
export FIXTURES=$PWD/tests/fixtures
# Debian testing has luaunit for all Lua versions but this one.
export LUA_PATH_5_2=${LUA_PATH_5_2:-;;/usr/share/lua/5.1/?.lua}
[ "$#" -gt 0 ] || set -- all
files=()
for name; do
	case $name in
	all) files+=(tests/c/test_*.c tests/lua/*/test_*.lua tests/*.bats) ;;
	*/*) files+=("$name") ;;
	*)
		found=$(find tests -maxdepth 3 -name "$name.bats" -o -maxdepth 3 -name "$name.lua" -path '*/lua/*' -o -name "$name.c" -path '*/c/*')
		[ -n "$found" ] || { echo "run.sh: no test is called $name" >&2; exit 2; }
		mapfile -t -O "${#files[@]}" files <<<"$found"
		;;
	esac
done
exec perl tests/run.pl "${files[@]}" </dev/null
