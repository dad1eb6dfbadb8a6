#!/usr/bin/env bats
# Every parser of text that others write, under its fuzzer for a moment: what the corpus holds, what was once found
# (corpus/*/*/fixed-*), and a few inputs made of these. `make fuzz` makes a million of each.

setup() {
	cd "$BATS_TEST_DIRNAME/.." || return 1
	P=$(mktemp -d)
}

teardown() {
	rm -rf "$P"
}

@test "fuzzers: nothing is found in a few inputs of each parser" {
	run env SEED=1 OUT="$P/out" RESULT="$P/fuzz.json" JOBS=2 tests/fuzz/fuzz.sh 400
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *" 0 findings; $P/fuzz.json" ]]
	# Each parser had its say.
	[ "$(grep -o '"findings":0' "$P/fuzz.json" | wc -l)" -gt 25 ]
}

@test "fuzzers: an error, one that does not come again, and an endless loop are found, whatever catches errors" {
	mkdir -p "$P/tests/fuzz/parsers"
	cp tests/fuzz/*.lua "$P/tests/fuzz/"
	ln -s "$PWD/lua" "$P/lua"
	cat >"$P/tests/fuzz/parsers/bad.lua" <<-'LUA'
		local known = false
		return {
		   run = function(input)
		      if input == "once" and not known then
		         known = true
		         error("only once")
		      end
		      if input:find("err", 1, true) then
		         error("seen")
		      end
		      pcall(function()
		         while input == "endless" do end
		      end)
		   end,
		   seeds = function()
		      return { "er", "endless", "an error", "once" }
		   end,
		}
	LUA
	cd "$P"
	run lua5.4 tests/fuzz/fuzz.lua bad 50 1 out
	echo "$output"
	[ "$status" -eq 1 ]
	[[ "$output" == *"FINDING tests/fuzz/parsers/bad.lua:9: seen"* ]]
	[[ "$output" == *"FINDING tests/fuzz/parsers/bad.lua:6: only once"* ]]
	[[ "$output" == *"instructions"* ]]
	# The least that still shows it.
	[[ "$output" == *'(3 bytes: "err")'* ]]
}

@test "fuzzers: what takes the square of its input's length is found" {
	run lua5.4 -e '
		package.path = "tests/fuzz/?.lua;" .. package.path
		require("growth").look(function(input)
			local _ = input:gsub("%s+$", "")
		end, { "x y" }, 30, print)
		require("growth").look(function(input)
			local _ = input:gsub("%s", "")
		end, { "x y" }, 30, error)'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ "$output" == *"time grows by"* ]]
}
