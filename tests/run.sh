#!/bin/bash
# make check: every test; the last line is "N passed, N failed, N skipped".
# Tests are TAP: C units (cmocka), Lua units, Bats by stage of the flow.
#   run.sh [FILE...]   only these (tests/*.bats, tests/lua/*.lua, tests/c/*.c)
# A Bats file whose second line begins with "# alone:" measures the machine, or times
# things: nothing runs beside it. The others run side by side, one more than there are CPUs:
# they wait more than they compute.
set -u
cd "$(dirname "$0")/.." || exit 2
export FIXTURES=$PWD/tests/fixtures

passed=0 failed=0 skipped=0
failures=()

# Counts one program's TAP, as it comes. A program that dies before its plan is done
# has failed, whatever it had printed.
count() {
	local name=$1 line planned='' seen=0 code=none
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
	done
	if [ "${planned:-none}" != "$seen" ] || { [ "$code" != 0 ] && [ "$code" != 1 ]; }; then
		failed=$((failed + 1))
		failures+=("$name: ended early (exit $code, $seen of ${planned:-?} tests)")
		echo "not ok - $name ended early (exit $code, $seen of ${planned:-?} tests)"
	fi
}

# One line for each program: its name, then its words.
programs() {
	local lua
	case $1 in
	*.bats) echo "$1 bats --tap --print-output-on-failure $1" ;;
	*.lua) for lua in $(lua_versions "$1"); do echo "$1($lua) $lua $1"; done ;;
	*.c) echo "$1 env CMOCKA_MESSAGE_OUTPUT=TAP build/${1%.c}" ;;
	*) echo "run.sh: $1: not a test" >&2; return 1 ;;
	esac
}

output() {
	"$@" 2>&1 </dev/null
	echo "exit:$?"
}

# A test's second line names the versions it is for, else the agent's own.
lua_versions() {
	sed -n '2s/^-- lua: //p' "$1" | grep . || echo lua5.4
}

# Several at a time; each one's output when it and those before it have ended.
side_by_side() {
	local dir i next=0 words pids=()
	dir=$(mktemp -d) || exit 2
	for i in "${!together[@]}"; do
		while [ "$(jobs -rp | wc -l)" -gt "$(nproc)" ]; do
			wait -n
		done
		while [ "$next" -lt "$i" ] && ! kill -0 "${pids[next]}" 2>/dev/null; do
			count "${together[next]%% *}" <"$dir/$next"
			next=$((next + 1))
		done
		read -ra words <<<"${together[i]}"
		output "${words[@]:1}" >"$dir/$i" &
		pids[i]=$!
	done
	for ((; next < ${#together[@]}; next++)); do
		wait "${pids[next]}"
		count "${together[next]%% *}" <"$dir/$next"
	done
	rm -rf "$dir"
}

main() {
	[ "$#" -gt 0 ] || set -- tests/c/test_*.c tests/lua/*/test_*.lua tests/*.bats
	local f lines together=() alone=() words
	for f in "$@"; do
		lines=$(programs "$f") || exit 2
		if sed -n 2p "$f" | grep -q '^# alone: '; then
			mapfile -t -O "${#alone[@]}" alone <<<"$lines"
		else
			mapfile -t -O "${#together[@]}" together <<<"$lines"
		fi
	done
	side_by_side
	for f in "${alone[@]}"; do
		read -ra words <<<"$f"
		count "${words[0]}" < <(output "${words[@]:1}")
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
