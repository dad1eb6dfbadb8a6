#!/bin/bash
# make dist: the last commit as build/dist/syscheck-VERSION.tar.gz. Two clones give the same bytes:
# order, times, owners and modes are the commit's or fixed.
set -euo pipefail

main() {
	local version time name dir
	time=$(git log -1 --format=%ct) || { # git says why: a clone of another user's, too
		echo "dist: this is no clone: the tarball is made of a commit" >&2
		return 1
	}
	version=$(git show HEAD:./Makefile | sed -n 's/^VERSION *:= *//p')
	name=syscheck-$version
	mkdir -p build/dist
	dir=$(mktemp -d build/dist/new.XXXXXX)
	# shellcheck disable=SC2064 # now
	trap "rm -rf '$dir'" EXIT
	mkdir "$dir/$name"
	git archive HEAD | tar -x -C "$dir/$name"
	"$dir/$name/etc/packages/spec.sh" "$version" >"$dir/$name/syscheck.spec" # for rpmbuild -ta
	tar -c -C "$dir" --format=ustar --sort=name --mtime="@$time" --owner=0 --group=0 --numeric-owner \
		--mode=u+rw,go+r,go-w,a+X,a-s "$name" | gzip -9n >"$dir/tarball"
	mv "$dir/tarball" "build/dist/$name.tar.gz"
	echo "build/dist/$name.tar.gz, of commit $(git rev-parse --short HEAD)"
	git diff --quiet HEAD || echo "dist: what is not committed is not in it" >&2
}

main
