#!/usr/bin/env bats
# alone: it builds, and starts clusters
# The other Slurms that sites run, as far as a few minutes go: the plugin and job_submit load, a job's nodes are
# checked, a bad one is drained and its job requeued. `make check-slurm SUITE=...` runs demo and all tests there.
# shellcheck disable=SC2030,SC2031

bats_require_minimum_version 1.5.0
load eventually

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
SUITES=(trixie forky)
TESTS='nested srun|cannot be requeued|below the floor'

setup() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	export ROOTS=$ROOT/build/roots
}

# this_is SUITE: this machine's own release
this_is() {
	grep -qx "VERSION_CODENAME=$1" /etc/os-release
}

# made SUITE: its root, or skips
made() {
	! this_is "$1" || skip "this machine is $1: all other tests are of its Slurm"
	run "$ROOT/tests/root.sh" make "$1" "$ROOTS/$1-smoke" --setup build --setup cluster
	[ "$status" -ne 3 ] || skip "${lines[-1]}"
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

# smoke SUITE VERSION
smoke() {
	made "$1"
	# shellcheck disable=SC2016 # for the shell inside
	run "$ROOT/tests/root.sh" run "$ROOTS/$1-smoke" --tree -- bash -c 'slurmctld -V && make -s -j"$(nproc)" all >&2 &&
		FIXTURES=$PWD/tests/fixtures bats --tap --print-output-on-failure --filter "$0" tests/60-cluster.bats' "$TESTS"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$(grep -m 1 '^slurm' <<<"$output")" == "slurm-wlm $2."* ]]
	[ "$(grep -c '^ok [1-3] ' <<<"$output")" = 3 ]
	[[ $output != *'# skip'* ]]
}

@test "root.sh: one that is killed while it is made is no root, and hinders no later one" {
	local suite=${SUITES[0]} dir=$ROOTS/killed maker
	this_is "$suite" && suite=${SUITES[1]}
	rm -rf "$dir"*
	"$ROOT/tests/root.sh" make "$suite" "$dir" >"$BATS_TEST_TMPDIR/out" 2>&1 3>&- &
	maker=$!
	eventually 60 test -d "$dir.new/var/cache/apt" -o ! -d "/proc/$maker"
	[ -d "/proc/$maker" ] || skip "$(tail -n 1 "$BATS_TEST_TMPDIR/out")"
	kill -KILL "$maker"
	[ ! -e "$dir" ]
	run ! grep -q " $dir" /proc/mounts
	run "$ROOT/tests/root.sh" run "$dir" -- true
	[ "$status" -eq 1 ]
	[[ $output == *"there is no Debian in"* ]]
	run timeout 60 "$ROOT/tests/root.sh" make nosuchsuite "$dir"
	[ "$status" -eq 3 ]
	[[ $output == *"nosuchsuite cannot be had from this machine's mirror"* ]]
	rm -rf "$dir"*
}

@test "Debian 13, Slurm 24.11: plugin, job_submit, a verdict, a drained node" {
	smoke trixie 24.11
}

@test "Debian testing, Slurm 26.05: plugin, job_submit, a verdict, a drained node" {
	smoke forky 26.05
}

@test "root.sh: what a command wrote is gone, its exit code is not; one that is killed leaves nothing" {
	local suite=${SUITES[0]} runner name
	this_is "$suite" && suite=${SUITES[1]}
	made "$suite"
	run "$ROOT/tests/root.sh" run "$ROOTS/$suite-smoke" --tree -- bash -c 'touch /etc/x Makefile /tmp/x && exit 7'
	[ "$status" -eq 7 ]
	run "$ROOT/tests/root.sh" run "$ROOTS/$suite-smoke" -- ls /etc/x /tmp/x
	[ "$status" -eq 2 ]
	run ! compgen -G "$ROOTS/$suite-smoke.run.*"
	"$ROOT/tests/root.sh" run "$ROOTS/$suite-smoke" --tree -- sleep 314159 3>&- &
	runner=$!
	eventually 30 pgrep -fx 'sleep 314159'
	name=$(compgen -G "$ROOTS/$suite-smoke.run.*")
	compgen -G "/sys/fs/cgroup/*/syscheck-root-${name##*.}" || compgen -G "/sys/fs/cgroup/syscheck-root-${name##*.}"
	kill -KILL "$runner"
	eventually 10 eval '! pgrep -fx "sleep 314159"'
	run ! grep -q "$ROOTS" /proc/mounts
	# Its files and groups go with the next run.
	"$ROOT/tests/root.sh" run "$ROOTS/$suite-smoke" -- true
	run ! compgen -G "$ROOTS/$suite-smoke.run.*"
	run ! compgen -G "/sys/fs/cgroup/*/syscheck-root-${name##*.}"
	run ! compgen -G "/sys/fs/cgroup/syscheck-root-${name##*.}"
}
