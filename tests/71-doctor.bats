#!/usr/bin/env bats
# The doctor, on prepared configurations and on a real cluster's.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

MC=$ROOT/tests/cluster/minicluster

setup_file() {
	agent_install
	cp "$P/libexec/syscheck/io" "$P/kernels/"
}

setup() {
	agent_reset
	# The real ones, in place of the scripts of agent_reset.
	cp "$P"/kernels/* "$P/libexec/syscheck/"
	PATH=$P/bin:$PATH
	C=$BATS_TEST_TMPDIR/slurm
	mkdir -p "$C"
	answers 0
	good
	export SLURM_CONF=$C/slurm.conf SLURMD_NODENAME=t1
	unset TZ
}

# answers SECONDS: a slurmctld whose clock differs by that
answers() {
	scontrol 'case $1 in
		-V) exec slurmd -V ;;
		show) printf "Configuration data as of %s\n" "$(date -d "'"$1"' seconds" +%FT%T)" ;;
	esac'
}

# good: a slurm.conf, and what stands beside it, with which nothing is wrong. How long a
# requeued job waits, 22.05 takes from AuthInfo and 26.05 from SchedulerParameters.
good() {
	local expire=AuthInfo=cred_expire=30 delay=''
	[[ $(slurmd -V) =~ ([0-9]+)\. ]]
	if [ "${BASH_REMATCH[1]}" -ge 26 ]; then
		expire='' delay=requeue_delay=30,
	fi
	cat >"$C/slurm.conf" <<-CONF
		ClusterName=test
		SlurmctldHost=$(hostname -s)
		include site.conf
		JobSubmitPlugins=lua
		ReturnToService=1
		NodeName=t[1-3] CPUs=$(nproc --all)
	CONF
	cat >"$C/site.conf" <<-CONF
		Prolog=$P/libexec/syscheck/prolog
		Epilog=$P/libexec/syscheck/epilog
		PrologFlags=Alloc,DeferBatch
		SchedulerParameters=nohold_on_prolog_fail,\\
		${delay}bf_interval=60
		MessageTimeout=100
		BatchStartTimeout=100
		$expire
	CONF
	echo "include $P/etc/slurm/plugstack.conf.d/*.conf" >"$C/plugstack.conf"
	cp "$P/share/syscheck/job_submit.lua" "$C/"
}

# finds SEVERITY TEXT...: a line of that severity holds each text; the exit status fits
finds() {
	local line severity=$1 text
	shift
	while read -r line; do
		[[ $line == "$severity"* ]] || continue
		for text; do
			[[ $line == *"$text"* ]] || continue 2
		done
		case $severity in
		info) return 0 ;;
		*) [ "$status" -eq 1 ] && return 0 ;;
		esac
	done <<<"$output"
	printf 'status %s, no %s with: %s\nin:\n%s\n' "$status" "$severity" "$*" "$output"
	return 1
}

@test "a good configuration: exit 0, nothing worse than a note" {
	run syscheck doctor
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "ok    0 errors, 0 warnings, 2 notes; $C/slurm.conf and host t1, "* ]]
	finds info "no HealthCheckProgram"
	finds info "no baseline"
	sed -i '/^AuthInfo/d; s/requeue_delay=30,//' "$C/site.conf"
	run syscheck doctor
	[ "$status" -eq 0 ]
	finds info "waits 120 s before it is eligible again"
}

@test "lines wrap at a terminal's width; else a line each" {
	run syscheck doctor
	local lines_of=${#lines[@]}
	run env TERM=dumb script -qec "stty cols 60 rows 50; syscheck doctor" /dev/null
	echo "$output"
	[ "${#lines[@]}" -gt "$lines_of" ]
	# What has no blank, a path, may be longer.
	[ "$(tr -d '\r' <<<"$output" | grep -E '^ *[^ ]+ +[^ ]' | awk '{ print length($0) }' | sort -n | tail -1)" -le 60 ]
	[ "$(grep -cE '^(error|warn |info |ok   ) ' <<<"$output")" = "$lines_of" ]
	[ "$(grep -cvE '^(error|warn |info |ok   ) |^      [^ ]' <<<"$output")" = 0 ]
}

@test "each missing line is named, with where and the line to add" {
	: >"$C/site.conf"
	rm "$C/plugstack.conf"
	run syscheck doctor
	finds error "no Prolog" "[$C/slurm.conf]" "add: Prolog=$P/libexec/syscheck/prolog"
	finds error "no Epilog" "add: Epilog=$P/libexec/syscheck/epilog"
	finds error "add: PrologFlags=Alloc"
	finds error "add: SchedulerParameters=nohold_on_prolog_fail"
	finds warn "MessageTimeout is not set" "full takes 15 s, 30 s with its second run" "add: MessageTimeout=100"
	finds warn "add: BatchStartTimeout=100"
	finds error "no plugstack.conf" "add: include $P/etc/slurm/plugstack.conf.d/*.conf"
	[[ ${lines[-1]} == error* ]]
	printf 'x\nSchedulerParameters=bf_max_job_test=5\nPrologEpilogTimeout=30\n' >"$C/site.conf"
	run syscheck doctor
	finds error "add: SchedulerParameters=bf_max_job_test=5,nohold_on_prolog_fail" "$C/site.conf:2"
	finds error "PrologEpilogTimeout is 30 s" "drains the node"
	finds error "cannot read this line" "[$C/site.conf:1]"
}

@test "a wrapped prolog, another's prolog, one that cannot run" {
	printf '#!/bin/sh\n%s || [ $? -ne 1 ] || exit 1\n' "$P/libexec/syscheck/prolog" >"$C/wrap"
	sed -i "s|^Prolog=.*|Prolog=wrap|" "$C/site.conf"
	run syscheck doctor
	finds error "is not executable"
	chmod 755 "$C/wrap"
	run syscheck doctor
	[ "$status" -eq 0 ]
	finds info "names ours"
	printf '#!/bin/sh\n# %s\n' "$P/libexec/syscheck/prolog" >"$C/wrap"
	run syscheck doctor
	finds warn "is not ours, and does not name it" "let it run: $P/libexec/syscheck/prolog || [ \$? -ne 1 ] || exit 1"
	# As syscheck itself once printed it: every job's start drains a node where the file is missing.
	printf '#!/bin/sh\n%s || exit 1\n' "$P/libexec/syscheck/prolog" >"$C/wrap"
	run -1 syscheck doctor
	finds error "Prolog fails where $P/libexec/syscheck/prolog is not there" "[$C/wrap:2]"
	# What it prints instead: a missing or broken file starts the job, a bad node does not.
	[[ $output =~ "let that line be: "([^$'\n']*) ]]
	local fix=${BASH_REMATCH[1]} ours=$P/libexec/syscheck/prolog
	cp "$ours" "$BATS_TEST_TMPDIR/keep"
	printf '#!/bin/sh\n%s\nexit 0\n' "$fix" >"$C/wrap"
	rm "$ours"
	run -0 "$C/wrap"
	printf 'nothing to run\n' >"$ours"
	run -0 "$C/wrap"
	printf '#!/bin/sh\nexit 1\n' >"$ours"
	chmod 755 "$ours"
	run -1 "$C/wrap"
	cp "$BATS_TEST_TMPDIR/keep" "$ours"
	run -0 syscheck doctor
	mkdir "$C/prolog.d"
	ln -s "$P/libexec/syscheck/prolog" "$C/prolog.d/50"
	sed -i "s|^Prolog=.*|Prolog=$C/prolog.d/*|" "$C/site.conf"
	run syscheck doctor
	[ "$status" -eq 0 ]
}

@test "plugstack: required, another status_dir, a missing plugin, one built for another Slurm" {
	local so=$P/lib/syscheck/spank_syscheck.so line
	printf 'required %s status_dir=/elsewhere\n' "$so" >"$C/plugstack.conf"
	run syscheck doctor
	finds error "required, not optional" "[$C/plugstack.conf:1]" "add: optional $so status_dir=$P/run"
	finds error "status_dir=/elsewhere, the policy's run is $P/run"
	echo "optional $C/spank_syscheck.so status_dir=$P/run" >"$C/plugstack.conf"
	run syscheck doctor
	finds error "spank_syscheck.so: is not there"
	# A real plugin, built against headers of another version.
	mkdir -p "$C/include/slurm"
	cat >"$C/p.c" <<-'TEXT'
		const unsigned int plugin_version = (19 << 16) + (5 << 8) + 3;
	TEXT
	cc -shared -fPIC -o "$C/spank_syscheck.so" "$C/p.c"
	run syscheck doctor
	finds error "is built for Slurm 19.05.3, scontrol is" "make install"
	head -c 3000 "$so" >"$C/spank_syscheck.so"
	run syscheck doctor
	finds error "not a whole shared object"
	echo "optional other.so" >"$C/plugstack.conf"
	run syscheck doctor
	finds error "no line loads spank_syscheck.so" "add: optional $so status_dir=$P/run"
}

@test "job_submit.lua: missing, another version, a site's own" {
	rm "$C/job_submit.lua"
	run syscheck doctor
	finds error "job_submit.lua is not there" "syscheck setup shows how"
	sed 's/SUCCESS/ERROR/' "$P/share/syscheck/job_submit.lua" >"$C/job_submit.lua"
	run syscheck doctor
	finds warn "another version"
	echo '-- syscheck' >"$C/job_submit.lua"
	run syscheck doctor
	finds warn "does not call syscheck"
	echo 'local syscheck = require("syscheck.policy.submission")' >"$C/job_submit.lua"
	run syscheck doctor
	[ "$status" -eq 0 ]
	sed -i /JobSubmitPlugins/d "$C/slurm.conf"
	run syscheck doctor
	finds warn "though job_submit.lua is there" "add: JobSubmitPlugins=lua"
}

@test "the policy: broken, open to others, no time for the second run" {
	policy 'mode = "enfroce"'
	run syscheck doctor
	finds error "the policy cannot be used" "policy.lua:2"
	# What somebody else may have written is not run, whoever asks.
	printf 'return { scontrol = "%s" }\n' "$C/evil" >"$P/etc/syscheck/policy.lua"
	printf '#!/bin/sh\ntouch %s\n' "$C/was-run" >"$C/evil"
	chmod 755 "$C/evil"
	chmod o+w "$P/etc/syscheck/policy.lua"
	run syscheck doctor
	finds error "writable by group or others"
	[ ! -e "$C/was-run" ]
	chmod o-w "$P/etc/syscheck/policy.lua"
	policy 'mode = "observe", kernels = { dgemm = { quick = 12 } }'
	run syscheck doctor
	finds info 'mode = "observe"'
	finds warn "level quick: kernels take 14.5 s, 29 s with the second run, the deadline is 15 s"
	finds info "no baseline"
	policy 'mode = "enforce", kernels = { dgemm = { quick = 12 } }'
	run syscheck doctor
	finds warn "no baseline"
	chmod o+w "$P/etc/syscheck/policy.lua"
	run syscheck doctor
	finds error "writable by everybody [$P/etc/syscheck/policy.lua]" "chmod o-w"
	rm "$P/etc/syscheck/policy.lua"
	PATH=$P:$PATH run syscheck doctor
	finds warn "no policy"
}

@test "what starts the agent is not there, or broken: nothing would be checked" {
	local file
	for file in "$P/libexec/syscheck/bound.lua" "$P/lib/syscheck/lua/syscheck_native.so"; do
		mv "$file" "$file.keep"
		run syscheck doctor
		finds error "$P/libexec/syscheck/bound.lua: exit code 1: " "${file##*/}" || { mv "$file.keep" "$file"; return 1; }
		echo x >"$file"
		run syscheck doctor
		mv "$file.keep" "$file"
		finds error "$P/libexec/syscheck/bound.lua: exit code 1: "
	done
	run syscheck doctor
	[[ $output != *bound.lua* ]]
}

@test "files, directories and their parents that others may write" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	chmod o+w "$P/libexec/syscheck/agent.lua"
	chmod 777 "$P/libexec"
	mkdir -p "$P/var/spool/syscheck"
	chown 65534 "$P/var/spool/syscheck"
	chmod 777 "$C"
	run syscheck doctor
	chmod 755 "$P/libexec"
	chmod o-w "$P/libexec/syscheck/agent.lua"
	finds error "[$P/libexec/syscheck/agent.lua]" "chmod o-w $P/libexec/syscheck/agent.lua"
	finds error "writable by everybody [$P/libexec]"
	finds error "writable by everybody [$C]"
	# Whoever writes slurm.conf chooses the plugins that scontrol loads.
	finds info "clock could not be looked at: others may change slurm.conf"
	[ ! -e "$P/calls" ]
	finds error "spool directory: owned by uid 65534"
}

@test "all that root loads is looked at, however deep it lies, and what links lead to" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local lua=$P/share/syscheck/lua/syscheck out=$BATS_TEST_TMPDIR/elsewhere f
	local open=("$lua/questions/why/logic.lua" "$lua/store/drivers/sqlite.lua" "$P/bin/syscheck" "$P/lib/syscheck/more.so")
	mkdir -p "$out/room"
	: >"$out/room/linked.lua"
	: >"$P/lib/syscheck/more.so"
	chmod 666 "$out/room/linked.lua"
	for f in "${open[@]}"; do
		chmod o+w "$f"
	done
	# Loops, a FIFO and a link to nothing hold nobody up.
	ln -s .. "$lua/questions/up"
	ln -s "$out/room" "$lua/questions/linked"
	ln -s "$P" "$out/room/home"
	ln -s /nonexistent "$lua/none.lua"
	mkfifo -m 666 "$P/libexec/syscheck/pipe"
	run timeout 60 syscheck doctor
	rm -r "$lua/questions/up" "$lua/questions/linked" "$lua/none.lua" "$P/libexec/syscheck/pipe"
	for f in "${open[@]}"; do
		finds error "writable by everybody [$f]" "chmod o-w $f"
		chmod o-w "$f"
	done
	rm "$P/lib/syscheck/more.so"
	finds error "writable by everybody [$out/room/linked.lua]"
	finds error "writable by everybody [$P/libexec/syscheck/pipe]"
	run syscheck doctor
	[ "$status" -eq 0 ]
	# Not without end.
	mkdir "$lua/many"
	(cd "$lua/many" && seq 1 10001 | xargs touch)
	run timeout 60 syscheck doctor
	rm -r "$lua/many"
	finds error "more than 10000 files are installed"
}

@test "kernels: missing, not executable, without their library, hanging" {
	rm "$P/libexec/syscheck/stream"
	chmod 644 "$P/libexec/syscheck/dgemm"
	kernel noise 'echo "noise: error while loading shared libraries: libhwloc.so.15" >&2; exit 127'
	kernel numa 'sleep 60'
	kernel scaling 'echo syscheck scaling 0.0.0'
	run syscheck doctor
	finds error "kernel stream: is not there" "make install"
	finds error "kernel dgemm: is not executable" "chmod 755"
	finds error "kernel noise: exit code 127" "libhwloc.so.15" "install the library"
	finds error "kernel numa: no answer within 10 s"
	finds warn "kernel scaling is version 0.0.0"
	cp -f "$P"/kernels/* "$P/libexec/syscheck/"
}

@test "clock: against slurmctld's; and what slurmctld runs with" {
	answers 40
	run syscheck doctor
	finds warn "clock is 40 s behind slurmctld's" "chronyd"
	answers -4000
	run syscheck doctor
	finds error "clock is 4000 s ahead of slurmctld's"
	scontrol 'sleep 0; echo "slurm_load_ctl_conf error: Unable to contact slurm controller" >&2; exit 1'
	run syscheck doctor
	[ "$status" -eq 0 ]
	finds info "clock could not be looked at: slurmctld does not answer" "Unable to contact"
	scontrol 'date "+Configuration data as of %FT%T"; echo "PrologFlags             = Alloc"; echo "MessageTimeout          = 10 sec"'
	run syscheck doctor
	finds warn "MessageTimeout=100, but slurmctld runs with 10 sec" "[$C/site.conf:6]" "scontrol reconfigure"
	finds warn "PrologFlags=Alloc,DeferBatch, but slurmctld runs with Alloc"
}

@test "a normal user sees less, and is told so" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	chmod 755 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" "$BATS_RUN_TMPDIR"/{file,test} 2>/dev/null || true
	chmod 600 "$P/etc/syscheck/policy.lua"
	run setpriv --reuid=65534 --regid=65534 --clear-groups "$P/bin/syscheck" doctor
	echo "$output"
	finds info "policy could not be looked at" "ermission denied"
	[[ $output != *"internal error"* ]]
}

@test "json: one object with the same findings" {
	: >"$C/site.conf"
	run syscheck doctor --json
	[ "$status" -eq 1 ]
	lua5.4 -e 'local o = require("cjson").decode(io.read("a"))
		assert(o.v == 1 and o.errors > 3 and #o.findings == o.errors + o.warnings + o.infos)
		assert(o.findings[1].severity == "error" and o.findings[1].rule and o.findings[1].add and o.findings[1].file)' <<<"$output"
	good
	run syscheck doctor --json
	[ "$status" -eq 0 ]
}

@test "hostile slurm.conf: junk, loops, 100 MB, a directory, a FIFO, unreadable" {
	local start=$SECONDS
	head -c 3000000 /dev/urandom >"$C/site.conf"
	run syscheck doctor
	[ "$status" -eq 1 ]
	[ "$(LC_ALL=C tr -d ' -~\n' <<<"$output" | wc -c)" = 0 ]
	[ "${#lines[@]}" -lt 60 ]
	printf 'include slurm.conf\ninclude site.conf\n' >"$C/site.conf"
	run syscheck doctor
	finds error "includes itself" "[$C/site.conf:1]"
	truncate -s 100M "$C/site.conf"
	run syscheck doctor
	finds error "100 MiB, too large"
	rm "$C/site.conf"
	mkfifo "$C/site.conf"
	run syscheck doctor
	finds error "is a fifo"
	printf 'Prolog=/a\033[31m\n' >"$C/esc.conf"
	run syscheck doctor --conf "$C/esc.conf"
	[[ $output != *$'\033'* ]]
	for f in "$C" "$C/site.conf" "$C/none" /dev/zero; do
		run --separate-stderr syscheck doctor --conf "$f"
		[ "$status" -eq 3 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
	done
	[ $((SECONDS - start)) -lt 60 ]
	run --separate-stderr syscheck doctor --cnof x
	[ "$status" -eq 2 ]
	run --separate-stderr syscheck doctor --node ../x
	[ "$status" -eq 2 ]
}

@test "syntax: what Slurm's own parser refuses, and nothing else" {
	local text real
	: >"$C/empty.conf"
	for text in 'Prolog=/a Epilog=/b' '  include /dev/null' ' Prolog = /a' 'hello' 'MessageTimeout=11 # c' \
		"MessageTimeout=12\\" 'SchedulerParameters=a, b' 'SchedulerParameters="a, b"' 'Prolog=/x"y' 'Prolog="/x"y' \
		'MessageTimeout=INFINITE' 'PROLOGFLAGS=deferbatch,alloc' 'Prolog=' 'include empty.conf' 'Prolog=/a\#b' "\\" \
		'SchedulerParameters=a,\ # why'$'\n''b' $'Prolog=/a\r' 'NodeName=m Sockets=1 hello'; do
		printf '%s\n' "ClusterName=x" "SlurmctldHost=localhost(127.0.0.1)" "NodeName=n CPUs=1" "$text" \
			"PartitionName=p Nodes=n" >"$C/slurm.conf"
		real=good
		env SLURM_CONF="$C/slurm.conf" timeout 5 scontrol show hostnames n1 >/dev/null 2>&1 || real=refused
		run syscheck doctor
		if [[ $output == *"commands stop at it"* ]]; then
			[ "$real" = refused ] || { echo "only the doctor refuses: $text"; return 1; }
		else
			[ "$real" = good ] || { echo "only Slurm refuses: $text"; return 1; }
		fi
	done
}

@test "a real cluster: nothing worse than what is known of it" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local dir
	dir=$(mktemp -d /var/tmp/dr.XXXXXX)
	chmod 755 "$dir"
	"$MC" up --nodes 1 --mode ports --dir "$dir/c"
	unset SLURMD_NODENAME
	SLURM_CONF=$dir/c/etc/slurm.conf run "$dir/c/prefix/bin/syscheck" doctor --node s1
	"$MC" down --dir "$dir/c"
	rm -rf "$dir"
	echo "$output"
	# Its baseline is learned later.
	finds warn "no baseline"
	[[ ${lines[-1]} == "warn  0 errors, 1 warning, "* ]]
	[[ $output != *"could not be looked at"* ]]
}
