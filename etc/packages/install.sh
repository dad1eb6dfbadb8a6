#!/bin/bash
# Called by `make install` and `make packages`, which give every directory by name. What is
# installed stands here and nowhere else: each file with its mode, whether it is the site's
# to change, and its package. The list of it, $LIST (default: share/syscheck/installed), is
# what `make uninstall` and both kinds of package go by. A line of it:
#   KIND MODE PACKAGE SUM PATH   f: file; c: configuration, SUM as shipped; d: directory
set -eu

PACKAGE=syscheck # of what is installed next
STAGE=           # prolog, epilog, health
TEXT=            # of the file that is installed next

dest() {
	printf '%s%s' "${DESTDIR-}" "$1"
}

# list KIND MODE PATH [SUM]
list() {
	printf '%s %s %s %s %s\n' "$1" "$2" "$PACKAGE" "${4--}" "$3" >>"$LIST.new"
}

# dir MODE PATH...: directories of our own
dir() {
	local d mode=$1
	shift
	for d in "$@"; do
		[ -d "$(dest "$d")" ] || install -d -m "$mode" "$(dest "$d")"
		list d "$mode" "$d"
	done
}

# shared PATH...: directories that are others', too
shared() {
	local d
	for d in "$@"; do
		[ -d "$(dest "$d")" ] || install -d -m 755 "$(dest "$d")"
	done
}

# in_place MODE TARGET: TARGET.$$ becomes TARGET; written beside it and moved, so that a running
# prolog never sees half a file
in_place() {
	chmod "$1" "$2.$$"
	mv -f "$2.$$" "$2"
}

# fill SOURCE: its text into $TEXT, with the @NAMES@ filled in
fill() {
	local name
	TEXT=$(<"$1")
	for name in STAGE LUA BINDIR LIBEXECDIR DATADIR SYSCONFDIR LOCALSTATEDIR RUNDIR LIBDIR DOCDIR VERSION; do
		TEXT=${TEXT//"@$name@"/"${!name}"}
	done
}

# text MODE PATH: $TEXT
text() {
	local target
	target=$(dest "$2")
	printf '%s\n' "$TEXT" >"$target.$$"
	in_place "$1" "$target"
	list f "$1" "$2"
}

# file MODE SOURCE PATH
file() {
	fill "$2"
	text "$1" "$3"
}

# page SOURCE: of the documents, which lie beside each other there
page() {
	fill "$1"
	TEXT=${TEXT//'](docs/'/](}
	TEXT=${TEXT//'](../'/](}
	text 644 "$DOCDIR/${1##*/}"
}

# copy MODE SOURCE PATH: not a text; slurmd may have it loaded
copy() {
	local target
	target=$(dest "$3")
	cp "$2" "$target.$$"
	in_place "$1" "$target"
	list f "$1" "$3"
}

# config SOURCE PATH: a site's own file is never overwritten; what would have been
# installed is in share/syscheck/examples in any case.
config() {
	local sum target
	target=$(dest "$2")
	file 644 "$1" "$DATADIR/examples/${1#etc/}"
	if [ ! -e "$target" ] && [ ! -L "$target" ]; then
		printf '%s\n' "$TEXT" >"$target.$$"
		in_place 644 "$target"
	fi
	read -r sum _ < <(printf '%s\n' "$TEXT" | sha256sum)
	list c 644 "$2" "$sum"
}

# man SOURCE: with this installation's directories instead of the default ones. Packages
# have it compressed.
man() {
	local target path=$MANDIR/man${1##*.}/${1##*/}
	TEXT=$(<"$1")
	TEXT=${TEXT//\/usr\/local\/libexec\/syscheck/"$LIBEXECDIR"}
	TEXT=${TEXT//\/usr\/local\/share\/syscheck/"$DATADIR"}
	TEXT=${TEXT//\/etc\/syscheck/"$SYSCONFDIR/syscheck"}
	TEXT=${TEXT//\/var\//"$LOCALSTATEDIR/"}
	[ "${GZIP_MAN-}" != 1 ] || path=$path.gz
	target=$(dest "$path")
	if [ "${GZIP_MAN-}" = 1 ]; then
		printf '%s\n' "$TEXT" | gzip -9n >"$target.$$"
	else
		printf '%s\n' "$TEXT" >"$target.$$"
	fi
	in_place 644 "$target"
	list f 644 "$path"
}

# All modules at once: a job that starts or ends meanwhile must not load some of the old
# version and some of the new.
modules() {
	local f new old path
	new=$(dest "$DATADIR/lua.new.$$") old=$(dest "$DATADIR/lua.old.$$")
	list d 755 "$DATADIR/lua"
	while read -r f; do
		install -d -m 755 "$new/${f#lua/}"
		list d 755 "$DATADIR/$f"
	done < <(find lua/syscheck -type d | LC_ALL=C sort)
	while read -r f; do
		path=${f#lua/}
		[[ $f == lua/* ]] || path=syscheck/${f##*/}
		fill "$f"
		printf '%s\n' "$TEXT" >"$new/$path"
		list f 644 "$DATADIR/lua/$path"
	done < <(find lua/syscheck prolog epilog -name '*.lua' | LC_ALL=C sort)
	[ ! -e "$(dest "$DATADIR/lua")" ] || mv "$(dest "$DATADIR/lua")" "$old"
	mv "$new" "$(dest "$DATADIR/lua")"
	rm -rf "$old"
}

# All modules in one file, for this host's Lua: not for the one below DESTDIR. Without it they are
# read one by one.
compile() {
	if [ -z "${DESTDIR-}" ] && "$LIBEXECDIR/agent.lua" compile; then
		list f 644 "$LIBDIR/modules.luac"
	fi
}

# Lua's modules that the distribution does not have, see lua-modules.sh, and our own in C.
built_in() {
	local f
	dir 755 "$LIBDIR/lua"
	for f in build/lua/*.so build/lua/*.lua; do
		[ -e "$f" ] || continue
		copy 644 "$f" "$LIBDIR/lua/${f##*/}"
	done
}

# For bash and zsh, by the parser of what was just installed, which may be below DESTDIR.
completions() {
	local tool shell path
	tool=$(dest "$BINDIR/syscheck.$$")
	DATADIR=$(dest "$DATADIR") LIBDIR=$(dest "$LIBDIR") fill lua/main.lua
	printf '%s\n' "$TEXT" >"$tool"
	for shell in bash zsh; do
		path=$BASHCOMPDIR/syscheck
		[ "$shell" = bash ] || path=$ZSHCOMPDIR/_syscheck
		if "$LUA" -E "$tool" --completion "$shell" >"$tool.$shell"; then
			copy 644 "$tool.$shell" "$path"
		else
			# A build host without Lua's modules can install all else.
			echo "no completion for $shell: it takes Lua and its modules on this host" >&2
		fi
		rm -f "$tool.$shell"
	done
	rm -f "$tool"
}

# unit NAME...: systemd's; nothing is enabled
unit() {
	local f
	for f in "$@"; do
		file 644 "etc/systemd/$f" "$UNITDIR/$f"
	done
}

# example FILE...: of etc/
example() {
	local f
	for f in "$@"; do
		file 644 "$f" "$DATADIR/examples/${f#etc/}"
	done
}

# agent, kernels, command line
node() {
	local f kernel
	PACKAGE=syscheck
	dir 755 "$LIBEXECDIR" "$LIBDIR" "$DATADIR" "$DOCDIR" "$SYSCONFDIR/syscheck" "$DATADIR/examples" \
		"$SYSCONFDIR/syscheck/checks.d" "$DATADIR/examples/checks.d" "$DATADIR/examples/syscheck" "$DATADIR/examples/logrotate.d"
	for kernel in $KERNELS; do
		[ "$kernel" = fabric ] || copy 755 "build/kernels/$kernel" "$LIBEXECDIR/$kernel"
	done
	# What a job's prolog or epilog uses comes before who uses it: they run meanwhile.
	built_in
	modules
	file 644 lua/bound.lua "$LIBEXECDIR/bound.lua"
	file 755 lua/agent.lua "$LIBEXECDIR/agent.lua"
	for STAGE in prolog epilog health; do
		file 755 prolog/entry.sh "$LIBEXECDIR/$STAGE"
	done
	STAGE=
	file 755 lua/main.lua "$BINDIR/syscheck"
	compile
	completions
	for f in docs/man/*.[158]; do
		man "$f"
	done
	for f in README.md CHANGELOG.md LICENSE docs/*.md docs/*.json; do
		page "$f"
	done
	for f in etc/checks.d/*; do
		file 755 "$f" "$DATADIR/examples/${f#etc/}"
	done
	config etc/syscheck/policy.lua "$SYSCONFDIR/syscheck/policy.lua"
	config etc/logrotate.d/syscheck "$SYSCONFDIR/logrotate.d/syscheck"
	file 644 etc/tmpfiles.d/syscheck.conf "$TMPFILESDIR/syscheck.conf"
	unit syscheck-ship.{service,timer}
}

# needs OpenMPI, which every node need not have
fabric() {
	PACKAGE=syscheck-fabric
	[[ " $KERNELS " != *" fabric "* ]] || copy 755 build/kernels/fabric "$LIBEXECDIR/fabric"
}

# what Slurm loads or reads
slurm() {
	PACKAGE=syscheck-slurm
	dir 755 "$DATADIR/examples/slurm" "$DATADIR/examples/slurm/plugstack.conf.d" "$SYSCONFDIR/slurm/plugstack.conf.d"
	copy 755 build/spank/spank_syscheck.so "$LIBDIR/spank_syscheck.so"
	file 644 lua/job_submit.lua "$DATADIR/job_submit.lua"
	config etc/slurm/syscheck.conf "$SYSCONFDIR/slurm/syscheck.conf"
	config etc/slurm/plugstack.conf.d/syscheck.conf "$SYSCONFDIR/slurm/plugstack.conf.d/syscheck.conf"
	file 644 etc/tmpfiles.d/syscheck-slurm.conf "$TMPFILESDIR/syscheck-slurm.conf"
}

# the host of the store
store() {
	local f
	PACKAGE=syscheck-store
	dir 755 "$DATADIR/examples/store" "$DATADIR/examples/sudoers.d" "$DATADIR/examples/grafana" "$DATADIR/examples/prometheus" \
		"$DATADIR/examples/notify"
	file 755 lua/ask.lua "$LIBEXECDIR/ask"
	# Only examples: who may ask is the site's to say.
	example etc/sudoers.d/syscheck etc/store/* etc/grafana/*.json etc/prometheus/*
	for f in etc/notify/*; do
		file 755 "$f" "$DATADIR/examples/${f#etc/}"
	done
	file 644 etc/tmpfiles.d/syscheck-store.conf "$TMPFILESDIR/syscheck-store.conf"
	file 644 etc/sysusers.d/syscheck-store.conf "$SYSUSERSDIR/syscheck-store.conf"
	unit syscheck-{ingest,prune,export}.{service,timer}
}

# What users have no business in: records name other users' jobs. In no package: their
# owners are the site's to change, and rpm would set them back.
data() {
	local d
	[ "${DATA-}" != 0 ] || return 0 # many sites' environment has a DATA
	for d in spool/syscheck lib/syscheck lib/syscheck-store; do
		[ -d "$(dest "$LOCALSTATEDIR/$d")" ] || install -d -m 750 "$(dest "$LOCALSTATEDIR/$d")"
	done
	# slurmctld's copy of the policy; SlurmUser's where that is not root.
	d=$(dest "$LOCALSTATEDIR/lib/syscheck-submit")
	[ -d "$d" ] || install -d -m 700 "$d"
}

# paths LIST [KIND]: of all in it, or of those of a kind
paths() {
	sed -nE "s/^${2-.}( [^ ]+){3} //p" "$1" | LC_ALL=C sort
}

# Files of the version before that this one does not have, whatever mode, kind and package they have now.
obsolete() {
	local path
	[ -f "$LIST" ] || return 0
	while read -r path; do
		rm -f "$(dest "$path")"
	done < <(LC_ALL=C comm -23 <(paths "$LIST" f) <(paths "$LIST.new"))
}

main() {
	umask 022
	KERNELS=$(sed -n 's/^kernels //p' build/built)
	shared "$BINDIR" "$BASHCOMPDIR" "$ZSHCOMPDIR" "$MANDIR"/man{1,5,8} "$UNITDIR" "$TMPFILESDIR" "$SYSUSERSDIR" \
		"$SYSCONFDIR/logrotate.d" "$LOCALSTATEDIR/log" "$(dirname "$DATADIR")"
	LIST=${LIST:-$(dest "$DATADIR/installed")}
	install -d -m 755 "$(dirname "$LIST")"
	: >"$LIST.new"
	node
	fabric
	slurm
	store
	data
	obsolete
	mv -f "$LIST.new" "$LIST"
	rm -f "$(dest "$LIBDIR/syscheck_pick.so")" # of the first ingest
}

main
