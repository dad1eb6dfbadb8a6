#!/bin/bash
# Whether build/ is finished, by content and not by time stamps: a tree that was copied to
# another host is as good as the one that it was built in.
#   built.sh write VERSION KERNEL...   print what build/ is made of, for build/built
#   built.sh check VERSION             exit 1 where that is no longer so
set -eu

# what is compiled, and as which version
sum() {
	{
		echo "$1"
		find kernels spank lua -name '*.[ch]' -o -name '*.map' | LC_ALL=C sort | xargs cat
	} | sha256sum | cut -d ' ' -f 1
}

case $1 in
write)
	echo "sum $(sum "$2")"
	echo "kernels ${*:3}"
	;;
check)
	[ -f build/built ] || exit 1
	[ "$(sed -n 's/^sum //p' build/built)" = "$(sum "$2")" ] || exit 1
	read -r -a kernels < <(sed -n 's/^kernels //p' build/built)
	for kernel in "${kernels[@]}"; do
		[ -x "build/kernels/$kernel" ] || exit 1
	done
	[ -f build/spank/spank_syscheck.so ] && [ -f build/lua/syscheck_native.so ] || exit 1
	;;
*) exit 2 ;;
esac
