#!/bin/bash
# The storm guard on a real Slurm: every node of a cluster reports bad values in the same
# moment. Counts what is drained in the end; fails when that is none, or more than the cap,
# when a job is stuck, or when slurmctld was not there for somebody.
#   storm.sh [--nodes N] [--json FILE] [--ctld-share PERCENT]    default 500 nodes, build/bench/detect.json
# --ctld-share: slurmctld runs for so much of the time only; then none need be drained at once.
# Keys storm_nodes, storm_cap, storm_drained of FILE are written, others left alone.
set -u
cd "$(dirname "$0")/../.." || exit 2
MC=$PWD/tests/cluster/minicluster
NODES=500 JSON=$PWD/build/bench/detect.json SHARE=0.10 CTLD=100

die() {
	echo "storm: $*" >&2
	exit 1
}

# Bad at once, everywhere: kernels wait until all of them run, and then all say so.
prepare() {
	local libexec=$DIR/prefix/libexec/syscheck
	rm "$libexec/stream"
	cat >"$libexec/stream" <<-SH
	#!/bin/bash
	: >$BASE/at/\$\$
	until [ -e $BASE/go ]; do sleep 0.5; done
	echo '{"kernel":"stream","verified":true,"triad_gbs":10}'
	SH
	# The worst case for the guard: whoever lists in the first seconds sees room, and they
	# all go on to drain in the same second.
	cat >"$BASE/scontrol" <<-SH
	#!/bin/bash
	PATH=/usr/sbin:/usr/bin:/sbin:/bin
	scontrol "\$@" || exit
	if [ "\$*" = "--all show nodes --oneliner" ]; then
		read -r release <$BASE/go
		until [ "\$EPOCHSECONDS" -ge "\$release" ]; do sleep 0.2; done
	fi
	SH
	chmod 755 "$libexec/stream" "$BASE/scontrol"
	mkdir "$BASE/at"
	cat >"$DIR/etc/syscheck/policy.lua" <<-LUA
	return {
		mode = "enforce", scontrol = "$BASE/scontrol", max_drained = $SHARE, limits = { triad_gbs = { min = 80 } },
		partitions = { main = { default = "quick" } }, deadline = { quick = 60 },
		kernels = { stream = { quick = 30 }, dgemm = { quick = 0 }, noise = { quick = 0 } },
		spool = "$DIR/var/spool/syscheck/%n", state = "$DIR/var/lib/syscheck/%n", run = "$DIR/run/syscheck/%n",
	}
	LUA
}

ours() {
	sinfo -h -N -R -p main -o '%N %E' | grep ' syscheck: ' | sort -u | wc -l
}

not_ours() {
	sinfo -h -N -R -p main -o '%N %E' | grep -v ' syscheck: ' | sort -u | wc -l
}

records() {
	cat "$DIR"/var/spool/syscheck/*/records.jsonl 2>/dev/null | grep '"kind":"check"' | grep -c "$1"
}

# Asks slurmctld how it is, every second, as its admin would; the longest answer into $BASE/sdiag.
watch_sdiag() {
	local longest=0 began took
	until [ -e "$BASE/done" ]; do
		began=${EPOCHREALTIME/./}
		timeout 20 sdiag >/dev/null 2>&1 || echo failed >>"$BASE/sdiag.failed"
		took=$(((${EPOCHREALTIME/./} - began) / 1000))
		[ "$took" -le "$longest" ] || longest=$took
		echo "$longest" >"$BASE/sdiag"
		sleep 1
	done
}

# slurmctld stops for the rest of each second, until $BASE/done.
brake() {
	local pid
	pid=$(awk '$1 == "slurmctld" { print $2 }' "$DIR/pids")
	while [ ! -e "$BASE/done" ]; do
		kill -STOP "$pid"
		sleep "0.$(printf %02d $((100 - CTLD)))"
		kill -CONT "$pid"
		sleep "0.$(printf %02d "$CTLD")"
	done
}

# One job over half the nodes, a job of its own for each other one.
submit() {
	local i
	sbatch -Q -N "$((NODES / 2))" -o /dev/null --wrap 'sleep 1' || die "sbatch"
	for ((i = NODES / 2; i < NODES; i++)); do
		sbatch -Q -N1 -o /dev/null --wrap 'sleep 1' || die "sbatch"
	done
}

# eventually SECONDS WHAT COMMAND...
eventually() {
	local end=$((SECONDS + $1)) what=$2
	shift 2
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "storm: not within the time: $what" >&2 && return 1; }
		sleep 0.5
	done
}

all_wait() {
	[ "$(find "$BASE/at" -type f | wc -l)" -ge "$NODES" ]
}

no_jobs() {
	[ -z "$(squeue -h -o %i)" ]
}

storm() {
	local cap=$((NODES / 10)) drained other requeued began took bad=0 peak=0 now
	[ "$cap" -ge 1 ] || cap=1
	sdiag -r >/dev/null
	submit
	# The kernels' time box ends after 30 s: those that have come by then are the storm.
	eventually 25 "all kernels run" all_wait
	echo "storm: $(find "$BASE/at" -type f | wc -l) of $NODES nodes measure; now all are bad"
	watch_sdiag &
	[ "$CTLD" = 100 ] || brake &
	began=$SECONDS
	echo "$((EPOCHSECONDS + 6))" >"$BASE/go.new"
	mv "$BASE/go.new" "$BASE/go"
	until no_jobs; do
		now=$(ours)
		[ "$now" -le "$peak" ] || peak=$now
		[ $((SECONDS - began)) -lt 240 ] || { bad=1 && echo "storm: jobs are stuck:" && squeue | head; break; }
		sleep 1
	done
	took=$((SECONDS - began))
	: >"$BASE/done"
	wait
	drained=$(ours) other=$(not_ours)
	echo "storm: RPCs of the whole storm ($NODES nodes, $((NODES - NODES / 2 + 1)) jobs):"
	sdiag | sed -nE 's/^\s*([A-Z_]+) +\( *[0-9]+\) +count:([0-9]+) +ave_time:([0-9]+).*/  \2 \1, \3 us each/p' | sort -rn | head -n 14
	echo "storm: checks: $(records '"action":"drain"') drained, $(records '"action":"storm"') held back by the guard," \
		"$(records '"action":"undecided"') undecided;" \
		"at most $peak drained at a time; $took s until the last job had ended"
	echo "storm: longest answer of sdiag: $(cat "$BASE/sdiag") ms$([ ! -e "$BASE/sdiag.failed" ] || echo '; some failed')"
	echo "storm: $drained of $NODES nodes are drained, cap $cap; $other for other reasons"
	# A node that stepped back disturbed nobody's job: requeued were those of drained nodes only.
	requeued=$(sdiag | sed -nE 's/.*REQUEST_JOB_REQUEUE .*count:([0-9]+) .*/\1/p')
	echo "storm: ${requeued:-0} jobs were requeued"
	[ "${requeued:-0}" -le "$drained" ] || bad=1
	[ "$drained" -le "$cap" ] && [ "$other" = 0 ] || bad=1
	[ "$CTLD" != 100 ] || { [ "$drained" -ge 1 ] && [ ! -e "$BASE/sdiag.failed" ]; } || bad=1
	if [ "$bad" = 0 ]; then
		mkdir -p "$(dirname "$JSON")"
		lua5.4 - "$JSON" "$NODES" "$cap" "$drained" <<-'LUA' || bad=1
		local json = require("cjson")
		local old = io.open(arg[1])
		local t = old and json.decode(old:read("a")) or {}
		t.storm_nodes, t.storm_cap, t.storm_drained = tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
		local new = assert(io.open(arg[1] .. ".new", "w"))
		new:write(json.encode(t), "\n")
		new:close()
		assert(os.rename(arg[1] .. ".new", arg[1]))
		LUA
	else
		grep -h 'error: ' "$DIR/var/log/syscheck.log" | sed -E 's/^[^ ]+ [^ ]+ //; s/job [0-9]+/job N/' | sort | uniq -c | sort -rn | head >&2
	fi
	return "$bad"
}

main() {
	while [ "$#" -ge 2 ]; do
		case $1 in
		--nodes) NODES=$2 ;;
		--json) JSON=$2 ;;
		--ctld-share) CTLD=$2 ;;
		*) die "unknown option $1" ;;
		esac
		shift 2
	done
	[ "$(id -u)" = 0 ] || die "needs root"
	BASE=$(mktemp -d /var/tmp/storm.XXXXXX) || exit 1
	DIR=$BASE/c
	chmod 755 "$BASE"
	trap '"$MC" down --dir "$DIR"; rm -rf "$BASE"' EXIT
	"$MC" up --dir "$DIR" --mode ports --nodes "$NODES" || die "no cluster"
	eval "$("$MC" env --dir "$DIR")"
	prepare
	storm
}

main "$@"
