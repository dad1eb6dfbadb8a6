#!/bin/bash
# make bench-fabric: who is named of planted faults, in simulated networks (fabric.lua) and in a real one of 9 nodes at 3
# leaves (fabric_real.py), into build/bench/fabric.json. SEEDS="1 2" (default: one that no run had).
set -u
cd "$(dirname "$0")/../.." || exit 2
mkdir -p build/bench
work=$(mktemp -d build/bench/fabric.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # a list
lua5.4 tests/bench/fabric.lua "$work/simulated.json" ${SEEDS-$(shuf -i 10000-99999 -n 1)} || exit 1
tests/bench/fabric_real.py "$work/simulated.json" build/bench/fabric.json
