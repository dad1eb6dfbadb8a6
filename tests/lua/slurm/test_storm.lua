-- The storm guard's order and counting, and the invariant over random interleavings.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local comment = require("syscheck.slurm.comment")
local storm = require("syscheck.slurm.storm")

TestStorm = {}

local T = 1795250000 -- 2026-11-21T08:33:20 UTC

local function line(name, state, partitions, reason, time)
   local tail = reason and (" Reason=%s [root@%s]"):format(reason, os.date("!%Y-%m-%dT%H:%M:%S", time or T)) or ""
   return ("NodeName=%s Arch=x86_64 State=%s ThreadsPerCore=1 Partitions=%s  BootTime=None%s\n"):format(name, state,
      partitions, tail)
end

function TestStorm:test_time_is_utc()
   for _, t in ipairs({ 0, 951782400, 1709164800, 1795250000, 4102444799 }) do
      lu.assertEquals(storm.time(os.date("!%Y-%m-%dT%H:%M:%S", t)), t)
   end
   lu.assertNil(storm.time("Unknown"))
   lu.assertNil(storm.time("11/21-08:33:20"))
end

function TestStorm:test_reason_is_what_slurm_shows()
   lu.assertEquals(storm.reason('triad 1 < 2 µs "x" \n'), "syscheck: triad 1 < 2 ?s 'x' ?")
   lu.assertEquals(#storm.reason(("x"):rep(999)), 250)
   lu.assertEquals(storm.reason("ends with spaces   "), "syscheck: ends with spaces")
   -- A user may call his process so, and it is named.
   local hostile = storm.reason("triad 1 < 2, most by x [a@1] (pid 7)")
   local nodes = storm.parse(
      ("NodeName=n1 State=IDLE+DRAIN Partitions=p Reason=%s [root@2026-11-22T10:00:00]"):format(hostile))
   lu.assertEquals(nodes[1].reason, hostile)
   lu.assertEquals(nodes[1].time, storm.time("2026-11-22T10:00:00"))
end

function TestStorm:test_parse()
   local nodes, by_name = storm.parse(line("a", "IDLE", "p,q")
      .. line("b", "MIXED+DRAIN", "p", "syscheck: C[1][2] bad")
      .. line("c", "IDLE+DRAIN", "p", "fan [broken]") .. line("d", "DOWN+NOT_RESPONDING", "p", "syscheck: x")
      .. "garbage\n"
      .. "NodeName=e State=IDLE+DRAIN Reason=syscheck: two [root@2026-11-21T08:33:20]  lines Comment=x\n")
   lu.assertEquals(#nodes, 5)
   lu.assertEquals(by_name.a.partitions, { "p", "q" })
   lu.assertFalse(by_name.a.drained)
   lu.assertEquals(by_name.b.reason, "syscheck: C[1][2] bad")
   lu.assertEquals(by_name.b.time, T)
   lu.assertTrue(by_name.b.ours)
   lu.assertFalse(by_name.b.fabric)
   lu.assertFalse(by_name.c.ours)
   lu.assertEquals(by_name.c.reason, "fan [broken]")
   lu.assertTrue(by_name.d.down)
   lu.assertFalse(by_name.d.drained)
   lu.assertFalse(by_name.d.ours) -- down, and not drained
   lu.assertEquals(by_name.e.reason, "syscheck: two")
   lu.assertEquals(by_name.e.partitions, { "" })
   -- Between the nodes: ours, and counted, and nothing that a check of the node looks at.
   by_name = select(2, storm.parse(line("a", "IDLE+DRAIN", "p", storm.reason(storm.FABRIC .. "a sends at 0.50"))
      .. line("b", "IDLE+DRAIN", "p", "fabric: mine")))
   lu.assertEquals({ by_name.a.ours, by_name.a.fabric, by_name.b.ours, by_name.b.fabric }, { true, true, false, false })
end

function TestStorm:test_cap()
   for _, case in ipairs({ { 0.1, 1, 1 }, { 0.1, 9, 1 }, { 0.1, 19, 1 }, { 0.1, 20, 2 }, { 0.29, 100, 29 },
      { 0.07, 100, 7 }, { 0, 500, 1 }, { 1, 500, 500 }, { 0.1, 500, 50 }, { 0.5, 0, 1 } }) do
      lu.assertEquals(storm.cap(case[1], case[2]), case[3])
   end
end

function TestStorm:test_partition_of_one_node()
   local nodes = storm.parse(line("a", "IDLE+DRAIN", "p", "syscheck: x"))
   lu.assertNil(storm.full(nodes, nodes[1], 0.1, 86400))
   nodes = storm.parse(line("a", "IDLE", "p"))
   lu.assertNil(storm.full(nodes, nodes[1], 0.1, 86400, T))
end

function TestStorm:test_order_by_second_then_name_within_the_window()
   local text = line("b", "IDLE+DRAIN", "p", "syscheck: x", T)
   local nodes, by_name = storm.parse(text .. line("a", "IDLE+DRAIN", "p", "syscheck: x", T))
   lu.assertNil(storm.full(nodes, by_name.a, 0.1, 100))
   lu.assertEquals(storm.full(nodes, by_name.b, 0.1, 100), { name = "p", total = 2, taken = 1, cap = 1 })
   nodes, by_name = storm.parse(text .. line("a", "IDLE+DRAIN", "p", "syscheck: x", T + 1))
   lu.assertNil(storm.full(nodes, by_name.b, 0.1, 100))
   lu.assertNotNil(storm.full(nodes, by_name.a, 0.1, 100))
   nodes, by_name = storm.parse(text .. line("a", "IDLE+DRAIN", "p", "syscheck: x", T + 100))
   lu.assertNil(storm.full(nodes, by_name.a, 0.1, 100))
   -- A second that cannot be read counts first.
   nodes, by_name = storm.parse(text .. "NodeName=z State=IDLE+DRAIN Partitions=p Reason=syscheck: x\n")
   lu.assertNotNil(storm.full(nodes, by_name.b, 0.1, 100))
end

-- A controller that serialises what nodes do, as slurmctld's node lock does; each node
-- takes the steps of drain.lua, in an order and with pauses of chance.
local function simulate(seed, count, share, split)
   math.randomseed(seed)
   local state, todo = {}, {}
   local function list()
      local out = {}
      for i = 1, count do
         local name = ("n%04d"):format(i)
         local partitions = split and (i % 3 == 0 and "p,q" or i % 3 == 1 and "p" or "q") or "p"
         local s = state[name]
         out[i] = line(name, s and "IDLE+DRAIN" or "IDLE", partitions, s and "syscheck: x", s)
      end
      local nodes, by_name = storm.parse(table.concat(out))
      return nodes, by_name
   end
   for i = 1, count do
      todo[i] = { name = ("n%04d"):format(i), step = 1, at = T * 1000 + math.random(0, seed % 3 == 0 and 50 or 4000) }
   end
   local peak = 0
   while #todo > 0 do
      table.sort(todo, function(a, b) return a.at > b.at end)
      local node = table.remove(todo)
      local now = node.at
      local second = now // 1000
      if node.step == 1 then
         local nodes, by_name = list()
         node.step = 2
         if storm.full(nodes, by_name[node.name], share, 86400, second) then
            node.step = 4
         end
      elseif node.step == 2 then
         state[node.name] = second
         node.step, node.at = 3, now + 1000 -- at least a second after the answer
         local drained = 0
         for _ in pairs(state) do
            drained = drained + 1
         end
         peak = math.max(peak, drained)
      elseif node.step == 3 then
         local nodes, by_name = list()
         local crashed = seed % 7 == 0 and math.random() < 0.02
         if not crashed and storm.full(nodes, by_name[node.name], share, 86400) then
            state[node.name] = nil
         end
         node.crashed, node.step = crashed, 4
      end
      if node.step < 4 then
         node.at = node.at + math.random(0, 1500)
         todo[#todo + 1] = node
      end
   end
   local nodes = list()
   local total, drained = {}, {}
   for _, node in ipairs(nodes) do
      for _, p in ipairs(node.partitions) do
         total[p] = (total[p] or 0) + 1
         drained[p] = (drained[p] or 0) + (node.ours and 1 or 0)
      end
   end
   return total, drained, peak
end

function TestStorm:test_cap_is_exact_in_any_interleaving()
   local most = 0
   for seed = 1, 60 do
      if seed % 7 ~= 0 then
         local total, drained, peak = simulate(seed, 40, 0.1)
         lu.assertEquals(drained.p, storm.cap(0.1, total.p), "seed " .. seed)
         most = math.max(most, peak)
      end
   end
   lu.assertTrue(most > 20) -- there was a storm to guard against
end

function TestStorm:test_cap_holds_in_partitions_that_overlap()
   for seed = 1, 40 do
      if seed % 7 ~= 0 then
         local total, drained = simulate(seed, 30, 0.1, true)
         lu.assertTrue(drained.p <= storm.cap(0.1, total.p), "seed " .. seed)
         lu.assertTrue(drained.q <= storm.cap(0.1, total.q), "seed " .. seed)
         lu.assertTrue(drained.p + drained.q >= 1, "seed " .. seed)
      end
   end
end

function TestStorm:test_ten_thousand_nodes()
   local lines = {}
   for i = 1, 10000 do
      local drained = i <= 5000
      lines[i] = line(("n%05d"):format(i), drained and "IDLE+DRAIN" or "IDLE", "p,q", drained and "syscheck: x",
         T + i % 9)
   end
   local nodes, by_name = storm.parse(table.concat(lines))
   lu.assertEquals(#nodes, 10000)
   lu.assertEquals(storm.full(nodes, by_name.n10000, 0.1, 86400, T).taken, 5000)
   local job = { nodelist = "n[00001-10000]" }
   local entries = comment.entries(job, nodes, by_name.n05000)
   lu.assertTrue(#comment.add("", entries) < 1100)
end

function TestStorm:test_sentence()
   local full = { name = "main", taken = 50, total = 500, cap = 50 }
   lu.assertEquals(storm.sentence({ reason = "syscheck: x", full = full }),
      "syscheck: x (partition main: 50 of 500 nodes drained by syscheck, at most 50)")
   lu.assertEquals(storm.sentence({ reason = "syscheck: x", error = "somebody resumed it meanwhile" }),
      "syscheck: x (somebody resumed it meanwhile)")
end

-- What admins write may be blank and long.
function TestStorm:test_long_and_blank_costs_its_length()
   local function of(text)
      return cost(storm.parse, "NodeName=n1 State=IDLE+DRAIN Reason=x" .. text .. "y\n")
         + cost(storm.reason, "x" .. text .. "y")
   end
   lu.assertTrue(of((" "):rep(20000)) < 100 * of(("x"):rep(20000)) + 0.01)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
