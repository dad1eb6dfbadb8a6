#!/bin/bash
# Called by `make install`, which gives every directory by name.
set -eu

dest() {
	printf '%s%s' "${DESTDIR-}" "$1"
}

# substitute MODE SOURCE TARGET: fills in @NAMES@. Written beside the target and
# moved: a running prolog never sees half a file.
substitute() {
	local mode=$1 source=$2 target=$3 text name
	text=$(<"$source")
	for name in STAGE LUA BINDIR LIBEXECDIR DATADIR SYSCONFDIR LOCALSTATEDIR RUNDIR LIBDIR VERSION; do
		text=${text//"@$name@"/"${!name}"}
	done
	printf '%s\n' "$text" >"$target.$$"
	chmod "$mode" "$target.$$"
	mv -f "$target.$$" "$target"
}

# binary SOURCE TARGET: moved, for the same reason, and as slurmd may have it loaded.
binary() {
	install -m 755 "$1" "$2.$$"
	mv -f "$2.$$" "$2"
}

# config SOURCE TARGET: a site's own file is never overwritten; what would have been
# installed is in share/syscheck/examples in any case.
config() {
	substitute 644 "$1" "$(dest "$DATADIR/examples/${1#etc/}")"
	[ -e "$2" ] || substitute 644 "$1" "$2"
}

# man SOURCE: with this installation's directories instead of the default ones.
man() {
	local text target
	target=$(dest "$MANDIR/man${1##*.}/${1##*/}")
	text=$(<"$1")
	text=${text//\/usr\/local\/libexec\/syscheck/"$LIBEXECDIR"}
	text=${text//\/usr\/local\/share\/syscheck/"$DATADIR"}
	text=${text//\/etc\/syscheck/"$SYSCONFDIR/syscheck"}
	text=${text//\/var\//"$LOCALSTATEDIR/"}
	printf '%s\n' "$text" >"$target.$$"
	chmod 644 "$target.$$"
	mv -f "$target.$$" "$target"
}

# All modules at once: a job that starts or ends meanwhile must not load some of the old
# version and some of the new.
modules() {
	local d f new old
	new=$(dest "$DATADIR/lua.new.$$") old=$(dest "$DATADIR/lua.old.$$")
	find lua/syscheck -type d | while read -r d; do
		install -d -m 755 "$new/${d#lua/}"
	done
	find lua/syscheck -name '*.lua' | while read -r f; do
		substitute 644 "$f" "$new/${f#lua/}"
	done
	for f in prolog/*.lua epilog/*.lua; do
		substitute 644 "$f" "$new/syscheck/${f##*/}"
	done
	d=$(dest "$DATADIR/lua")
	[ ! -e "$d" ] || mv "$d" "$old"
	mv "$new" "$d"
	rm -rf "$old" "$(dest "$LIBDIR/syscheck_pick.so")" # the latter is of version 0.1.0's first ingest
}

# For bash and zsh, by the parser of what was just installed, which may be below DESTDIR.
completions() {
	local tool shell target
	tool=$(dest "$BINDIR/syscheck.$$")
	DATADIR=$(dest "$DATADIR") substitute 644 lua/main.lua "$tool"
	for shell in bash zsh; do
		target=$(dest "$BASHCOMPDIR/syscheck")
		[ "$shell" = bash ] || target=$(dest "$ZSHCOMPDIR/_syscheck")
		if "$LUA" -E "$tool" --completion "$shell" >"$target.$$"; then
			mv -f "$target.$$" "$target"
		else
			# A build host without Lua's modules can install all else.
			rm -f "$target.$$"
			echo "no completion for $shell: it takes Lua and its modules on this host" >&2
		fi
	done
	rm -f "$tool"
}

main() {
	umask 022
	local d f STAGE=
	for d in "$BINDIR" "$LIBDIR" "$LIBEXECDIR" "$DATADIR" "$BASHCOMPDIR" "$ZSHCOMPDIR" \
		"$MANDIR/man1" "$MANDIR/man5" "$MANDIR/man8" "$SYSCONFDIR/syscheck/checks.d" "$DATADIR/examples/checks.d" "$SYSCONFDIR/slurm/plugstack.conf.d" \
		"$DATADIR/examples/syscheck" "$DATADIR/examples/slurm/plugstack.conf.d" "$DATADIR/examples/logrotate.d" "$DATADIR/examples/systemd" "$DATADIR/examples/sudoers.d" "$DATADIR/examples/store" \
		"$DATADIR/examples/grafana" "$DATADIR/examples/prometheus" \
		"$SYSCONFDIR/logrotate.d" "$LOCALSTATEDIR/log"; do
		[ -d "$(dest "$d")" ] || install -d -m 755 "$(dest "$d")"
	done
	# What users have no business in: records name other users' jobs.
	for d in "$LOCALSTATEDIR/spool/syscheck" "$LOCALSTATEDIR/lib/syscheck" "$LOCALSTATEDIR/lib/syscheck-store"; do
		[ -d "$(dest "$d")" ] || install -d -m 750 "$(dest "$d")"
	done

	# slurmctld's copy of the policy; SlurmUser's where that is not root (docs/install.md).
	d=$LOCALSTATEDIR/lib/syscheck-submit
	[ -d "$(dest "$d")" ] || install -d -m 700 "$(dest "$d")"

	for f in $KERNELS; do
		binary "build/kernels/$f" "$(dest "$LIBEXECDIR/$f")"
	done
	binary build/spank/spank_syscheck.so "$(dest "$LIBDIR/spank_syscheck.so")"
	for STAGE in prolog epilog health; do
		substitute 755 prolog/entry.sh "$(dest "$LIBEXECDIR/$STAGE")"
	done
	substitute 755 lua/agent.lua "$(dest "$LIBEXECDIR/agent.lua")"
	substitute 644 lua/job_submit.lua "$(dest "$DATADIR/job_submit.lua")"
	substitute 755 lua/main.lua "$(dest "$BINDIR/syscheck")"
	substitute 755 lua/ask.lua "$(dest "$LIBEXECDIR/ask")"
	modules
	completions
	for f in docs/man/*.[158]; do
		[ -e "$f" ] && man "$f"
	done

	substitute 644 etc/store/postgresql-users.sql "$(dest "$DATADIR/examples/store/postgresql-users.sql")"
	config etc/syscheck/policy.lua "$(dest "$SYSCONFDIR/syscheck/policy.lua")"
	config etc/slurm/syscheck.conf "$(dest "$SYSCONFDIR/slurm/syscheck.conf")"
	config etc/slurm/plugstack.conf.d/syscheck.conf "$(dest "$SYSCONFDIR/slurm/plugstack.conf.d/syscheck.conf")"
	for f in etc/checks.d/*; do
		substitute 755 "$f" "$(dest "$DATADIR/examples/${f#etc/}")"
	done
	for f in etc/systemd/* etc/grafana/*.json etc/prometheus/*; do
		substitute 644 "$f" "$(dest "$DATADIR/examples/${f#etc/}")"
	done
	# Only an example: who may ask is the site's to say.
	substitute 644 etc/sudoers.d/syscheck "$(dest "$DATADIR/examples/sudoers.d/syscheck")"
	config etc/logrotate.d/syscheck "$(dest "$SYSCONFDIR/logrotate.d/syscheck")"
}

main
