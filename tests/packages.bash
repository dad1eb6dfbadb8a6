# Packages of this tree, built beside it.
# shellcheck shell=bash

# tree_copy DIR: the tree with what is built of it, where other versions can be built, too
tree_copy() {
	mkdir -p "$1/build"
	(cd "$ROOT" && find . -mindepth 1 -maxdepth 1 ! -name build ! -name .git -exec cp -a {} "$1" \; &&
		cp -a build/obj build/kernels build/lua build/spank build/version build/built "$1/build/")
}
