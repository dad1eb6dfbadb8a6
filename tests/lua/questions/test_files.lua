-- Which nodes go by another policy or baseline than most.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local files = require("syscheck.questions.fleet.files")
local fleet_store = require("syscheck.questions.fleet.read")
local own = require("own_store")

local NOW = 1790000000

TestFiles = {}

local function nodes(n, policy, more)
   local list = {}
   for i = 1, n do
      list[i] = { name = "n" .. i, cluster = "c", time = NOW, policy = policy, baseline = "none" }
      for k, v in pairs(more and more[i] or {}) do
         list[i][k] = v
      end
   end
   return list
end

local function said(list, several)
   local out = {}
   for i, one in ipairs(files.of(list)) do
      out[i] = files.sentence(one, several)
   end
   return out
end

function TestFiles:test_who_differs()
   local one = { policy = "91cc0a12" }
   lu.assertEquals(said(nodes(20, "3f2a91cc 2026-11-20", { [17] = one, [18] = one, [3] = { policy = "none" } })),
      { "policy: 17 nodes have 3f2a91cc (2026-11-20), n[17-18] have 91cc0a12, n3 has the defaults, no file",
         "baseline: 20 nodes have none" })
   lu.assertTrue(files.differ(files.of(nodes(2, "a", { one }))))
   lu.assertFalse(files.differ(files.of(nodes(2, "a"))))
end

-- Who was away while it changed, or whose version does not say it, is no other opinion.
function TestFiles:test_away_and_older()
   local away, silent = { policy = "old", time = NOW - 5 * 86400 }, { policy = false, baseline = false }
   local list = files.of(nodes(5, "new", { away, away, silent }))
   lu.assertEquals({ #list[1].groups, list[1].away, list[1].silent }, { 1, 2, 1 })
   lu.assertEquals(files.sentence(list[1]), "policy: 2 nodes have new, 1 of an older version does not say")
   lu.assertEquals(files.of(nodes(3, false, { silent, silent, silent })), {})
   lu.assertEquals(files.of({}), {})
end

-- Each cluster has its own policy.
function TestFiles:test_clusters()
   local list = table.move(nodes(2, "a", { { cluster = "d", policy = "b" } }), 1, 2, 4, nodes(3, "a"))
   local out = said(list, true)
   lu.assertEquals({ out[1], out[3] }, { "policy on c: 4 nodes have a", "policy on d: 1 node has b" })
end

TestRead = { setUp = own.setUp, tearDown = own.tearDown }

function TestRead:test_newest_record_of_each_node()
   local function record(kind, node, time, policy)
      return own.record({ kind = kind, node = node, time = time, class = "epyc-1-1s4c-8g", job = { id = 7 },
         policy = policy, baseline = policy and { hash = "none" } })
   end
   local new = { hash = "new", version = "5" }
   own.write({ record("check", "n1", NOW, { hash = "old" }), record("job", "n1", NOW + 9, new),
      record("check", "n2", NOW + 5, new), record("job", "n2", NOW, { hash = "old" }),
      record("check", "n3", NOW), record("check", "n4", NOW - 1e6, { hash = "new" }) })
   local list = fleet_store.files(own.db, NOW - 100, (fleet_store.nodes(own.db, NOW - 100, {})))
   local one = files.of(list)[1]
   lu.assertEquals({ #one.groups, one.groups[1].nodes, one.groups[1].hash, one.groups[1].version, one.silent },
      { 1, { "n1", "n2" }, "new", "5", 1 })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
