#!/bin/bash
# make bench-why: how often `why` names the planted node and cause first, and how often an
# innocent node, into build/bench/why.json. SEEDS="20261 777", JOBS=100000.
set -u
cd "$(dirname "$0")/../.." || exit 2
mkdir -p build/bench
work=$(mktemp -d build/bench/why.XXXXXX) || exit 2
trap 'rm -rf "$work"' EXIT
# shellcheck disable=SC2086 # a list
lua5.4 tests/bench/why.lua "$PWD/$work" build/bench/why.json ${SEEDS-}
