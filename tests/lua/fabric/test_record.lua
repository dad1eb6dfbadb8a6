-- What comes of a run: who is drained and who is not, in which order, what is left for the next run, what is recorded;
-- with a slurmctld in memory.
package.path = "lua/?.lua;tests/lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local command = require("syscheck.slurm.command")
local explain = require("syscheck.fabric.explain")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local nodes = require("syscheck.node.node")
local policy = require("syscheck.policy.policy")
local record = require("syscheck.fabric.record")
local records = require("syscheck.spool.records")
local session = require("syscheck.fabric.session")
local simulated = require("simulated")
local tree = require("tree")
local uv = require("luv")

local OPEN = "fabric-drains.json"
local FOUR = { 8, 8, 8, 8 } -- 32 nodes: of 0.1 three may be drained
local FAIL = "limits = { fabric_out_ratio = { min = 0.9, action = 'fail' }, "
   .. "fabric_in_ratio = { min = 0.9, action = 'fail' }, fabric_out_gbs = { min = 9, action = 'fail' }, "
   .. "fabric_lat_us = { max = 3.2, action = 'fail' } }"

local host -- that measures
local slurm -- { node's name = { state, reason, time = when that was set, away = true: its updates get no answer } }
local calls -- what slurmctld was asked: "update l1n3 drain"
local on_drain -- called when a node was drained: somebody else does something meanwhile
local away -- no call gets an answer

local function listed()
   local lines = {}
   for name, one in pairs(slurm) do
      lines[#lines + 1] = ("NodeName=%s State=%s Partitions=main%s"):format(name, one.state, one.reason
         and (" Reason=%s [root@%s]"):format(one.reason, os.date("!%Y-%m-%dT%H:%M:%S", one.time)) or "")
   end
   return table.concat(lines, "\n") .. "\n"
end

local function update(args)
   local name, state = args[2]:match("^nodename=(.*)"), args[3]:match("^state=(.*)")
   local one = slurm[name]
   calls[#calls + 1] = ("%s %s"):format(state, name)
   if one.away then
      return nil, "scontrol update: no answer within 1 s"
   elseif state == "drain" then
      one.state, one.reason, one.time = "IDLE+DRAIN", args[4]:match("^reason=(.*)"), os.time()
      if on_drain then
         on_drain(name)
      end
   else
      one.state, one.reason = "IDLE", nil
   end
   return ""
end

-- In command.run's place: scontrol and sinfo.
local function answer(_, args)
   if away then
      calls[#calls + 1] = "no answer"
      return nil, "scontrol --all: no answer within 15 s"
   elseif args[1] == "update" then
      return update(args)
   elseif args[1] == "--all" then
      calls[#calls + 1] = "list"
      return listed()
   end
   local name = args[2]:match("^%-%-nodes=(.*)")
   return ("%s %s\n"):format(slurm[name].state == "IDLE" and "idle" or "drained", slurm[name].reason or "none")
end

local real = { run = command.run, sleep = uv.sleep, write = log.write, getuid = uv.getuid, random = math.random }

-- @param words of the policy
local function new_host(words)
   local root = host and host.root or tree.new()
   host = setmetatable({ problems = {}, root = root, name = "admin", policy = assert(policy.parse("return { " .. words
      .. " }", "p.lua")), spool = root .. "/spool", state = root .. "/state" }, nodes)
   assert(files.mkdir(host.spool))
end

TestRecord = {}

function TestRecord:setUp()
   new_host("mode = 'enforce', " .. FAIL)
   slurm, calls, on_drain, away = {}, {}, nil, nil
   for _, name in ipairs(simulated.net(FOUR).names) do
      slurm[name] = { state = "IDLE" }
   end
   command.run, uv.sleep, log.write = answer, function() end, function() end
   -- How often a list is tried again is by chance.
   math.random = function() return 1 end -- luacheck: ignore 122
end

function TestRecord:tearDown()
   command.run, uv.sleep, log.write, uv.getuid = real.run, real.sleep, real.write, real.getuid
   math.random = real.random -- luacheck: ignore 122
   tree.remove(host.root)
   host = nil
end

-- A run's answer.
-- @param world as of simulated.measure
-- @param change function(got, p): what else the pair's result is, or nil
local function run(world, change, about)
   local net = simulated.net(FOUR)
   world.noise = world.noise or 0.01
   local measure = simulated.measure(net, world)
   local out = assert(session.run(net, function(rounds)
      local results = measure(rounds)
      for r, round in ipairs(change and rounds or {}) do
         for k, p in ipairs(round.pairs) do
            change(results[r][k], p)
         end
      end
      return results
   end, { seed = 1 }))
   out.net, out.about, out.seed, out.nodes, out.job = net, about or {}, 1, #net.names, 7
   explain.all(out)
   return out
end

local function keep(answer_of, interrupted)
   return record.keep(host, answer_of, interrupted or function() end)
end

-- The records of all runs so far, the last one of each node.
local function recorded()
   local by = {}
   for one in records.read({ host.spool }, function(file, line, why)
      lu.fail(("%s:%d: %s"):format(file, line, why))
   end) do
      by[one.node] = one
   end
   return by
end

-- node -> action, of those of whom something was asked, or was to be.
local function actions()
   local out = {}
   for name, one in pairs(recorded()) do
      out[name] = one.action ~= "none" and one.action or nil
   end
   return out
end

local function drained()
   local list = {}
   for name, one in pairs(slurm) do
      list[#list + 1] = one.state:find("DRAIN") and name or nil
   end
   table.sort(list)
   return list
end

local function updates()
   local list = {}
   for _, call in ipairs(calls) do
      list[#list + 1] = call:find(" l%d") and call or nil
   end
   return list
end

local function open_nodes()
   return (host:read_state(OPEN) or {}).nodes
end

function TestRecord:test_a_bad_nic_is_drained_and_recorded()
   local out = keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(out.recorded, 32)
   lu.assertNil(out.error)
   lu.assertEquals(drained(), { "l1n3" })
   lu.assertEquals(updates(), { "drain l1n3" })
   lu.assertStrMatches(slurm.l1n3.reason, "syscheck: fabric: l1n3 sends at 0%.6.*")
   lu.assertNil(open_nodes())
   lu.assertEquals({ #out.failed, out.failed[1].node, out.failed[1].action, out.failed[1].text },
      { 1, "l1n3", "drain", slurm.l1n3.reason })
   local by = recorded()
   lu.assertEquals({ by.l1n3.status, by.l1n3.action, by.l1n3.drain }, { "fail", "drain",
      { done = true, reason = slurm.l1n3.reason } })
   lu.assertEquals({ by.l1n4.status, by.l1n4.action, by.l1n4.drain }, { "pass", "none" })
   lu.assertEquals({ by.l1n4.kind, by.l1n4.by, by.l1n4.job.id }, { "fabric", "admin", 7 })
end

-- Three may go, of five.
function TestRecord:test_the_slowest_go_first_and_the_storm_guard_keeps_the_others()
   local out = keep(run({ out = { [2] = 8, [11] = 6, [18] = 7, [25] = 5 }, ["in"] = { [30] = 4 } }))
   lu.assertEquals(updates(), { "drain l4n6", "drain l4n1", "drain l2n3" })
   lu.assertEquals(drained(), { "l2n3", "l4n1", "l4n6" })
   lu.assertEquals(actions(), { l4n6 = "drain", l4n1 = "drain", l2n3 = "drain", l3n2 = "storm", l1n2 = "storm" })
   lu.assertNil(open_nodes())
   local order = {}
   for k, one in ipairs(out.failed) do
      order[k] = one.node
   end
   lu.assertEquals(order, { "l4n6", "l4n1", "l2n3", "l3n2", "l1n2" })
   lu.assertStrMatches(out.failed[4].text, "syscheck: fabric: l3n2 sends .*"
      .. "%(partition main: 3 of 32 nodes drained by syscheck, at most 3%)")
   lu.assertEquals(recorded().l3n2.drain.full, { name = "main", total = 32, taken = 3, cap = 3 })
   lu.assertFalse(recorded().l3n2.drain.done)
end

-- As slow as each other: by name, and as people count.
function TestRecord:test_the_first_name_first_of_those_who_are_as_slow()
   local answer_of = run({ out = { [3] = 5, [4] = 5 }, noise = 0 })
   for k, name in pairs({ [3] = "l1n10", [4] = "l1n9" }) do
      answer_of.net.names[k], slurm[name] = name, { state = "IDLE" }
   end
   keep(answer_of)
   lu.assertEquals(updates(), { "drain l1n9", "drain l1n10" })
end

-- Drains of the node's own checks count as well; those older than the window do not.
function TestRecord:test_what_syscheck_drained_before_counts_within_the_window()
   for k = 1, 3 do
      slurm["l3n" .. k] = { state = "IDLE+DRAIN", reason = "syscheck: triad 1 < 2 GB/s", time = os.time() - 90000 }
   end
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(updates(), { "drain l1n3" })
   slurm.l1n3, calls = { state = "IDLE" }, {}
   for k = 1, 3 do
      slurm["l3n" .. k].time = os.time() - 80000
   end
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(updates(), {})
   lu.assertEquals(actions(), { l1n3 = "storm" })
   lu.assertNil(open_nodes())
end

-- Another host drains in the same second, and counts before this one: taken back.
function TestRecord:test_who_is_beyond_the_cap_afterwards_is_taken_back()
   on_drain = function()
      for k = 1, 3 do
         slurm["l3n" .. k] = { state = "IDLE+DRAIN", reason = "syscheck: triad 1 < 2 GB/s", time = os.time() - 5 }
      end
   end
   local out = keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(updates(), { "drain l1n3", "undrain l1n3" })
   lu.assertEquals(slurm.l1n3.state, "IDLE")
   lu.assertEquals({ out.failed[1].action, recorded().l1n3.drain.done }, { "storm", false })
   lu.assertNil(open_nodes())
end

function TestRecord:test_one_that_is_out_already_keeps_its_reason()
   local before = { "fan broken", "syscheck: triad 1 < 2 GB/s (policy)" }
   for _, reason in ipairs(before) do
      slurm.l1n3, calls = { state = "IDLE+DRAIN", reason = reason, time = os.time() - 60 }, {}
      local out = keep(run({ out = { [3] = 6 } }))
      lu.assertEquals(updates(), {})
      lu.assertEquals(slurm.l1n3.reason, reason)
      lu.assertEquals(out.failed[1].action, "drain")
      local drain = recorded().l1n3.drain
      lu.assertEquals({ drain.done, drain.kept }, { false, reason })
   end
end

-- A new second would move it in the order in which drains count.
function TestRecord:test_our_own_drain_is_not_set_again()
   local reason, time = "syscheck: fabric: l1n3 sends at 0.40 of its peers", os.time() - 60
   slurm.l1n3 = { state = "IDLE+DRAIN", reason = reason, time = time }
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(updates(), {})
   lu.assertEquals({ slurm.l1n3.reason, slurm.l1n3.time }, { reason, time })
   lu.assertEquals(recorded().l1n3.drain, { done = true, reason = reason })
   lu.assertNil(open_nodes())
end

-- What does not fail the node is not even asked for.
local function asks_nothing(answer_of, kind, action)
   local kinds = {}
   for _, one in ipairs(answer_of.findings) do
      kinds[one.kind] = true
   end
   if kind then
      lu.assertTrue(kinds[kind], kind .. " is not found: no test of it")
   end
   calls = {}
   local out = keep(answer_of)
   lu.assertEquals(calls, {}, kind)
   lu.assertEquals(drained(), {}, kind)
   for name, one in pairs(recorded()) do
      lu.assertTrue(one.action == "none" or one.action == action, ("%s: %s: %s"):format(kind, name, one.action))
   end
   return out
end

function TestRecord:test_only_a_nic_is_drained()
   for kind, world in pairs({ uplink_lost = { up = { [2] = 20 } }, uplink_link = { link_up = { [2] = 4 } },
      leaf_switch = { switch = { [2] = 5 } }, host = { loaded_out = { [3] = 6 } }, latency = { latency = { [3] = 3 } },
      silent = { silent = { [3] = true } } }) do
      lu.assertEquals(asks_nothing(run(world), kind).failed, {})
   end
   lu.assertEquals(asks_nothing(run({ both = { [3] = 6 } }), "host").failed, {})
end

function TestRecord:test_a_route_is_not_drained()
   local answer_of = run({})
   table.insert(answer_of.findings, { kind = "route", from = 3, to = 9, share = 0, direction = "both" })
   table.insert(answer_of.findings, { kind = "corrupt", from = 3, to = 9, why = "byte 7" })
   lu.assertEquals(asks_nothing(answer_of, "route").failed, {})
   lu.assertEquals(recorded().l1n3.status, "warn")
end

-- As slow as a bad NIC, and it is said why.
function TestRecord:test_who_had_no_cpu_or_a_small_window_is_not_drained()
   asks_nothing(run({ out = { [3] = 6 } }, function(got, p)
      got.a_wait_pct, got.b_wait_pct = p[1] == 3 and 40 or 1, p[2] == 3 and 40 or 1
   end), "busy")
   local about = {}
   for _, name in ipairs(simulated.net(FOUR).names) do
      about[name] = { tcp_wmem = 256e6, tcp_rmem = 256e6, links = {} }
   end
   asks_nothing(run({ out = { [3] = 6 } }, function(got, p)
      for name, from in pairs({ ab_tcp = p[1], ba_tcp = p[2] }) do
         got[name] = { rtt_us = 30000, rwnd_pct = 0, sndbuf_pct = from == 3 and 80 or 0, again_pct = 0 }
      end
   end, about), "window")
end

-- It may be bought so.
function TestRecord:test_who_says_that_its_link_is_slower_is_not_drained()
   local about = {}
   for _, name in ipairs(simulated.net(FOUR).names) do
      about[name] = { rate_gbps = name == "l1n3" and 100 or 200, links = {} }
   end
   local world = { out = { [3] = 5 }, ["in"] = { [3] = 5 } }
   asks_nothing(run(world, nil, about), "nic")
   lu.assertEquals(recorded().l1n3.status, "warn")
   about.l1n3.rate_gbps = 200
   keep(run(world, nil, about))
   lu.assertEquals(drained(), { "l1n3" })
end

-- Slow in one of the two runs only.
function TestRecord:test_one_run_alone_drains_nobody()
   local answer_of = run({ out = { [3] = 6 } })
   for _, one in ipairs(answer_of.findings) do
      one.shares.out = 0.95
   end
   asks_nothing(answer_of, "nic")
   answer_of = run({ out = { [3] = 6 } })
   answer_of.found.nodes.told.out[3] = 0.95
   asks_nothing(answer_of, "nic")
end

function TestRecord:test_where_the_site_only_warns_or_observes_nobody_is_asked()
   local world = { out = { [3] = 6 } }
   new_host("mode = 'enforce'")
   lu.assertEquals(asks_nothing(run(world), "nic").failed, {})
   lu.assertEquals({ recorded().l1n3.status, recorded().l1n3.drain }, { "warn" })
   new_host("mode = 'observe', " .. FAIL)
   local out = asks_nothing(run(world), "nic", "observed")
   lu.assertEquals({ recorded().l1n3.status, recorded().l1n3.action, recorded().l1n3.drain }, { "fail", "observed" })
   lu.assertEquals({ #out.failed, out.failed[1].action }, { 1, "observed" })
   lu.assertStrContains(out.failed[1].text, "l1n3 sends at 0.6")
end

function TestRecord:test_an_interrupted_run_and_an_unsound_policy_ask_nothing()
   local answer_of = run({ out = { [3] = 6 } })
   local out = keep(answer_of, function() return "sigint" end)
   lu.assertEquals({ calls, out.failed[1].action }, { {}, "undecided" })
   lu.assertStrContains(out.failed[1].text, "(interrupted)")
   host:problem("policy: 3 is no mode")
   out = keep(answer_of)
   lu.assertEquals({ calls, out.failed[1].action }, { {}, "undecided" })
   lu.assertStrContains(out.failed[1].text, "(policy: 3 is no mode)")
   lu.assertEquals({ out.recorded, recorded().l1n3.drain.done }, { 32, false })
end

-- Each silence takes its seconds of a controller in trouble: it is not asked for every bad node.
function TestRecord:test_after_one_silence_nobody_else_is_asked()
   away = true
   local out = keep(run({ out = { [3] = 6, [11] = 5, [19] = 7 } }))
   lu.assertEquals(actions(), { l1n3 = "undecided", l2n3 = "undecided", l3n3 = "undecided" })
   lu.assertEquals(out.failed[1].node, "l2n3")
   lu.assertStrContains(out.failed[1].text, "no answer within 15 s")
   for k = 2, 3 do
      lu.assertStrContains(out.failed[k].text, "(not asked, as Slurm did not answer for another node)")
   end
   lu.assertEquals(out.recorded, 32)
   -- Nothing was sent: nothing can stand.
   lu.assertNil(open_nodes())
   local three = calls
   calls = {}
   keep(run({ out = { [11] = 5 } }))
   lu.assertEquals(three, calls)
end

-- The call got no answer, and the drain may come yet: the next run settles it.
function TestRecord:test_a_drain_without_an_answer_is_left_for_the_next_run()
   slurm.l2n3.away = true
   keep(run({ out = { [3] = 6, [11] = 5 } }))
   lu.assertEquals(updates(), { "drain l2n3" })
   lu.assertEquals(open_nodes(), { "l2n3" })
   lu.assertEquals(actions(), { l1n3 = "undecided", l2n3 = "undecided" })
   -- It did not come. Repaired meanwhile, the next run finds nobody.
   slurm.l2n3.away, calls = nil, {}
   keep(run({}))
   lu.assertEquals(calls, { "list" })
   lu.assertNil(open_nodes())
end

function TestRecord:test_a_drain_that_came_after_all_stays_within_the_cap()
   host:save_state(OPEN, { nodes = { "l2n3" } })
   slurm.l2n3 = { state = "IDLE+DRAIN", reason = "syscheck: fabric: l2n3 sends at 0.5", time = os.time() - 9 }
   keep(run({}))
   lu.assertEquals({ updates(), drained(), open_nodes() }, { {}, { "l2n3" } })
end

function TestRecord:test_a_drain_that_came_after_all_is_taken_back_beyond_the_cap()
   host:save_state(OPEN, { nodes = { "l2n3" } })
   local function drain(name, reason, age)
      slurm[name] = { state = "IDLE+DRAIN", reason = reason, time = os.time() - age }
   end
   for k = 1, 3 do
      drain("l3n" .. k, "syscheck: triad 1 < 2 GB/s", 60)
   end
   drain("l2n3", "syscheck: fabric: l2n3 sends at 0.5", 9)
   keep(run({}))
   lu.assertEquals({ updates(), slurm.l2n3.state, open_nodes() }, { { "undrain l2n3" }, "IDLE" })
   -- Nor is anybody else's touched.
   for _, reason in ipairs({ "fan broken", "syscheck: triad 1 < 2 GB/s" }) do
      host:save_state(OPEN, { nodes = { "l2n3" } })
      drain("l2n3", reason, 9)
      calls = {}
      keep(run({}))
      lu.assertEquals({ updates(), slurm.l2n3.reason, open_nodes() }, { {}, reason })
   end
end

-- The settling comes first: what it takes back is room for a worse one.
function TestRecord:test_what_is_settled_makes_room()
   new_host("mode = 'enforce', max_drained = 0.04, " .. FAIL) -- one
   host:save_state(OPEN, { nodes = { "l2n3" } })
   slurm.l2n3 = { state = "IDLE+DRAIN", reason = "syscheck: fabric: l2n3 sends at 0.5", time = os.time() - 90000 }
   slurm.l3n1 = { state = "IDLE+DRAIN", reason = "syscheck: triad 1 < 2 GB/s", time = os.time() - 90001 }
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(updates(), { "undrain l2n3", "drain l1n3" })
   lu.assertEquals(drained(), { "l1n3", "l3n1" })
end

-- No answer either: both stay for the next one, and nobody who is bad is asked for.
function TestRecord:test_a_silence_while_settling_keeps_all()
   away = true
   host:save_state(OPEN, { nodes = { "l2n3" } })
   keep(run({}))
   local one = calls
   calls = {}
   host:save_state(OPEN, { nodes = { "l2n3", "l3n3" } })
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(open_nodes(), { "l2n3", "l3n3" })
   lu.assertEquals(calls, one)
   lu.assertEquals(actions(), { l1n3 = "undecided" })
   lu.assertStrContains(recorded().l1n3.drain.error, "not asked")
end

-- Somebody else's file, or a broken one.
function TestRecord:test_a_list_of_no_nodes_is_forgotten()
   for _, value in ipairs({ { nodes = "l2n3" }, { nodes = { "../x", "a b", "" } }, {}, { nodes = {} } }) do
      host:save_state(OPEN, value)
      keep(run({}))
      lu.assertEquals(calls, {})
      lu.assertNil(host:read_state(OPEN))
   end
end

-- All are as slow as each other: one line for all of them, not 32.
function TestRecord:test_nodes_beyond_the_same_limit_are_one_line()
   host.baseline = { v = 2, classes = { ["fabric-?g-1hop"] = { metrics = { fabric_out_gbs = { median = 20, mad_pct = 1,
      tolerance_pct = 5, nodes = 9, n = 40 } }, expect = {}, config = {}, nodes = 9 } } }
   local out = asks_nothing(run({}))
   lu.assertEquals({ #out.beyond, #out.beyond[1].nodes, out.failed }, { 1, 32, {} })
   lu.assertStrContains(out.beyond[1].text, "class fabric-?g-1hop")
   host.baseline = nil
   lu.assertEquals(asks_nothing(run({})).beyond, {})
end

-- Who may not write to the spool accuses nobody.
function TestRecord:test_a_user_drains_and_records_nothing()
   uv.getuid = function() return 1000 end
   host.spool = host.root .. "/not_there"
   lu.assertNil(keep(run({ out = { [3] = 6 } })))
   lu.assertEquals(calls, {})
   lu.assertNil(uv.fs_stat(host.spool))
end

-- Others were first, the cap is used up, and the step back gets no answer: the drain stands beyond the cap until a run
-- takes it back.
function TestRecord:test_a_step_back_without_an_answer_is_left_for_the_next_run()
   on_drain = function()
      for k = 1, 3 do
         slurm["l3n" .. k] = { state = "IDLE+DRAIN", reason = "syscheck: triad 1 < 2 GB/s", time = os.time() - 5 }
      end
      slurm.l1n3.away = true
   end
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(slurm.l1n3.state, "IDLE+DRAIN")
   lu.assertEquals(open_nodes(), { "l1n3" })
end

-- It was taken out of slurm.conf: slurmctld answers, and it can be forgotten.
function TestRecord:test_a_node_that_slurm_knows_no_more()
   host:save_state(OPEN, { nodes = { "gone" } })
   keep(run({ out = { [3] = 6 } }))
   keep(run({ out = { [3] = 6 } }))
   lu.assertEquals(actions(), { l1n3 = "drain" })
end

-- slurmctld answers; it is one node's own state that is in the way.
function TestRecord:test_a_node_with_a_reason_of_its_own_is_no_silence()
   slurm.l2n3 = { state = "IDLE+REBOOT_REQUESTED", reason = "kernel update", time = os.time() - 60 }
   keep(run({ out = { [3] = 6, [11] = 5 } }))
   lu.assertEquals(actions(), { l2n3 = "undecided", l1n3 = "drain" })
end

function TestRecord:test_a_file_that_is_damaged()
   host:save_state(OPEN, { nodes = { 5, {}, true } })
   keep(run({}))
   lu.assertNil(open_nodes())
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
