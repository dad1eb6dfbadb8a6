#!/bin/bash
# rpm-files.sh LIST DIR: what install.sh listed as rpm's %files, DIR/files.PACKAGE each.
set -eu
rm -f "$2"/files.*
while read -r kind mode package _ path; do
	case $kind in
	c) kind='%config(noreplace) ' ;;
	d) kind='%dir ' ;;
	*) kind= ;;
	esac
	[[ $path != */share/doc/* || $kind = '%dir ' ]] || kind='%doc '
	printf '%%attr(0%s,root,root) %s%s\n' "$mode" "$kind" "$path" >>"$2/files.$package"
done <"$1"
