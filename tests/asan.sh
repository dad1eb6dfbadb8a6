#!/bin/bash
# make check-asan: a short run of every kernel and the C units, built with the address and
# undefined-behaviour sanitizers into build/asan. Any report is a failure.
#   asan.sh KERNEL... -- UNIT... -- MODULE
set -u
cd "$(dirname "$0")/.." || exit 2
export ASAN_OPTIONS=abort_on_error=0:exitcode=99 UBSAN_OPTIONS=print_stacktrace=1 FIXTURES=$PWD/tests/fixtures
export OPENBLAS_NUM_THREADS=1
passed=0 failed=0

# clean NAME COMMAND...: exit 0 and not a word from a sanitizer
clean() {
	local name=$1 err
	shift
	if err=$("$@" 2>&1 >/dev/null) && [[ $err != *Sanitizer* && $err != *"runtime error"* ]]; then
		echo "ok $name"
		passed=$((passed + 1))
	else
		echo "not ok $name"
		printf '%s\n' "$err" | head -40
		failed=$((failed + 1))
	fi
}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# fabric KERNEL: rounds of three ranks. What OpenMPI leaves to the end of the process is no finding.
fabric() {
	printf '%s\n' 'plan 1' 'set pingpongs 100' 'set seconds 0.2' 'round 0-1' 'round 1-2' 'work 0,1,2' go end >"$dir/plan"
	# shellcheck disable=SC2016 # for the other bash
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0 \
		mpirun --oversubscribe -np 3 bash -c 'exec "$0" --seconds 60 <"$1"' "$1" "$dir/plan"
}

while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
	kernel=${1##*/}
	if [ "$kernel" = fabric ]; then
		clean "$kernel" fabric "$1"
		shift
		continue
	fi
	args=(--seconds 0.5)
	[ "$kernel" != io ] || args+=(--dir "$dir" --max-mb 8)
	clean "$kernel" "$1" "${args[@]}"
	case $kernel in
	stream)
		for isa in generic sse2 avx2 avx512; do
			"$1" --isa "$isa" --seconds 0.1 --max-memory 10 >/dev/null 2>&1 || [ "$?" = 99 ] || continue
			clean "$kernel --isa $isa" "$1" --isa "$isa" --seconds 0.2 --max-memory 10
		done
		;;
	noise)
		for mode in fwq ftq; do
			clean "$kernel --mode $mode" "$1" --mode "$mode" --seconds 0.3
		done
		clean "$kernel --attribute" "$1" --attribute --seconds 0.3
		;;
	esac
	shift
done
[ "$#" = 0 ] || shift
while [ "$#" -gt 0 ] && [ "$1" != -- ]; do
	clean "${1##*/}" "$1"
	shift
done
# The agent's module, in a Lua that has no sanitizer of its own and frees nothing at its end.
clean state env NATIVE="$2" ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" \
	LD_PRELOAD="$("${CC:-cc}" -print-file-name=libasan.so) $("${CC:-cc}" -print-file-name=libubsan.so)" \
	lua5.4 tests/fixtures/state.lua --write "$dir" --path /nowhere --locks "$dir" --process bash \
	--process a-daemon-of-a-long-name --users 1000 --clock
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
