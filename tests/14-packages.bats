#!/usr/bin/env bats
# From a tree to hosts and back: make install, uninstall, dist, packages; packages in a bare Debian.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load packages

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
umask 022
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
NEXT=99.0.0 # the version that packages are upgraded to

setup_file() {
	export T=$BATS_FILE_TMPDIR/tree OUT=$BATS_FILE_TMPDIR/packages
	tree_copy "$T"
}

setup() {
	VERSION=$(sed -n 's/^VERSION *:= *//p' "$ROOT/Makefile")
	P=$BATS_TEST_TMPDIR/p
}

# tools NAME... : a directory with compilers that fail and say so in $CALLS, before all others in PATH
without_compilers() {
	local name
	CALLS=$BATS_TEST_TMPDIR/calls
	mkdir "$BATS_TEST_TMPDIR/bin"
	for name in cc gcc ld pkg-config mpicc ar; do
		printf '#!/bin/sh\necho "%s $*" >>%q\nexit 1\n' "$name" "$CALLS" >"$BATS_TEST_TMPDIR/bin/$name"
	done
	chmod 755 "$BATS_TEST_TMPDIR/bin"/*
	PATH=$BATS_TEST_TMPDIR/bin:$PATH
}

# mpicc is asked whether it is there; that is all.
compiled() {
	grep -v '^mpicc --showme:link$' "$CALLS"
}

# packages: both kinds of this version and of the next one, whose policy has another default; once
packages() {
	[ ! -d "$OUT" ] || return 0
	command -v dpkg-shlibdeps >/dev/null || skip "no dpkg-dev"
	command -v rpmbuild >/dev/null || skip "no rpmbuild"
	make -s -C "$T" packages >"$BATS_FILE_TMPDIR/packages.log"
	mkdir "$OUT.new"
	mv "$T/build/packages" "$OUT.new/$VERSION"
	cp "$T/etc/syscheck/policy.lua" "$BATS_FILE_TMPDIR/policy.lua"
	sed -i 's/budget = 0.01/budget = 0.02/' "$T/etc/syscheck/policy.lua"
	make -s -C "$T" packages VERSION="$NEXT" >>"$BATS_FILE_TMPDIR/packages.log"
	cp "$BATS_FILE_TMPDIR/policy.lua" "$T/etc/syscheck/policy.lua"
	mv "$T/build/packages" "$OUT.new/$NEXT"
	mv "$OUT.new" "$OUT"
}

# depends: the packages of Debian that ours need, all but OpenMPI, by their own word
depends() {
	local f
	for f in "$OUT/$VERSION"/*.deb; do
		[[ $f == */syscheck-fabric_* ]] || dpkg-deb -f "$f" Depends
	done | tr ',' '\n' | awk '$1 !~ /^syscheck/ { print $1 }' | sort -u
}

# bare COMMAND... : in a Debian that has nothing but our packages' dependencies, rpm, and what
# debootstrap makes; no network. Our packages are in $OUT. All that it writes is gone afterwards.
bare() {
	local suite
	[ -x "$ROOT/tests/root.sh" ] || skip "no tests/root.sh"
	[ "$(id -u)" = 0 ] || skip "not root"
	packages
	DIR=${ROOTS:-$ROOT/build/roots}/packages
	suite=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# shellcheck disable=SC2046 # a word a package
	run --separate-stderr "$ROOT/tests/root.sh" make "$suite" "$DIR" $(depends) rpm man-db
	[ "$status" -ne 3 ] || skip "${stderr_lines[-1]}"
	[ "$status" -eq 0 ]
	cat "$@" >"$BATS_TEST_TMPDIR/script"
	run --separate-stderr "$ROOT/tests/root.sh" run "$DIR" --bind "$OUT" --bind "$BATS_TEST_TMPDIR" -- \
		env OUT="$OUT" VERSION="$VERSION" NEXT="$NEXT" bash -euxo pipefail "$BATS_TEST_TMPDIR/script"
	output=${output//$'\r'/} # apt gives dpkg a terminal
	# What went wrong, where something did.
	printf '%s\n' "$output" "$stderr"
}

# --- make install, uninstall, dist ---

@test "install: of a finished tree compiles nothing, whatever its time stamps, and asks for no header" {
	without_compilers
	cp -r "$T" "$BATS_TEST_TMPDIR/t" # all files are new, what is built is older than much of it
	find "$BATS_TEST_TMPDIR/t/kernels" "$BATS_TEST_TMPDIR/t/spank" -exec touch {} +
	make -s -C "$BATS_TEST_TMPDIR/t" install PREFIX="$P" DESTDIR=
	run compiled
	[ -z "$output" ]
	[ "$("$P/bin/syscheck" --version)" = "syscheck $VERSION" ]
	[ -x "$P/libexec/syscheck/fabric" ] # built, though mpicc is not here
	lua5.4 "$ROOT/tests/links.lua" "$P"/share/doc/syscheck/*.md
	# What is no longer as it was built is built first.
	echo '/* changed */' >>"$BATS_TEST_TMPDIR/t/kernels/common/version.c"
	run make -C "$BATS_TEST_TMPDIR/t" install PREFIX="$P" DESTDIR=
	[ "$status" -ne 0 ]
	run compiled
	[ -n "$output" ]
}

@test "one version: command line, kernels, man page, packages" {
	packages
	[ "$(dpkg-deb -f "$OUT/$NEXT"/syscheck_*.deb Version)" = "$NEXT" ]
	dpkg-deb -x "$OUT/$NEXT"/syscheck_*.deb "$P"
	[ "$("$P/usr/libexec/syscheck/stream" --version)" = "syscheck stream $NEXT" ]
	grep -q "version = \"$NEXT\"" "$P/usr/share/syscheck/lua/syscheck/lib/paths.lua"
	# It stands in the Makefile, and in no other file.
	[ "$(cd "$ROOT" && grep -rlF "$VERSION" Makefile lua prolog epilog spank kernels etc docs/man)" = Makefile ]
	grep -qx "## $VERSION.*" "$ROOT/CHANGELOG.md"
}

@test "uninstall: what install put there goes; what the site changed, and data, stay and are named" {
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	sed -i 's/mode = "observe"/mode = "enforce"/' "$P/etc/syscheck/policy.lua"
	echo '{}' >"$P/etc/syscheck/baseline.json"
	echo x >"$P/var/spool/syscheck/records.jsonl"
	echo mine >"$P/share/syscheck/mine"
	mkdir -p "$P/lib/other"
	run make -s -C "$T" uninstall PREFIX="$P" DESTDIR=
	[ "$status" -eq 0 ]
	diff <(echo "${output//"$P/"/}") - <<-'LIST'
	left: etc/syscheck/baseline.json
	left: etc/syscheck/policy.lua
	left: share/syscheck
	left: var/spool/syscheck
	LIST
	diff <(cd "$P" && find . -type f | sort) - <<-'LIST'
	./etc/syscheck/baseline.json
	./etc/syscheck/policy.lua
	./share/syscheck/mine
	./var/spool/syscheck/records.jsonl
	LIST
	[ -d "$P/lib/other" ]
	# Nothing to go by.
	run make -s -C "$T" uninstall PREFIX="$P" DESTDIR=
	[ "$status" -ne 0 ]
	[[ $output == *"nothing was installed with this DESTDIR and PREFIX"* ]]
	# The policy that stayed is in force again.
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	grep -q 'mode = "enforce"' "$P/etc/syscheck/policy.lua"
	[ "$(find "$P" -name '*.[0-9]*' ! -name 'syscheck*' | wc -l)" = 0 ]
}

@test "install: over another version what has another mode or package stays, what is no more goes" {
	export DATA=/data # an environment's, not ours
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	[ -d "$P/var/spool/syscheck" ]
	sed -i -E 's,^f 755 syscheck (- .*/examples/checks.d/raid)$,f 644 syscheck-other \1,' "$P/share/syscheck/installed"
	grep -q '^f 644 syscheck-other - ' "$P/share/syscheck/installed"
	echo "f 644 syscheck - $P/share/syscheck/old" >>"$P/share/syscheck/installed"
	touch "$P/share/syscheck/old"
	rm "$P/etc/syscheck/policy.lua"
	ln -s /not/mounted "$P/etc/syscheck/policy.lua"
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	[ -x "$P/share/syscheck/examples/checks.d/raid" ]
	[ ! -e "$P/share/syscheck/old" ]
	[ "$(readlink "$P/etc/syscheck/policy.lua")" = /not/mounted ]
}

@test "uninstall: configuration and data of packages that were installed over it stay" {
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	mkdir "$BATS_TEST_TMPDIR/bin"
	# What the packages have of it; no rpm.
	printf '#!/bin/sh\ncase $2 in */policy.lua | */checks.d) ;; *) exit 1 ;; esac\n' >"$BATS_TEST_TMPDIR/bin/dpkg-query"
	printf '#!/bin/sh\nexit 1\n' >"$BATS_TEST_TMPDIR/bin/rpm"
	chmod 755 "$BATS_TEST_TMPDIR/bin"/*
	PATH=$BATS_TEST_TMPDIR/bin:$PATH make -s -C "$T" uninstall PREFIX="$P" DESTDIR=
	diff <(cd "$P" && find . -path ./etc/logrotate.d -prune -o -path './etc/*' -print -o -path './var/*/*' -print | sort) - <<-'LIST'
	./etc/slurm
	./etc/syscheck
	./etc/syscheck/checks.d
	./etc/syscheck/policy.lua
	./var/lib/syscheck
	./var/lib/syscheck-store
	./var/lib/syscheck-submit
	./var/spool/syscheck
	LIST
}

@test "uninstall: not as long as Slurm would drain every node for it" {
	local conf=$BATS_TEST_TMPDIR/etc name
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	mkdir -p "$conf/prolog.d"
	export SLURM_CONF=$conf/slurm.conf
	refused() {
		run make -s -C "$T" uninstall PREFIX="$P" DESTDIR=
		[ "$status" -ne 0 ] && [[ $output == *"not removed: $1"*"syscheck setup --undo"* ]] && [ -x "$P/libexec/syscheck/prolog" ] || {
			echo "$output"
			return 1
		}
	}
	printf 'include sub.conf\n' >"$SLURM_CONF"
	printf 'ClusterName=x\nProlog=%s\n' "$P/libexec/syscheck/prolog" >"$conf/sub.conf"
	refused "Prolog in $conf/sub.conf:2 is $P/libexec/syscheck/prolog"
	ln -s "$P/libexec/syscheck/epilog" "$conf/prolog.d/50-syscheck"
	printf 'Epilog=%s/prolog.d/*\n' "$conf" >"$conf/sub.conf"
	refused "Epilog in $conf/sub.conf:1 is $conf/prolog.d/50-syscheck"
	printf '#!/bin/sh\n%s/libexec/syscheck/prolog || exit 1\n' "$P" >"$conf/own.sh"
	chmod 755 "$conf/own.sh"
	printf 'Prolog=%s/own.sh\n' "$conf" >"$conf/sub.conf"
	refused "Prolog in $conf/sub.conf:1 is $conf/own.sh, which fails without $P/libexec/syscheck/prolog"
	printf 'JobSubmitPlugins=lua\n' >"$conf/sub.conf"
	printf 'dofile("%s/share/syscheck/job_submit.lua")\n' "$P" >"$conf/job_submit.lua"
	refused "$conf/job_submit.lua loads $P/share/syscheck/job_submit.lua"
	printf 'include %s\n' "$conf/plugs.d/*" >"$conf/plugstack.conf"
	mkdir "$conf/plugs.d"
	printf '# ours\nrequired %s\n' "$P/lib/syscheck/spank_syscheck.so" >"$conf/plugs.d/one"
	printf 'ClusterName=x\n' >"$conf/sub.conf"
	refused "$conf/plugs.d/one:2 requires $P/lib/syscheck/spank_syscheck.so"
	[[ $output == *"no step of any job starts"* ]]
	printf 'optional %s\n' "$P/lib/syscheck/spank_syscheck.so" >"$conf/plugs.d/one"
	printf 'JobSubmitPlugins=job_submit/lua\n' >"$conf/sub.conf"
	printf 'local s = require("syscheck.policy.submission")\n' >"$conf/job_submit.lua"
	refused "$conf/job_submit.lua loads $P/share/syscheck/job_submit.lua"
	# A package takes only what is its own.
	run "$P/bin/syscheck" doctor --removal syscheck
	[ "$status" -eq 0 ]
	run "$P/bin/syscheck" doctor --removal syscheck-slurm
	[ "$status" -eq 4 ]
	# What goes on without ours does not hold it up; nor what Slurm could not read.
	printf 'local ok, err = pcall(dofile, "%s/share/syscheck/job_submit.lua")\n' "$P" >"$conf/job_submit.lua"
	"$P/bin/syscheck" doctor --removal syscheck-slurm
	printf '#!/bin/sh\n%s/libexec/syscheck/prolog || [ $? -ne 1 ] || exit 1\n' "$P" >"$conf/own.sh"
	printf 'Prolog=%s/own.sh\nJobSubmitPlugins=lua\n\1=\n' "$conf" >"$conf/sub.conf"
	cp "$P/share/syscheck/job_submit.lua" "$conf/job_submit.lua"
	run make -s -C "$T" uninstall PREFIX="$P" DESTDIR=
	[ "$status" -eq 0 ]
	# By force.
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	printf 'Prolog=%s\n' "$P/libexec/syscheck/prolog" >"$SLURM_CONF"
	SYSCHECK_FORCE_REMOVE=1 make -s -C "$T" uninstall PREFIX="$P" DESTDIR=
	[ ! -e "$P/libexec/syscheck" ]
}

@test "dist: two clones give the same bytes, and the tree in it builds without git" {
	local n
	git -C "$ROOT" rev-parse HEAD >/dev/null 2>&1 || skip "no clone"
	for n in 1 2; do
		git clone -q "$ROOT" "$BATS_TEST_TMPDIR/$n"
		(umask 02$n && make -s -C "$BATS_TEST_TMPDIR/$n" dist)
	done
	cmp "$BATS_TEST_TMPDIR"/{1,2}/build/dist/syscheck-*.tar.gz
	mkdir "$BATS_TEST_TMPDIR/out"
	tar -xf "$BATS_TEST_TMPDIR/1/build/dist/syscheck-$VERSION.tar.gz" -C "$BATS_TEST_TMPDIR/out"
	cd "$BATS_TEST_TMPDIR/out/syscheck-$VERSION"
	make -s build/kernels/stream
	[ "$(build/kernels/stream --version)" = "syscheck stream $VERSION" ]
	run make -s dist
	[ "$status" -ne 0 ]
	[[ $output == *"this is no clone"* ]]
	# What `rpmbuild -ta` reads.
	command -v rpmspec >/dev/null || skip "no rpmspec"
	[ "$(rpmspec -q --srpm --qf '%{name} %{version}' syscheck.spec)" = "syscheck $VERSION" ]
	run rpmspec -q --requires --define 'rhel 9' --define 'slurm_version 24.11' syscheck.spec
	[ "$(grep -cx -e 'lua(abi) = 5.4' -e lua-luv -e 'slurm >= 24.11' -e 'slurm < 24.12' <<<"$output")" = 4 ]
	[ "$(rpmspec -q --srpm --qf '[%{source} ]' --define 'rhel 9' syscheck.spec)" = "lua-argparse.tar.gz lua-cjson.tar.gz syscheck-$VERSION.tar.gz " ]
}

@test "systemd takes the units, nothing enables them" {
	command -v systemd-analyze >/dev/null || skip "no systemd-analyze"
	make -s -C "$T" install PREFIX="$P" DESTDIR= >/dev/null
	run systemd-analyze verify --man=no "$P"/lib/systemd/system/syscheck-*
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$(cd "$P/lib/systemd/system" && echo *.timer)" = "syscheck-export.timer syscheck-ingest.timer syscheck-prune.timer syscheck-ship.timer" ]
	[ ! -e "$P/etc/systemd" ]
}

# --- packages ---

# of_debs, of_rpms: package, mode, whether it is configuration, path
of_debs() {
	local f package
	for f in "$OUT/$VERSION"/*.deb; do
		package=$(dpkg-deb -f "$f" Package)
		dpkg-deb --ctrl-tarfile "$f" | tar -xO ./conffiles 2>/dev/null >"$BATS_TEST_TMPDIR/conffiles" || true
		dpkg-deb --fsys-tarfile "$f" | tar -tv --numeric-owner | awk -v p="$package" '
			FILENAME != "-" { config[$1] = 1; next }
			$1 ~ /^-/ { path = substr($6, 2); print p, $1, $2, (path in config ? "config" : "-"), path }' "$BATS_TEST_TMPDIR/conffiles" -
	done | grep -v ' /usr/share/doc/[a-z-]*/copyright$' | sort
}

of_rpms() {
	local f
	for f in "$OUT/$VERSION"/*.rpm; do
		rpm -qp --qf "[%{=NAME} %{FILEMODES:perms} 0/0 %{FILEFLAGS:fflags} %{FILENAMES}\n]" "$f" 2>/dev/null
	done | awk '$2 ~ /^-/ { if (NF == 4) print $1, $2, $3, "-", $4; else print $1, $2, $3, ($4 ~ /c/ ? "config" : "-"), $5 }' | sort
}

@test "packages: .deb and .rpm have the same files, modes and configuration" {
	packages
	of_debs >"$BATS_TEST_TMPDIR/debs"
	of_rpms >"$BATS_TEST_TMPDIR/rpms"
	diff "$BATS_TEST_TMPDIR/debs" "$BATS_TEST_TMPDIR/rpms"
	[ "$(wc -l <"$BATS_TEST_TMPDIR/debs")" -gt 300 ]
	diff - <(awk '$4 == "config" { print $1, $2, $5 }' "$BATS_TEST_TMPDIR/debs") <<-'LIST'
	syscheck -rw-r--r-- /etc/logrotate.d/syscheck
	syscheck -rw-r--r-- /etc/syscheck/policy.lua
	syscheck-slurm -rw-r--r-- /etc/slurm/plugstack.conf.d/syscheck.conf
	syscheck-slurm -rw-r--r-- /etc/slurm/syscheck.conf
	LIST
	# Whatever the site did to them is kept, and not moved away.
	[ "$(rpm -qp --qf '[%{FILEFLAGS:fflags} %{FILENAMES}\n]' "$OUT/$VERSION"/syscheck-[0-9]*.rpm | awk '/^c/ { print $1 }' | sort -u)" = cn ]
	# No node needs OpenMPI but where syscheck-fabric is; the plugin is of one Slurm.
	[[ $(dpkg-deb -f "$OUT/$VERSION"/syscheck_*.deb Depends) != *openmpi* ]]
	[[ $(rpm -qp --requires "$OUT/$VERSION"/syscheck-[0-9]*.rpm) != *libmpi* ]]
	[[ $(dpkg-deb -f "$OUT/$VERSION"/syscheck-slurm_*.deb Depends) == *"(>= "[0-9]*.[0-9]*"~)"*"(<< "* ]]
	[ "$(rpm -qp --requires "$OUT/$VERSION"/syscheck-slurm-*.rpm | grep -c '^slurm \(>=\|<\) [0-9]*[.][0-9]*$')" = 2 ]
	# Scripts are shell, and the same.
	for f in postinst prerm postrm; do
		dpkg-deb --ctrl-tarfile "$OUT/$VERSION"/syscheck-store_*.deb | tar -xO "./$f" >"$BATS_TEST_TMPDIR/$f"
		shellcheck -s sh -e SC2043 "$BATS_TEST_TMPDIR/$f"
	done
	[ "$(rpm -qp --qf '%{PREUN}' "$OUT/$VERSION"/syscheck-store-*.rpm)" = "$(tail -n +2 "$BATS_TEST_TMPDIR/prerm")" ]
}

@test "packages: the same tree gives the same .deb" {
	packages
	make -s -C "$T" packages >/dev/null
	for f in "$OUT/$VERSION"/*.deb; do
		cmp "$f" "$T/build/packages/${f##*/}"
	done
}

@test "deb: installed, run, upgraded with a changed policy, removed, purged in a bare Debian" {
	bare - <<-'SCRIPT'
	cd /
	! command -v gcc && ! command -v systemctl
	apt-get -qq install "$OUT/$VERSION"/syscheck{,-slurm,-store}_*.deb
	[ "$(syscheck --version)" = "syscheck $VERSION" ]
	syscheck run --level passive | grep 'level passive: '
	LOGIN=1 bash -c 'echo "$SLURM_JOB_ID"; SLURM_JOB_ID=7 /usr/libexec/syscheck/prolog && SLURM_JOB_ID=7 /usr/libexec/syscheck/epilog'
	[ "$(wc -l </var/spool/syscheck/records.jsonl)" = 2 ]
	for d in spool/syscheck:750 lib/syscheck:750 lib/syscheck-store:750 lib/syscheck-submit:700; do
		[ "$(stat -c %a "/var/${d%:*}")" = "${d#*:}" ]
	done
	id syscheck
	# Compiled for this Lua; again when Lua is another.
	[ -s /usr/lib/syscheck/modules.luac ]
	rm /usr/lib/syscheck/modules.luac
	dpkg-trigger --no-await /usr/bin/lua5.4
	dpkg --triggers-only --pending
	[ -s /usr/lib/syscheck/modules.luac ]
	man -w syscheck syscheck-policy
	ls /usr/share/bash-completion/completions/syscheck /usr/share/zsh/vendor-completions/_syscheck
	syscheck ingest
	sed -i 's/mode = "observe"/mode = "enforce"/' /etc/syscheck/policy.lua
	chown daemon /var/lib/syscheck-submit
	dpkg --force-confold -i "$OUT/$NEXT"/syscheck{,-slurm,-store}_*.deb
	[ "$(syscheck --version)" = "syscheck $NEXT" ]
	grep 'mode = "enforce"' /etc/syscheck/policy.lua
	grep 'budget = 0.01' /etc/syscheck/policy.lua
	grep 'budget = 0.02' /etc/syscheck/policy.lua.dpkg-dist
	grep 'budget = 0.02' /usr/share/syscheck/examples/syscheck/policy.lua
	[ "$(stat -c %U /var/lib/syscheck-submit)" = daemon ]
	echo '{}' >/etc/syscheck/baseline.json
	apt-get -qq remove syscheck
	dpkg-query -W -f '${db:Status-Status} ${Package}\n' 'syscheck*' | sort
	! command -v syscheck
	[ ! -e /usr/libexec/syscheck ] && [ ! -e /usr/share/syscheck ] && [ ! -e /usr/lib/syscheck ]
	grep 'mode = "enforce"' /etc/syscheck/policy.lua
	ls /var/spool/syscheck/records.jsonl /var/lib/syscheck-store/syscheck.db /var/log/syscheck.log
	apt-get -qq purge syscheck syscheck-slurm syscheck-store | sort
	find /etc /usr /var -path /var/lib/dpkg -prune -o -name '*syscheck*' -print | sort
	echo all of it
	SCRIPT
	[ "$status" -eq 0 ]
	[[ $output == *"all of it" ]]
	# Removed first: configuration and data are left. Then the purge keeps what is the site's.
	[[ $output == *$'config-files syscheck\nconfig-files syscheck-slurm'* ]]
	[[ $output == *$'syscheck: left: /etc/syscheck\nsyscheck: left: /var/spool/syscheck'* ]]
	[[ $output == *$'/etc/syscheck\n/var/lib/syscheck-store\n/var/lib/syscheck-store/syscheck.db'* ]]
}

@test "deb: not removed as long as slurm.conf needs it, and slurmctld's part by itself" {
	bare - <<-'SCRIPT'
	apt-get -qq install "$OUT/$VERSION"/syscheck{,-slurm}_*.deb
	mkdir -p /run/slurm/conf
	echo 'include /etc/slurm/syscheck.conf' >/etc/slurm/slurm.conf
	! apt-get -qq remove syscheck
	/usr/libexec/syscheck/prolog
	[ "$(dpkg-query -W -f '${db:Status-Status}' syscheck)" = installed ]
	# An upgrade is none.
	apt-get -qq install "$OUT/$NEXT"/syscheck{,-slurm}_*.deb
	# What slurm.conf includes stays, also where it is purged; as long as it does.
	cp /etc/slurm/syscheck.conf /tmp/was
	apt-get -qq purge syscheck-slurm
	cmp /tmp/was /etc/slurm/syscheck.conf
	! apt-get -qq purge syscheck
	apt-get -qq -o Dpkg::Options::=--force-confold install "$OUT/$NEXT"/syscheck-slurm_*.deb
	# The plugin alone: no node is drained for it, and plugstack.conf says optional.
	apt-get -qq remove syscheck-slurm
	[ -e /usr/libexec/syscheck/prolog ]
	echo 'ClusterName=x' >/etc/slurm/slurm.conf
	# What setup has changed nothing could take back: no line of slurm.conf says that.
	mkdir /var/lib/syscheck/setup
	! apt-get -qq remove syscheck
	rmdir /var/lib/syscheck/setup
	cp /etc/slurm/syscheck.conf /run/slurm/conf/slurm.conf
	! apt-get -qq remove syscheck
	SYSCHECK_FORCE_REMOVE=1 apt-get -qq remove syscheck
	[ ! -e /usr/libexec/syscheck ]
	# The site's own files as they were before setup are no state of ours.
	mkdir /var/lib/syscheck/setup
	dpkg -P syscheck
	[ "$(ls /var/lib/syscheck)" = setup ]
	echo all of it
	SCRIPT
	[ "$status" -eq 0 ]
	[[ $output == *"all of it" ]]
	[[ $output$stderr == *"not removed: Prolog in /etc/slurm/syscheck.conf:"*" is /usr/libexec/syscheck/prolog; Epilog in "* ]]
	[[ $output$stderr == *"not removed: /var/lib/syscheck/setup says what "* ]]
	[[ $output$stderr == *"not removed: Prolog in /run/slurm/conf/slurm.conf:"* ]]
}

@test "deb: over an earlier make install the policy stays, and doctor names both" {
	packages
	make -s -C "$T" install DESTDIR="$BATS_TEST_TMPDIR/site" >/dev/null
	sed -i 's/mode = "observe"/mode = "enforce"/' "$BATS_TEST_TMPDIR/site/etc/syscheck/policy.lua"
	bare - <<-'SCRIPT'
	cp -a "${BASH_SOURCE%/*}/site/." /
	printf 'ClusterName=x\nSlurmctldHost=x\nProlog=/usr/local/libexec/syscheck/prolog\nNodeName=x\n' >/etc/slurm/slurm.conf
	# dpkg asks what becomes of the site's files, and does not take the answer from nobody.
	! apt-get -qq install "$OUT/$VERSION"/syscheck_*.deb </dev/null
	apt-get -qq -o Dpkg::Options::=--force-confold install "$OUT/$VERSION"/syscheck{,-slurm}_*.deb
	grep 'mode = "enforce"' /etc/syscheck/policy.lua
	grep /usr/local/libexec /etc/slurm/syscheck.conf
	grep /usr/libexec /etc/slurm/syscheck.conf.dpkg-dist
	/usr/bin/syscheck doctor || true
	{ /usr/local/bin/syscheck doctor || true; } | grep 'is installed in /usr, too'
	echo all of it
	SCRIPT
	[ "$status" -eq 0 ]
	[[ $output == *"all of it" ]]
	[[ $output == *"warn  version $VERSION of syscheck is installed in /usr/local, too, and is slurm.conf's Prolog [/etc/slurm/slurm.conf:3]"*"make uninstall PREFIX=/usr/local"* ]]
}

@test "rpm: installed, upgraded with a changed policy, removed" {
	bare - <<-'SCRIPT'
	arch() { ls "$OUT/$1"/syscheck-{[0-9],slurm-,store-}*.rpm; }
	rpm -i --nodeps $(arch "$VERSION")
	[ "$(syscheck --version)" = "syscheck $VERSION" ]
	SLURM_JOB_ID=7 /usr/libexec/syscheck/prolog
	SLURM_JOB_ID=7 /usr/libexec/syscheck/epilog
	[ -s /var/spool/syscheck/records.jsonl ]
	[ -s /usr/lib/syscheck/modules.luac ]
	id syscheck
	chown daemon /var/lib/syscheck-submit
	sed -i 's/mode = "observe"/mode = "enforce"/' /etc/syscheck/policy.lua
	rpm -U --nodeps $(arch "$NEXT")
	[ "$(syscheck --version)" = "syscheck $NEXT" ]
	grep 'mode = "enforce"' /etc/syscheck/policy.lua
	grep 'budget = 0.02' /etc/syscheck/policy.lua.rpmnew
	[ "$(stat -c '%U %a' /var/lib/syscheck-submit)" = 'daemon 700' ]
	echo 'include /etc/slurm/syscheck.conf' >/etc/slurm/slurm.conf
	! rpm -e syscheck-slurm
	[ -e /etc/slurm/syscheck.conf ]
	printf 'Prolog=/usr/libexec/syscheck/prolog\n' >/etc/slurm/slurm.conf
	! rpm -e syscheck syscheck-slurm syscheck-store
	/usr/libexec/syscheck/prolog
	rm /etc/slurm/slurm.conf
	rpm -e $(rpm -qa 'syscheck*')
	[ ! -e /usr/libexec/syscheck ] && [ ! -e /usr/share/syscheck ] && [ ! -e /etc/slurm/syscheck.conf ]
	grep 'mode = "enforce"' /etc/syscheck/policy.lua.rpmsave
	[ -s /var/spool/syscheck/records.jsonl ]
	echo all of it
	SCRIPT
	[ "$status" -eq 0 ]
	[[ $output == *"all of it" ]]
	[[ $output$stderr == *"not removed: /etc/slurm/slurm.conf includes /etc/slurm/syscheck.conf, and without it slurmctld does not start"* ]]
}
