#!/bin/bash
# make bench-why: how often `why` names the planted node and cause first, and how often an
# innocent node, into build/bench/why.json. SEEDS="9001 9002" (default: ten that no run had), JOBS=10000, CASES=600
# of each, and all whose times are tight.
set -u
cd "$(dirname "$0")/../.." || exit 2
mkdir -p build/bench
work=$(mktemp -d build/bench/why.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
mapfile -t fresh < <(shuf -i 10000-99999 -n 10)
# shellcheck disable=SC2086 # a list
lua5.4 tests/bench/why.lua "$PWD/$work" build/bench/why.json ${SEEDS-${fresh[*]}}
