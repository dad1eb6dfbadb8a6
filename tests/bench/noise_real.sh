#!/bin/bash
# What injected noise costs two ranks of this machine, and what the noise kernel samples meanwhile:
#   noise_real.sh DIR WORK_US SECONDS "PERIOD_US LENGTH_US ..." "PERIOD_US LENGTH_US ..."
# A rank is a node of one core, the first two CPUs; a list of sources for each. Into DIR: sample.CPU.1 and .2 from before
# and after, work (lines of fabric), steal: % of the time that others of the host had.
set -u
cd "$(dirname "$0")/../.." || exit 2
dir=$1 work_us=$2 seconds=$3
sources=("$4" "$5")
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
injecting=()
trap 'kill "${injecting[@]}" 2>/dev/null; wait' EXIT

# stolen: ticks of all CPUs, of all time
stolen() {
	awk '/^cpu / { print $9, $2 + $3 + $4 + $5 + $6 + $7 + $8 + $9 }' /proc/stat
}

# sample NUMBER: of both at the same time
sample() {
	local cpu pids=()
	for cpu in 0 1; do
		build/kernels/noise --cpus "$cpu" --seconds "$seconds" >"$dir/sample.$cpu.$1" &
		pids+=($!)
	done
	wait "${pids[@]}"
}

for cpu in 0 1; do
	# shellcheck disable=SC2086 # numbers
	set -- ${sources[cpu]}
	while [ $# -ge 2 ]; do
		build/tests/bench/inject --cpu "$cpu" --period-us "$1" --length-us "$2" --seconds 120 \
			--log "$dir/log.$cpu.$#" 2>/dev/null &
		injecting+=($!)
		shift 2
	done
done
printf '%s\n' 'plan 1' "set work_us $work_us" "set seconds $seconds" 'work 0,1' go >"$dir/plan"
read -r stolen_before all_before < <(stolen)
sample 1
# shellcheck disable=SC2016 # each rank's own
mpirun --bind-to none -n 2 bash -c 'exec build/kernels/fabric --cpus "$OMPI_COMM_WORLD_RANK" --seconds 60 <"$1"' \
	bash "$dir/plan" >"$dir/work" || exit 2
sample 2
read -r stolen_after all_after < <(stolen)
awk "BEGIN { print 100 * ($stolen_after - $stolen_before) / ($all_after - $all_before) }" >"$dir/steal"
