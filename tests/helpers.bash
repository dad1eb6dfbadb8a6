# Shared by the stages that run the agent without a cluster: an installation of its
# own, kernels that say what a test wants, a scontrol that notes its calls.
# shellcheck shell=bash disable=SC2016,SC2034,SC2119,SC2120,SC2154

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
FIXTURES=$BATS_TEST_DIRNAME/fixtures
umask 022 # the modes that tests expect

# Installs into $P, as a site does.
agent_install() {
	export P=$BATS_FILE_TMPDIR/p
	make -s -C "$ROOT" install PREFIX="$P" SYSCONFDIR="$P/etc" LOCALSTATEDIR="$P/var" RUNDIR="$P/run" DESTDIR= >/dev/null
	mkdir "$P/kernels"
	cp "$P"/libexec/syscheck/{stream,dgemm,noise,numa,scaling} "$P/kernels/"
}

# Keeps what the agent has recorded, for the schema. $KEEP_SPOOL=0: the test puts
# something else into the spool.
agent_keep() {
	local f n=0
	[ "${KEEP_SPOOL:-1}" = 1 ] || return 0
	for f in "$P"/var/spool/syscheck/records*.jsonl; do
		[ -f "$f" ] && [ ! -L "$f" ] || continue
		mkdir -p "$BATS_FILE_TMPDIR/spools"
		cp "$f" "$BATS_FILE_TMPDIR/spools/test-$BATS_TEST_NUMBER-$((n += 1)).jsonl"
	done
}

setup_file() {
	agent_install
}

setup() {
	agent_reset
}

teardown() {
	agent_keep
}

# Every record that a test produced is as docs/records.schema.json says.
teardown_file() {
	[ ! -d "$BATS_FILE_TMPDIR/spools" ] || "$ROOT/tests/schema.py" "$BATS_FILE_TMPDIR"/spools/*.jsonl
}

# A clean node for each test.
agent_reset() {
	rm -rf "${P:?}/var" "$P/run" "$P/etc/syscheck/baseline.json" "$P/calls"
	mkdir -p "$P/var/log"
	LOG=$P/var/log/syscheck.log
	SPOOL=$P/var/spool/syscheck/records.jsonl
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80 } }'
	kernel stream "$(says stream '"triad_gbs":100')"
	kernel dgemm "$(says dgemm '"gflops":50')"
	kernel noise "$(says noise '"noise_pct":1')"
	kernel numa "$(says numa '"latency_ns":100')"
	kernel scaling "$(says scaling '"best_gbs":110')"
	fake_slurm
}

# policy TEXT: the inside of the table
policy() {
	printf 'return { scontrol = "%s",\n%s\n}\n' "$P/scontrol" "$1" >"$P/etc/syscheck/policy.lua"
}

# kernel NAME SCRIPT: what libexec/NAME does
kernel() {
	printf '#!/bin/bash\n%s\n' "$2" >"$P/libexec/syscheck/$1"
	chmod 755 "$P/libexec/syscheck/$1"
}

# says NAME FIELDS: a script that prints a good object
says() {
	printf 'echo %q' "{\"kernel\":\"$1\",\"v\":1,\"verified\":true,$2}"
}

# scontrol SCRIPT: notes its arguments, then does SCRIPT
scontrol() {
	printf '#!/bin/bash\nprintf "%%s\\n" "$*" >>%q\n%s\n' "$P/calls" "$1" >"$P/scontrol"
	chmod 755 "$P/scontrol"
	ln -sf scontrol "$P/squeue"
}

# fake_slurm [SCRIPT]: a scontrol that behaves; SCRIPT runs before each call. Node t1 is
# drained when $P/slurm/reason says so; the other nodes are lines of $P/slurm/others.
fake_slurm() {
	rm -rf "$P/slurm"
	mkdir "$P/slurm"
	: >"$P/slurm/others"
	scontrol "${1:-:}
		S='$P/slurm'"'
		case "$*" in
		"--all show nodes --oneliner")
			if [ -s $S/reason ]; then
				echo "NodeName=t1 State=ALLOCATED+DRAIN ThreadsPerCore=1 Partitions=${PARTITIONS:-main}  Reason=$(<$S/reason) [root@$(<$S/time)]"
			else
				echo "NodeName=t1 State=ALLOCATED ThreadsPerCore=1 Partitions=${PARTITIONS:-main} "
			fi
			cat $S/others ;;
		"update nodename=t1 state=drain reason="*)
			printf "%s\n" "${4#reason=}" >$S/reason
			date -u +%FT%T >$S/time ;;
		"update nodename=t1 state=undrain") rm -f $S/reason ;;
		"--noheader --all --states=all --jobs=4711 "*)
			printf "%-12s%-12s%-12s%-12s%-12s%s\n" 4711 4711 N/A N/A N/A "$(cat $S/admin 2>/dev/null || echo "(null)")" ;;
		"update jobid=4711 admincomment="*) printf "%s\n" "${3#admincomment=}" >$S/admin ;;
		*) echo "fake: $*" >&2; exit 1 ;;
		esac'
}

# others COUNT STATE [REASON [AGE]]: that many more nodes in partition main
others() {
	local i from
	from=$(wc -l <"$P/slurm/others")
	for ((i = from + 1; i <= from + $1; i++)); do
		printf 'NodeName=o%d State=%s ThreadsPerCore=1 Partitions=main %s\n' "$i" "$2" \
			"${3:+ Reason=$3 [root@$(date -u -d "-${4:-60} seconds" +%FT%T)]}"
	done >>"$P/slurm/others"
}

# prolog|epilog [NAME=VALUE...]: as slurmd runs them; later values win. UNDER: an array, the command that runs them.
prolog() {
	slurmd_runs prolog "$@"
}

epilog() {
	slurmd_runs epilog "$@"
}

# The same for a job whose user asked for nothing.
unasked_prolog() {
	ASKED=0 slurmd_runs prolog "$@"
}

slurmd_runs() {
	local stage=$1 asked=(SPANK_SYSCHECK=quick)
	[ "${ASKED:-1}" = 1 ] || asked=()
	shift
	"${UNDER[@]}" env -i SLURM_JOB_ID=4711 SLURM_JOB_USER=alice SLURM_JOB_UID=1000 SLURM_JOB_PARTITION=main \
		SLURM_NODELIST=t1 SLURM_JOB_CPUS_PER_NODE="$(nproc --all)" SLURMD_NODENAME=t1 SLURM_CLUSTER_NAME=test \
		"${asked[@]}" "$@" "$P/libexec/syscheck/$stage"
}

# limited SECONDS: the prolog with this limit for its agent, as prolog.short beside it
limited() {
	sed -E "s/LIMIT=[0-9]+/LIMIT=$1/" "$P/libexec/syscheck/prolog" >"$P/libexec/syscheck/prolog.short"
	chmod 755 "$P/libexec/syscheck/prolog.short"
}

# The health program, as slurmd runs it: with a node name and nothing else.
health() {
	env -i SLURMD_NODENAME=t1 "$P/libexec/syscheck/health"
}

# record KIND EXPRESSION: of r, the last record of that kind
record() {
	lua5.4 /dev/fd/3 "$SPOOL" "$1" "$2" 3<<-'LUA'
	local last
	for line in io.lines(arg[1]) do
		local r = require("cjson").decode(line)
		if r.kind == arg[2] then last = r end
	end
	assert(last, "no such record")
	local value = load("local r = ... return " .. arg[3])(last)
	print(math.type(value) == "float" and value % 1 == 0 and math.tointeger(value) or value)
	LUA
}

# What `unknown` means: the job starts, nothing is drained, the record says why.
assert_unknown() {
	[ "$status" -eq 0 ] || { echo "prolog exit $status"; return 1; }
	[ "$(record check 'r.status')" = unknown ] || { echo "status $(record check 'r.status')"; return 1; }
	[ "$(record check 'r.action')" = none ] || { echo "action"; return 1; }
	[ ! -e "$P/calls" ] || { echo "scontrol was called: $(<"$P/calls")"; return 1; }
}
