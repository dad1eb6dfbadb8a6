-- What kernels say beside metrics.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local beside = require("syscheck.catalogue.beside")

TestBeside = {}

local function dgemm(state, clock)
   return { kernel = "dgemm", state = state, result = { clock_mhz = clock, clock_mhz_min = clock - 100 } }
end

local function io(path, write)
   return { kernel = "io", state = "ok", path = path, result = { write_gbs = write, read_gbs = 2 * write,
      fsync_us = 125.4, filesystem = "ext4" } }
end

function TestBeside:test_the_last_good_measurement_and_the_slowest_directory()
   local values, more = beside.of({ runs = { dgemm("ok", 3000), dgemm("ok", 2900), dgemm("unknown", 1),
      io("/scratch", 1.5), io("/home", 0.5) } })
   lu.assertEquals(values, { clock_mhz = 2900, clock_min_mhz = 2800, io_write_gbs = 0.5, io_read_gbs = 1 })
   lu.assertEquals(#more.io, 2)
   lu.assertEquals(beside.directory_text(more.io[2]), "/home ext4: write 0.5 GB/s, read 1 GB/s, fsync 125 us")
end

function TestBeside:test_what_others_disturbed_says_nothing_of_the_node()
   lu.assertEquals(beside.of({ runs = { dgemm("ok", 3000), io("/s", 1) } }, { dgemm = true }).clock_mhz, nil)
end

function TestBeside:test_noise_by_its_greatest_part_and_who_had_the_cpu()
   local tick, daemon = { text = "34 us every 10 ms", lost_pct = 0.02 }, { text = "4 ms every 8 ms on cpu 0",
      lost_pct = 12.3 }
   local run = { kernel = "noise", state = "ok", result = { components = { tick, daemon } },
      others = { most = { comm = "crond", kind = "service", cpus = 0.2 } } }
   local _, more = beside.of({ runs = { run } })
   lu.assertEquals(beside.noise_text(more.noise), "4 ms every 8 ms on cpu 0 (12 %); crond (service)")
   run.others, run.result.components[2] = nil, nil
   _, more = beside.of({ runs = { run } })
   lu.assertNil(more.noise)
end

local function memory_of(nodes)
   local latency, bandwidth, ids = {}, {}, {}
   for from = 0, nodes - 1 do
      ids[#ids + 1] = from
      for to = 0, nodes - 1 do
         latency[#latency + 1] = { from = from, to = to, ns = from == to and 90 or 140, more = "x" }
         bandwidth[#bandwidth + 1] = { from = from, to = to, gbs = from == to and 40 or 20 }
      end
   end
   return { runs = { { kernel = "numa", state = "ok", result = { nodes = ids, latency = latency, bandwidth = bandwidth,
      numa_factor = 1.56, remote_gbs_min = 20 } }, { kernel = "scaling", state = "ok", result = { knee_threads = 8,
      best_gbs = 100, compact = { { threads = 1, triad_gbs = 14 }, { threads = 8, triad_gbs = 95 },
         { threads = "x", triad_gbs = 1 }, 7, { threads = 16, triad_gbs = 100 } }, spread = "none" } } } }
end

function TestBeside:test_the_curve_its_knee_and_the_matrix()
   local values, more = beside.of(memory_of(2))
   lu.assertEquals(values, { knee_threads = 8, numa_factor = 1.56, remote_gbs = 20 })
   lu.assertEquals(more.scaling, { knee_threads = 8, best_gbs = 100, compact = { { threads = 1, triad_gbs = 14 },
      { threads = 8, triad_gbs = 95 }, { threads = 16, triad_gbs = 100 } } })
   lu.assertEquals({ #more.numa.latency, #more.numa.bandwidth }, { 4, 4 })
   lu.assertEquals(more.numa.latency[2], { from = 0, to = 1, ns = 140 })
   -- The same once more, from a store's row.
   lu.assertEquals(beside.memory(more), { scaling = more.scaling, numa = more.numa })
   -- What others disturbed is no curve.
   local _, busy = beside.of(memory_of(2), { scaling = true, numa = true })
   lu.assertEquals(busy, {})
end

function TestBeside:test_a_large_matrix_is_each_nodes_own()
   local _, more = beside.of(memory_of(17))
   lu.assertEquals({ #more.numa.latency, #more.numa.bandwidth }, { 17, 17 })
   lu.assertEquals(more.numa.latency[17], { from = 16, to = 16, ns = 90 })
end

function TestBeside:test_anything_may_stand_there()
   for _, junk in ipairs({ false, 1, "x", {}, { 1 }, { { kernel = "io", state = "ok", result = {} } },
      { { kernel = "noise", state = "ok", result = { components = { 1, {}, { lost_pct = "x" }, { lost_pct = 1 / 0 } } },
         others = { most = 3 } } },
      { { kernel = "dgemm", state = "ok", result = { clock_mhz = -1, clock_mhz_min = 0 / 0 } } } }) do
      lu.assertEquals(beside.of({ runs = junk }), {})
   end
   for _, junk in ipairs({ false, 1, "x", {}, { compact = 1, latency = "x" }, { compact = { {} }, latency = { 1 } },
      { compact = { { threads = 0 / 0, triad_gbs = 1 } }, latency = { { from = 0, to = 0, ns = -1 } } } }) do
      lu.assertEquals(beside.memory({ scaling = junk, numa = junk }), {})
   end
   lu.assertNil(beside.noise_text({ text = 3, by = {} }))
   lu.assertEquals(beside.directory_text({}), "?: ")
   local _, more = beside.of({ runs = { io(("p"):rep(10000), 1), { kernel = "noise", state = "ok",
      result = { components = { { text = ("x"):rep(10000), lost_pct = 1 } } } } } })
   lu.assertTrue(#more.io[1].path <= 256 and #more.noise.text <= 120)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
