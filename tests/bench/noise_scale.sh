#!/bin/bash
# make bench-noise-scale: what `syscheck noise` predicts beside closed forms, brute force on traces of a world that its
# author did not write (noise_world/) and of this machine, the other half of traces, LogGOPSim's results, and what two
# real ranks lose to injected noise, into build/bench/noise_scale.json. SEEDS="1 2" (default: eight that no run had),
# NODES=64, REPEATS=5 of the real ones, ONLY=real: only these.
set -u
cd "$(dirname "$0")/../.." || exit 2
mkdir -p build/bench
work=$(mktemp -d build/bench/noise.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
mapfile -t fresh < <(shuf -i 10000-99999 -n 8)
# shellcheck disable=SC2086 # a list
lua5.4 tests/bench/noise_scale.lua "$work" build/bench/noise_scale.json ${SEEDS-${fresh[*]}}
