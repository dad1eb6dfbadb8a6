#!/bin/bash
# make check-arch, inside: builds for another architecture, runs that under qemu's user mode; the last line is
# "N passed, N failed, N skipped".
#   arch.sh TRIPLET MACHINE   e.g. aarch64-linux-gnu AArch64 (as readelf names it)
set -eu
cd "$(dirname "$0")/../.."
export CC=$1-gcc PKG_CONFIG_LIBDIR=/usr/lib/$1/pkgconfig:/usr/share/pkgconfig
export RUN_UNDER=qemu-${1%%-*} MACHINE=$2

mapfile -t units < <(printf '%s\n' tests/c/test_*.c | sed 's/\.c$//')
make -j"$(nproc)" CC="$CC" AR="$1-ar" kernels plugin "${units[@]/#/build/}"
exec tests/run.sh tests/c/test_*.c tests/arch/arch.bats
