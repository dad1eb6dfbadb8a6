-- Whether a job waits for memory, and what its user reads of it.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local ruler = require("syscheck.verdict.ruler")
local saturation = require("syscheck.verdict.saturation")
local waits = require("syscheck.verdict.waits")

-- A node of 48 cores on two sockets: 200 GB/s counted, 150 by STREAM; 14 cores reach 92 %.
local CURVE = { class = "c", compact = { { threads = 1, triad_gbs = 14 }, { threads = 4, triad_gbs = 50 },
   { threads = 8, triad_gbs = 73 }, { threads = 12, triad_gbs = 76 }, { threads = 24, triad_gbs = 78 },
   { threads = 48, triad_gbs = 150 } }, spread = { { threads = 1, triad_gbs = 14 }, { threads = 4, triad_gbs = 52 },
   { threads = 8, triad_gbs = 95 }, { threads = 12, triad_gbs = 130 }, { threads = 16, triad_gbs = 144 },
   { threads = 24, triad_gbs = 148 }, { threads = 48, triad_gbs = 150 } } }
local RULER = { source = "resctrl", class = "c", boot_id = "b", peak_gbs = 200, ratio = 4 / 3, spread_pct = 1,
   cores = 48, caches = { ["0"] = 100, ["1"] = 100 } }

-- Bins with so much of the time at these shares of the peak.
local function sampled(parts, seconds)
   local bins = {}
   for i = 1, saturation.BINS do
      bins[i] = 0
   end
   for share, n in pairs(parts) do
      bins[math.min(saturation.BINS, math.floor(share * saturation.BINS) + 1)] = n
   end
   return { bins = bins, sample_s = 10, seconds = seconds or 1000 }
end

-- @param gbs of each cache, { total, local } or a number
local function job(gbs, more)
   local o = { seconds = 1000, elapsed_s = 1000, own = true, ruler = RULER, curve = CURVE, class = "c", boot_id = "b",
      caches = {} }
   for i, one in ipairs(gbs) do
      local total, own = type(one) == "table" and one[1] or one, type(one) == "table" and one[2] or nil
      o.caches[("%d"):format(i - 1)] = { bytes = total * 1e12, local_bytes = own and own * 1e12 }
   end
   for key, value in pairs(more or {}) do
      o[key] = value ~= "none" and value or nil
   end
   return o
end

local function with(changes)
   local out = {}
   for key, value in pairs(RULER) do
      out[key] = value
   end
   for key, value in pairs(changes) do
      out[key] = value ~= "none" and value or nil
   end
   return out
end

TestSaturation = {}

-- What it is called, numbers that it has, and a part of what its user reads.
local TABLE = {
   { "all cores at the limit", job({ 92, 92 }), "saturated", { used_pct = 92, cores = 48, cores_needed = 15,
      gain_pct = 0, worst_domain_pct = 92, domain_imbalance = 0, mem_gbs_mean = 184, peak_gbs = 200, covered_pct = 100,
      source = "resctrl" },
      "used 92 % of its node's memory bandwidth on average; 15 of 48 cores, spread over its NUMA nodes, "
         .. "move as much, fewer do not: more cores per node will not help" },
   { "at 0.8 of it", job({ 80, 80 }), "saturated", { used_pct = 80, cores_needed = 11 },
      "11 of 48 cores, spread over its NUMA nodes, move as much" },
   { "just below", job({ 79, 79 }), nil, { used_pct = 79 },
      "used 79 % of its node's memory bandwidth on average: whether it waited for memory a mean does not tell" },
   { "a little", job({ 20, 20 }), "free", { used_pct = 20, cores_needed = 3 },
      "it does not wait for memory bandwidth" },
   { "nothing at all", job({ 0, 0 }), "free", { used_pct = 0, worst_domain_pct = 0, domain_imbalance = 0,
      cores_needed = 1 }, "used 0 %" },
   { "sampled: most of the time", job({ 66, 66 }, { samples = sampled({ [0.92] = 71, [0.02] = 29 }) }), "saturated",
      { used_pct = 66, saturated_pct = 71, saturated_at_pct = 92.5, mem_gbs_p95 = 190, cores_needed = 15 },
      "used 92 % of its node's memory bandwidth for 71 % of its time; 15 of 48 cores, spread over its NUMA nodes, "
         .. "move as much, fewer do not: more cores per node will not help in that time" },
   { "sampled: a part of the time", job({ 30, 30 }, { samples = sampled({ [0.92] = 20, [0.12] = 80 }) }), "partly",
      { saturated_pct = 20 }, "for 20 % of its time; the rest of the time it did not wait" },
   { "sampled: next to never", job({ 30, 30 }, { samples = sampled({ [0.97] = 1, [0.31] = 99 }) }), "free",
      { saturated_pct = 1 }, "used 30 % of its node's memory bandwidth on average: it does not wait" },
   { "sampled: even at 60 %, so never", job({ 60, 60 }, { samples = sampled({ [0.6] = 10 }) }), "free",
      { saturated_pct = 0, used_pct = 60 }, "it does not wait" },
   { "sampled for half of its time", job({ 60, 60 }, { samples = sampled({ [0.97] = 10 }, 500) }), "saturated",
      { covered_pct = 50, saturated_pct = 100 }, "for 100 % of its time; 21 of 48 cores, spread over its NUMA nodes, "
         .. "move as much, fewer do not: more cores per node will not help (counted for 50 % of its time)" },
   { "a histogram that is none", job({ 92, 92 }, { samples = { bins = { 1, "x" }, sample_s = 10 } }), "saturated",
      { used_pct = 92 }, "on average" },
   { "12 cores at what 12 can move", job({ 83, 83 }, { cores = 12 }), "saturated", { cores = 12, used_pct = 95.8,
      cores_needed = 12, gain_pct = 15.4 }, "used 96 % of what 12 cores of a node can move on average; all cores "
         .. "of a node would move 15 % more, at most" },
   { "24 cores: the rest gains nothing", job({ 95, 95 }, { cores = 24 }), "saturated", { cores_needed = 16,
      gain_pct = 1.4 }, "16 of 24 cores move as much" },
   { "4 cores, all needed", job({ 34, 34 }, { cores = 4 }), "saturated", { cores_needed = 4, gain_pct = 188.5 },
      "all cores of a node would move 188 % more" },
   { "a few cores of the node, idle", job({ 5, 5 }, { cores = 4 }), "free", { used_pct = 14.4 }, "does not wait" },
   { "more cores than were measured", job({ 92, 92 }, { cores = 96 }), "saturated", { cores = 48 }, "of 48 cores" },
   { "no curve, all cores", job({ 92, 92 }, { curve = "none" }), "saturated", { used_pct = 92, cores = 48 },
      "on average: it waits for memory" },
   { "no curve, a part of the cores", job({ 40, 40 }, { curve = "none", cores = 12 }), nil, { mem_gbs_mean = 80 },
      "moved 80 GB/s to and from its node's memory on average" },
   { "a curve of another class", job({ 92, 92 }, { curve = { class = "d", compact = CURVE.compact } }), "saturated",
      { used_pct = 92 }, "it waits for memory" },
   { "the cores of one socket move all", job({ 96, 4 }), "one domain", { worst_domain_pct = 96,
      domain_imbalance = 0.958, used_pct = 50 }, "one NUMA domain was at 96 % of its bandwidth while the median" },
   { "one socket more than the other", job({ 90, 50 }), "one domain", { used_pct = 70 },
      "one NUMA domain was at 90 % of its bandwidth: spread" },
   { "one busy domain of four", job({ 45, 2, 3, 1 }, { ruler = with({ caches = { ["0"] = 50, ["1"] = 50, ["2"] = 50,
      ["3"] = 50 } }) }), "one domain", { worst_domain_pct = 90 }, "the median was at 4 %: its cores move nearly all" },
   -- Each socket counts what its own cores move: where all data lies on one, both count alike.
   { "all data on one socket", job({ { 45, 45 }, { 45, 0 } }), "first touch", { worst_domain_pct = 45,
      remote_pct = 50 }, "50 % of that went to another NUMA node" },
   -- A memory controller counts what lies there.
   { "all data on one socket, by its controllers", job({ 96, 4 }, { source = "perf", ruler = with({
      source = "perf" }) }), "first touch", { worst_domain_pct = 96 },
      "one NUMA domain's memory was at 96 % of its bandwidth and the others" },
   { "a part of the cores, all in one domain", job({ 90, 1 }, { cores = 24 }), "one domain",
      { worst_domain_pct = 90 }, "used 46 %" },
   { "a third of the rest is busy, too", job({ 43, 16, 16, 16 }, { ruler = with({ caches = { ["0"] = 50, ["1"] = 50,
      ["2"] = 50, ["3"] = 50 } }) }), "one domain", { used_pct = 45.5 }, "at 86 % of its bandwidth" },
   { "much of it remote", job({ { 50, 30 }, { 50, 30 } }), "first touch", { remote_pct = 40 },
      "40 % of that went to another NUMA node" },
   { "much of little is remote", job({ { 5, 2 }, { 5, 2 } }), "free", { remote_pct = 60 }, "does not wait" },
   { "local of one cache only", job({ { 92, 90 }, 92 }), "saturated", { used_pct = 92 }, "used 92 %" },
   { "prefetched and wrongly counted alike", job({ 184, 184 }, { ruler = with({ peak_gbs = 400, ratio = 2.67, caches = {
      ["0"] = 200, ["1"] = 200 } }) }), "saturated", { used_pct = 92 }, "used 92 %" },
   { "a little more than the peak", job({ 105, 105 }), "saturated", { used_pct = 105 }, "15 of 48" },
}
TABLE[#TABLE][5] = "of 48 cores"

function TestSaturation:test_a_table_of_jobs()
   for _, case in ipairs(TABLE) do
      local name, one = case[1], saturation.of(case[2])
      lu.assertNil(one.unknown, name)
      lu.assertEquals(saturation.state(one), case[3], name)
      for key, value in pairs(case[4]) do
         lu.assertEquals(one[key], value, name .. ": " .. key)
      end
      local text = waits.text(waits.of_job({ one }))
      lu.assertStrContains(text, case[5], nil, nil, name)
   end
end

-- Never a guess: each of these has its reason in place of numbers.
function TestSaturation:test_a_table_of_what_is_not_known()
   local away = { caches = "none" }
   local table_of = {
      { job({ 92, 92 }, { seconds = 2, elapsed_s = 2 }), "ran for less than 10 s" },
      { job({ 92, 92 }, { seconds = "none" }), "ran for less than" },
      { job({ 92, 92 }, { own = false }), "other jobs may have run" },
      { job({ 92, 92 }, { ruler = "none" }), "no check in this boot" },
      { job({ 92, 92 }, { boot_id = "c" }), "no check in this boot" },
      { job({ 92, 92 }, { class = "d" }), "another since its check" },
      { job({ 92, 92, 92 }), "CPUs came online" },
      { job({ 92 }), "CPUs went offline" },
      { job({ 126, 126 }), "252 GB/s were counted, memory moves 200" },
      { job({}, away), "no counter of memory traffic" },
      { job({}, { caches = "none", why = "a group or cache of resctrl came meanwhile, or could not be read at first" }),
         "came meanwhile" },
   }
   -- What the check could not measure, with each of the kernel's words.
   for _, word in ipairs({ "Unavailable", "Unassigned", "Error" }) do
      local kept = ruler.keep(nil, { { kernel = "stream", state = "ok", result = {
         traffic_error = "L3 cache 0: " .. word } } }, { class = "c", boot_id = "b" })
      table_of[#table_of + 1] = { job({ 92, 92 }, { ruler = "none", no_ruler = kept.why }), word }
   end
   for _, bad in ipairs({ { traffic_ratio = 0.5 }, { traffic_ratio = 3 }, { traffic_ratio_spread_pct = 6 } }) do
      local r = { traffic_source = "resctrl", traffic_gbs = 200, traffic_ratio = 1, traffic_ratio_spread_pct = 1,
         traffic = { { cache = 0, gbs = 100 } } }
      for key, value in pairs(bad) do
         r[key] = value
      end
      local kept = ruler.keep(nil, { { kernel = "stream", state = "ok", result = r } }, { class = "c", boot_id = "b" })
      table_of[#table_of + 1] = { job({ 92, 92 }, { ruler = kept.ruler or "none", no_ruler = kept.why }),
         "no ruler at the last check" }
   end
   for _, case in ipairs(table_of) do
      local one = saturation.of(case[1])
      lu.assertStrContains(one.unknown or "known", case[2])
      one.unknown = nil
      lu.assertEquals(one, {})
      lu.assertNil(saturation.state(one))
   end
end

function TestSaturation:test_the_curve()
   local shape = saturation.shape(CURVE)
   lu.assertEquals(shape[1].threads, 1)
   lu.assertAlmostEquals(saturation.share(shape, 12), 130 / 150, 1e-9)
   lu.assertAlmostEquals(saturation.share(shape, 14), 137 / 150, 1e-9)
   lu.assertEquals(saturation.share(shape, 500), 1)
   lu.assertEquals(saturation.cores_for(shape, 1), 48)
   lu.assertEquals(saturation.cores_for(shape, 0), 1)
   -- A point that dips is a disturbance, not fewer bytes with more cores.
   shape = saturation.shape({ compact = { { threads = 1, triad_gbs = 10 }, { threads = 2, triad_gbs = 5 },
      { threads = 4, triad_gbs = 20 } } })
   lu.assertEquals(saturation.share(shape, 2), 0.5)
   for _, junk in ipairs({ false, 1, "x", {}, { compact = "x" }, { compact = { { threads = 0, triad_gbs = 1 } } },
      { compact = { { threads = 1, triad_gbs = 0 / 0 } } } }) do
      lu.assertNil(saturation.shape(junk))
   end
   lu.assertEquals(saturation.of(job({ 92, 92 }, { curve = { class = "c", compact = "x" } })).used_pct, 92)
end

function TestSaturation:test_several_nodes_are_one_job()
   local nodes = {}
   for i = 1, 5 do
      nodes[i] = saturation.of(job({ 80 + i, 80 + i }))
   end
   nodes[6] = saturation.of(job({ 1, 1 }, { own = false }))
   local all = waits.of_job(nodes)
   lu.assertEquals({ all.nodes, all.of, all.state, all.used_pct }, { 5, 6, "saturated", 83 })
   lu.assertStrContains(waits.text(all), "used 83 % of its nodes' memory bandwidth on average")
   lu.assertStrContains(waits.text(all, { cores = 24, runs = 3, ratio = 1.02 }),
      "3 like runs with 24 cores a node took 1.02 times as long")
   lu.assertStrContains(waits.text(all), "(known of 5 of 6 nodes)")
   -- Half of them are no verdict, and medians no answer.
   nodes = { saturation.of(job({ 92, 92 })), saturation.of(job({ 2, 2 })) }
   nodes[1].name, nodes[2].name = "n1", "n2"
   lu.assertNil(waits.of_job(nodes).state)
   lu.assertStrContains(waits.text(waits.of_job(nodes)),
      "; n1 used 92 % of its memory bandwidth, 15 of 48 cores move as much")
   -- One of four whose data is in one domain, whatever the others do.
   nodes = {}
   for i = 1, 4 do
      nodes[i] = saturation.of(i == 3 and job({ 96, 4 }) or job({ 45, 45 }))
      nodes[i].name = "n" .. i
   end
   all = waits.of_job(nodes)
   lu.assertEquals({ all.state, #all.differing, all.differing[1].names }, { "free", 1, { "n3" } })
   lu.assertStrContains(waits.text(all),
      "it does not wait for memory bandwidth; n3 had one NUMA domain at 96 % of its bandwidth, and not the others")
   -- Nothing known: the reason of most, and no sentence.
   nodes = { { unknown = "a" }, { unknown = "b" }, { unknown = "b" } }
   lu.assertEquals(waits.of_job(nodes), { unknown = "b" })
   lu.assertNil(waits.text(waits.of_job(nodes)))
   lu.assertNil(waits.of_job({}))
   lu.assertNil(waits.of_job({ {}, { unknown = 7 } }))
end

-- A step whose end nobody saw has no CPU time.
function TestSaturation:test_cores_that_cannot_have_moved_so_much()
   local function of(more)
      local one = saturation.of(job({ 45, 45 }, more))
      return { one.used_pct, one.cores }
   end
   lu.assertEquals(of({ cores = 1 }), { 45, 48 })
   lu.assertEquals(of({ cores = 1, given = 24 }), { 45.6, 24 })
   lu.assertEquals(of({ cores = 8 }), { 71.1, 8 })
   -- Its own rate may be a little more than the triad's: 90 of the 69 GB/s that 4 cores move is too much for that.
   lu.assertEquals(of({ cores = 5 }), { 107.6, 5 })
   lu.assertEquals(of({ cores = 4 }), { 45, 48 })
end

-- All 48 cores at half of what they can move for half of the time, then none: 24 on average.
function TestSaturation:test_a_mean_of_cores_is_no_moments()
   local linear = { class = "c", compact = { { threads = 1, triad_gbs = 10 }, { threads = 48, triad_gbs = 480 } } }
   local half = sampled({ [0.02] = 50, [0.52] = 50 })
   local function of(gbs, more)
      local one = saturation.of(job({ gbs, gbs }, more))
      return { saturation.state(one) or "?", one.cores, one.used_pct, one.saturated_pct or "?" }
   end
   lu.assertEquals(of(25, { curve = linear, cores = 24, samples = half }), { "free", 48, 25, 0 })
   lu.assertEquals(of(25, { curve = linear, cores = 24, given = 24, samples = half }), { "saturated", 24, 50, 50 })
   -- What the mean says is so whatever the samples are of.
   lu.assertEquals(of(45, { curve = linear, cores = 24, samples = half }), { "saturated", 24, 90, "?" })
   lu.assertEquals(of(25, { curve = linear, cores = 24 }), { "?", 24, 50, "?" })
   lu.assertEquals(of(92, { cores = 24, samples = sampled({ [0.92] = 9, [0.02] = 1 }) }), { "saturated", 48, 92, 90 })
end

-- Of a file that was damaged: neither an error nor for ever, and what it gives can be written.
function TestSaturation:test_damaged_state()
   local json = require("cjson").new()
   for _, bad in ipairs({ 0, -1, 1e308, "x", {}, json.null }) do
      local bins = {}
      for i = 1, saturation.BINS do
         bins[i] = bad
      end
      for _, more in ipairs({ { curve = { class = "c", compact = { { threads = 1, triad_gbs = 10 }, { threads = bad,
         triad_gbs = 100 } } } }, { curve = { class = "c", compact = { { threads = 1, triad_gbs = bad } } } },
         { samples = { bins = bins, seconds = bad } }, { ruler = with({ peak_gbs = bad }) },
         { ruler = with({ caches = { ["0"] = bad, ["1"] = bad } }) },
         { ruler = with({ cores = bad, nodes = bad }) } }) do
         lu.assertIsString(json.encode(saturation.of(job({ 90, 0 }, more))))
         lu.assertIsString(json.encode(saturation.of(job({ 0, 0 }, more))))
      end
   end
end

-- Two sockets of eight L3 caches each: a core moves nearly what the ruler saw of a cache, as all caches moved then.
function TestSaturation:test_caches_that_are_no_domains()
   local caches = {}
   for i = 0, 15 do
      caches[("%d"):format(i)] = 12.5
   end
   local gbs = { 12 }
   for i = 2, 16 do
      gbs[i] = 0.01
   end
   local one = saturation.of(job(gbs, { ruler = with({ caches = caches, nodes = 2 }) }))
   lu.assertEquals({ one.used_pct, one.worst_domain_pct, one.domain_imbalance }, { 6.1 })
   lu.assertEquals(saturation.state(one), "free")
   one = saturation.of(job(gbs, { ruler = with({ caches = caches, nodes = 16 }) }))
   lu.assertEquals(one.worst_domain_pct, 96)
end

-- Numbers of what a part of the cores can move are not the node's.
function TestSaturation:test_whose_bandwidth_it_is()
   lu.assertStrContains(waits.text(waits.of_job({ saturation.of(job({ 8, 8 }, { cores = 1 })) })),
      "used 86 % of what 1 core of a node can move on average; all cores of a node would move 971 % more, at most")
end

-- Of five nodes of a job three are one-sided, and the medians of all five are not.
function TestSaturation:test_nodes_that_are_one_sided_and_medians_that_are_not()
   local nodes = {}
   for i, one in ipairs({ { 80, 0.63 }, { 100, 0.71 }, { 100, 0.71 }, { 100, 0 }, { 100, 0 } }) do
      nodes[i] = { mem_gbs_mean = 100, used_pct = 60, worst_domain_pct = one[1], domain_imbalance = one[2] }
   end
   local of = waits.of_job(nodes)
   lu.assertEquals(of.state, "one domain")
   lu.assertStrContains(waits.text(of), "one NUMA domain was at 100 % of its bandwidth: spread its cores")
end

-- Anybody may have written a store's row: any of the numbers without any other.
function TestSaturation:test_any_numbers_have_a_text()
   local names = { "used_pct", "saturated_pct", "saturated_at_pct", "worst_domain_pct", "domain_imbalance",
      "remote_pct", "cores", "cores_needed", "gain_pct" }
   for set = 0, 2 ^ #names - 1 do
      for _, value in ipairs({ 0, 0.9, 95 }) do
         local one = { mem_gbs_mean = 100, name = "n1", source = value == 95 and "perf" or nil }
         for i, name in ipairs(names) do
            one[name] = math.tointeger(set) >> (i - 1) & 1 == 1 and value or nil
         end
         lu.assertIsString(waits.text(waits.of_job({ one, one, { mem_gbs_mean = 1, remote_pct = 50 } })))
      end
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
