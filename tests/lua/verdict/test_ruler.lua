-- What the node's triad says of the counter of memory traffic.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local ruler = require("syscheck.verdict.ruler")

TestRuler = {}

local function printed(changes)
   local r = { traffic_source = "resctrl", traffic_gbs = 100, traffic_triad_gbs = 75, traffic_ratio = 4 / 3,
      traffic_ratio_spread_pct = 1.2, threads = 48, traffic = { { cache = 1, gbs = 49 }, { cache = 0, gbs = 51 } } }
   for key, value in pairs(changes or {}) do
      r[key] = value
   end
   return r
end

local function stream(changes, others)
   return { kernel = "stream", state = "ok", result = printed(changes), others = others }
end

function TestRuler:test_a_good_one()
   lu.assertEquals(ruler.of(printed()), { source = "resctrl", peak_gbs = 100, ratio = 4 / 3, spread_pct = 1.2,
      cores = 48, caches = { ["0"] = 51, ["1"] = 49 } })
   lu.assertEquals(ruler.recorded({ stream() }), { source = "resctrl", peak_gbs = 100, ratio = 4 / 3, spread_pct = 1.2,
      caches = { { cache = 0, gbs = 51 }, { cache = 1, gbs = 49 } } })
end

function TestRuler:test_numa_nodes()
   lu.assertEquals(ruler.of(printed({ numa = { { node = 0, cores = 24 }, { node = 1, cores = 24 } } })).nodes, 2)
   for _, bad in ipairs({ {}, "x", { 1, 2 } }) do
      lu.assertNil(ruler.of(printed({ numa = bad })).nodes)
   end
end

-- Never a guess.
function TestRuler:test_what_is_no_ruler()
   for _, case in ipairs({
      { { traffic_ratio = 0.89 }, "counts 0.89 times" },
      { { traffic_ratio = 2.71 }, "counts 2.71 times" },
      { { traffic_ratio = 0, traffic_gbs = 0 }, "did not count" },
      { { traffic_ratio_spread_pct = 5.1 }, "not steady: it differs by 5 %" },
      { { traffic_gbs = 0 / 0 }, "did not count" },
      { { traffic_gbs = "100" }, "did not count" },
      { { traffic = {} }, "did not count" },
      { { traffic = "x" }, "did not count" },
      { { traffic_source = 7 }, "did not count" },
      { { traffic_error = "L3 cache 0: Unavailable" }, "L3 cache 0: Unavailable" },
      { { traffic_error = "L3 cache 3: Unassigned" }, "L3 cache 3: Unassigned" },
      { { traffic_error = "L3 cache 3: Error" }, "L3 cache 3: Error" },
      { { traffic_error = "resctrl: no monitoring of memory bandwidth here" }, "no monitoring" },
      { {}, "others used the node", { cpus = 1 } },
   }) do
      local one, why = ruler.of(printed(case[1]), case[3])
      lu.assertNil(one, case[2])
      lu.assertStrContains(why, case[2])
      lu.assertStrContains(ruler.recorded({ stream(case[1], case[3]) }).unknown, case[2])
   end
   for _, edge in ipairs({ { traffic_ratio = 0.9 }, { traffic_ratio = 2.7 }, { traffic_ratio_spread_pct = 5 } }) do
      lu.assertNotNil(ruler.of(printed(edge)))
   end
end

function TestRuler:test_without_a_counter_nothing_is_said()
   local runs = { { kernel = "stream", state = "ok", result = { triad_gbs = 90 } }, { kernel = "dgemm", state = "ok" } }
   lu.assertNil(ruler.recorded(runs))
   lu.assertNil(ruler.keep(nil, runs, { class = "c" }))
   lu.assertNil(ruler.keep(nil, { { kernel = "stream", state = "unknown" } }, { class = "c" }))
end

function TestRuler:test_what_a_node_keeps()
   local at = { class = "c", boot_id = "a", time = "t1" }
   local curve = { kernel = "scaling", state = "ok", result = { compact = { { threads = 1, triad_gbs = 10 } } } }
   local kept = ruler.keep(nil, { stream(), curve }, at)
   lu.assertEquals({ kept.ruler.peak_gbs, kept.ruler.boot_id, kept.curve.time, kept.why }, { 100, "a", "t1" })
   -- A quick check has no curve: the older one stays.
   at.time = "t2"
   kept = ruler.keep(kept, { stream({ traffic_gbs = 101 }) }, at)
   lu.assertEquals({ kept.ruler.peak_gbs, kept.ruler.time, kept.curve.time }, { 101, "t2", "t1" })
   -- What cannot be measured now could be before, in this boot, and why not now is kept.
   kept = ruler.keep(kept, { stream({ traffic_error = "L3 cache 0: Unavailable" }) }, at)
   lu.assertEquals({ kept.ruler.peak_gbs, kept.why }, { 101, "L3 cache 0: Unavailable" })
   kept = ruler.keep(kept, { stream({ traffic_ratio = 7 }) }, { class = "c", boot_id = "b", time = "t3" })
   lu.assertNil(kept.ruler)
   lu.assertStrContains(kept.why, "counts 7.00 times")
   -- A measurement that others disturbed is no curve; the second of a check counts.
   local bad = { kernel = "scaling", state = "ok", others = {},
      result = { compact = { { threads = 1, triad_gbs = 1 } } } }
   lu.assertNil(ruler.keep(nil, { bad }, at))
   lu.assertEquals(ruler.keep(nil, { stream(), stream({ traffic_gbs = 99 }) }, at).ruler.peak_gbs, 99)
   for _, junk in ipairs({ 1, "x", false, { ruler = 1, curve = "x" }, {} }) do
      lu.assertEquals(ruler.keep(junk, { stream() }, at).ruler.peak_gbs, 100)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
