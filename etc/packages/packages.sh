#!/bin/bash
# make packages: .deb and .rpm from one tree that `make install` makes, by its list of files.
#   packages.sh VERSION MAKE LUA
set -eu
HERE=$(cd "$(dirname "$0")" && pwd)
OUT=build/packages
STAGE=$PWD/$OUT/stage # what is installed; $STAGE.list: the list
VERSION=$1
MAKE=$2
LUA=$3

packages() {
	awk '{ print $3 }' "$STAGE.list" | sort -u
}

# The Slurm that the plugin loads into, 22.05.
slurm_version() {
	"$LUA" -E -e 'package.path = "lua/?.lua"
		local file = assert(io.open("build/spank/spank_syscheck.so", "rb"))
		print(assert(require("syscheck.doctor.facts.elf").slurm_version(file:read("a"))):match("^%d+%.%d+"))'
}

stage() {
	local f
	rm -rf "${OUT:?}"
	mkdir -p "$OUT"
	"$MAKE" -s install VERSION="$VERSION" DESTDIR="$STAGE" PREFIX=/usr DATA=0 GZIP_MAN=1 LIST="$STAGE.list" >/dev/null
	for f in "$STAGE"/usr/libexec/syscheck/* "$STAGE"/usr/lib/syscheck/{,lua/}*.so; do
		[ "$(head -c 4 "$f" | tail -c 3)" != ELF ] || strip --strip-unneeded "$f"
	done
	find "$STAGE" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
}

# tree PACKAGE DIR: its part of the stage
tree() {
	local package=$1 dir=$2 kind mode path
	while read -r kind mode _ _ path; do
		if [ "$kind" = d ]; then
			install -d -m "$mode" "$dir$path"
		else
			install -d -m 755 "$dir$(dirname "$path")"
			cp -p "$STAGE$path" "$dir$path"
		fi
	done < <(awk -v p="$package" '$3 == p' "$STAGE.list")
}

# libraries PACKAGE DIR: the packages that its programs are linked with
libraries() {
	local work files
	mapfile -t files < <(find "$2" -type f \( -perm -100 -o -name '*.so' \) -exec sh -c 'head -c 4 "$1" | grep -q ELF' _ {} \; -print)
	[ "${#files[@]}" -gt 0 ] || return 0
	work=$(mktemp -d)
	mkdir "$work/debian"
	printf 'Source: syscheck\n\nPackage: %s\nArchitecture: any\n' "$1" >"$work/debian/control"
	# The plugin's symbols are those of the process that loads it.
	(cd "$work" && dpkg-shlibdeps -O --ignore-missing-info --warnings=0 "${files[@]/#/-e}" 2>errors ||
		echo "packages: $1 does not say what libraries it needs: $(tail -n 1 errors)" >&2) | sed -n 's/^shlibs:Depends=//p'
	rm -rf "$work"
}

# control PACKAGE DIR: what it depends on, and what it is
control() {
	local package=$1 version=$VERSION arch depends libs more='' text
	arch=$(dpkg --print-architecture)
	libs=$(libraries "$package" "$2")
	case $package in
	syscheck)
		depends='lua5.4, lua-luv, lua-cjson, lua-argparse, bash, coreutils, util-linux'
		more=$'Recommends: logrotate\nSuggests: syscheck-slurm, syscheck-store, syscheck-fabric'
		text='checks of Slurm nodes before and after each job
 Before a job the prolog measures the node for seconds (memory bandwidth, an
 exact DGEMM, OS noise, throttle counters) and drains it where it is below its
 peers; after the job the epilog records what the node went through. Agent,
 kernels and command line.'
		;;
	syscheck-fabric)
		depends="syscheck (= $VERSION)"
		text='measures the network between nodes of a Slurm cluster
 The kernel of "syscheck fabric", on its own as it needs OpenMPI.'
		;;
	syscheck-slurm)
		version=$VERSION+slurm$SLURM
		depends="syscheck (= $VERSION)"
		[ "$SLURM_PACKAGE" = none ] || depends+=", $SLURM_PACKAGE (>= $SLURM~), $SLURM_PACKAGE (<< $(
			awk -F. '{ printf "%s.%02d", $1, $2 + 1 }' <<<"$SLURM")~)"
		more="Provides: syscheck-slurm-$SLURM"
		text="the --syscheck option for Slurm $SLURM
 The SPANK plugin, job_submit.lua, and what slurm.conf needs, as examples. It
 loads only into the Slurm (major.minor) that it was built for."
		;;
	syscheck-store)
		arch=all
		depends="syscheck (= $VERSION), lua-dbi-sqlite3, passwd"
		more=$'Suggests: lua-dbi-postgresql, lua-dbi-mysql, sudo'
		text='records of a Slurm cluster checked by syscheck, in a database
 For one host: timers that store records, prune the store and export metrics;
 what users ask through sudo; examples for PostgreSQL, Grafana, Prometheus.'
		;;
	esac
	printf '%s\n' "Package: $package" "Version: $version" "Architecture: $arch" 'Section: admin' 'Priority: optional' \
		"Maintainer: ${MAINTAINER:-who built it <root@localhost>}" "Installed-Size: $(du -sk "$2" | cut -f 1)" \
		"Depends: $depends${libs:+, $libs}"
	[ -z "$more" ] || printf '%s\n' "$more"
	printf 'Description: %s\n' "$text"
}

debs() {
	local package dir phase
	for package in $(packages); do
		dir=$PWD/$OUT/deb/$package
		tree "$package" "$dir"
		install -D -m 644 LICENSE "$dir/usr/share/doc/$package/copyright"
		# Debian's zsh does not look into site-functions.
		if [ "$package" = syscheck ]; then
			install -d "$dir/usr/share/zsh/vendor-completions"
			ln -s ../site-functions/_syscheck "$dir/usr/share/zsh/vendor-completions/_syscheck"
		fi
		control "$package" "$dir" >"$OUT/deb/control"
		mkdir "$dir/DEBIAN"
		mv "$OUT/deb/control" "$dir/DEBIAN/control"
		awk -v p="$package" '$1 == "c" && $3 == p { print $5 }' "$STAGE.list" >"$dir/DEBIAN/conffiles"
		[ -s "$dir/DEBIAN/conffiles" ] || rm "$dir/DEBIAN/conffiles"
		(cd "$dir" && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | LC_ALL=C sort -z | xargs -0 md5sum) >"$dir/DEBIAN/md5sums"
		for phase in postinst prerm postrm; do
			"$HERE/scripts.sh" "$phase" "$package" >"$dir/DEBIAN/$phase"
			[ -s "$dir/DEBIAN/$phase" ] || rm "$dir/DEBIAN/$phase"
		done
		find "$dir/DEBIAN" -name 'p*' -exec chmod 755 {} +
		# Another Lua: its bytecode may be another, too.
		[ "$package" != syscheck ] || echo 'interest-noawait /usr/bin/lua5.4' >"$dir/DEBIAN/triggers"
		dpkg-deb --root-owner-group -Zxz -b "$dir" "$OUT" >/dev/null
	done
	rm -r "$OUT/deb"
}

rpms() {
	local define=()
	mkdir "$OUT/rpm"
	"$HERE/spec.sh" "$VERSION" >"$OUT/syscheck.spec"
	packages | grep -qx syscheck-fabric || define+=(--without fabric)
	[ "$SLURM_PACKAGE" = "$DEB_SLURM" ] || define+=(--define "slurm_package $SLURM_PACKAGE")
	# What it takes to build is in the tree that was built.
	rpmbuild -bb --nodeps --quiet --define "_topdir $PWD/$OUT/rpm" --define "staged $STAGE" --define "sources_dir $PWD" \
		--define "slurm_version $SLURM" --define '_build_id_links none' --define 'use_source_date_epoch_as_buildtime 1' \
		--define 'clamp_mtime_to_source_date_epoch 1' --define '_buildhost localhost' "${define[@]}" "$OUT/syscheck.spec" >"$OUT/rpm.log" 2>&1 || {
		cat "$OUT/rpm.log" >&2
		return 1
	}
	mv "$OUT"/rpm/RPMS/*/*.rpm "$OUT"
	rm -r "$OUT/rpm" "$OUT/rpm.log"
}

main() {
	local made=0
	umask 022
	# Files are as old as the last change of the history, so that the same tree gives the same bytes.
	export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || stat -c %Y CHANGELOG.md)}
	# Hosts have the one that the packages depend on.
	case $LUA in /usr/bin/* | /bin/*) ;; *)
		echo "packages: $LUA is no distribution's: make packages LUA=/usr/bin/lua5.4" >&2
		return 1
		;;
	esac
	SLURM=$(slurm_version)
	DEB_SLURM=slurm-wlm-basic-plugins # has its version in Debian: slurmd and slurm-client are held to it
	SLURM_PACKAGE=${SLURM_PACKAGE:-$DEB_SLURM}
	stage
	if command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null; then
		debs
		made=1
	else
		echo "packages: no .deb: dpkg-deb and dpkg-shlibdeps (dpkg-dev) are not here" >&2
	fi
	if command -v rpmbuild >/dev/null; then
		rpms
		made=1
	else
		echo "packages: no .rpm: rpmbuild (rpm, rpm-build) is not here" >&2
	fi
	[ "$made" = 1 ] || return 1
	for made in "$OUT"/*.deb "$OUT"/*.rpm; do
		[ ! -e "$made" ] || echo "$made"
	done
}

main
