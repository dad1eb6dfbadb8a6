-- A measurement as a whole, Slurm's step played by one process (ranks.lua): rail by rail, who has fewer, who keeps to
-- none; who dies, hangs or does not start, and srun's own words.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local uv = require("luv")
local run = require("syscheck.fabric.run")
local words = require("syscheck.fabric.words")

local NAMES = { "n1", "n2", "n3", "n4", "n5", "n6" }

-- @param change node's name -> what is unlike the others' two rails; srun = of the whole step
-- @param names instead of all six, or nil
-- @param srun its path, or nil
-- @return run.rails' answers, what failed as texts, all that is said of findings, and of what is being done
local function rails(n, change, names, srun)
   local world, progress = { srun = change.srun }, {}
   for _, name in ipairs(names or NAMES) do
      world[name] = change[name] or { rails = 2 }
   end
   uv.os_setenv("RANKS", json.encode(world))
   local answers, failed = run.rails(names or NAMES, n, 512, { srun = srun or "tests/lua/fabric/ranks.lua",
      kernel = "fabric", job = 1, seed = 1, settings = {} }, function(format, ...)
      progress[#progress + 1] = format:format(...)
   end, function() end)
   local not_done, said = {}, {}
   for k, one in ipairs(failed) do
      not_done[k] = one.why
   end
   for _, answer in ipairs(answers) do
      for _, one in ipairs(answer.findings) do
         said[#said + 1] = words.of(answer.net, one)
      end
   end
   return answers, not_done, said, progress
end

TestRun = {}

function TestRun:test_without_rails_openmpi_chooses()
   local answers, failed, said = rails(nil, {})
   lu.assertEquals(#answers, 1)
   lu.assertNil(answers[1].rail)
   lu.assertEquals(answers[1].mpi, "Open MPI v4.1.4")
   lu.assertEquals(failed, {})
   lu.assertEquals(said, {})
end

function TestRun:test_each_rail_names_its_own()
   local answers, failed, said = rails(2, { n2 = { rails = 2, slow = { ["1"] = 0.5 } },
      n5 = { rails = 2, slow = { ["2"] = 0.7 } } })
   lu.assertEquals(failed, {})
   lu.assertEquals({ answers[1].rail, answers[2].rail, #answers }, { 1, 2, 2 })
   lu.assertEquals(#said, 2)
   lu.assertStrContains(said[1], "rail 1 (eth0): n2 receives at 0.50 of")
   lu.assertStrContains(said[2], "rail 2 (eth1): n5 receives at 0.70 of")
end

-- One node, its fault on both: two findings, of a rail each.
function TestRun:test_both_rails_of_a_node()
   local _, _, said = rails(2, { n4 = { rails = 2, slow = { ["1"] = 0.5, ["2"] = 0.6 } } })
   lu.assertEquals(#said, 2)
   lu.assertStrContains(said[1], "rail 1 (eth0): n4 receives at 0.50 of")
   lu.assertStrContains(said[2], "rail 2 (eth1): n4 receives at 0.60 of")
end

-- Its second port is called the first one: with the others it would be slow, or cut off.
function TestRun:test_fewer_rails_than_most_are_left_out()
   local answers, failed, said = rails(2, { n3 = { rails = 1, slow = { ["1"] = 0.1 } } })
   lu.assertEquals(failed, {})
   lu.assertEquals(said, {})
   lu.assertEquals(answers[1].nodes, 5)
   lu.assertEquals(answers[1].notes, { "fewer than 2 such ports in use, left out: n3" })
   lu.assertEquals(answers[2].nodes, 5)
   lu.assertEquals(answers[2].notes, { "no rail 2, left out: n3" })
end

function TestRun:test_nobody_has_that_rail()
   local answers, failed = rails(4, {})
   lu.assertEquals(#answers, 2)
   lu.assertEquals(failed, { "there is no rail 3: they have 2 at most" })
end

function TestRun:test_only_one_has_that_rail()
   local change = {}
   for _, name in ipairs(NAMES) do
      change[name] = { rails = 1 }
   end
   change.n6 = { rails = 2 }
   local answers, failed = rails(2, change)
   lu.assertEquals(#answers, 1)
   lu.assertEquals(answers[1].nodes, 6)
   lu.assertEquals(failed, { "only n6 has a rail 2" })
end

-- The second port was asked for, the bytes went by the first: what was measured is no rail 2.
function TestRun:test_another_port_is_used()
   local answers, failed, said = rails(2, { n2 = { rails = 2, instead = { ["2"] = "eth0" } } })
   lu.assertEquals(#answers, 1)
   lu.assertEquals(said, {})
   lu.assertEquals(#failed, 1)
   lu.assertStrContains(failed[1], "rail 2: OpenMPI does not keep to rail 2 on n2, it used eth0")
end

-- One was lost on the way, for a reason that is said, and the others are measured.
local function is_lost(name, why, change, names)
   local answers, failed, said, progress = rails(nil, change, names)
   lu.assertEquals(failed, {})
   lu.assertEquals({ #answers, answers[1].nodes }, { 1, #(names or NAMES) - 1 })
   lu.assertEquals(said, { ("%s does not answer: %s"):format(name, why) })
   lu.assertStrContains(table.concat(progress, "\n"), ("%s: %s; going on without"):format(name, why))
   return progress
end

function TestRun:test_who_is_killed_in_mid_run_is_named_with_the_reason()
   is_lost("n5", "n5: task 4: Killed", { n5 = { ends = { at = "go", code = 137,
      errors = { "srun: error: n5: task 4: Killed" } } } })
   -- No line of his own: a banner before it.
   is_lost("n2", "n2: task 1: Out Of Memory", { n2 = { ends = { at = "go", code = 1, errors = { "----------", "",
      "slurmstepd-n2: oom_kill event in StepId=1.0", "srun: error: n2: task 1: Out Of Memory" } } } })
end

-- Slurm kills all others for it, and says so in any order.
function TestRun:test_who_ended_by_itself_is_blamed_before_who_was_killed_for_it()
   local answers, failed, said = rails(nil, { n5 = { ends = { at = "go", code = 137, errors = {
      "srun: error: n3: task 2: Killed", "srun: error: n5: task 4: Exited with exit code 1",
      "srun: error: n1: task 0: Killed" } } } })
   lu.assertEquals(failed, {})
   lu.assertEquals({ answers[1].nodes, #said }, { 5, 1 })
   lu.assertStrContains(said[1], "n5 does not answer: ")
end

-- Slurm names no task of it: it is the one that did not come to the end.
function TestRun:test_a_node_that_fails()
   is_lost("n5", "Node failure on n5", { n5 = { ends = { at = "go", others_done = true, code = 1, errors = {
      "srun: error: Node failure on n5", "srun: error: n[1-4,6]: tasks 0-3,5: Terminated" } } } })
end

-- Nor does anything tell who it was: nobody is blamed.
function TestRun:test_a_step_that_ends_for_all_blames_nobody()
   local answers, failed, said = rails(nil, { n5 = { ends = { at = "go", code = 1,
      errors = { "srun: error: Connection to slurmctld lost" } } } })
   lu.assertEquals({ answers, failed, said }, { {}, { "Connection to slurmctld lost" }, {} })
end

-- What the kernel says itself is more than that its task ended.
function TestRun:test_the_kernels_own_words_come_first()
   is_lost("n4", "MPI_Isend failed on n4", { n4 = { ends = { at = "go", code = 2, errors = {
      "srun: error: n4: task 3: Exited with exit code 2", "fabric: MPI_Isend failed on n4" } } } })
end

-- A call that does not return: the rank says so and ends itself, and Slurm the others.
function TestRun:test_who_is_stuck_and_ends_is_named()
   is_lost("n5", "n5: task 4: Exited with exit code 2", { n5 = { stuck = true, ends = { at = "go", code = 2,
      errors = { "srun: error: n5: task 4: Exited with exit code 2", "srun: Terminating StepId=1.0",
         "srun: error: n1: task 0: Terminated" } } } })
end

-- It is not waited for once it said so.
function TestRun:test_who_is_stuck_has_come_to_its_end()
   local from = uv.hrtime()
   local answers, failed, said = rails(nil, { n5 = { stuck = true } })
   lu.assertEquals(failed, {})
   lu.assertEquals({ answers[1].nodes, said }, { 6, { "n5 does not answer: no partner heard from it" } })
   lu.assertTrue((uv.hrtime() - from) / 1e9 < 5, "waited for who is stuck")
end

function TestRun:test_whom_two_wait_for_in_vain_is_named()
   local from = uv.hrtime()
   is_lost("n2", "not all nodes came to the end of the rounds", { n2 = { mute = true } })
   lu.assertTrue((uv.hrtime() - from) / 1e9 < 5, "waited for who is silent")
end

-- Two partners of it are not enough to go on with.
function TestRun:test_of_two_nodes_none_is_left_to_measure()
   local answers, failed = rails(nil, { n2 = { ends = { at = "go", code = 137,
      errors = { "srun: error: n2: task 1: Killed" } } } }, { "n1", "n2" })
   lu.assertEquals({ answers, failed }, { {}, { "n2: task 1: Killed" } })
end

function TestRun:test_a_task_that_cannot_be_started()
   local why = "Task launch for StepId=1.0 failed on node n3: Communication connection failure"
   is_lost("n3", why, { n3 = { ends = { at = "launch", code = 1, errors = { "srun: error: " .. why } } } })
end

local NO_MPI = { ends = { at = "init", code = 1, errors = { "srun: error: n1: task 0: Exited with exit code 1" } } }

-- Nobody is ready, as all wait for it: who it is shows without it.
function TestRun:test_of_three_nodes_the_one_with_which_mpi_does_not_start()
   for _, name in ipairs({ "n1", "n2", "n3" }) do
      local progress = is_lost(name, "MPI does not start with it", { [name] = NO_MPI }, { "n1", "n2", "n3" })
      lu.assertStrContains(progress[1], "looking for who keeps the others from it")
   end
end

function TestRun:test_the_nodes_of_many_with_which_mpi_does_not_start()
   is_lost("n5", "MPI does not start with it", { n5 = NO_MPI })
   local answers, failed, said = rails(nil, { n5 = NO_MPI, n6 = NO_MPI })
   lu.assertEquals(failed, {})
   lu.assertEquals(answers[1].nodes, 4)
   table.sort(said)
   lu.assertEquals(said, { "n5 does not answer: MPI does not start with it",
      "n6 does not answer: MPI does not start with it" })
end

-- It starts with none: nobody is to blame, and it is said what MPI says.
function TestRun:test_mpi_starts_nowhere()
   local change = {}
   for _, name in ipairs(NAMES) do
      change[name] = { ends = { at = "init", code = 2, errors = { "fabric: no PMIx here: srun wants --mpi=pmix" } } }
   end
   local answers, failed = rails(nil, change)
   lu.assertEquals({ answers, failed }, { {}, { "no PMIx here: srun wants --mpi=pmix" } })
end

function TestRun:test_srun_that_ends_at_once_is_one_clear_line()
   for _, case in ipairs({
      { { "srun: error: invalid MPI plugin name", "srun: error: MPI: Unable to load any plugin" },
         "invalid MPI plugin name" },
      { { "srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files",
         "srun: error: Invalid MPI type 'pmix', --mpi=list for acceptable types" },
         "Invalid MPI type 'pmix', --mpi=list for acceptable types" },
      { { "srun: error: Couldn't find the specified plugin name for mpi/pmix looking at all files",
         "srun: error: cannot find mpi plugin for mpi/pmix" },
         "Couldn't find the specified plugin name for mpi/pmix looking at all files" },
      { { "srun: job 1 queued and waiting for resources", "srun: error: Unable to create step for job 1: More "
         .. "processors requested than permitted" },
         "Unable to create step for job 1: More processors requested than permitted" },
      { { "srun: error: something first", "srun: fatal: Can not execute fabric" }, "Can not execute fabric" },
      { { "", "   " }, "srun ended with code 3" },
   }) do
      local answers, failed, _, progress = rails(nil, { srun = { errors = case[1], code = 3 } })
      lu.assertEquals({ answers, failed }, { {}, { case[2] } })
      -- Nor is it tried again, or somebody looked for.
      lu.assertEquals(progress, {})
   end
end

function TestRun:test_no_srun()
   local answers, failed = rails(nil, {}, nil, "/not_there/srun")
   lu.assertEquals({ #answers, #failed }, { 0, 1 })
   lu.assertStrContains(failed[1], "/not_there/srun: ENOENT")
end

-- Whatever a rank prints that is not what was asked for changes nothing.
function TestRun:test_garbage_is_ignored()
   local answers, failed, said = rails(nil, { n5 = { garbage = {
      "", "srun: hello", "null", "5", '"x"', "[]", "{}", '{"event":', 2 ^ 21, '{"event":"round"}',
      '{"event":"quack","rank":4,"plan":1}', '{"event":["done"],"rank":4,"plan":1}', '{"event":"ready","rank":null}',
      '{"event":"hello","rank":77,"node":"stranger"}', '{"event":"hello","rank":77,"node":"n1"}',
      '{"event":"hello","rank":77,"node":["n1"]}',
      '{"event":"link","rank":4,"node":"stranger","name":"eth9"}', '{"event":"errors","rank":77,"link":"eth0","x":1}',
      '{"event":"round","rank":0,"plan":77,"round":0,"rx_gbs":0.1}',
      '{"event":"round","rank":77,"plan":1,"round":0,"rx_gbs":0.1}',
      '{"event":"round","rank":0.5,"plan":1,"round":0,"rx_gbs":0.1}',
      '{"event":"round","rank":0,"plan":1,"round":9999,"rx_gbs":0.1}',
      '{"event":"round","rank":0,"plan":1,"round":-1,"rx_gbs":0.1}',
      '{"event":"round","rank":0,"plan":1,"round":null,"rx_gbs":0.1}',
      '{"event":"collective","rank":0,"plan":1,"round":0,"rx_gbs":0.1,"error":"x"}',
      '{"event":"collective","rank":77,"plan":1,"round":0,"rx_gbs":0.1}',
      '{"event":"files","rank":0,"plan":1,"round":0,"write_gbs":0.1,"error":"x"}',
      '{"event":"done","rank":0,"plan":77}', '{"event":"done","rank":null,"plan":1}' } } })
   lu.assertEquals({ failed, said }, { {}, {} })
   lu.assertEquals(answers[1].nodes, 6)
   for _, list in ipairs(answers[1].results) do
      for k, got in pairs(list) do
         lu.assertEquals(math.type(k), "integer")
         lu.assertEquals({ got.ab_gbs, got.ba_gbs, got.ends, got.error }, { 10, 10, 2 })
      end
   end
   lu.assertEquals(answers[1].about.stranger, nil)
   for _, name in ipairs(NAMES) do
      local about = answers[1].about[name]
      lu.assertEquals({ about.links, about.errors }, { {}, {} })
   end
end

-- A value that none can be is none; the others count.
function TestRun:test_values_that_none_can_be()
   local answers = rails(nil, { n5 = { garbage = {
      '{"event":"hello","rank":4,"node":"n5","rails":-2,"rate_gbps":"fast","rail":7,"boot_id":{}}',
      '{"event":"link","rank":4,"node":"n5","name":"eth0","mtu":-1,"rate_gbps":[],"duplex":5}' } } })
   local about = answers[1].about.n5
   lu.assertEquals(about.links[1], { name = "eth0" })
   about.links = nil
   lu.assertEquals(about, { errors = {} })
end

-- Whoever of them it is: parts start at the same time, and the first one's end is not the others'.
function TestRun:test_each_node_with_which_mpi_does_not_start()
   for _, name in ipairs({ "n1", "n3", "n4" }) do
      is_lost(name, "MPI does not start with it", { [name] = NO_MPI })
   end
end

function TestRun:test_the_reason_is_of_who_is_blamed()
   is_lost("n5", "n5: task 4: Exited with exit code 1", { n5 = { ends = { at = "go", code = 137, errors = {
      "srun: error: n3: task 2: Killed", "srun: error: n5: task 4: Exited with exit code 1" } } } })
end

function TestRun:test_the_end_of_a_plan_that_nobody_gave()
   local _, failed, said = rails(nil, { n5 = { rails = 2, garbage = { '{"event":"done","rank":4,"plan":0}' } } })
   lu.assertEquals({ failed, said }, { {}, {} })
end

-- Warnings of a library, then who was killed.
function TestRun:test_a_library_with_much_to_say()
   local lines = {}
   for k = 1, 45 do
      lines[k] = ("[1764000000.1] [n%d:7:0] ucp_context.c:1 UCX WARN device mlx5_9 is not available"):format(k)
   end
   lines[46] = "srun: error: n5: task 4: Killed"
   is_lost("n5", "n5: task 4: Killed", { n5 = { ends = { at = "go", code = 137, errors = lines } } })
end

-- Longer than the step's own limit: said before it begins.
function TestRun:test_a_run_that_would_take_too_long()
   local names = {}
   for k = 1, 400 do
      names[k] = "n" .. k
   end
   local _, failed = run.rails(names, nil, 512, { srun = "false", kernel = "fabric", job = 1, seed = 1, all = true,
      settings = { share = 0.5 } }, function() end, function() end)
   lu.assertEquals(failed[1].why, "399 rounds with --share 0.5 take about 399 s, longer than a step may: a larger "
      .. "--share, fewer nodes, or no --all")
end

-- It has closed its input when the plan is written: an error, and no signal that ends this program.
function TestRun:test_an_srun_that_is_gone()
   local path = os.tmpname()
   local file = assert(io.open(path, "w"))
   file:write([[#!/bin/sh
exec 0<&-
echo '{"event":"hello","rank":0,"node":"n1","rails":1}'; echo '{"event":"hello","rank":1,"node":"n2","rails":1}'
echo '{"event":"ready","rank":0}'; echo '{"event":"ready","rank":1}'; exec sleep 0.3
]])
   file:close()
   assert(uv.fs_chmod(path, 448)) -- 0700
   local _, failed = rails(nil, {}, { "n1", "n2" }, path)
   os.remove(path)
   lu.assertEquals(failed, { "not all nodes came to the end of the rounds" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
