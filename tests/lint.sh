#!/bin/bash
# make lint: every check a reviewer would otherwise do by eye. Exit 1 on a finding.
set -u
cd "$(dirname "$0")/.." || exit 2
bad=0

step() {
	local name=$1
	shift
	if "$@"; then
		echo "lint: $name: good"
	else
		echo "lint: $name: FAILED"
		bad=1
	fi
}

# Files by their first line or name, so that none is forgotten. Files not yet
# committed count too.
sources() {
	git ls-files --cached --others --exclude-standard
}

shell_files() {
	sources | while read -r f; do
		[ -f "$f" ] || continue
		case $f in
		*.sh | *.bash | *.bats) echo "$f" ;;
		*.*) ;;
		*) head -n 1 "$f" | grep -q '^#!.*bash' && echo "$f" ;;
		esac
	done
}

lint_shell() {
	shell_files | xargs -r shellcheck -x -P SCRIPTDIR -e SC1091,SC2015,SC2317
}

lint_lua() {
	sources | grep '\.lua$' | xargs -r luacheck --config tests/luacheckrc -q
}

# Dashboards and alert rules are committed as they are made.
lint_grafana() {
	lua5.4 etc/grafana/make.lua --check
}

# Which room may use which, and what a pure one may not reach.
lint_rooms() {
	lua5.4 tests/rooms.lua
}

# What slurmctld loads has to compile on each Lua that it may have been built with.
lint_lua_versions() {
	local v f files
	mapfile -t files < <(lua5.4 tests/rooms.lua --lua51)
	[ "${#files[@]}" -gt 5 ] || return 1
	for v in 5.1 5.2 5.3 5.4; do
		# Not every Debian has every Lua; the agent's own is not left out in silence.
		[ "$v" = 5.4 ] || command -v "luac$v" >/dev/null || { echo "lint: no luac$v here, left out"; continue; }
		for f in "${files[@]}" etc/syscheck/policy.lua; do
			"luac$v" -p "$f" || return 1
		done
	done
}

lint_man() {
	local f
	for f in docs/man/*.[158]; do
		mandoc -T lint -W warning "$f" || return 1
	done
}

lint_links() {
	sources | grep '\.md$' | xargs lua5.4 tests/links.lua
}

lint_c() {
	local flags
	read -r -a flags < <(echo "$(pkg-config --cflags hwloc openblas lua5.4) $(mpicc --showme:compile)")
	# A process for each file: with many in one, the analyzer forgets a va_start.
	sources | grep -E '^(kernels|spank|lua)/.*\.c$' | xargs -P "$(nproc)" -I '{}' clang-tidy --quiet --warnings-as-errors='*' \
		--checks='-*,clang-analyzer-*,bugprone-*,-bugprone-easily-swappable-parameters,-bugprone-reserved-identifier,-clang-analyzer-security.insecureAPI.DeprecatedOrUnsafeBufferHandling' \
		'{}' -- -std=gnu11 -D_GNU_SOURCE -DSYSCHECK_VERSION='"lint"' -Ikernels -Ispank "${flags[@]}" 2>&1 |
		grep -v 'warnings generated'
	return "${PIPESTATUS[2]}"
}

step "shellcheck" lint_shell
step "luacheck" lint_lua
step "dashboards" lint_grafana
step "rooms" lint_rooms
step "luac 5.1 to 5.4" lint_lua_versions
step "man pages" lint_man
step "links" lint_links
step "clang-tidy" lint_c
exit "$bad"
