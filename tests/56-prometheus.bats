#!/usr/bin/env bats
# What a node tells Prometheus: the textfile after prolog, epilog and health program, a real node_exporter that serves
# it, and directories that are missing, full, links or somebody else's.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load eventually

setup() {
	agent_reset
	D=$P/var/textfile
	mkdir -p "$D"
	F=$D/syscheck.prom
	RULES='mode = "enforce", limits = { triad_gbs = { min = 80 } }, textfile = "'$D'", lock = "'$P'/lock"'
	policy "$RULES"
}

teardown() {
	[ -z "${EXPORTER:-}" ] || kill "$EXPORTER" 2>/dev/null || true
	mountpoint -q "$P/var/textfile" && umount "$P/var/textfile"
	agent_keep
}

# value SERIES: as the file has it
value() {
	awk -v name="$1" '$1 == name { print $2 }' "$F"
}

# Parses, and keeps the rules.
good() {
	promtool check metrics <"$F" >"$P/lint" 2>&1 || { cat "$P/lint" "$F"; return 1; }
	[ ! -s "$P/lint" ] || { cat "$P/lint"; return 1; }
}

@test "prolog, epilog: the file is good, and keeps what was measured" {
	prolog
	good
	[ "$(value syscheck_memory_bandwidth_bytes_per_second)" = 100000000000 ]
	[ "$(value syscheck_memory_bandwidth_bytes_per_second_limit)" = 80000000000 ]
	[ "$(value syscheck_dgemm_flops)" = 50000000000 ]
	[ "$(value syscheck_noise_ratio)" = 0.01 ]
	[ "$(value 'syscheck_node_status{status="pass"}')" = 1 ]
	[ "$(value 'syscheck_checks_total{level="quick",status="pass"}')" = 1 ]
	[ "$(stat -c '%a %F' "$F")" = "644 regular file" ]
	cp "$F" "$P/before"
	epilog
	good
	diff <(grep -v 'throttled\|kept' "$P/before") <(grep -v 'throttled\|kept' "$F")
	prolog SPANK_SYSCHECK=passive
	good
	[ "$(value syscheck_dgemm_flops)" = 50000000000 ]
	[ "$(value 'syscheck_checks_total{level="quick",status="pass"}')" = 1 ]
	[ "$(grep -c '^syscheck_checks_total{level="passive",status="[a-z]*"} 1$' "$F")" = 1 ]
	# No time stamps, no jobs, no users; nothing is left beside it.
	run ! grep -Ev '^#|^[a-z_]+(\{[^}]*\})? [0-9.e+-]+$' "$F"
	run ! grep -E '4711|alice' "$F"
	[ "$(ls -A "$D")" = syscheck.prom ]
}

@test "a drain counts by its metric, and the node is fail until it is measured again" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	run prolog
	[ "$status" -eq 1 ]
	good
	[ "$(value 'syscheck_drains_total{metric="triad_gbs"}')" = 1 ]
	[ "$(value 'syscheck_drains_total{metric="gflops"}')" = 0 ]
	[ "$(value syscheck_memory_bandwidth_bytes_per_second)" = 61300000000 ]
	prolog SPANK_SYSCHECK=passive
	[ "$(value 'syscheck_node_status{status="fail"}')" = 1 ]
	[ "$(awk '/^syscheck_node_status/ { n += $2 } END { print n }' "$F")" = 1 ]
}

@test "the health program, also where it records nothing" {
	policy "$RULES"', health = { level = "passive" }'
	health
	health
	good
	[ "$(awk '/^syscheck_checks_total\{level="passive"/ { n += $2 } END { print n }' "$F")" = 2 ]
}

@test "no key, no file; %n is the node; a killed agent counts as unknown" {
	policy 'mode = "enforce"'
	prolog
	[ ! -e "$F" ]
	policy 'textfile = "'"$P/var/%n"'"'
	mkdir "$P/var/t1"
	prolog
	[ -s "$P/var/t1/syscheck.prom" ] && [ ! -e "$F" ]
	policy "$RULES"
	env -i SLURM_JOB_ID=4711 SLURMD_NODENAME=t1 lua5.4 -E "$P/libexec/syscheck/agent.lua" ended prolog "killed" 2>>"$LOG"
	[ "$(value 'syscheck_node_status{status="unknown"}')" = 1 ]
}

@test "a directory that cannot be used: the job starts, one line in the log, once; then it works again" {
	local name make why
	while IFS='|' read -r name make why; do
		rm -rf "$D" "$P/run" "$P/other"
		: >"$LOG"
		policy "$RULES"
		eval "$make"
		for _ in 1 2; do
			run prolog
			[ "$status" -eq 0 ] || { echo "$name: exit $status"; return 1; }
			[ "$(record check 'r.status')" = pass ] || { echo "$name: $(record check 'r.text')"; return 1; }
		done
		[ "$(grep -c 'metrics for Prometheus' "$LOG")" = 1 ] || { echo "$name: $(<"$LOG")"; return 1; }
		grep -q "metrics for Prometheus are not written: .*$why" "$LOG" || { echo "$name: $(<"$LOG")"; return 1; }
		run ! grep -q traceback "$LOG"
	done <<-'CASES'
		missing|:|no such file or directory
		a file|: >"$D"|is a file, not a directory
		a FIFO|mkfifo "$D"|is a fifo, not a directory
		a link|mkdir "$P/other"; ln -s "$P/other" "$D"|is a link, not a directory
		a link, and a slash|mkdir "$P/other"; ln -s "$P/other" "$D"; policy "${RULES/textfile\",/textfile/\",}"|is a link, not a directory
		writable by others|mkdir -m 777 "$D"|writable by group or others
		of another user|mkdir "$D"; chown nobody "$D"|not owned by root
		a directory in its place|mkdir -p "$F/x"|EISDIR
	CASES
	rm -rf "$D"
	mkdir "$D"
	policy "$RULES"
	prolog
	good
	[ ! -e "$P/other/syscheck.prom" ]
	# The next trouble is a new one.
	rm -rf "$D"
	prolog
	[ "$(grep -c 'metrics for Prometheus' "$LOG")" = 2 ]
}

@test "full, read-only: the last file stays whole, nothing is left over" {
	mount -t tmpfs -o size=8k,mode=755 none "$D"
	prolog
	good
	cp "$F" "$P/before"
	dd if=/dev/zero of="$D/fill" bs=4k count=9 2>/dev/null || true
	prolog
	grep -q "metrics for Prometheus are not written: $D: ENOSPC" "$LOG"
	cmp "$F" "$P/before"
	[ "$(find "$D" -name 'syscheck.prom.*' | wc -l)" = 0 ]
	rm "$D/fill"
	mount -o remount,ro "$D"
	prolog
	grep -q "metrics for Prometheus are not written: $D: EROFS" "$LOG"
	cmp "$F" "$P/before"
	mount -o remount,rw "$D"
	prolog
	# What could not be shown is not counted.
	[ "$(value 'syscheck_checks_total{level="quick",status="pass"}')" = 2 ]
}

@test "the file is a link, a FIFO: replaced, not followed; what a killed agent left goes" {
	echo precious >"$P/precious"
	ln -s "$P/precious" "$F"
	touch -d '-2 minutes' "$D/syscheck.prom.0123456789abcdef"
	touch "$D/syscheck.prom.fedcba9876543210" "$D/other.prom"
	prolog
	good
	[ ! -L "$F" ]
	[ "$(<"$P/precious")" = precious ]
	[ "$(cd "$D" && echo ./*)" = "./other.prom ./syscheck.prom ./syscheck.prom.fedcba9876543210" ]
	rm "$F"
	mkfifo "$F"
	prolog
	good
}

@test "what it keeps in the file: damaged; a reboot sets counts to 0" {
	local garbage
	prolog
	head -n 1 "$F" | grep -q '^# kept by syscheck, no metric: {.*}$'
	for garbage in '' '{' '[]' '{"checks":5}' 'null' '{"values":{"gflops":{"value":"x"}}}' "$(head -c 99999 /dev/urandom | base64)"; do
		printf '# kept by syscheck, no metric: %s\n' "$garbage" >"$F"
		run prolog
		[ "$status" -eq 0 ]
		good
		[ "$(value 'syscheck_checks_total{level="quick",status="pass"}')" = 1 ]
	done
	sed -i 's/"boot_id":"[^"]*"/"boot_id":"earlier"/; s/"quick pass":1/"quick pass":900/' "$F"
	epilog
	[ "$(value 'syscheck_checks_total{level="quick",status="pass"}')" = 0 ]
	[ "$(value syscheck_dgemm_flops)" = 50000000000 ]
}

@test "many at once: every read is a whole file, no count is lost or goes back" {
	local i job pids=()
	prolog
	for ((job = 1; job <= 4; job++)); do
		for ((i = 0; i < 6; i++)); do
			slurmd_runs prolog SLURM_JOB_ID=$job SLURM_JOB_CPUS_PER_NODE=1 SPANK_SYSCHECK=passive
			slurmd_runs epilog SLURM_JOB_ID=$job
		done &
		pids+=($!)
	done
	local last=0 now reads=0
	while kill -0 "${pids[@]}" 2>/dev/null; do
		cat "$F" >"$P/read"
		[ "$(tail -c 1 "$P/read" | od -An -c)" = '  \n' ]
		grep -q '^syscheck_drains_total{metric="best_gbs"} 0$' "$P/read"
		now=$(awk '/^syscheck_checks_total/ { n += $2 } END { print n }' "$P/read")
		[ "$now" -ge "$last" ]
		last=$now reads=$((reads + 1))
	done
	wait "${pids[@]}"
	[ "$reads" -gt 3 ]
	good
	# Who does not have the lock within 2 s writes a segment of its own, and no metrics.
	local alone
	alone=$(find "$P/var/spool/syscheck" -name 'records-*' | wc -l)
	now=$(awk '/^syscheck_checks_total/ { n += $2 } END { print n }' "$F")
	[ "$now" -le 25 ] && [ "$now" -ge $((25 - alone)) ]
}

# get URL: to standard output
get() {
	python3 -c 'import sys, urllib.request; sys.stdout.buffer.write(urllib.request.urlopen(sys.argv[1], timeout=5).read())' "$1"
}

listens() {
	URL=http://$(sed -n 's/.*msg="Listening on" address=\(127[0-9.:]*\).*/\1/p' "$P/exporter.log")/metrics
	[ "$URL" != http:///metrics ]
}

@test "a real run, real kernels: a real node_exporter serves all of it, and finds no fault" {
	cp "$P"/kernels/* "$P/libexec/syscheck/"
	policy 'textfile = "'"$D"'", kernels = { stream = { quick = 0.5 }, dgemm = { quick = 0.3 }, noise = { quick = 0.2 } }'
	prolog
	good
	epilog
	good
	[ -n "$(value syscheck_last_check_timestamp_seconds'{level="quick"}')" ]
	prometheus-node-exporter --web.listen-address=127.0.0.1:0 --collector.disable-defaults --collector.textfile \
		--collector.textfile.directory="$D" >"$P/exporter.log" 2>&1 3>&- &
	EXPORTER=$!
	eventually 10 listens
	get "$URL" >"$P/scraped"
	grep -q '^node_textfile_scrape_error 0$' "$P/scraped"
	grep -q "^node_textfile_mtime_seconds{file=\".*syscheck.prom\"}" "$P/scraped"
	diff <(grep '^syscheck_' "$F" | awk '{ print $1, $2 + 0 }' | sort) <(grep '^syscheck_' "$P/scraped" | awk '{ print $1, $2 + 0 }' | sort)
	[ "$(grep -c '^# TYPE syscheck_' "$P/scraped")" = "$(grep -c '^# TYPE' "$F")" ]
}

@test "config check says where a directory is not used" {
	run "$P/bin/syscheck" config check --policy "$P/etc/syscheck/policy.lua"
	[[ $output != *textfile* ]]
	chmod 777 "$D"
	run "$P/bin/syscheck" config check --policy "$P/etc/syscheck/policy.lua"
	[[ $output == *"textfile: $D: writable by group or others (chmod go-w): no metrics for Prometheus"* ]]
}
