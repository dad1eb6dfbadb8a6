--- Checks of the simulated interconnect: lua tests/bench/fabric_world/selftest.lua, from the top of the tree.

package.path = "tests/bench/?.lua;" .. package.path

local Rng = require("fabric_world.rng")
local common = require("fabric_world.selftest_common")
local every_fault = require("fabric_world.selftest_faults")
local world = require("fabric_world.world")

local EPS <const> = 1e-6
local check, near, full, alone = common.check, common.near, common.full, common.alone
local loaded_share, random_pairs, with = common.loaded_share, common.random_pairs, common.with

-- All pairs at the same time: sum over each link at most its capacity, each flow at most its limit, and each flow
-- held back by something.
local function conservation()
   local seen_contended = 0
   for seed = 1, 60 do
      local w = world.build(seed, { nodes = 200, faults = seed % 3 == 0 and {} or nil })
      local rng = Rng.new(seed)
      local rates = w.true_rates(random_pairs(w, rng))
      local s = w.site
      for _, phase in ipairs({ { "alone", { rates.forth, rates.ab } }, { "alone", { rates.back, rates.ba } },
         { "both", { rates.forth, rates.both_ab }, { rates.back, rates.both_ba } } }) do
         local load, most = {}, {}
         for part = 2, #phase do
            for i, f in ipairs(phase[part][1]) do
               local rate = phase[part][2][i]
               check("flow within its limit", rate <= f[phase[1]] * (1 + EPS) and rate > 0, rate)
               for _, id in ipairs({ f.up, f.down }) do
                  load[id] = (load[id] or 0) + rate
                  most[id] = math.max(most[id] or 0, rate)
               end
            end
         end
         for id, sum in pairs(load) do
            check("link within its capacity", sum <= s.capacity[id] * (1 + EPS), sum / s.capacity[id])
         end
         for part = 2, #phase do
            for i, f in ipairs(phase[part][1]) do
               local rate = phase[part][2][i]
               if rate < f[phase[1]] * (1 - EPS) then
                  seen_contended = seen_contended + 1
                  local held = false
                  for _, id in ipairs({ f.up, f.down }) do
                     held = held or load[id] > s.capacity[id] * (1 - EPS) and rate >= most[id] * (1 - EPS)
                  end
                  check("max-min: a slow flow is the largest on a full link", held)
               end
            end
         end
      end
   end
   check("some flows share", seen_contended > 1000, seen_contended)
end

local function lone_pairs()
   for seed = 1, 40 do
      local w = world.build(seed, { nodes = 96, faults = {}, outliers = 0, mixed = false })
      local rng = Rng.new(seed)
      local sum, n = 0, 0
      for _ = 1, 100 do
         local pair = random_pairs(w, rng)[1]
         local result = alone(w, pair[1], pair[2])
         check("lone healthy pair at full rate", near(result.ab_gbs, full(w), 0.16), result.ab_gbs / full(w))
         sum, n = sum + math.log(result.ba_gbs / full(w)), n + 1
      end
      check("lone healthy pairs on average", math.abs(sum / n + 0.006) < 0.012, sum / n)
   end
end

local function routing()
   local share = {}
   for _, kind in ipairs({ "adaptive", "static", "ecmp" }) do
      local w = world.build(7, with({ nodes = 480, leaf_size = 24, shape = "even", oversubscription = 1,
         link_ratio = 1, routing = kind, faults = {}, renumbered = false, adaptive_efficiency = 1 }))
      share[kind] = loaded_share(w, random_pairs(w, Rng.new(1)))
      if kind == "static" then
         local shifted = {}
         for i = 1, 240 do
            local leaf, port = (i - 1) // 24, (i - 1) % 24
            shifted[i] = { w.nodes[i], w.nodes[240 + leaf * 24 + (port + 5) % 24 + 1] }
         end
         check("static: leaf to leaf is free of conflicts", near(loaded_share(w, shifted), 1, 0.001))
      end
   end
   check("adaptive: permutations at full rate", share.adaptive > 0.95, share.adaptive)
   check("static: random pairs meet", share.static > 0.5 and share.static < 0.9, share.static)
   check("ecmp: random pairs meet", share.ecmp > 0.4 and share.ecmp < share.static, share.ecmp)
   print(("random pairs, 1:1: adaptive %.2f, static %.2f, ecmp %.2f"):format(share.adaptive, share.static, share.ecmp))
end

-- The same pairs again and again: where routes are fixed, some are slow each time.
local function collisions()
   for _, kind in ipairs({ "adaptive", "static", "ecmp" }) do
      local w = world.build(3, { nodes = 200, leaf_size = 20, routing = kind, oversubscription = 1, link_ratio = 1,
         faults = {} })
      local round = { pairs = random_pairs(w, Rng.new(1)) }
      w.measure({ round })
      check("collisions: none after one round", #w.truth == 0)
      w.measure({ round })
      local n = #w.truth
      check("collisions: not in adaptive routing", (n > 5) == (kind ~= "adaptive"), n)
      w.measure({ round })
      for _, fault in ipairs(w.truth) do
         check("collisions: of their kind", fault.kind == "collision" and fault.factor < 0.8 and #fault.pair == 2)
      end
   end
end

local function same_again()
   local function run()
      local w = world.build(42, { nodes = 300 })
      local rng, text = Rng.new(1), { w.describe() }
      for _ = 1, 5 do
         for _, r in ipairs(w.measure({ { pairs = random_pairs(w, rng) } })[1]) do
            text[#text + 1] = ("%.12g %.12g %.12g %.12g %.12g"):format(r.lat_us, r.ab_gbs, r.ba_gbs, r.both_ab_gbs,
               r.both_ba_gbs)
         end
      end
      return table.concat(text, "\n")
   end
   check("the same seed gives the same", run() == run())
end

-- Standard deviation of noise, and the share of outliers.
local function noise()
   local values, low = {}, 0
   local w = world.build(5, { nodes = 1000, faults = {}, shape = "even", oversubscription = 1, routing = "adaptive",
      spread = 0, mixed = false, adaptive_efficiency = 1, unfairness = 0, noise = 0.03, link_ratio = 1 })
   local rng = Rng.new(9)
   for _ = 1, 40 do
      for _, r in ipairs(w.measure({ { pairs = random_pairs(w, rng) } })[1]) do
         local x = math.log(r.ab_gbs / full(w))
         if x < -0.12 then
            low = low + 1
         else
            values[#values + 1] = x
         end
      end
   end
   local sum = 0
   for _, x in ipairs(values) do
      sum = sum + x * x
   end
   local sd, share = math.sqrt(sum / #values), low / (low + #values)
   check("noise of 3 %", sd > 0.027 and sd < 0.036, sd)
   check("outliers", share > 0.002 and share < 0.009, share)
   print(("noise %.4f, outliers %.4f"):format(sd, share))
end

local function speed()
   for _, kind in ipairs({ "adaptive", "static", "ecmp" }) do
      local start = os.clock()
      local w = world.build(1, { nodes = 10000, routing = kind })
      local built = os.clock()
      local rng, rounds = Rng.new(1), {}
      for r = 1, 5 do
         rounds[r] = { pairs = random_pairs(w, rng) }
      end
      local begun = os.clock()
      w.measure(rounds)
      print(("%s: built in %.2f s, a round in %.2f s of processor time"):format(w.describe(), built - start,
         (os.clock() - begun) / 5))
   end
end

-- What the suite holds. Neighbours are no problem of their own: most bad nodes in large leaves have one.
local function count_suite()
   local count, overlaps, nodes, bad, sites, healthy = {}, {}, 0, {}, 0, 0
   for _, entry in ipairs(world.SUITE) do
      local w = world.build(entry.seed, entry.options)
      sites, nodes = sites + 1, nodes + #w.nodes
      local placed, asked = #w.truth, 0
      for _, n in pairs(entry.options.faults or {}) do
         asked = asked + n
      end
      if entry.options.faults and placed ~= asked then
         print(("suite: %d of %d faults placed: seed %d, %s"):format(placed, asked, entry.seed, w.describe()))
      end
      healthy = healthy + (#w.truth == 0 and 1 or 0)
      for _, fault in ipairs(w.truth) do
         count[fault.kind] = (count[fault.kind] or 0) + 1
         if fault.node then
            bad[entry.seed .. fault.node] = true
         end
         for _, name in ipairs(fault.nodes or {}) do
            bad[entry.seed .. name] = true
         end
         if fault.overlap then
            overlaps[fault.overlap_why] = (overlaps[fault.overlap_why] or 0) + 1
         end
      end
   end
   local bad_nodes = 0
   for _ in pairs(bad) do
      bad_nodes = bad_nodes + 1
   end
   print(("suite: %d sites, %d without fault, %d nodes, %d of them neither bad nor in a bad leaf"):format(sites,
      healthy, nodes, nodes - bad_nodes))
   for _, list in ipairs({ count, overlaps }) do
      local words = {}
      for name, n in pairs(list) do
         words[#words + 1] = name .. " " .. n
      end
      table.sort(words)
      print((list == count and "faults: " or "overlaps: ") .. table.concat(words, ", "))
   end
   local node_count = (count.nic or 0) + (count.host or 0) + (count.latency or 0)
   check("several hundred node faults", node_count >= 300, node_count)
   check("uplink faults", count.uplink_link + count.uplink_lost >= 100)
   check("healthy nodes", nodes - bad_nodes >= 100000, nodes - bad_nodes)
end

conservation()
lone_pairs()
routing()
collisions()
every_fault()
same_again()
noise()
speed()
count_suite()
print(common.failed == 0 and "all well" or common.failed .. " failed")
os.exit(common.failed == 0)
