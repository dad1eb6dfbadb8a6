#!/usr/bin/env bats
# Learning, comparing and applying baselines; what a node does with them.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers

setup() {
	agent_reset
	policy 'mode = "enforce"'
	PATH=$P/bin:$PATH
	USED=$P/etc/syscheck/baseline.json
	D=$BATS_TEST_TMPDIR/spool
	mkdir -p "$D"
}

# fleet FACTOR [CLASS [NODES [CHECKS [EXTRA]]]]: records of a spool, triad around 100 x FACTOR
fleet() {
	lua5.4 "$FIXTURES/fleet_checks.lua" "$@" >>"$D/records.jsonl"
}

learn() {
	run --separate-stderr syscheck baseline learn --spool "$D" "$@"
	echo "status $status"
	echo "$output"
	echo "$stderr"
}

# of_baseline FILE EXPRESSION: of b
of_baseline() {
	lua5.4 /dev/fd/3 "$1" "$2" 3<<-'LUA'
	local b = require("cjson").decode(io.open(arg[1]):read("a"))
	print((load("local b = ... return " .. arg[2])(b)))
	LUA
}

@test "learn: median, tolerance, majorities; show" {
	fleet 1 epyc-9654-2s192c-768g 6 5 ',"parts":{"dimms":24},"config":{"kernel":"6.1","thp":"always"}'
	learn
	[ "$status" -eq 0 ]
	[ -z "$stderr" ]
	[[ $output =~ epyc-9654-2s192c-768g\ +triad_gbs\ +100\.0\ +[0-9.]+\ +6\ +30\ +[0-9.]+\ +[0-9.]+\ +0 ]]
	[[ $output == *"dimms 24; kernel 6.1, thp always"* ]]
	run syscheck baseline show
	[ "$status" -eq 0 ]
	[[ $output == *"dimms 24; kernel 6.1, thp always"* ]]
	chmod 666 "$USED"
	run --separate-stderr syscheck baseline show
	[[ $stderr == *"writable by group or others"* ]]
}

@test "learn: below the old one by more than 5 % needs --force, also in small steps" {
	fleet 1
	learn
	[ "$status" -eq 0 ]
	rm "$D/records.jsonl"
	fleet 0.96
	learn
	[ "$status" -eq 0 ]
	rm "$D/records.jsonl"
	fleet 0.93
	learn
	[ "$status" -eq 1 ]
	[[ $stderr == *"triad_gbs: median 93.0, was 100.0 GB/s: 7.0 % worse (or --force)"*"nothing is written" ]]
	[ "$(of_baseline "$USED" 'b.classes["epyc-9654-2s192c-768g"].metrics.triad_gbs.median')" = 96.0 ]
	learn --force
	[ "$status" -eq 0 ]
	[ "$(of_baseline "$USED" 'b.classes["epyc-9654-2s192c-768g"].forced')" = true ]
	# A baseline that cannot be read is nothing to compare with.
	echo '{' >"$USED"
	learn
	[ "$status" -eq 1 ]
	[[ $stderr == *"nothing to compare with (or --force)"* ]]
	: >"$USED"
	learn
	[ "$status" -eq 1 ]
	[[ $stderr == *"nothing to compare with (or --force)"* ]]
}

@test "learn: a directory for each node by %n, the one above them, ship's, none" {
	fleet 1
	mkdir -p "$D/n1" "$D/n2"
	mv "$D/records.jsonl" "$D/n2"
	learn --spool "$D/%n"
	[ "$status" -eq 0 ]
	rm "$USED"
	learn
	[ "$status" -eq 0 ]
	[[ $output == *"learned from $D/n2, written to $USED" ]]
	# Where ship has taken them when the spool is empty.
	rm "$USED"
	policy "ship = \"$D\""
	run --separate-stderr syscheck baseline learn
	[ "$status" -eq 0 ]
	[[ $output == *"learned from $D/n2, written to $USED" ]]
	rm -r "$D/n2"
	run --separate-stderr syscheck baseline learn
	[ "$status" -eq 1 ]
	[[ $stderr == *"no check with measured values in $P/var/spool/syscheck (levels quick and full measure)"* ]]
	run --separate-stderr syscheck baseline learn --spool "$D/none/%n"
	[ "$status" -eq 1 ]
	[[ $stderr == *"none/: no such directory"* ]]
}

@test "learn: a node that lost memory is no class, records of another schema and damage are named" {
	fleet 1
	fleet 0.7 epyc-9654-2s192c-736g 1 30
	printf '{"v":2,"kind":"check","id":"x","node":"n1"}\n{"v":1,"ki' >>"$D/records.jsonl"
	learn
	[ "$status" -eq 0 ]
	[[ $stderr == *"epyc-9654-2s192c-736g: 1 node that may have lost parts of epyc-9654-2s192c-768g"* ]]
	[[ $stderr == *"left out: its nodes are rated as epyc-9654-2s192c-768g"* ]]
	[[ $stderr == *"version 2, this syscheck reads 1"* ]]
	[[ $stderr == *"not a record"* ]]
	[ "$(of_baseline "$USED" 'next(b.classes)')" = epyc-9654-2s192c-768g ]
}

@test "diff and apply: what changes; refusals" {
	fleet 1
	learn --output "$BATS_TEST_TMPDIR/a.json"
	[ ! -e "$USED" ]
	run syscheck baseline apply "$BATS_TEST_TMPDIR/a.json"
	[ "$status" -eq 0 ]
	[ -s "$USED" ]
	rm "$D/records.jsonl"
	fleet 0.9 epyc-9654-2s192c-768g 6 5 ',"config":{"kernel":"6.2"}'
	run syscheck baseline learn --spool "$D" --output "$BATS_TEST_TMPDIR/b.json" --force
	run syscheck baseline diff "$BATS_TEST_TMPDIR/a.json" "$BATS_TEST_TMPDIR/b.json"
	[ "$status" -eq 0 ]
	[[ $output =~ triad_gbs\ +100\.0\ +90\.0\ +-10\.0 ]]
	[[ $output == *"kernel - -> 6.2"* ]]
	run --separate-stderr syscheck baseline apply "$BATS_TEST_TMPDIR/b.json"
	[ "$status" -eq 1 ]
	[[ $stderr == *"10.0 % worse (or --force)"* ]]
	[ "$(of_baseline "$USED" 'b.classes["epyc-9654-2s192c-768g"].metrics.triad_gbs.median')" = 100.0 ]
	chmod 666 "$BATS_TEST_TMPDIR/b.json"
	run --separate-stderr syscheck baseline apply --force "$BATS_TEST_TMPDIR/b.json"
	[ "$status" -eq 1 ]
	[[ $stderr == *"writable by group or others"* ]]
	chmod 644 "$BATS_TEST_TMPDIR/b.json"
	run --separate-stderr syscheck baseline apply --force "$BATS_TEST_TMPDIR/b.json"
	[ "$status" -eq 0 ]
	head -c 100 "$BATS_TEST_TMPDIR/b.json" >"$BATS_TEST_TMPDIR/c.json"
	for file in c.json none.json; do
		run --separate-stderr syscheck baseline apply "$BATS_TEST_TMPDIR/$file"
		[ "$status" -eq 1 ]
		[ "$(wc -l <<<"$stderr")" -eq 1 ]
		run --separate-stderr syscheck baseline diff "$BATS_TEST_TMPDIR/$file" "$USED"
		[ "$status" -eq 1 ]
	done
}

# ingest: the spool into a store of the test's own, again
ingest() {
	run --separate-stderr syscheck ingest --store "$BATS_TEST_TMPDIR/s.db" "$D"
	echo "$output$stderr"
	[ "$status" -eq 0 ]
}

@test "the store teaches what its records do, and proposes a class that has enough, once" {
	local store=$BATS_TEST_TMPDIR/s.db proposed=$BATS_TEST_TMPDIR/baseline.proposed.json told=$BATS_TEST_TMPDIR/told
	printf '#!/bin/sh\ncat >>"$1"\n' >"$BATS_TEST_TMPDIR/hook"
	chmod 755 "$BATS_TEST_TMPDIR/hook"
	policy "mode = 'enforce', notify = { program = { '$BATS_TEST_TMPDIR/hook', '$told' }, every = 0 }"
	run --separate-stderr syscheck baseline learn --store "$store"
	[ "$status" -eq 3 ]
	fleet 1 epyc-9654-2s192c-768g 3 5 ',"parts":{"dimms":24}'
	ingest
	[ "$(wc -l <<<"$output")" -eq 1 ]
	run --separate-stderr syscheck baseline propose --store "$store"
	[ "$status" -eq 1 ]
	[[ $output =~ epyc-9654-2s192c-768g\ +3\ +15\ +not\ enough:\ 5\ checks\ more ]]
	[[ $stderr == *"nothing is proposed" ]]
	[ ! -e "$proposed" ]
	LATER=3600 fleet 1 epyc-9654-2s192c-768g 3 5 ',"parts":{"dimms":24}'
	ingest
	[[ $output == *$'\n'"enough for a baseline of epyc-9654-2s192c-768g (3 nodes, 30 checks): syscheck baseline apply $proposed" ]]
	LATER=7200 fleet 1 epyc-9654-2s192c-768g 3 1
	ingest
	[ "$(wc -l <<<"$output")" -eq 1 ]
	[ ! -e "$USED" ]
	[ "$(wc -l <"$told")" -eq 1 ]
	grep -q '"event":"proposal","file":"'"$proposed"'","text":"enough for a baseline of epyc' "$told"
	run syscheck baseline apply "$proposed"
	[ "$status" -eq 0 ]
	# Learned of both, it is the same.
	run --separate-stderr syscheck baseline learn --store "$store" --since 2d --output "$BATS_TEST_TMPDIR/a.json"
	[ "$status" -eq 0 ]
	[[ $output == *"learned from store $store, written to "* ]]
	learn --output "$BATS_TEST_TMPDIR/b.json"
	run syscheck baseline diff "$BATS_TEST_TMPDIR/a.json" "$BATS_TEST_TMPDIR/b.json"
	[[ $output =~ triad_gbs\ +100\.0\ +100\.0\ +\+0\.0\ +([0-9.]+)\ -\>\ ([0-9.]+) ]]
	[ "${BASH_REMATCH[1]}" = "${BASH_REMATCH[2]}" ]
	run --separate-stderr syscheck baseline learn --store "$store" --spool "$D"
	[ "$status" -eq 2 ]
}

# here CLASS MEDIAN: a baseline of one class
here() {
	printf '{"v":2,"classes":{"%s":{"nodes":9,"metrics":{"triad_gbs":{"median":%s,"mad_pct":1,"tolerance_pct":4,"n":90,"nodes":9}},"expect":{},"config":{"kernel":"0.0-other"}}}}' \
		"$1" "$2" >"$USED"
}

@test "a node that lost memory is rated as its class was, and told" {
	local class more
	run prolog
	class=$(record check 'r.class')
	[[ $class =~ ^(.*-)([0-9]+)g$ ]] || skip "this machine's memory is not known"
	more=${BASH_REMATCH[1]}$((BASH_REMATCH[2] + 1))g
	kernel stream "$(says stream '"triad_gbs":61.3')"
	here "$more" 86
	run prolog
	[ "$status" -eq 1 ]
	[ "$(record check 'r.reason')" = "triad 61.3 < 77.4 GB/s (class $more, median 86.0)" ]
	run syscheck run
	[[ $output =~ warn:\ memory\ [0-9]+\ GiB,\ class\ majority\ [0-9]+\ GiB ]]
	[[ $output == *"warn: class $class not known, rated as $more"* ]]
	[[ $output == *"warn: config: kernel "*"(class majority 0.0-other)"* ]]
}

@test "a node that became another since its last check is told once" {
	run prolog
	[[ "$(record check 'r.status')" == unrated ]]
	sed -i 's/"class":"[^"]*"/"class":"epyc-9-1s2c-4g"/' "$P/var/lib/syscheck/last.json"
	run prolog
	[ "$(record check 'r.metrics[#r.metrics].text:match("was epyc%-9%-1s2c%-4g at the last check")')" != nil ]
	[ "$(record check 'r.metrics[#r.metrics].status')" = warn ]
	run prolog
	[ "$(record check 'r.status')" = unrated ]
}

@test "a wrong result drains whatever else is wrong with the checker" {
	echo '{' >"$USED"
	kernel dgemm "echo '{\"kernel\":\"dgemm\",\"v\":1,\"verified\":false,\"error\":\"core 1\"}'; exit 1"
	run prolog
	[ "$status" -eq 1 ]
	[[ "$(record check 'r.reason')" == "dgemm: WRONG RESULT: core 1" ]]
	# A bad policy without a last good copy is another matter: what the site wants is not known.
	rm -f "$P/calls" "$P/var/lib/syscheck/policy.good"
	policy 'mode = "enforc"'
	run prolog
	[ "$status" -eq 0 ]
	[ ! -e "$P/calls" ]
}
