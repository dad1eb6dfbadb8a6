-- What lies between leaf switches: a leaf is listed, and none of its nodes.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local leaves = require("syscheck.store.leaves")
local own_store = require("own_store")
local page = require("syscheck.questions.suspects.page")
local show = require("syscheck.questions.suspects.show")
local suspects_data = require("syscheck.questions.suspects.read")
local uplinks = require("syscheck.questions.suspects.uplinks")

TestUplinks = {}

function TestUplinks:test_who_left_and_who_did_not()
   local nodes = { { id = 1, cluster = 1, leaf = "a" }, { id = 2, cluster = 1, leaf = "a" },
      { id = 3, cluster = 1, leaf = "b" }, { id = 4, cluster = 1, leaf = "b" }, { id = 5, cluster = 2, leaf = "a" },
      { id = 6, cluster = 2, leaf = "a" }, { id = 7, cluster = 1 }, { id = 8, cluster = 1, leaf = "c" } }
   local function run(at)
      return { begin_s = at, key = at }
   end
   local across, within, unknown, alone, lone = run(2), run(1), run(3), run(4), run(5)
   local list = uplinks.of(nodes, { [1] = { within, across, unknown }, [2] = { within, lone }, [3] = { across },
      [5] = { alone }, [6] = { alone }, [7] = { unknown }, [8] = { lone } })
   lu.assertEquals(list[1].net.across, { across, lone })
   lu.assertEquals(#list, 2)
   lu.assertEquals({ list[1].leaf, list[1].members, list[1].within }, { "a", { 1, 2 }, { within } })
   lu.assertEquals(list[1].runs, { across, lone })
   lu.assertEquals({ list[2].leaf, list[2].runs, list[2].within }, { "b", { across }, {} })
end

-- A suspect leaf a of nodes 1 to 4, with runs of one node and another leaf's; between others and within as many as are
-- given, the first of them slow. Each of the leaf's slow runs was on the next of its nodes that may have them.
-- @param s { slow, runs, nodes = list, within, within_slow, others, others_slow, explained = of the others, kind }
local function suspect(s)
   local nodes, of, slow, explained = {}, {}, {}, {}
   for id = 1, 12 do
      nodes[id], of[id] = { id = id, cluster = 1, leaf = ("abc"):sub((id + 3) // 4, (id + 3) // 4) }, {}
   end
   local function add(count, slow_ones, first, second, kind)
      local out = {}
      for i = 1, count do
         local is = i <= slow_ones
         local run = { begin_s = i, key = 1000 * first(i) + i, kind = kind, slow = is or nil, ratio = is and 1.3 or 1 }
         table.insert(of[first(i)], run)
         table.insert(of[second(i)], run)
         out[i] = run
      end
      return out
   end
   local function always(node)
      return function()
         return node
      end
   end
   local runs = add(s.runs, s.slow, function(i)
      return s.nodes[(i - 1) % #s.nodes + 1]
   end, always(5), 1)
   add(s.within, s.within_slow, always(3), always(4), s.kind or 1)
   for i, run in ipairs(add(s.others, s.others_slow, always(6), always(9), 1)) do
      explained[run] = i <= (s.explained or 0) and { fit = 9 } or nil
   end
   for i = 1, s.slow do
      slow[i] = setmetatable({}, { __index = runs[i] })
   end
   local one = { uplink = uplinks.of(nodes, of)[1], slow = slow, runs = s.runs, from_s = 1, to_s = 1000 }
   return uplinks.confirm(one, explained), one
end

local GUILTY = { slow = 12, runs = 16, nodes = { 1, 2, 3, 4 }, within = 20, within_slow = 1, others = 30,
   others_slow = 2 }

local function is_confirmed(changes)
   return (suspect(setmetatable(changes, { __index = GUILTY })))
end

function TestUplinks:test_what_other_runs_say()
   local is, one = suspect(GUILTY)
   lu.assertTrue(is)
   lu.assertEquals({ one.within, one.within_slow, one.others, one.others_slow }, { 20, 1, 30, 2 })
   lu.assertEquals(one.uplink.leaf, "a")
   one.name, one.members = "a", { "n1", "n2" }
   lu.assertStrContains(uplinks.text(one, tostring),
      "12 of 16 runs that left leaf switch a (n[1-2]) were slow, 1 of 20 within it, 2 of 30 between others")
   -- Within it as well, or nobody knows.
   lu.assertFalse(is_confirmed({ within_slow = 10 }))
   lu.assertFalse(is_confirmed({ within = 3, within_slow = 0 }))
   -- Kinds that always left it: by others within.
   lu.assertTrue(is_confirmed({ kind = 2 }))
   lu.assertFalse(is_confirmed({ kind = 2, within_slow = 10 }))
   -- Between others as well, or nobody knows; but for what other nodes explain.
   lu.assertFalse(is_confirmed({ others = 60, others_slow = 30 }))
   lu.assertFalse(is_confirmed({ others = 4, others_slow = 0 }))
   lu.assertTrue(is_confirmed({ others = 60, others_slow = 30, explained = 28 }))
   -- A little more often than others, by chance.
   lu.assertFalse(is_confirmed({ slow = 5, others = 12, others_slow = 1 }))
   -- Two of its nodes are enough to explain it.
   lu.assertFalse(is_confirmed({ nodes = { 1, 2 } }))
end

local T = 1795161600 -- 2026-11-20T08:00:00Z

-- 300 runs of two kinds in turn, on four nodes each: half of them in one leaf of eight nodes, half, or one of so many,
-- with two nodes in each of two leaves. Three of four leaves of n1 to n32 have a name.
-- @param is_slow function(i, leaves it was in as a set, nodes as a set) -> whether it took 1.3 times as long
-- @param more true: those did as much more
local function write(is_slow, more, every)
   local rows = {}
   for i = 1, 300 do
      local one = i // 2 % 4
      local two = i % (every or 2) ~= 1 and one or (one + 1 + i // 8 % 3) % 4
      local nodes, set = {}, {}
      for k = 0, 3 do
         local leaf = k < 2 and one or two
         nodes[k + 1] = 8 * leaf + (3 * (i // 8) + k) % 8 + 1
         set[nodes[k + 1]] = true
      end
      local slow = is_slow(i, { [one] = true, [two] = true }, set) and 1.3 or 1
      local work = (more and slow or 1) * (1 + i % 5 / 100)
      for _, node in ipairs(nodes) do
         rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
            time = T + 3600 * i, elapsed_s = slow * (1000 + 3 * (i * 7 % 11)),
            cgroup = { read_bytes = 1e12 * work, written_bytes = 4e11 * work },
            job = { id = i, user = "alice", name = "x" .. i // 8 % 2, nodes = 4 } })
      end
   end
   own_store.write(rows)
   local of = {}
   for node = 1, 24 do
      of["n" .. node] = "leaf" .. (node - 1) // 8
   end
   leaves.write(own_store.db, "c", of)
end

local function found()
   local list, totals = suspects_data.find(own_store.db, 0)
   list.since, list.totals, list.to, list.made = T, totals, T + 3600 * 301, "now"
   return list
end

TestUplinksRead = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local function spell(i)
   return i > 100 and i <= 220
end

local function left_leaf1(i, in_leaf)
   return spell(i) and in_leaf[1] and (in_leaf[0] or in_leaf[2] or in_leaf[3])
end

function TestUplinksRead:test_the_leaf_and_none_of_its_nodes()
   write(left_leaf1)
   local list = found()
   lu.assertEquals(own_store.names(list), { "leaf1" })
   lu.assertEquals(#list[1].members, 8)
   lu.assertTrue(list[1].probability > 0.95)
   lu.assertEquals(list[1].within_slow, 0)
   lu.assertTrue(list[1].within > 10)
   local text = show.table(list)
   lu.assertStrContains(text, "slow to and from other leaves")
   lu.assertStrContains(text, "No node of a leaf switch is to blame")
   lu.assertStrMatches(text, ".*%d+ of %d+ runs that left leaf switch leaf1 %(n%[9%-16%]%) were slow, 0 of %d+ "
      .. "within it, 0 of %d+ between others.*")
   local one = json.decode(show.json(list)).suspects[1]
   lu.assertEquals({ one.leaf, one.node, #one.nodes, one.within.slow }, { "leaf1", nil, 8, 0 })
   lu.assertEquals(one.cause, "uplink")
   lu.assertStrMatches(show.csv(list):match("\r\n(.-)\r\n"), ",.*,uplink,,,.* between others\",leaf1,")
   lu.assertStrContains(page(list), "slow to and from other leaves: ")
end

-- Three leaves have a name; runs with a node of the fourth say nothing of what they left.
function TestUplinksRead:test_a_leaf_that_nobody_named()
   write(function(i, in_leaf)
      return spell(i) and in_leaf[3] and not in_leaf[1] and (in_leaf[0] or in_leaf[2])
   end)
   lu.assertNotStrContains(table.concat(own_store.names(found()), " "), "leaf")
end

-- A node that slows all of its runs is a node, wherever they go.
function TestUplinksRead:test_a_node_of_it_is_a_node()
   write(function(i, _, on)
      return spell(i) and on[12]
   end)
   lu.assertEquals(own_store.names(found()), { "n12" })
end

-- What those within the leaf have, too, is not what lies between leaves.
function TestUplinksRead:test_a_leaf_that_is_slow_within()
   write(function(i, in_leaf)
      return spell(i) and in_leaf[1]
   end)
   lu.assertNotStrContains(table.concat(own_store.names(found()), " "), "leaf")
end

function TestUplinksRead:test_a_time_that_was_slow_for_all()
   write(function(i)
      return i > 150 and i <= 190
   end)
   lu.assertEquals(own_store.names(found()), {})
end

-- On several leaves runs take longer than within one, on all of them.
function TestUplinksRead:test_a_network_that_is_slower_between_leaves()
   write(function(i)
      return i % 10 == 1
   end, false, 10)
   lu.assertEquals(own_store.names(found()), {})
end

-- Two bad nodes slow more of a leaf's runs than each of them alone.
function TestUplinksRead:test_two_nodes_of_it_are_nodes()
   write(function(i, _, on)
      return spell(i) and (on[10] or on[13])
   end)
   lu.assertNotStrContains(table.concat(own_store.names(found()), " "), "leaf")
end

function TestUplinksRead:test_more_work()
   write(left_leaf1, true)
   lu.assertEquals(own_store.names(found()), {})
end

function TestUplinksRead:test_nobody()
   write(function() return false end)
   lu.assertEquals(own_store.names(found()), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
