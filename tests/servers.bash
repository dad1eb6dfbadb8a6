# Database servers of a test: in its own directory, on a unix socket there, as a user who is
# not root (PostgreSQL refuses to be), ended by their process ids.
# shellcheck shell=bash disable=SC2034

# run_as DIR: sets AS, the words that run a command as who owns DIR. Not a function that
# runs it: of one in the background, $! would be a shell's.
run_as() {
	AS=()
	[ "$(id -u)" != 0 ] || AS=(setpriv --reuid="$(stat -c %u "$1")" --regid="$(stat -c %g "$1")" --clear-groups --)
}

# server_dir NAME: a directory of its own that the server's user can reach; a socket's path
# must be short
server_dir() {
	local dir
	dir=$(mktemp -d "/tmp/$1.XXXXXX") || return 1
	[ "$(id -u)" != 0 ] || chown nobody: "$dir"
	echo "$dir"
}

# start_postgresql DIR [OPTION...]: superuser admin, database syscheck; PGURL is its URL
start_postgresql() {
	local dir=$1 bin=
	run_as "$dir"
	for bin in /usr/lib/postgresql/*/bin; do :; done
	"${AS[@]}" "$bin/initdb" -D "$dir/data" -U admin -A trust --no-sync --locale=C.UTF-8 -E UTF8 >"$dir/log" 2>&1 || return 1
	"${AS[@]}" "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c max_connections=40 "${@:2}" \
		>>"$dir/log" 2>&1 3>&- 4>&- &
	echo $! >"$dir/pid"
	# shellcheck disable=SC2034
	PGURL="postgresql://admin@/syscheck?host=$dir"
	server_wait "$dir" psql -h "$dir" -U admin -d postgres -Xqc 'CREATE DATABASE syscheck'
}

# start_mariadb DIR: MYURL is its URL; root is let in by nothing but the socket
start_mariadb() {
	local dir=$1
	run_as "$dir"
	"${AS[@]}" mariadb-install-db --no-defaults --datadir="$dir/data" --auth-root-authentication-method=normal \
		--skip-test-db --skip-log-bin >"$dir/log" 2>&1 || return 1
	"${AS[@]}" mariadbd --no-defaults --datadir="$dir/data" --socket="$dir/s" --pid-file="$dir/mpid" --skip-networking \
		--innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=64M >>"$dir/log" 2>&1 3>&- 4>&- &
	echo $! >"$dir/pid"
	# shellcheck disable=SC2034
	MYURL="mariadb://root@localhost/syscheck?socket=$dir/s"
	server_wait "$dir" mariadb --no-defaults -S "$dir/s" -u root -e 'CREATE DATABASE syscheck'
}

# server_wait DIR COMMAND...: until it works
server_wait() {
	local dir=$1 i
	shift
	for ((i = 0; i < 300; i++)); do
		"$@" >/dev/null 2>&1 && return 0
		kill -0 "$(<"$dir/pid")" 2>/dev/null || break
		sleep 0.1
	done
	cat "$dir/log" >&2
	return 1
}

# stop_server DIR [SIGNAL]: $! was the shell around it, and ending that ends no server
stop_server() {
	local pid
	pid=$(cat "$1/data/postmaster.pid" "$1/mpid" 2>/dev/null | head -n 1)
	[ -n "$pid" ] && kill "-${2:-INT}" "$pid" 2>/dev/null || return 0
	timeout 60 tail --pid="$pid" -f /dev/null
}

# Servers that were killed start again on what they had.
restart_postgresql() {
	local dir=$1 bin=
	run_as "$dir"
	for bin in /usr/lib/postgresql/*/bin; do :; done
	rm -f "$dir/data/postmaster.pid"
	"${AS[@]}" "$bin/postgres" -D "$dir/data" -k "$dir" -c listen_addresses= -c max_connections=40 \
		>>"$dir/log" 2>&1 3>&- 4>&- &
	echo $! >"$dir/pid"
	server_wait "$dir" psql -h "$dir" -U admin -d syscheck -Xqc 'SELECT 1'
}

restart_mariadb() {
	local dir=$1
	run_as "$dir"
	"${AS[@]}" mariadbd --no-defaults --datadir="$dir/data" --socket="$dir/s" --pid-file="$dir/mpid" --skip-networking \
		--innodb-flush-log-at-trx-commit=2 --innodb-buffer-pool-size=64M >>"$dir/log" 2>&1 3>&- 4>&- &
	echo $! >"$dir/pid"
	server_wait "$dir" mariadb --no-defaults -S "$dir/s" -u root -e 'SELECT 1'
}
