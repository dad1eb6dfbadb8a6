#!/bin/bash
# make fuzz: every parser of text that others write, under a mutator. Needs `make fuzz-build`.
#   fuzz.sh INPUTS [PARSER...]   of each parser (lua/conf, c/place; conf, place); all
# SEED=1 makes the same inputs again (default: of the time). KEEP=1 writes the corpus anew: the smallest inputs
# that reach what all reach. Findings are files in build/fuzz/run/findings; exit 1 when there is one.
# Results: build/bench/fuzz.json. docs/developer.md has how to add a parser.
set -u
cd "$(dirname "$0")/../.." || exit 2
export OUT=${OUT:-build/fuzz/run} SEED=${SEED:-$(($(date +%s) % 100000 + 1))} INPUTS=$1
export ASAN_OPTIONS=abort_on_error=1:symbolize=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
shift
MAX_LEN=2000
RESULT=${RESULT:-build/bench/fuzz.json}

# number PATTERN FILE: the last number behind a word of libFuzzer's
number() {
	grep -oE "$1 *[0-9]+" "$2" | tail -n 1 | grep -oE '[0-9]+$' || echo 0
}

keep_c() {
	local name=$1 to=tests/fuzz/corpus/c/$1 less file bytes=0 count=0
	less=$(mktemp -d)
	"build/fuzz/tests/fuzz/$name" -merge=1 -max_len=$MAX_LEN "$less" "$to" "$OUT/corpus/$name" >/dev/null 2>&1
	find "$to" -type f ! -name 'fixed-*' -delete
	for file in $(find "$less" -type f -printf '%s %p\n' | sort -n | cut -d' ' -f2); do
		bytes=$((bytes + $(stat -c %s "$file"))) count=$((count + 1))
		[ "$bytes" -le 9000 ] && [ "$count" -le 40 ] || break
		cp "$file" "$to/$(md5sum <"$file" | cut -c 1-16)"
	done
	rm -rf "$less"
}

fuzz_c() {
	local name=$1 log=$OUT/c-$1.log began=$SECONDS corpus=tests/fuzz/corpus/c/$1 found=0
	mkdir -p "$OUT/corpus/$name"
	"build/fuzz/tests/fuzz/$name" -runs="$INPUTS" -seed="$SEED" -max_len=$MAX_LEN -timeout=10 -rss_limit_mb=1024 \
		-artifact_prefix="$OUT/findings/c-$name-" -print_final_stats=1 "$OUT/corpus/$name" "$corpus" >"$log" 2>&1 || found=1
	[ "$found" = 0 ] || { echo "c/$name: FINDING"; grep -v '^#' "$log" | tail -n 40; }
	[ -z "${KEEP:-}" ] || keep_c "$name"
	printf '{"parser":"%s","language":"C","inputs":%d,"seed":%d,"corpus":%d,"found":%d,"edges":%d,"findings":%d,"wall_s":%d}\n' \
		"$name" "$(number 'number_of_executed_units:' "$log")" "$SEED" "$(find "$corpus" -type f | wc -l)" \
		"$(find "$OUT/corpus/$name" -type f | wc -l)" "$(number 'cov:' "$log")" "$found" $((SECONDS - began)) >"$OUT/c-$name.json"
	return "$found"
}

one() {
	local name=${1#*/}
	case $1 in
	c/*) fuzz_c "$name" ;;
	lua/*) lua5.4 tests/fuzz/fuzz.lua "$name" "$INPUTS" "$SEED" "$OUT" ;;
	esac
}

all() {
	local file
	for file in tests/fuzz/parsers/*.lua; do
		file=${file##*/}
		echo "lua/${file%.lua}"
	done
	for file in tests/fuzz/c/*.c; do
		file=${file##*/}
		echo "c/${file%.c}"
	done
}

wanted() {
	local name want
	all | while read -r name; do
		[ "$#" -gt 0 ] || echo "$name"
		for want in "$@"; do
			[ "$want" = "$name" ] || [ "$want" = "${name#*/}" ] && echo "$name"
		done
	done
}

if [ "${ONE:-}" ]; then
	one "$ONE"
	exit
fi
rm -rf "$OUT"
mkdir -p "$OUT/findings" "$(dirname "$RESULT")"
mapfile -t list < <(wanted "$@")
[ "${#list[@]}" -gt 0 ] || { echo "fuzz.sh: no such parser: $*" >&2; exit 2; }
# Below whatever else the machine does.
printf '%s\n' "${list[@]}" | ONE='' xargs -P "${JOBS:-$(nproc)}" -I '{}' nice -n 19 env ONE='{}' "$0" "$INPUTS"
bad=$?
tests/fuzz/report.lua "$OUT" "$RESULT" "${list[@]}" || bad=1
exit "$((bad != 0))"
