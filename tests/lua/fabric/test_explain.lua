-- What is known beside rates: TCP's windows and what it sends again, links that are unlike most.
package.path = "lua/?.lua;tests/lua/fabric/?.lua;" .. package.path
local lu = require("luaunit")
local explain = require("syscheck.fabric.explain")
local inventory = require("syscheck.fabric.inventory")
local session = require("syscheck.fabric.session")
local said = require("syscheck.fabric.said")
local simulated = require("simulated")
local words = require("syscheck.fabric.words")

local FOUR = { 8, 8, 8, 8 }

-- A run in which each pair has TCP's account: tcp(from, to) -> it, or nil.
local function run(world, tcp, about, all, wait)
   local net = simulated.net(FOUR)
   world.noise = 0.01
   local measure = simulated.measure(net, world)
   local out = assert(session.run(net, function(rounds)
      local results = measure(rounds)
      for r, round in ipairs(rounds) do
         for k, p in ipairs(round.pairs) do
            local got = results[r][k]
            got.ab_tcp, got.ba_tcp = tcp(p[1], p[2]), tcp(p[2], p[1])
            got.a_wait_pct, got.b_wait_pct = wait and wait(p[1]), wait and wait(p[2])
         end
      end
      return results
   end, { seed = 1, all = all }))
   out.net, out.about = net, about or {}
   explain.all(out)
   return out
end

-- Every node's buffers.
local function buffers(rmem, wmem)
   local about = {}
   for _, name in ipairs(simulated.net(FOUR).names) do
      about[name] = { links = {}, tcp_rmem = rmem, tcp_wmem = wmem }
   end
   return about
end

local function account(rwnd, sndbuf, us, again)
   return { rtt_us = us or 30000, rwnd_pct = rwnd or 0, sndbuf_pct = sndbuf or 0, again_pct = again or 0 }
end

TestWindow = {}

-- All of a site are set so: nobody stands out, and still it is what makes them slow.
function TestWindow:test_of_all()
   local about = buffers(512e6, 512e6)
   for _, one in pairs(about) do
      one.rate_gbps = 400
   end
   local out = run({}, function()
      return account(45)
   end, about)
   lu.assertEquals(out.findings, {})
   lu.assertEquals(#out.windows, 2)
   lu.assertEquals({ out.windows[1].hops, out.windows[2].hops }, { 1, 2 })
   lu.assertAlmostEquals(out.windows[1].bytes, 300e6, 9e6)
   lu.assertAlmostEquals(out.windows[1].needs, 1500e6, 1e6)
   lu.assertStrContains(words.held(out.windows[1]), "most pairs within a leaf: TCP's window of 30")
   lu.assertStrContains(words.held(out.windows[1]),
      "of 400 Gbit/s: it needs 1500.0 MB (net.ipv4.tcp_rmem); the rate is what")
   -- As fast as the links, or nobody says how fast they are; or not held.
   for _, rate in ipairs({ 85, false }) do
      for _, one in pairs(about) do
         one.rate_gbps = rate or nil
      end
      lu.assertEquals(run({}, function()
         return account(45)
      end, about).windows, {})
   end
   lu.assertEquals(run({}, function()
      return account(5)
   end, about).windows, {})
end

-- l1n3 gets 6 of 10 GB/s at 30 ms: 180 MB on the way.
function TestWindow:test_of_the_receiver()
   local out = run({ ["in"] = { [3] = 6 } }, function(_, to)
      return account(to == 3 and 45 or 0)
   end, buffers(256e6, 256e6))
   lu.assertEquals(#out.findings, 1)
   local one = out.findings[1]
   lu.assertEquals({ one.kind, one.node, one.window.whose, one.window.buffer }, { "window", 3, 3, "tcp_rmem" })
   lu.assertAlmostEquals(one.window.bytes, 180e6, 6e6)
   -- Of what other pairs of the run reached.
   lu.assertAlmostEquals(one.window.needs, 300e6, 6e6)
end

function TestWindow:test_of_the_sender()
   local out = run({ out = { [3] = 6 } }, function(from)
      return account(0, from == 3 and 80 or 0)
   end, buffers(256e6, 256e6))
   local one = out.findings[1]
   lu.assertEquals({ one.kind, one.node, one.window.whose, one.window.buffer }, { "window", 3, 3, "tcp_wmem" })
   lu.assertAlmostEquals(one.window.link, 10e9, 0.2e9)
end

function TestWindow:test_of_a_pair()
   local out = run({ path = { ["1 9"] = 3 } }, function(from, to)
      return account(from == 1 and to == 9 and 60 or 0)
   end, buffers(256e6, 256e6), true)
   lu.assertEquals({ out.findings[1].kind, out.findings[1].from, out.findings[1].to }, { "window", 1, 9 })
end

-- Each of these is a bad NIC.
function TestWindow:test_is_none()
   local function says(tcp, about)
      local out = run({ ["in"] = { [3] = 6 } }, tcp, about)
      lu.assertEquals({ out.findings[1].kind, out.findings[1].node }, { "nic", 3 })
      lu.assertNil(out.findings[1].window)
   end
   local big = buffers(256e6, 256e6)
   -- Nobody waited for a window.
   says(function() return account(5) end, big)
   -- One sender did.
   says(function(from, to) return account(from == 4 and to == 3 and 90 or 0) end, big)
   -- The receiver reads too slowly: what is on the way is nothing to its buffer.
   says(function(_, to) return account(to == 3 and 90 or 0, 0, 50) end, big)
   -- Nothing is known: no TCP, or no buffers.
   says(function() return nil end, big)
   says(function(_, to) return account(to == 3 and 90 or 0) end, {})
end

TestBusy = {}

-- l1n3 gets 6 of 10 GB/s; wait(node) = % of its time without a CPU.
local function kind_of(wait)
   local out = run({ ["in"] = { [3] = 6 } }, function() end, {}, nil, wait)
   local one = out.findings[1]
   lu.assertEquals({ #out.findings, one.node }, { 1, 3 })
   return one
end

function TestBusy:test_who_has_no_cpu_is_no_bad_nic()
   local one = kind_of(function(node) return node == 3 and 40 or 3 end)
   lu.assertEquals({ one.kind, one.wait_pct, one.peers_wait_pct }, { "busy", 40, 3 })
end

function TestBusy:test_is_none()
   -- As the others wait; too little for what is missing; not known.
   lu.assertEquals(kind_of(function() return 40 end).kind, "nic")
   lu.assertEquals(kind_of(function(node) return node == 3 and 14 or 3 end).kind, "nic")
   lu.assertEquals(kind_of(function() return nil end).kind, "nic")
end

function TestWindow:test_what_is_sent_again()
   local out = run({ ["in"] = { [3] = 6 } }, function(_, to)
      return account(0, 0, 50, to == 3 and 0.5 or 0.001)
   end)
   lu.assertEquals({ out.findings[1].kind, out.findings[1].again_pct }, { "nic", 0.5 })
   out = run({ ["in"] = { [3] = 6 } }, function()
      return account(0, 0, 50, 0.001)
   end)
   lu.assertNil(out.findings[1].again_pct)
end

TestInventory = {}

local NAMES = { "n1", "n2", "n3", "n4", "n5" }

-- Five nodes with one link each, of which change(node's number, link) alters some.
local function nodes(change)
   local about = {}
   for i, name in ipairs(NAMES) do
      local link = { name = "eth0", rate_gbps = 10, duplex = "full", mtu = 9000, pcie_lanes = 8, pcie_gts = 16,
         firmware = "1.2" }
      about[name] = { links = { change(i, link) or link } }
   end
   return about
end

local function texts(about)
   local out = {}
   for k, one in ipairs(inventory.unlike(NAMES, about)) do
      out[k] = inventory.words(one)
   end
   return out
end

function TestInventory:test_all_alike()
   lu.assertEquals(texts(nodes(function() end)), {})
   lu.assertEquals(texts({}), {})
end

function TestInventory:test_each_thing()
   for field, case in pairs({ rate_gbps = { 1, "eth0 at 1 Gbit/s, 4 of 5 at 10 Gbit/s" },
      duplex = { "half", "eth0 half duplex, 4 of 5 full duplex" }, mtu = { 1500, "eth0 MTU 1500, 4 of 5 MTU 9000" },
      pcie_lanes = { 4, "eth0 PCIe of 64 GT/s in all, 4 of 5 PCIe of 128 GT/s in all" },
      firmware = { "1.1", "eth0 firmware 1.1, 4 of 5 firmware 1.2" } }) do
      lu.assertEquals(texts(nodes(function(i, link)
         link[field] = i == 2 and case[1] or link[field]
      end)), { "n2: " .. case[2] }, field)
   end
   -- Half the lanes, twice as fast.
   lu.assertEquals(texts(nodes(function(i, link)
      link.pcie_lanes, link.pcie_gts = i == 2 and 4 or 8, i == 2 and 32 or 16
   end)), {})
end

function TestInventory:test_a_link_that_some_lack()
   lu.assertEquals(texts(nodes(function(i, link)
      link.name = i == 2 and "eth1" or "eth0"
   end)), { "n2: eth0 not in use, 4 of 5 have it" })
end

function TestInventory:test_no_majority()
   lu.assertEquals(texts(nodes(function(i, link)
      link.mtu = 1000 * i
   end)), {})
   lu.assertEquals(texts(nodes(function(i, link)
      link.mtu = i < 4 and 1500 or 9000
   end)), { "n[4-5]: eth0 MTU 9000, 3 of 5 MTU 1500" })
   -- Two nodes are no majority of anything.
   lu.assertEquals(inventory.unlike({ "n1", "n2" }, nodes(function(i, link)
      link.mtu = i
   end)), {})
end

-- A kernel of another version, or somebody's.
function TestInventory:test_damage()
   for _, link in ipairs({ 1, "x", {}, { name = 3 }, { name = "eth0", rate_gbps = {}, mtu = "\27[31m", duplex = 0 / 0,
      pcie_lanes = 4 } }) do
      local list = texts(nodes(function(i)
         return i == 2 and link or nil
      end))
      lu.assertNil(table.concat(list):find("[^ -~]"))
   end
end

TestErrors = {}

function TestErrors:test_what_few_counted()
   local names, about = {}, {}
   for n = 1, 9 do
      names[n] = "n" .. n
      about[names[n]] = said.about({})
      said.errors({ kernel = "fabric", v = 1, plan = 3, rank = n, link = "mlx5_0/1", out_of_sequence = n,
         symbol_error = n == 5 and 150 or nil, [("x"):rep(99)] = 4, link_downed = n == 4 and 1 or nil,
         port_rcv_errors = -n }, about[names[n]].errors)
   end
   said.errors({ link = "mlx5_0/1", symbol_error = 3, rx_crc_errors = "many" }, about.n5.errors)
   said.errors({ link = {}, symbol_error = 3 }, about.n6.errors)
   local list = inventory.unlike(names, about)
   lu.assertEquals(list, {
      { nodes = { "n4" }, link = "mlx5_0/1", what = "link_downed", text = "mlx5_0/1 counted 1 link_downed meanwhile" },
      { nodes = { "n5" }, link = "mlx5_0/1", what = "symbol_error",
         text = "mlx5_0/1 counted 153 symbol_error meanwhile" },
   })
end

-- However much a rank says.
function TestErrors:test_a_rank_that_says_much()
   local list, got = {}, { link = "e" }
   for k = 1, 1000 do
      got["c" .. k] = k
   end
   said.errors(got, list)
   lu.assertEquals(#list, 64)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
