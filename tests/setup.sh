#!/bin/bash
# Installs what syscheck needs to be built and tested, or says what is missing.
#   setup.sh install [GROUP...]  Debian 12 or newer, root: apt-get what is missing, once
#   setup.sh check GROUP         exit 1 and name what is missing
#   setup.sh list GROUP...       their packages
# GROUP: build, cluster (a Slurm on this machine and its tests), test (the others'), bench (the peers of make bench),
# faults (make faults); default: build, cluster and test.
set -u

# Every line: group, Debian package.
packages() {
	cat <<-'LIST'
	build gcc
	build make
	build libc6-dev
	build pkg-config
	build libhwloc-dev
	build libnuma-dev
	build libopenblas-dev
	build libslurm-dev
	build lua5.4
	build liblua5.4-dev
	build lua-luv
	build lua-cjson
	build lua-argparse
	build lua-dbi-sqlite3
	cluster slurmctld
	cluster slurmd
	cluster slurm-client
	cluster slurm-wlm-basic-plugins
	cluster munge
	cluster iproute2
	cluster nftables
	cluster util-linux
	cluster mount
	cluster procps
	cluster perl
	cluster python3-jsonschema
	cluster bats
	test debootstrap
	test slurmdbd
	test e2fsprogs
	test faketime
	test openmpi-bin
	test libopenmpi-dev
	test libcmocka-dev
	test lua5.1
	test lua5.2
	test lua5.3
	test shellcheck
	test lua-check
	test lua-unit
	test mandoc
	test clang-tidy
	test clang
	test libclang-rt-dev
	test git
	test zsh
	test man-db
	test sqlite3
	test sudo
	test libxml2-utils
	test tidy
	test lua-dbi-postgresql
	test lua-dbi-mysql
	test postgresql
	test mariadb-server-core
	test mariadb-client-core
	test prometheus
	test prometheus-node-exporter
	test dpkg-dev
	test rpm
	bench likwid
	bench hpcc
	bench openmpi-bin
	faults python3-fusepy
	LIST
}

# The servers are for tests, which start their own: nothing of the packages' may run. A
# policy of the machine's own (of a container) stays.
without_daemons() {
	local policy=/usr/sbin/policy-rc.d mine=0 code
	if [ ! -e "$policy" ]; then
		printf '#!/bin/sh\nexit 101\n' >"$policy" && chmod 755 "$policy" && mine=1
	fi
	"$@"
	code=$?
	[ "$mine" = 0 ] || rm -f "$policy"
	return "$code"
}

# Nor do those at the next boot that start without being configured, where this has installed them.
not_at_boot() {
	local name
	for name in prometheus prometheus-node-exporter; do
		[[ " $* " != *" $name "* ]] || systemctl disable "$name.service" >/dev/null 2>&1
	done
	return 0
}

# Debian's PostgreSQL makes a cluster at its installation, unless this file says no.
no_main_cluster() {
	local conf=/etc/postgresql-common/createcluster.conf
	[ ! -e "$conf" ] || grep -q '^create_main_cluster' "$conf" || echo 'create_main_cluster = false' >>"$conf"
}

# list GROUP... : names, one a line
list() {
	packages | awk -v groups=" $* " 'index(groups, " " $1 " ") { print $2 }'
}

# missing GROUP... : names, one a line. Debian after 13 has no Lua 5.2: its tests count as skipped.
missing() {
	local want name
	want=$(list "$@")
	# shellcheck disable=SC2086 # one word a package
	comm -23 <(sort -u <<<"$want") \
		<(dpkg-query -W -f '${db:Status-Status} ${Package}\n' $want 2>/dev/null | awk '$1 == "installed" { print $2 }' | sort -u) |
		while read -r name; do
			[ "$name" = lua5.2 ] && ! apt-cache show lua5.2 >/dev/null 2>&1 || echo "$name"
		done
}

main() {
	local lack groups=("${@:2}")
	[ "${#groups[@]}" -gt 0 ] || groups=(build cluster test)
	if ! command -v dpkg-query >/dev/null; then
		# Not Debian: only the names help. `check` cannot look, so it does not stand in the way.
		[ "$1" = check ] && return 0
		echo "setup: this is not Debian. Install the equivalents of these packages, then run make again:" >&2
		list "${groups[@]}" | paste -sd ' ' >&2
		return 1
	fi
	case $1 in
	list) list "${groups[@]}" ;;
	check)
		lack=$(missing "${groups[@]}")
		[ -z "$lack" ] && return 0
		lack=${lack//$'\n'/ }
		echo "setup: missing packages: $lack" >&2
		echo "setup: run 'make setup' as root, or: apt-get install $lack" >&2
		return 1
		;;
	install)
		lack=$(missing "${groups[@]}")
		[ -z "$lack" ] && return 0
		if [ "$(id -u)" != 0 ]; then
			echo "setup: not root; install first: apt-get install ${lack//$'\n'/ }" >&2
			return 1
		fi
		export DEBIAN_FRONTEND=noninteractive
		# Lists may be absent (a fresh image) or old: refresh them, once.
		apt-get -qq update || return 1
		lack=$(missing "${groups[@]}")
		lack=${lack//$'\n'/ }
		echo "setup: installing $lack"
		if [[ " $lack " == *" postgresql "* ]]; then
			without_daemons apt-get -qq -y --no-install-recommends install postgresql-common >/dev/null || return 1
			no_main_cluster
		fi
		# shellcheck disable=SC2086
		without_daemons apt-get -qq -y --no-install-recommends install $lack >/dev/null || return 1
		# shellcheck disable=SC2086
		not_at_boot $lack
		lack=$(missing "${groups[@]}")
		[ -z "$lack" ] || { echo "setup: still missing: $lack" >&2; return 1; }
		;;
	*)
		echo "usage: setup.sh install [GROUP...] | check GROUP | list GROUP..." >&2
		return 2
		;;
	esac
}

main "$@"
