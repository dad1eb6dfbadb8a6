#!/bin/bash
# make demo-fabric: nine nodes at three leaf switches, one link made slow, then one uplink; `syscheck fabric` names each.
# A real Slurm, OpenMPI, real links with a rate. Exit 1 if it did not. KEEP=1 leaves the cluster up.
set -u
cd "$(dirname "$0")/.." || exit 2
export MINICLUSTER_DIR=/var/tmp/syscheck-demo-fabric
minicluster=$PWD/tests/cluster/minicluster
cd / || exit 2
failures=0

play() {
	printf '$ %s\n' "$*"
	"$@"
}

# names REGEX: what is said now
names() {
	local said
	printf '$ syscheck fabric --nodes n[1-9]\n'
	said=$(syscheck fabric --nodes 'n[1-9]')
	printf '%s\n' "$said"
	if [[ $said =~ $1 ]]; then
		echo "  [happened]"
	else
		echo "  [DID NOT HAPPEN] expected: $1"
		failures=$((failures + 1))
	fi
}

"$minicluster" down
"$minicluster" up --nodes 9 --leaves 3 || exit 1
[ "${KEEP:-}" = 1 ] || trap '"$minicluster" down' EXIT
eval "$("$minicluster" env)"
printf '\n# A cable of n5 lets only a quarter through, in one direction.\n'
play "$minicluster" slow-link n5 in 50
names 'n5 receives at 0\.2'
printf '\n# What was measured is kept: a node'"'"'s story, and what stands since when.\n'
play syscheck ingest
printf '$ syscheck fleet\n'
syscheck fleet | sed -n '/BETWEEN_NODES/,$p'
play "$minicluster" slow-link n5 in off
printf "\\n# Of leaf2's uplink most links are gone.\\n"
play "$minicluster" slow-trunk leaf2 up 250
names "leaf2's uplink, up"
play "$minicluster" slow-trunk leaf2 up off
[ "$failures" = 0 ] && printf '\n# All of it happened.\n'
exit "$((failures > 0))"
