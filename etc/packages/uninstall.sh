#!/bin/bash
# Called by `make uninstall`: removes what install.sh listed. What the site has changed, and
# data, stay; they are named.
set -eu

dest() {
	printf '%s%s' "${DESTDIR-}" "$1"
}

# in_use: Slurm still runs what would go. A cluster whose Prolog is missing is drained node by node.
in_use() {
	[ -z "${DESTDIR-}" ] && [ "${SYSCHECK_FORCE_REMOVE-}" != 1 ] || return 1
	"$BINDIR/syscheck" doctor --removal all
	[ "$?" = 4 ]
}

# packaged PATH: a package has it, too, which was installed over this: it is that one's now
packaged() {
	[ -z "${DESTDIR-}" ] && { dpkg-query -S "$1" || rpm -qf "$1"; } >/dev/null 2>&1
}

# left PATH...: those that are there
left() {
	local f
	for f in "$@"; do
		[ ! -e "$(dest "$f")" ] || echo "left: $(dest "$f")"
	done
}

main() {
	local list kind sum path now changed=() dirs=()
	list=$(dest "$DATADIR/installed")
	if [ ! -f "$list" ]; then
		echo "uninstall: no $list here: nothing was installed with this DESTDIR and PREFIX, or by an older version; then run make install first" >&2
		return 1
	fi
	if in_use; then
		return 1
	fi
	while read -r kind _ _ sum path; do
		case $kind in
		f) rm -f "$(dest "$path")" ;;
		c)
			if [ ! -f "$(dest "$path")" ] || packaged "$path"; then
				continue
			fi
			read -r now _ < <(sha256sum <"$(dest "$path")")
			if [ "$now" = "$sum" ]; then
				rm -f "$(dest "$path")"
			else
				changed+=("$path")
			fi
			;;
		d) dirs=("$path" "${dirs[@]}") ;; # those above come first in the list
		esac
	done <"$list"
	rm -f "$list" "$(dest "$LIBDIR/modules.luac")" # compiled since, where Lua was another
	for path in "${dirs[@]}"; do
		[[ $path == "$SYSCONFDIR/"* ]] && packaged "$path" || rmdir "$(dest "$path")" 2>/dev/null || true
	done
	rmdir "$(dest "$LIBDIR")" "$(dest "$LIBEXECDIR")" "$(dest "$DATADIR")" 2>/dev/null || true
	# Empty ones go, too; packages share them.
	if ! packaged "$SYSCONFDIR/syscheck/policy.lua"; then
		for path in spool/syscheck lib/syscheck lib/syscheck-store lib/syscheck-submit; do
			rmdir "$(dest "$LOCALSTATEDIR/$path")" 2>/dev/null || true
		done
	fi
	left "${changed[@]}" "$SYSCONFDIR/syscheck/"* "$LOCALSTATEDIR"/{spool/syscheck,lib/syscheck,lib/syscheck-store,lib/syscheck-submit,log/syscheck.log} \
		"$LIBDIR" "$LIBEXECDIR" "$DATADIR" | sort -u
}

main
