#!/usr/bin/env bats
# --syscheck on sbatch, salloc and srun, through a real Slurm to the
# prolog's environment, and back from the prolog's findings into the job. The
# prolog here is the test's own, so that nothing but the plugin is under test.
#
# Much is quoted to be expanded in a job or a prolog; each test is a subshell;
# `run` sets $stderr.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load eventually

ROOT=$(cd "$BATS_TEST_DIRNAME/.." && pwd)
MINICLUSTER=$ROOT/tests/cluster/minicluster
PLUGIN=$ROOT/build/spank/spank_syscheck.so
LEVELS='(none, passive, quick, full)'
FINE='checked, all fine'

setup_file() {
	export DIR
	DIR=$(mktemp -d "${TMPDIR:-/tmp}/spank.XXXXXX")
	chmod 755 "$DIR"
	"$MINICLUSTER" up --nodes 2 --bare --mode ports --dir "$DIR/cluster"
	eval "$("$MINICLUSTER" env --dir "$DIR/cluster")"
	export SLURM_CONF
	PLUGSTACK=$(dirname "$SLURM_CONF")/plugstack.conf
	export PLUGSTACK
	# These tests may themselves run inside a job.
	unset "${!SLURM_JOB@}" "${!SLURM_SPANK@}" "${!SYSCHECK_@}"

	mkdir -p "$DIR"/{env,out,status}
	sed -i '/^Prolog\(Flags\)\?=/d' "$SLURM_CONF"
	printf 'Prolog=%s\nPrologFlags=Alloc,DeferBatch\n' "$DIR/prolog" >>"$SLURM_CONF"
	use_prolog
	use_plugin
	scontrol reconfigure
	mapfile -t NODE_LIST < <(sinfo -hN -o %N | sort -u)
	export N1=${NODE_LIST[0]} N2=${NODE_LIST[1]}
	mkdir -p "$DIR/status/$N1" "$DIR/status/$N2"
}

teardown_file() {
	"$MINICLUSTER" down --dir "$DIR/cluster"
	rm -rf "$DIR"
}

setup() {
	eventually 60 no_jobs
	cd "$DIR/out" || return
	use_prolog
	use_plugin
}

# no_jobs: none holds a node, nor does the epilog of one that has ended. An srun that has to wait for that says so.
no_jobs() {
	local jobs
	jobs=$(squeue -h -o %i) && [ -z "$jobs" ]
}

use_plugin() {
	echo "optional $PLUGIN status_dir=$DIR/status/%n" >"$PLUGSTACK"
}

# use_prolog [COMMANDS]: what the prolog does with "$file", the status file of
# its job and node, after it noted its environment.
use_prolog() {
	cat >"$DIR/prolog.new" <<-SCRIPT
		#!/bin/bash
		PATH=/usr/bin:/bin
		env >"$DIR/env/\$SLURM_JOB_ID.\$SLURMD_NODENAME"
		file=$DIR/status/\$SLURMD_NODENAME/\$SLURM_JOB_ID
		rm -f "\$file" "\$file.shown"
		[ -n "\${SPANK_SYSCHECK:-}" ] || exit 0
		level=\${SPANK_SYSCHECK%,verbose} verbose=0 first=0
		[ "\$level" = "\$SPANK_SYSCHECK" ] || verbose=1
		[ "\$SLURM_JOB_NUM_NODES.\$SLURMD_NODENAME" != "2.$N2" ] && first=1
		say() {
			printf 'level=%s\nstatus=%s\nasked=1\nverbose=%s\nnodes=%s\nfirst=%s\nlist=%s\nbrief=%s\nline=%s\n' \
				"\$level" "\$1" "\$verbose" "\$SLURM_JOB_NUM_NODES" "\$first" "\$SLURM_NODELIST" "\${2-}" \
				"\$SLURMD_NODENAME: \$1" >"\$file"
		}
		${1:-say pass}
		exit 0
	SCRIPT
	chmod 755 "$DIR/prolog.new"
	mv "$DIR/prolog.new" "$DIR/prolog"
}

next_job() {
	scontrol show config | awk '$1 == "NEXT_JOB_ID" { print $3 }'
}

# submit [OPTION...] <<<SCRIPT: the id of a new batch job. Slurm starts them a
# second or two later, all at once: submit first, then finish.
submit() {
	local script
	script=$(mktemp "$DIR/job.XXXXXX")
	{ echo '#!/bin/bash'; cat; } >"$script"
	sbatch --parsable -o "$DIR/out/%j" "$@" "$script"
}

# finish JOB: waits for its end; $output is what it wrote, less what srun says where slurmctld has not yet counted out the
# step before ("step creation temporarily disabled, retrying", "Step created for").
finish() {
	local n=0
	until [[ $(scontrol show job "$1") =~ JobState=(COMPLETED|FAILED) ]]; do
		[ $((n += 1)) -lt 200 ] || { scontrol show job "$1"; return 1; }
		sleep 0.1
	done
	output=$(sed -E '/^srun: (Job .* step creation .*, retrying|Step created for )/d' "$DIR/out/$1")
}

# batch [OPTION...] <<<SCRIPT: both. $job is its id.
batch() {
	job=$(submit "$@")
	finish "$job"
}

# step [OPTION...] COMMAND...: an srun with an allocation of its own, which is
# granted at once. $job is its id, $output and $stderr what it wrote.
step() {
	eventually 60 no_jobs
	job=$(next_job)
	run -0 --separate-stderr srun -n1 "$@"
}

# prolog_level JOB [NODE]: what the prolog found in SPANK_SYSCHECK, "unset" if
# nothing. Without NODE: on the job's one node, whichever Slurm chose.
prolog_level() {
	local files=("$DIR/env/$1.${2:-$N1}")
	[ -n "${2:-}" ] || files=("$DIR/env/$1".*)
	[ -s "${files[0]}" ] || { echo "no prolog ran for job $1"; return 1; }
	sed -n 's/^SPANK_SYSCHECK=//p' "${files[0]}" | grep . || echo unset
}

# assert_refused MESSAGE COMMAND...: non-zero, exactly this line from the plugin, no job.
assert_refused() {
	local want=$1 before
	shift
	before=$(next_job)
	run --separate-stderr "$@"
	[ "$status" -ne 0 ]
	[ "$output" = "" ]
	[ "$(grep -a 'unknown level' <<<"$stderr")" = "$want" ]
	[ "$(next_job)" = "$before" ]
}

@test "help: one line in sbatch, salloc and srun" {
	local tool
	for tool in sbatch salloc srun; do
		run -0 "$tool" --help
		[ "$(grep -c -e --syscheck <<<"$output")" = 1 ]
		[[ $output == *'--syscheck=[LEVEL[,verbose]]'*'node check: none|passive|quick|full [quick]'* ]]
	done
}

@test "sbatch: every level reaches the prolog, none without a request" {
	local level
	local -A jobs
	for level in none passive quick full; do
		jobs[$level]=$(submit --syscheck="$level" <<<true)
	done
	jobs[bare]=$(submit --syscheck <<<true)
	jobs[upper]=$(submit --syscheck=FULL <<<true)
	jobs[unasked]=$(submit <<<true)
	for level in "${!jobs[@]}"; do
		finish "${jobs[$level]}"
	done
	for level in none passive quick full; do
		[ "$(prolog_level "${jobs[$level]}")" = "$level" ]
	done
	[ "$(prolog_level "${jobs[bare]}")" = quick ]
	[ "$(prolog_level "${jobs[upper]}")" = full ]
	[ "$(prolog_level "${jobs[unasked]}")" = unset ]
}

@test "sbatch: the script's line counts, the command line wins" {
	local script_only both
	script_only=$(submit <<<'#SBATCH --syscheck=passive')
	both=$(submit --syscheck=full <<<'#SBATCH --syscheck=passive')
	finish "$script_only"
	finish "$both"
	[ "$(prolog_level "$script_only")" = passive ]
	[ "$(prolog_level "$both")" = full ]
}

@test "srun and salloc: the level reaches the prolog" {
	step --syscheck true
	[ "$(prolog_level "$job" "$N1")" = quick ]
	step true
	[ "$(prolog_level "$job" "$N1")" = unset ]
	job=$(next_job)
	run -0 salloc -N2 --syscheck=full true
	[ "$(prolog_level "$job" "$N1")" = full ]
	[ "$(prolog_level "$job" "$N2")" = full ]
}

@test "an unknown level is refused by sbatch, salloc and srun" {
	local near="--syscheck: unknown level \"ful\", did you mean \"full\"? $LEVELS"
	assert_refused "$near" sbatch --syscheck=ful --wrap true
	assert_refused "$near" salloc --syscheck=ful true
	assert_refused "$near" srun --syscheck=ful true
	assert_refused "--syscheck: unknown level \"xyzzy\" $LEVELS" sbatch --syscheck=xyzzy --wrap true
	assert_refused "--syscheck: unknown level \"FUL\", did you mean \"full\"? $LEVELS" sbatch --syscheck=FUL --wrap true
}

@test "a level behind a blank: sbatch, srun and salloc say what to write, and nothing where a file has that name" {
	local hint='syscheck: a level needs a "=": --syscheck=full; after a blank "full" is the script or command'
	run --separate-stderr sbatch --syscheck full job.sh
	[ "$status" -ne 0 ]
	[ "$stderr" = $'sbatch: error: Unable to open file full\n'"$hint" ]
	run --separate-stderr srun -n1 --syscheck full hostname
	[[ $stderr == "$hint"$'\n'* ]]
	run --separate-stderr salloc -n1 --syscheck full hostname
	[[ $stderr == "$hint"$'\n'* ]]
	# What is not ours: another file that is not there, and a script's own words.
	run --separate-stderr sbatch nothing.sh --syscheck full
	[ "$stderr" = "sbatch: error: Unable to open file nothing.sh" ]
	printf '#!/bin/sh\necho mine "$@"\n' >full
	chmod 755 full
	job=$(sbatch --parsable -o "$DIR/out/%j" --syscheck full FULL 2>"$DIR/stderr")
	[ ! -s "$DIR/stderr" ]
	finish "$job"
	[ "$(prolog_level "$job")" = quick ]
	[[ $output == *"mine FULL" ]]
	run --separate-stderr srun -n1 --syscheck ./full
	[[ $stderr != *"needs a"* ]]
	rm full
}

@test "hostile values are refused, and shown harmless" {
	local long
	long=$(printf '%0100000d' 0)
	assert_refused "--syscheck: unknown level \"quick;reboot\" $LEVELS" sbatch '--syscheck=quick;reboot' --wrap true
	assert_refused "--syscheck: unknown level \"\$(touch$DIR/x)\" $LEVELS" srun "--syscheck=\$(touch$DIR/x)" true
	assert_refused "--syscheck: unknown level \"quick\\x0a\", did you mean \"quick\"? $LEVELS" \
		srun "--syscheck=quick"$'\n' true
	assert_refused "--syscheck: unknown level \"\\x1b[2Jfull\" $LEVELS" sbatch "--syscheck="$'\e'"[2Jfull" --wrap true
	assert_refused "--syscheck: unknown level \"00000000000000000000000000000000...\" $LEVELS" \
		sbatch --syscheck="$long" --wrap true
	[ ! -e "$DIR/x" ]
}

@test "hostile values: a megabyte in the script's #SBATCH line" {
	{
		printf '#!/bin/bash\n#SBATCH --syscheck='
		head -c 1048576 /dev/zero | tr '\0' a
		printf '\ntrue\n'
	} >"$DIR/megabyte.sh"
	assert_refused "--syscheck: unknown level \"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...\" $LEVELS" sbatch "$DIR/megabyte.sh"
}

@test "SYSCHECK_LEVEL is the default, the option wins" {
	export SYSCHECK_LEVEL=passive
	batch <<<true
	[ "$(prolog_level "$job" "$N1")" = passive ]
	step true
	[ "$(prolog_level "$job" "$N1")" = passive ]
	step --syscheck true
	[ "$(prolog_level "$job" "$N1")" = quick ]
	# Not even looked at when the option is given.
	export SYSCHECK_LEVEL=ful
	step --syscheck=none true
	[ "$(prolog_level "$job" "$N1")" = none ]
	# Empty is unset.
	export SYSCHECK_LEVEL=
	step true
	[ "$(prolog_level "$job" "$N1")" = unset ]
}

@test "SYSCHECK_LEVEL: an unknown level is refused by sbatch, salloc and srun" {
	local near="SYSCHECK_LEVEL: unknown level \"pasive\", did you mean \"passive\"? $LEVELS"
	export SYSCHECK_LEVEL=pasive
	assert_refused "$near" sbatch --wrap true
	assert_refused "$near" salloc true
	assert_refused "$near" srun true
	[ "$stderr" = "$near" ]
	export SYSCHECK_LEVEL='$(reboot)'
	assert_refused "SYSCHECK_LEVEL: unknown level \"\$(reboot)\" $LEVELS" sbatch --wrap true
}

@test "batch: the output starts with one sentence, the job's environment has the result" {
	batch --syscheck=full <<-'SCRIPT'
		echo begin
		echo "$SYSCHECK_STATUS $SYSCHECK_LEVEL $SYSCHECK_CHECKED"
	SCRIPT
	[ "$output" = "syscheck: $N1 $FINE"$'\n'"begin"$'\n'"pass full full" ]
}

@test "srun: one sentence on stderr, a line of what is unusual, once; each task has its node's result" {
	use_prolog "if [ \$SLURMD_NODENAME = $N1 ]; then say pass; else say warn 'noise 78 %'; fi"
	run -0 --separate-stderr srun -N2 --ntasks-per-node=2 -O --syscheck bash -c 'echo $SLURMD_NODENAME $SYSCHECK_STATUS $SYSCHECK_LEVEL'
	[ "$(sort <<<"$output")" = "$N1 pass quick"$'\n'"$N1 pass quick"$'\n'"$N2 warn quick"$'\n'"$N2 warn quick" ]
	[ "$(sort <<<"$stderr")" = "$N2: warn"$'\n'"syscheck: 1 of 2 nodes $FINE; $N2 not as it should be: noise 78 %" ]
}

@test "a line of each node on request: by the option, by the environment" {
	srun_2() {
		eventually 60 no_jobs
		run -0 --separate-stderr srun -N2 "$@" bash -c 'echo $SYSCHECK_LEVEL'
		[ "$output" = quick$'\n'quick ]
		[ "$(sort <<<"$stderr")" = "$N1: pass"$'\n'"$N2: pass"$'\n'"syscheck: 2 nodes $FINE" ]
	}
	srun_2 --syscheck=quick,verbose
	srun_2 --syscheck=verbose
	SYSCHECK_LEVEL=quick,verbose srun_2
	# A nested sbatch does not inherit it.
	batch --syscheck=quick,verbose <<<"sbatch --parsable -o '$DIR/out/%j' --wrap true"
	[[ $output == "syscheck: $N1 $FINE"$'\n'"$N1: pass"$'\n'* ]]
	finish "${output##*$'\n'}"
	[ "$output" = "" ]
}

@test "what another node's prolog left cannot be read: nothing is claimed of it" {
	use_prolog "[ \$SLURMD_NODENAME = $N2 ] || say pass 'memory 4 % below its class'"
	run -0 --separate-stderr srun -N2 --syscheck=full true
	[ "$(sort <<<"$stderr" | tail -n 1)" = "syscheck: $N2 full unknown  (no check has left its result; the node's syscheck.log may say why)" ]
	[ "$(sort <<<"$stderr" | head -n 1)" = "syscheck: $N1 $FINE, and 1 other node: one with anything unusual says so below" ]
	# A directory of this node alone, as a site has it.
	use_prolog "say warn 'noise 78 %'; mkdir -p $DIR/flat; [ \$SLURMD_NODENAME = $N2 ] || cp \"\$file\" $DIR/flat/\$SLURM_JOB_ID"
	echo "optional $PLUGIN status_dir=$DIR/flat" >"$PLUGSTACK"
	batch -N2 --syscheck <<<true
	[[ $output == "syscheck: $N1 not as it should be: noise 78 %, and 1 other node: one with"* ]]
}

@test "steps in a batch job: once per job and node, captured output stays clean" {
	batch -N2 --syscheck=quick <<-'SCRIPT'
		x=$(srun -N2 echo clean 2>err)
		echo $x; cat err
		srun -N2 true 2>&1
		srun -N2 -l bash -c 'echo $SYSCHECK_CHECKED' | sort
	SCRIPT
	# What srun says itself, while Slurm still ends the step before, is no line of ours.
	output=$(grep -v "^srun: " <<<"$output")
	[ "$output" = "syscheck: 2 nodes $FINE
clean clean
0: quick
1: quick" ]
}

@test "a job that did not ask sees the result, not the line" {
	use_prolog 'printf "level=passive\nstatus=unrated\nasked=0\nline=not to be seen\n" >"$file"'
	sed -i '/^\[ -n/d' "$DIR/prolog"
	step bash -c 'echo "$SYSCHECK_STATUS $SYSCHECK_LEVEL"'
	[ "$(prolog_level "$job" "$N1")" = unset ]
	[ "$output" = "unrated passive" ]
	[ "$stderr" = "" ]
}

@test "the interactive step of salloc shows the line" {
	scontrol show config | grep -q 'LaunchParameters.*use_interactive_step' ||
		{
			echo LaunchParameters=use_interactive_step >>"$SLURM_CONF"
			scontrol reconfigure
		}
	# salloc wants a terminal for it. Its user types when the line is there: what is typed
	# before, the terminal echoes in front of it, wherever the cursor stands.
	user_types() {
		eventually 10 grep -qs "$N1 not measured" typescript >&2
		echo 'echo "[$SYSCHECK_LEVEL]"; exit'
	}
	# salloc starts $SHELL, which a CI's environment may lack.
	SHELL=/bin/bash run -0 script -qfec "salloc -n1 --syscheck=passive" typescript < <(user_types)
	[ "$(grep -c "^syscheck: $N1 not measured, counters and hardware fine" <<<"$output")" = 1 ]
	[[ $output == *'[passive]'* ]]
}

@test "an srun in a job: its own bad option is refused, the environment's is no request" {
	batch --syscheck=full <<-'SCRIPT'
		srun --syscheck=ful echo never 2>&1 | grep unknown
		SYSCHECK_LEVEL=xyzzy srun -n1 echo ran
		srun -n1 --syscheck=none bash -c 'echo $SYSCHECK_LEVEL'
	SCRIPT
	[ "$output" = "syscheck: $N1 $FINE
--syscheck: unknown level \"ful\", did you mean \"full\"? $LEVELS
ran
full" ]
}

@test "an sbatch in a job: the job's own level is no request, a changed one is" {
	local inner n
	batch --syscheck=full <<-SCRIPT
		sub() { sbatch --parsable -o "$DIR/out/%j" "\$@" --wrap true 2>&1; }
		sub
		SYSCHECK_LEVEL=passive sub
		sub --syscheck=quick
		SYSCHECK_LEVEL=ful sub
	SCRIPT
	mapfile -t inner <<<"$output"
	[ "$(prolog_level "$job" "$N1")" = full ]
	[ "${inner[4]}" = "SYSCHECK_LEVEL: unknown level \"ful\", did you mean \"full\"? $LEVELS" ]
	for n in 1 2 3; do
		finish "${inner[n]}"
	done
	[ "$(prolog_level "${inner[1]}")" = unset ]
	[ "$(prolog_level "${inner[2]}")" = passive ]
	[ "$(prolog_level "${inner[3]}")" = quick ]
}

@test "an sbatch under salloc does not inherit the request either" {
	local inner
	inner=$(salloc -n1 --syscheck=full sbatch --parsable -o "$DIR/out/%j" --wrap true)
	finish "$inner"
	[ "$(prolog_level "$inner" "$N1")" = unset ]
}

@test "a job without a status file does not carry another job's result" {
	SYSCHECK_STATUS=pass SYSCHECK_CHECKED=full SYSCHECK_LEVEL=full batch <<<'env | grep ^SYSCHECK_ || echo none'
	[ "$(prolog_level "$job" "$N1")" = unset ]
	[ "$output" = none ]
}

@test "a status file that root did not write alone is ignored" {
	local hostile
	printf 'level=full\nstatus=warn\nasked=1\nline=forged\n' >"$DIR/forged"
	for hostile in "ln -s $DIR/forged \"\$file\"" 'mkfifo "$file"' 'mkdir "$file"' \
		"cp $DIR/forged \"\$file\"; chmod 666 \"\$file\"" \
		"cp $DIR/forged \"\$file\"; chown 65534 \"\$file\"" \
		'echo status=pass >"$file"'; do
		use_prolog "$hostile"
		SYSCHECK_STATUS=old step --syscheck=full bash -c 'echo "job [$SYSCHECK_STATUS]"'
		[ "$output" = "job []" ]
		no_result full
	done
	# The same file, honestly there, is read: what was ignored above was not the text.
	use_prolog "cp $DIR/forged \"\$file\""
	step --syscheck=full bash -c 'echo "job [$SYSCHECK_STATUS]"'
	[ "$output" = "job [warn]" ]
	[ "$stderr" = forged ]
}

# no_result LEVEL [NODE]: $stderr is the line of a check that has left nothing
no_result() {
	[ "$stderr" = "syscheck: ${2:-$N1} $1 unknown  (no check has left its result; the node's syscheck.log may say why)" ]
}

@test "a check that was asked for and left no result: the job's output says so, once a node" {
	use_prolog true
	step --syscheck=full echo ran
	[ "$output" = ran ]
	no_result full
	SYSCHECK_LEVEL=passive step echo ran
	no_result passive
	step --syscheck=none echo ran
	[ "$stderr" = "" ]
	step echo ran
	[ "$stderr" = "" ]
	batch -N2 --syscheck <<-'SCRIPT'
		srun -N2 true 2>&1
		srun -N2 true 2>&1
	SCRIPT
	stderr=${output%%$'\n'*}
	no_result quick
	stderr=${output#*$'\n'}
	no_result quick "$N2"
	# Since the boot no prolog has made the directory.
	rm -r "$DIR/status/$N1"
	batch --syscheck <<<'srun true; srun true'
	stderr=$output
	no_result quick
}

@test "mpirun of Open MPI lets the other nodes' lines through, where a user asked and did not say otherwise" {
	batch -N2 --syscheck <<<'env | grep ^OMPI_MCA_orte_leave || echo none'
	[ "$output" = "syscheck: 2 nodes $FINE"$'\n'"OMPI_MCA_orte_leave_session_attached=1" ]
	OMPI_MCA_orte_leave_session_attached=0 batch -N2 --syscheck <<<'env | grep ^OMPI_MCA_orte_leave || echo none'
	[ "$output" = "syscheck: 2 nodes $FINE"$'\n'"OMPI_MCA_orte_leave_session_attached=0" ]
	batch -N1 --syscheck <<<'env | grep ^OMPI_MCA_orte_leave || echo none'
	[ "$output" = "syscheck: $N1 $FINE"$'\n'none ]
	batch -N2 <<<'env | grep ^OMPI_MCA_orte_leave || echo none'
	[ "$output" = none ]
}

@test "each task of a job joins the group of resctrl that its prolog made, before it is its user's; without one it runs" {
	local group=$DIR/groups/syscheck_1 mark=$DIR/status/$N1
	mkdir -p "$group"
	: >"$group/tasks"
	use_prolog "echo $group >\"\$file.group\"; rm -f \"\$file\".*counted"
	# The kernel's file takes one number a write, and appends nothing; this one keeps the last.
	step -w "$N1" --syscheck=none bash -c 'echo $$'
	[ "$(<"$group/tasks")" = "$output" ]
	[ -e "$mark/$job.counted" ] && [ ! -e "$mark/$job.uncounted" ]
	rm "$group/tasks" # out of counters, another control group's task: a write that fails
	step -w "$N1" --syscheck=none echo ran
	[ "$output" = ran ]
	[ -e "$mark/$job.uncounted" ] && [ ! -e "$mark/$job.counted" ]
	# Nobody wants it: nothing is left.
	use_prolog
	step -w "$N1" --syscheck=none echo ran
	[ "$output" = ran ]
	[ ! -e "$mark/$job.counted" ] && [ ! -e "$mark/$job.uncounted" ]
	# A file that others may write names nothing.
	: >"$group/tasks"
	use_prolog "echo $group >\"\$file.group\"; chmod 666 \"\$file.group\""
	step -w "$N1" --syscheck=none echo ran
	[ "$output" = ran ]
	[ -e "$mark/$job.uncounted" ] && [ ! -s "$group/tasks" ]
}

@test "a line's control characters do not reach the terminal" {
	use_prolog 'printf "level=full\nstatus=warn\nasked=1\nline=a\033[31mb\0c\n" >"$file"'
	step --syscheck=full true
	[ "$stderr" = 'a?[31mb?c' ]
}

@test "an unknown argument in plugstack.conf is for the admin, not for users" {
	echo "optional $PLUGIN bogus status_dir=$DIR/status/%n" >"$PLUGSTACK"
	step --syscheck=quick echo ran
	[ "$output" = ran ]
	[ "$stderr" = "syscheck: $N1 $FINE" ]
}

@test "a plugin that is not there does not keep jobs from being submitted" {
	echo "optional $DIR/missing.so" >"$PLUGSTACK"
	step echo ran
	[ "$output" = ran ]
	batch <<<'echo ran'
	[ "$output" = ran ]
}
