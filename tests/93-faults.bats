#!/usr/bin/env bats
# alone: its kernels measure
# A few of the faults of `make faults`, so that the way they are done does not rot.

bats_require_minimum_version 1.5.0
load minicluster

@test "faults: some of them, on a real cluster; every count is 0" {
	[ "$(id -u)" = 0 ] || skip "needs root"
	local since none="wrong_drains 0, missed 0, held 0, late 0, lost 0, doubled 0, untold 0"
	since=$(cpu_times)
	run timeout 600 "$ROOT/tests/faults/faults.py" --json "$BATS_TEST_TMPDIR/faults.json" \
		"epilog's agent: killed" "agent, while it drains a bad node: killed" "scancel at the kernel" "policy is torn.*: good"
	echo "$output"
	if [[ ${lines[-1]} == "3 faults done, 1 not done; $none" ]] &&
		[ "$(grep -Ec '(NOT DONE|tried before): this machine has ' <<<"$output")" = 3 ]; then
		skip "this machine's own speed changes, in each of 3 tries: what is a bad node is not known; the others are done"
	fi
	# shellcheck disable=SC2086 # three numbers
	if [[ ${lines[-1]} == "3 faults done, 1 not done; $none" && $output == *"NOT DONE: n1: no scontrol within"* ]] &&
		others_worked $since; then
		skip "others use this machine: the bad node is busy, not rated, so that no drain can be killed; the others are done"
	fi
	[ "$status" -eq 0 ]
	[[ ${lines[-1]} == "4 faults done, 0 not done; $none" ]]
}

@test "faults: each has a name of its own, at least 80 of them" {
	run -0 "$ROOT/tests/faults/faults.py" --list
	[ "${#lines[@]}" -ge 80 ]
	[ "$(printf '%s\n' "${lines[@]}" | sort | uniq -d)" = "" ]
}

@test "faults: what they count they can find" {
	run -0 python3 "$ROOT/tests/faults/test_trial.py"
}
