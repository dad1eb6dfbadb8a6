-- Which node stands out among its peers.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local peers = require("syscheck.questions.job.peers")

TestPeers = {}

-- Rows of n nodes with values of one job field around a healthy one, and some that are not.
local function rows(n, name, healthy, sick)
   local list = {}
   for i = 1, n do
      list[i] = { metrics = {}, elapsed_s = 1000, values = { [name] = healthy(i) } }
   end
   for i, value in pairs(sick) do
      list[i].values[name] = value
   end
   return list
end

local function out_of(list)
   local names = {}
   for _, found in ipairs((peers.of_run(list))) do
      names[#names + 1] = ("%d %s"):format(found.row, found.name)
   end
   return names
end

local function zero()
   return 0
end

function TestPeers:test_events_need_one_peer()
   lu.assertEquals(out_of(rows(2, "throttle_events", zero, { [2] = 1204 })), { "2 throttle_events" })
   lu.assertEquals(out_of(rows(1, "throttle_events", zero, { 1204 })), {})
   lu.assertEquals(out_of(rows(64, "throttle_events", zero, { [17] = 3 })), { "17 throttle_events" })
   -- All of them throttle: it is the room, or the job.
   lu.assertEquals(out_of(rows(8, "throttle_events", function(i) return 1000 + 10 * i end, {})), {})
end

function TestPeers:test_time_counts_from_a_share_of_the_run()
   local function few(i)
      return 1e5 * (i % 5)
   end
   lu.assertEquals(out_of(rows(8, "io_some_us", few, { [3] = 9e6 })), {}) -- 0.9 % of 1000 s
   lu.assertEquals(out_of(rows(8, "io_some_us", few, { [3] = 3e8 })), { "3 io_some_us" })
   lu.assertEquals(out_of(rows(64, "io_some_us", few, { [3] = 3e8, [9] = 2e8 })), { "3 io_some_us", "9 io_some_us" })
   lu.assertEquals(out_of(rows(3, "io_some_us", zero, { 3e8 })), {}) -- two peers show no spread
   lu.assertEquals(out_of(rows(4, "io_some_us", zero, { 3e8 })), { "1 io_some_us" })
end

function TestPeers:test_a_few_peers_show_little_of_their_spread()
   -- Seen on four healthy nodes: two of the peers are alike by chance.
   local seen = { 0.90e6, 0.73e6, 0.45e6, 0.41e6 }
   local list = rows(4, "io_some_us", function(i) return seen[i] end, {})
   for i = 1, 4 do
      list[i].elapsed_s = 15
      list[i].metrics.gflops = ({ 118, 38.8, 33.9, 38.9 })[i]
   end
   lu.assertEquals(out_of(list), {})
   list[2].values.io_some_us = 9e6
   lu.assertEquals(out_of(list), { "2 io_some_us" })
end

function TestPeers:test_only_the_bad_direction_and_no_load()
   local function clock(i)
      return 3000 + i % 3
   end
   lu.assertEquals(out_of(rows(8, "clock_limit_mhz", clock, { [5] = 1500 })), { "5 clock_limit_mhz" })
   lu.assertEquals(out_of(rows(8, "clock_limit_mhz", clock, { [5] = 4500 })), {})
   -- A cable with a bad lane, a port that is down.
   lu.assertEquals(out_of(rows(8, "link_rate_gbps", function() return 200 end, { [5] = 50 })), { "5 link_rate_gbps" })
   local found = peers.of_run(rows(8, "link_rate_gbps", function() return 200 end, { [5] = 50 }))
   lu.assertEquals(peers.text(found[1]),
      "slowest InfiniBand port's rate 50 Gbit/s; 7 peers: median 200 Gbit/s, worst 200 Gbit/s")
   lu.assertEquals(out_of(rows(8, "link_ports", function() return 2 end, { [2] = 1 })), { "2 link_ports" })
   lu.assertEquals(out_of(rows(8, "link_ports", function() return 1 end, { [2] = 2 })), {})
   lu.assertEquals(out_of(rows(8, "sched_wait_ms", zero, { [5] = 1e9 })), {}) -- it is the job's own threads', too
   lu.assertEquals(out_of(rows(8, "cg_read_bytes", zero, { [5] = 1e12 })), {})
end

function TestPeers:test_checks_and_words()
   local list = rows(8, "throttle_events", zero, {})
   for i = 1, 8 do
      list[i].metrics = { triad_gbs = 86 + i % 3, noise_pct = 0.1 * i }
   end
   list[4].metrics = { triad_gbs = 61.3, noise_pct = 9 }
   local found, marks = peers.of_run(list)
   lu.assertEquals(#found, 2)
   lu.assertEquals(marks[4], { ["check.triad_gbs"] = true, ["check.noise_pct"] = true })
   lu.assertEquals(peers.text(found[2]), "triad 61.3 GB/s; 7 peers: median 87 GB/s, worst 86 GB/s")
end

function TestPeers:test_absent_is_not_zero()
   local list = rows(8, "throttle_events", zero, { [2] = 5 })
   for i = 3, 8 do
      list[i].values = {}
   end
   lu.assertEquals(peers.of_run(list)[1].peers, 1)
   lu.assertEquals(out_of({ { metrics = {} }, { metrics = {}, values = {} } }), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
