#!/bin/bash
# lua-modules.sh NAME TARBALL: builds one of the Lua modules that syscheck needs into build/lua,
# from which `make install` takes it, for distributions that do not have it. TARBALL is the
# module's own source, which the builder provides.
set -eu

# The flags of Lua 5.4's headers, by whatever name the distribution has them.
lua_cflags() {
	local name
	for name in lua5.4 lua54 lua-5.4 lua; do
		! pkg-config --atleast-version=5.4 "$name" 2>/dev/null || { pkg-config --cflags "$name"; return 0; }
	done
	echo "lua-modules: no headers of Lua 5.4 here" >&2
	return 1
}

# module OUT SOURCE...: a shared object
module() {
	local cflags ldflags
	read -r -a cflags <<<"$(lua_cflags) ${CFLAGS--O2}"
	read -r -a ldflags <<<"${LDFLAGS-}"
	"${CC:-cc}" -shared -fPIC "${cflags[@]}" -o "build/lua/$1" "${@:2}" "${ldflags[@]}"
}

main() {
	local name=$1 dir uv
	dir=$(mktemp -d)
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$dir'" EXIT
	tar -x -C "$dir" --strip-components=1 -f "$2"
	mkdir -p build/lua
	case $name in
	lua-cjson) module cjson.so -DNDEBUG "$dir"/{lua_cjson,strbuf,fpconv}.c -lm ;;
	luv)
		read -r -a uv < <(pkg-config --cflags --libs libuv)
		module luv.so "$dir/src/luv.c" "${uv[@]}"
		;;
	lua-argparse) install -m 644 "$dir/src/argparse.lua" build/lua/ ;;
	*)
		echo "lua-modules: $name is none that syscheck needs" >&2
		return 1
		;;
	esac
}

main "$@"
