#!/usr/bin/env bats
# alone: its kernels measure
# For make check-slurm: the demo as one of the tests.

@test "make demo: every part of the story happens" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	run "$BATS_TEST_DIRNAME/../demo.sh"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "${lines[-1]}" == "demo: every part of the story happened, in "* ]]
}
