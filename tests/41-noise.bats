#!/usr/bin/env bats
# alone: it measures
# The noise kernel in full: modes, injected noise found again, attribution,
# traces, bad input. Never an absolute time: this machine is shared.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load kernels
load machine

NOISE=$ROOT/build/kernels/noise
INJECT=$ROOT/build/tests/bench/inject

setup_file() {
	make -s -C "$ROOT" build/tests/bench/inject
}

measured() {
	[ "$status" -eq 0 ] || { echo "status $status: $stderr"; return 1; }
	[ -z "$stderr" ] || { echo "stderr: $stderr"; return 1; }
	[ "$(get 'r.verified')" = true ]
}

# While a program runs elsewhere, the sampler loses the CPU and sees nothing else: real-time
# priority where that is allowed.
ahead() {
	chrt -f 10 true 2>/dev/null && echo chrt -f 10
}

@test "noise: every core is named, the node is their mean and their worst" {
	run_in_time "$NOISE" --seconds 1
	measured
	[ "$(get '#r.cores == r.threads and r.mode == "detour"')" = true ]
	[ "$(get '(function() local s, n, m, l = 0, 0, 0, math.huge
		for _, c in ipairs(r.cores) do s, n, m, l = s + c.noise_pct, n + c.detours, math.max(m, c.noise_pct), math.min(l, c.min_loop_ns) end
		return math.abs(s / #r.cores - r.noise_pct) < 1e-3 and n == r.detours and m == r.noise_pct_max and l == r.min_loop_ns end)()')" = true ]
	[ "$(get 'r.p50_us >= r.threshold_us and r.p50_us <= r.p90_us and r.p90_us <= r.p99_us and r.p99_us <= 1.02 * r.longest_us')" = true ]
	[ "$(get '#r.components <= 8')" = true ]
	# All are kept, unless a core of this machine had more than it keeps (DETOURS_LEAST): then the longest.
	[ "$(get '(function() local most = 0
		for _, c in ipairs(r.cores) do most = math.max(most, c.detours) end
		if most <= 16384 then return r.detours_not_kept == 0 and r.kept_from_us == r.threshold_us end
		return r.detours - r.detours_not_kept >= 4096 and r.kept_from_us > r.threshold_us end)()')" = true ]
}

@test "noise: FWQ: the least is least, overhead and noise agree" {
	run_in_time "$NOISE" --seconds 1 --mode fwq
	measured
	[ "$(get 'r.mode == "fwq" and r.quanta > 10 and r.overhead_pct >= 0')" = true ]
	[ "$(get '(function() for _, c in ipairs(r.cores) do
		if not (c.min_us > 0 and c.min_us <= c.median_us and c.median_us <= c.p99_us and c.p99_us <= c.max_us and c.overhead_pct >= 0) then return false end
		end return #r.cores == r.threads end)()')" = true ]
	# A quantum of work takes about a quantum.
	[ "$(get 'r.cores[1].min_us > r.quantum_us / 2 and r.cores[1].min_us < r.quantum_us * 2')" = true ]
}

@test "noise: FTQ: the most work is most, quanta fill the time" {
	run_in_time "$NOISE" --seconds 1 --mode ftq
	measured
	[ "$(get 'r.mode == "ftq" and r.overhead_pct >= 0 and r.quanta * r.quantum_us * 1e-6 <= r.seconds * 1.01')" = true ]
	[ "$(get '(function() for _, c in ipairs(r.cores) do
		if not (c.max_work > 50 and c.max_work >= c.median_work and c.median_work >= c.p1_work and c.p1_work >= c.min_work) then return false end
		end return #r.cores == r.threads end)()')" = true ]
}

@test "noise: the system's clock instead of the CPU's counter sees as well" {
	run_in_time "$NOISE" --seconds 1 --clock system
	measured
	[ "$(get 'r.clock == "system" and r.min_loop_ns > 0 and r.detours > 0')" = true ]
	run_in_time "$NOISE" --seconds 1 --clock system --mode fwq
	measured
}

# finds_injected CPU: a stop of 1.5 ms every 20 ms there is a component with that name
finds_injected() {
	"$INJECT" --cpu "$1" --period-us 20000 --length-us 1500 --seconds 20 --log "$BATS_TEST_TMPDIR/log" 2>/dev/null 3>&- &
	local pid=$!
	sleep 0.2
	# shellcheck disable=SC2046
	run --separate-stderr $(ahead) "$NOISE" --seconds 3 --attribute
	kill "$pid"
	wait "$pid" || true
	measured && [ -s "$BATS_TEST_TMPDIR/log" ] || return 1
	chrt -f 10 true 2>/dev/null || skip "no real-time priority: other work may hide the injected noise"
	echo "$output"
	run get '(function() for _, c in ipairs(r.components) do
		if math.abs(c.period_ms / 20 - 1) < 0.05 and math.abs(c.duration_us / 1500 - 1) < 0.2 then
			return c.cpus .. " " .. tostring(c.source) .. " " .. c.text end end end)()'
	[[ $output == "$1 inject "*" every 20 ms on "*": inject" ]] || { echo "$output"; return 1; }
}

@test "noise: injected noise is found as a component, in its period and length, and named" {
	on_own_cpus finds_injected "$(allowed_cpu)"
}

@test "noise: --trace holds every detour, in order, on the raw clock, for its owner only" {
	local trace=$BATS_TEST_TMPDIR/trace
	run_in_time "$NOISE" --seconds 1 --trace "$trace"
	measured
	[ "$(stat -c %a "$trace")" = 600 ]
	[ "$(get '("%d"):format(r.trace_detours)')" = "$(wc -l <"$trace")" ]
	[ "$(get 'r.trace_complete == (r.trace_detours == r.detours - r.detours_not_kept)')" = true ]
	awk 'NF != 3 || $3 <= 0 || ($1 == cpu && $2 < last) { bad = 1 } { cpu = $1; last = $2 } END { exit bad }' "$trace"
}

# until_traced FILE COMMAND...: `run`s it until it came to write its trace; beside others a time box may end before that
until_traced() {
	local file=$1
	shift
	run_until traced "$@" && return
	! mountpoint -q "${file%/*}" || umount "${file%/*}"
	skip "others use this machine: no time to write a trace, in each try"
}

# Of until_traced's $file; an empty one is removed.
traced() {
	[ "$status" -ne 0 ] || [ "$(get r.trace_detours)" != 0 ] || { rm "$file"; return 1; }
}

@test "noise: --trace never goes over a file or through a link" {
	local dir=$BATS_TEST_TMPDIR
	echo mine >"$dir/file"
	ln -s "$dir/nowhere" "$dir/dangling"
	ln -s "$dir/file" "$dir/link"
	local f
	mkdir "$dir/real"
	ln -s "$dir/real" "$dir/way"
	for f in file dangling link missing/file way/new way/ real/ way/../new; do
		run --separate-stderr "$NOISE" --seconds 0.1 --trace "$dir/$f"
		quiet_failure noise || { echo "$f"; return 1; }
	done
	[ -z "$(ls -A "$dir/real")" ]
	[ ! -e "$dir/new" ]
	run --separate-stderr "$NOISE" --seconds 0.1 --trace "$dir"
	quiet_failure noise
	[ "$(cat "$dir/file")" = mine ]
	[ ! -e "$dir/nowhere" ]
	# Half of a trace is none, nor is that of a run that said nothing.
	until_traced "$dir/real/new" bash -c "ulimit -f 1; exec '$NOISE' --seconds 1 --threshold-us 0.1 --trace '$dir/real/new'"
	quiet_failure noise
	run --separate-stderr bash -c "exec '$NOISE' --seconds 0.1 --trace '$dir/real/new' >/dev/full"
	quiet_failure noise
	[ -z "$(ls -A "$dir/real")" ]
	# A full disk is no success.
	[ "$(id -u)" = 0 ] || return 0
	mkdir "$dir/small"
	mount -t tmpfs -o size=4k none "$dir/small" || skip "no tmpfs can be mounted"
	head -c 4096 /dev/zero >"$dir/small/fill" || true
	until_traced "$dir/small/trace" "$NOISE" --seconds 1 --trace "$dir/small/trace" --threshold-us 0.1
	[ ! -e "$dir/small/trace" ]
	umount "$dir/small"
	quiet_failure noise
}

@test "noise: bad options" {
	local bad words
	for bad in "--threshold-us 0" "--threshold-us -1" "--threshold-us 1e9" "--threshold-us nan" "--threshold-us" \
		"--mode fqw" "--mode" "--mode=" "--clock tsc" "--trace" "--trace=" "--attribute=yes" "--seconds 0.01"; do
		read -r -a words <<<"$bad"
		run --separate-stderr "$NOISE" "${words[@]}"
		quiet_failure noise || { echo "$bad"; return 1; }
	done
}

@test "noise: the shortest time box and the largest threshold still measure" {
	local mode
	for mode in detour fwq ftq; do
		run --separate-stderr "$NOISE" --seconds 0.05 --mode "$mode"
		measured || { echo "$mode"; return 1; }
	done
	run --separate-stderr "$NOISE" --seconds 0.1 --threshold-us 1000000
	measured
	[ "$(get 'r.detours == 0 and r.noise_pct == 0 and r.p50_us == require("cjson").null and #r.components == 0')" = true ]
	run --separate-stderr "$NOISE" --seconds 0.05 --attribute
	measured
}

@test "noise: more detours than are kept: memory stays, counts go on" {
	run --separate-stderr "$NOISE" --seconds 2 --threshold-us 0.1
	measured
	local few=$output
	[ "$(get 'r.detours >= r.detours_not_kept')" = true ]
	# 256 KiB of detours a core and as much to search them, whatever came; not the libraries.
	run --separate-stderr bash -c "ulimit -v \$((400000)); exec '$NOISE' --seconds 1 --threshold-us 0.1"
	measured
	[ -n "$few" ]
}

read_again() {
	[ "$(get r.activity_complete)" = true ]
}

@test "noise: --attribute names processes, interrupts, softirqs, but not itself" {
	local name=$'a"b\\c) \x1b[1m' cpu
	cpu=$(allowed_cpu)
	cp "$(command -v bash)" "$BATS_TEST_TMPDIR/$name"
	taskset -c "$cpu" timeout 60 "$BATS_TEST_TMPDIR/$name" -c 'while :; do :; done' 3>&- &
	local busy=$! complete=true
	sleep 0.2
	# Beside others what ran may not be read again before the end of the time box.
	# shellcheck disable=SC2016 # the inner shell's
	run_until read_again bash -c 'echo $$ >"$1"; exec "$2" --seconds 1 --attribute' - "$BATS_TEST_TMPDIR/pid" "$NOISE" ||
		complete=false
	kill "$busy"
	[ "$complete" = true ] || skip "others use this machine: no time to read what ran, in each try: $output$stderr"
	measured
	[[ $output != *$'\x1b'* ]]
	[ "$(get '#r.processes <= 10 and #r.interrupts <= 10 and r.activity_s <= r.seconds')" = true ]
	[ -r "/proc/$$/schedstat" ] || skip "no schedstat on this system"
	[ "$(get '(function() local ours, seen = false, false
		for _, p in ipairs(r.processes) do ours = ours or p.pid == '"$(<"$BATS_TEST_TMPDIR/pid")"'; seen = seen or p.comm:find("a\"b\\c) \27[1m", 1, true) and p.cpu_ms > 0 end
		return seen and not ours end)()')" = true ]
}

@test "noise: SIGTERM at any time leaves no half of a line" {
	local pid out=$BATS_TEST_TMPDIR/out after
	for after in 0.001 0.01 0.05 0.1 0.3 0.5 0.52 0.55; do
		"$NOISE" --seconds 0.55 --attribute >"$out" 3>&- &
		pid=$!
		sleep "$after"
		kill -TERM "$pid" 2>/dev/null || true
		wait "$pid" || true
		[ ! -s "$out" ] || lua5.4 -e 'local t = io.read("a"); assert(t:sub(-1) == "\n"); require("cjson").decode(t)' <"$out"
	done
}

@test "noise: a normal user has all but others' secrets" {
	[ "$(id -u)" = 0 ] || skip "not root, so the other tests have shown it"
	local dir
	dir=$(mktemp -d /tmp/noise.XXXXXX)
	chmod 755 "$dir"
	cp "$NOISE" "$dir/"
	run_in_time setpriv --reuid=65534 --regid=65534 --clear-groups "$dir/noise" --seconds 1 --attribute
	rm -r "$dir"
	measured
	[ "$(get '#r.cores == r.threads and r.processes ~= nil')" = true ]
}
