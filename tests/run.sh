#!/bin/bash
# make check: every test; the last line is "N passed, N failed, N skipped".
# Tests are TAP: C units (cmocka), Lua units, Bats by stage of the flow.
#   run.sh [FILE...]   only these (tests/*.bats, tests/lua/*.lua, tests/c/*.c)
set -u
cd "$(dirname "$0")/.." || exit 2
export FIXTURES=$PWD/tests/fixtures

passed=0 failed=0 skipped=0
failures=()

# Counts one program's TAP, as it comes. A program that dies before its plan is done
# has failed, whatever it had printed.
count() {
	local name=$1 line planned='' seen=0 code
	shift
	echo "== $name"
	while IFS= read -r line; do
		case $line in
		"ok "*"# skip"* | "ok "*"# SKIP"*)
			skipped=$((skipped + 1)) seen=$((seen + 1))
			echo "$line"
			;;
		"ok "*)
			passed=$((passed + 1)) seen=$((seen + 1))
			echo "$line"
			;;
		"not ok "*)
			failed=$((failed + 1)) seen=$((seen + 1))
			failures+=("$name: $line")
			echo "$line"
			;;
		"1.."*) planned=${line#1..} ;;
		"exit:"*) code=${line#exit:} ;;
		*) echo "$line" ;;
		esac
	done < <("$@" 2>&1 </dev/null; echo "exit:$?")
	if [ "${planned:-none}" != "$seen" ] || { [ "$code" != 0 ] && [ "$code" != 1 ]; }; then
		failed=$((failed + 1))
		failures+=("$name: ended early (exit $code, $seen of ${planned:-?} tests)")
		echo "not ok - $name ended early (exit $code, $seen of ${planned:-?} tests)"
	fi
}

run_one() {
	case $1 in
	*.bats) count "$1" bats --tap "$1" ;;
	*.lua) for lua in $(lua_versions "$1"); do count "$1 ($lua)" "$lua" "$1"; done ;;
	*.c) count "$1" env CMOCKA_MESSAGE_OUTPUT=TAP "build/${1%.c}" ;;
	*) echo "run.sh: $1: not a test" >&2; exit 2 ;;
	esac
}

# A test's second line names the versions it is for, else the agent's own.
lua_versions() {
	sed -n '2s/^-- lua: //p' "$1" | grep . || echo lua5.4
}

main() {
	[ "$#" -gt 0 ] || set -- tests/c/test_*.c tests/lua/test_*.lua tests/*.bats
	local f
	for f in "$@"; do
		run_one "$f"
	done
	if [ "$failed" -gt 0 ]; then
		echo
		echo "failed:"
		printf '  %s\n' "${failures[@]}"
	fi
	echo "$passed passed, $failed failed, $skipped skipped"
	[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}

main "$@"
