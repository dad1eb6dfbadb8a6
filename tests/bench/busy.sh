#!/bin/bash
# make bench-detect, part busy: whom checks drain while others use the node. Needs `make`.
#   busy.sh [SCENARIO...]   CHECKS=10 of each; root; about 6 min for all
# Real kernels, real thieves. A slow node is one whose kernels' rates are multiplied (a low
# clock, a lost channel): a quota beside others is no slow node, it is what fair shares give anyway.
# Limits are learned from calm checks of five nodes. Nothing is asserted.
set -u
cd "$(dirname "$0")/../.." || exit 2

CHECKS=${CHECKS:-10}
BOXES=${BOXES:-stream = { quick = 0.3 \}, dgemm = { quick = 0.3 \}, noise = { quick = 0.1 \}}
FACTORS=(1 0.7 0.5)
OUT=$PWD/build/bench/busy
THIEVES=()

# factor F: kernels whose rates are F of what they measured
factor() {
	local kernel
	for kernel in stream dgemm noise; do
		cat >"$OUT/p/libexec/syscheck/$kernel" <<-SCRIPT
		#!/bin/bash
		"$PWD/build/kernels/$kernel" "\$@" | lua5.4 -e '
			local text = io.read("a")
			for _, name in ipairs({ "triad_gbs", "gflops" }) do
				text = text:gsub("(\"" .. name .. "\":)([%d.e+-]+)", function(key, value)
					return key .. ("%.6g"):format(value * $1)
				end, 1)
			end
			io.write(text)'
		exit "\${PIPESTATUS[0]}"
		SCRIPT
		chmod 755 "$OUT/p/libexec/syscheck/$kernel"
	done
}

# check FILE [NODE]: one check as in a prolog, its record appended
check() {
	SLURMD_NODENAME=${2:-b1} "$OUT/p/bin/syscheck" run --level quick --json --policy "$OUT/policy.lua" >"$OUT/one"
	[ -s "$OUT/one" ] && cat "$OUT/one" >>"$1"
}

policy() {
	printf 'return { mode = "enforce", kernels = { %s }, baseline = "%s/baseline.json", spool = "%s/spool", state = "%s/state" }\n' \
		"$BOXES" "$OUT" "$OUT" "$OUT" >"$OUT/policy.lua"
}

thief() {
	setsid "$@" >/dev/null 2>&1 &
	THIEVES+=("$!")
}

loop='while :; do :; done'

# What runs beside the checks of each scenario.
begin() {
	case $1 in
	nobody) ;;
	loop) thief setpriv --reuid 12345 --regid 12345 --clear-groups -- bash -c "$loop" ;;
	pinned) thief taskset -c 0 bash -c "$loop" ;;
	hidden) thief unshare --pid --fork --mount-proc --kill-child bash -c "$loop" ;; # sees only itself
	two) thief bash -c "$loop"; thief bash -c "$loop" ;;
	nice) thief nice -n 19 bash -c "$loop" ;;
	idle) thief chrt --idle 0 bash -c "$loop" ;;
	bursts) thief bash -c 'while :; do for ((i = 0; i < 60000; i++)); do :; done; sleep 0.2; done' ;;
	memory) thief bash -c "while :; do $PWD/build/kernels/stream --cpus 1 --seconds 30; done" ;;
	two_memory) thief bash -c "while :; do $PWD/build/kernels/stream --seconds 30; done" ;;
	latency) thief bash -c "while :; do $PWD/build/kernels/numa --cpus 0 --seconds 30; done" ;;
	esac
}

end() {
	local pid
	for pid in "${THIEVES[@]}"; do
		kill -9 -- "-$pid" 2>/dev/null # with what it started
		wait "$pid" 2>/dev/null
	done
	THIEVES=()
}

main() {
	local scenario f i
	rm -rf "$OUT"
	mkdir -p "$OUT"/{calm,records} || return 1
	cp -a build/prefix "$OUT/p"
	sed -i "s|$PWD/build/prefix|$OUT/p|g" "$OUT/p/bin/syscheck" "$OUT/p"/share/syscheck/lua/syscheck/lib/paths.lua
	trap end EXIT
	trap 'exit 143' TERM INT HUP
	policy
	factor 1
	for ((i = 0; i < 30; i++)); do
		check "$OUT/calm/records.jsonl" "l$((i % 5))"
	done
	"$OUT/p/bin/syscheck" baseline learn --policy "$OUT/policy.lua" --spool "$OUT/calm" || return 1
	[ "$#" -gt 0 ] || set -- nobody loop pinned hidden two nice idle bursts memory two_memory latency
	for scenario; do
		begin "$scenario"
		for f in "${FACTORS[@]}"; do
			factor "$f"
			for ((i = 0; i < CHECKS; i++)); do
				check "$OUT/records/$scenario-$f.jsonl"
			done
		done
		end
		printf '\r%s    ' "$scenario" >&2
	done
	echo >&2
	lua5.4 tests/bench/busy.lua "$OUT" "$@"
}

main "$@"
