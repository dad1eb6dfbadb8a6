#!/usr/bin/env bats
# The policy at run time on one node: a metric that is only observed, accounts, and a
# policy that breaks, is lost or is nobody's to trust.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	agent_reset
	COPY=$P/var/lib/syscheck/policy.good
	GOOD='mode = "enforce", limits = { triad_gbs = { min = 80 } }'
}

@test "a metric in mode observe drains nothing; one that enforces does, and is the one named" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80, mode = "observe" } }'
	run prolog
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. r.action .. r.metrics[1].mode')" = failobservedobserve ]
	[ ! -e "$P/calls" ]
	grep -q 'line=.*quick fail .*(observe: not drained)' "$P/run/4711"
	policy 'mode = "enforce", limits = { triad_gbs = { min = 80, mode = "observe" }, gflops = { min = 60 } }'
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(grep "^update nodename" "$P/calls")" == *"reason=syscheck: dgemm 50.0 < 60.0 GFLOP/s (policy)" ]]
	rm "$P/calls"
	fake_slurm
	policy 'limits = { triad_gbs = { min = 80 }, gflops = { min = 60, mode = "enforce" } }'
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(grep "^update nodename" "$P/calls")" == *"syscheck: dgemm 50.0"* ]]
}

@test "a wrong result drains although its metric is only observed; not where all is" {
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"verified\":false,\"error\":\"C is wrong\",\"gflops\":50}'; exit 1"
	policy 'mode = "enforce", limits = { gflops = { mode = "observe" } }'
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(grep "^update nodename" "$P/calls")" == *"WRONG RESULT"* ]]
	rm "$P/calls"
	policy ''
	run prolog
	[ "$status" -eq 0 ]
	[ ! -e "$P/calls" ]
}

@test "what is expected of a node has a mode, too" {
	policy 'mode = "enforce", expect = { ["*"] = { threads = 99999, action = "fail", mode = "observe" } }'
	run prolog SPANK_SYSCHECK=passive
	[ "$status" -eq 0 ]
	[ "$(record check 'r.status .. r.action')" = failobserved ]
	[ ! -e "$P/calls" ]
}

@test "account and QOS of the job decide its level, and the note says whose bound it is" {
	policy 'accounts = { physics = { floor = "quick" } }, qos = { debug = { ceiling = "passive" } }'
	run unasked_prolog SLURM_JOB_ACCOUNT=physics
	[ "$(record check 'r.level')" = quick ]
	rm -r "$P/var/lib" # the last pass, which would count
	run prolog SLURM_JOB_ACCOUNT=physics SPANK_SYSCHECK=none
	[ "$(record check 'r.note')" = "none asked, the account's floor is quick" ]
	run prolog SLURM_JOB_QOS=debug
	[ "$(record check 'r.level .. ": " .. r.note')" = "passive: quick asked, the QOS's ceiling is passive" ]
	[ "$(record check 'r.job.qos')" = debug ]
	run unasked_prolog SLURM_JOB_ACCOUNT='$(reboot)' SLURM_JOB_QOS=$'a\nb'
	[ "$(record check 'r.level')" = passive ]
}

@test "a broken policy: the last good copy holds, its verdict stands, and the log says so" {
	policy "$GOOD"
	run prolog
	[ "$(record check 'r.status')" = pass ]
	[ "$(stat -c %a "$COPY")" = 600 ]
	kernel stream "$(says stream '"triad_gbs":61.3')"
	local broken
	for broken in 'printf "return {\n mode = " >"$F"' 'echo "return { mod = 1 }" >"$F"' 'chmod 666 "$F"' 'rm "$F"'; do
		policy "$GOOD"
		chmod 644 "$P/etc/syscheck/policy.lua"
		rm -f "$P/calls" "$LOG"
		fake_slurm
		F=$P/etc/syscheck/policy.lua bash -c "$broken"
		run prolog
		[ "$status" -eq 1 ] || { echo "$broken"; return 1; }
		[[ "$(grep "^update nodename" "$P/calls")" == *"syscheck: triad 61.3 < 80.0 GB/s (policy)" ]]
		[[ "$(record check 'r.problems[1]')" == "policy: $P/etc/syscheck/policy.lua:"*"; last good copy of 20"*"Z is used" ]]
		grep -q 'error: policy: .*last good copy of 20.*Z is used' "$LOG"
	done
}

@test "a broken policy and no whole copy: unknown, nothing drains" {
	kernel stream "$(says stream '"triad_gbs":61.3')"
	local damage
	for damage in 'rm "$C"' 'truncate -s -1 "$C"' ': >"$C"' 'sed -i "s/80/99/" "$C"' 'chmod 666 "$C"' 'head -c 2000000 /dev/zero >"$C"' \
		'rm "$C"; mkdir "$C"'; do
		agent_reset
		policy "$GOOD"
		run epilog
		[ -f "$COPY" ]
		echo 'return {' >"$P/etc/syscheck/policy.lua"
		kernel stream "$(says stream '"triad_gbs":61.3')"
		C=$COPY bash -c "$damage"
		run prolog
		assert_unknown || { echo "$damage"; return 1; }
		[[ "$(record check 'r.problems[1]')" == *"; no good copy: "* ]]
	done
}

@test "the copy is written when the policy changes, and only then; a copy that cannot be is logged" {
	policy "$GOOD"
	run prolog
	touch -d 2001-01-01 "$COPY"
	run prolog
	[ "$(stat -c %Y "$COPY")" = "$(date -d 2001-01-01 +%s)" ]
	policy "$GOOD, budget = 0.02"
	run prolog
	grep -q 'budget = 0.02' "$COPY"
	rm "$COPY"
	mkdir "$COPY"
	run prolog
	[ "$(record check 'r.status')" = pass ]
	grep -q 'policy: no copy of it can be kept: ' "$LOG"
}

@test "a policy or a baseline that is a pipe: nobody waits for its writer" {
	local file
	for file in policy.lua baseline.json; do
		rm -f "$P/etc/syscheck/$file" "$COPY"
		mkfifo -m 644 "$P/etc/syscheck/$file"
		run prolog
		[ "$status" -eq 0 ]
		grep -q "${file%.*}: .*$file: is a fifo, not a file" "$LOG"
		[ "$(record check '#r.problems')" = 1 ]
		run timeout 20 "$P/bin/syscheck" config check
		[ "$file" = baseline.json ] || [[ $status -eq 1 && $output == *"policy.lua: is a fifo, not a file" ]]
		rm "$P/etc/syscheck/$file"
		policy "$GOOD"
	done
}

@test "config: bad files, what applies and which line says so" {
	local text why
	PATH=$P/bin:$PATH
	while IFS='|' read -r text why; do
		printf '%b\n' "$text" >"$P/etc/syscheck/policy.lua"
		run --separate-stderr syscheck config check
		[ "$status" -eq 1 ]
		[ "$(wc -l <<<"$stderr")" = 1 ]
		[[ $stderr == "syscheck: $P/etc/syscheck/policy.lua$why"* ]] || { echo "$stderr"; return 1; }
		run --separate-stderr syscheck config show --partition main
		[ "$status" -eq 1 ]
		[[ $stderr == "syscheck: $P/etc/syscheck/policy.lua$why"* ]]
	done <<-'CASES'
		return {\n accounts = { a = { floor = "full", ceiling = "quick" } } }|:2: accounts.a: want floor <= default <= ceiling
		return {\n\n limits = { triad = { min = 1 } } }|:3: unknown key limits.triad, did you mean "triad_gbs"?
		return { partitions = { ["a b"] = { floor = "none" } } }|:1: partitions.a b: no such name can exist
		for i = 1, 1e12 do end|:1: "for": a policy has tables and values only, no loop
		return {\n mode = enforce }|:2: "enforce" is no value; a text wants quotes
		return {\n tolerance = "0.1" }|:2: tolerance must be a number from 0 to 1; got "0.1"
		return {\n mode = "observe"\n tolerance = 1 }|:3: '}' expected (to close '{' at line 1) near 'tolerance'; is a comma missing
		return { mode = ("x"):rep(1e10) }|:1: ":": a policy has tables and values only, no method call
		\033Lua|:1: bytecode
	CASES
	# Every problem, a line each; and what Lua takes without a word.
	printf 'return {\n budgt = 1,\n mode = 2 }\n' >"$P/etc/syscheck/policy.lua"
	run --separate-stderr syscheck config check
	[ "$status" -eq 1 ]
	[ "$(wc -l <<<"$stderr")" = 2 ]
	printf 'return {\n budget = 1,\n mode = "observe", budget = 0.5 }\n' >"$P/etc/syscheck/policy.lua"
	run --separate-stderr syscheck config check
	[ "$status" -eq 1 ]
	[[ $stderr == *"policy.lua:3: budget is set in line 2 already, and only the last one holds" ]]
	run syscheck config show --partition main
	[ "$status" -eq 0 ]
	printf 'return {\n scontrol = "/nonexistent",\n partitions = { ["gpu-a.1+x"] = { floor = "quick",\n default = "quick" } },\n accounts = { physics = {\n ceiling = "passive" } } }\n' \
		>"$P/etc/syscheck/policy.lua"
	run syscheck config show --partition gpu-a.1+x --account physics
	[ "$status" -eq 0 ]
	[[ $output =~ ceiling\ +passive\ +account\ physics\ +policy.lua:6 ]]
	[[ $output =~ tolerance\ +0.1\ +default ]]
	run syscheck config show --partition gpu-a.1+x
	[[ $output =~ floor\ +quick\ +partition\ gpu-a.1\+x\ +policy.lua:3 ]]
	[[ $output =~ default\ +quick\ +partition\ gpu-a.1\+x\ +policy.lua:4 ]]
	run syscheck config show --partition $'other\e[2J'
	[ "$status" -eq 0 ]
	[[ $output == *'other\x1b[2J (not named in the policy: "*" holds)'* ]]
	run syscheck config show n1 --partition main
	[ "$status" -eq 2 ]
}
