--- Each kind of fault shows as world.lua and faults.lua describe it, and nowhere else.

local Rng = require("fabric_world.rng")
local common = require("fabric_world.selftest_common")
local world = require("fabric_world.world")

local EPS <const> = 1e-6
local check, near, full, alone, partners = common.check, common.near, common.full, common.alone, common.partners
local loaded_share, with = common.loaded_share, common.with

local function node_faults(w, fault)
   for _, same in ipairs({ true, false }) do
      local other = partners(w, fault.node, same)[1]
      if other then
         local r = alone(w, fault.node, other)
         local base = full(w)
         local out = fault.kind == "nic" and fault.direction ~= "in" and fault.factor or 1
         local into = fault.kind == "nic" and fault.direction ~= "out" and fault.factor or 1
         local both = fault.kind == "host" and fault.how == "both" and fault.factor or 1
         check(fault.kind .. " out", near(r.ab_gbs, base * out, EPS), r.ab_gbs / base)
         check(fault.kind .. " in", near(r.ba_gbs, base * into, EPS), r.ba_gbs / base)
         check(fault.kind .. " both out", near(r.both_ab_gbs, base * out * both, EPS), r.both_ab_gbs / base)
         check(fault.kind .. " both in", near(r.both_ba_gbs, base * into * both, EPS), r.both_ba_gbs / base)
         local healthy = w.site.choice.base_us + (w.hops(fault.node, other) - 1) * w.site.choice.level_us
         check(fault.kind .. " latency", math.abs(r.lat_us - healthy - (fault.add_us or 0)) < 0.06, r.lat_us)
      end
   end
end

-- A whole leaf at work, its bad node with it.
local function host_under_load(w, fault)
   local inside = partners(w, fault.node, true)
   local pairs_ = {}
   for i = 1, #inside - 1, 2 do
      pairs_[#pairs_ + 1] = { inside[i], inside[i + 1] }
   end
   local outside = partners(w, fault.node, false)
   pairs_[#pairs_ + 1] = { fault.node, #inside % 2 == 1 and inside[#inside] or outside[1] }
   local r = w.measure({ { pairs = pairs_ } })[1][#pairs_]
   check("host under load", near(r.ab_gbs, full(w) * fault.factor, EPS), r.ab_gbs / full(w))
end

local function uplink_link(w, fault)
   local outside, slow, n = partners(w, fault.nodes[1], false), 0, 0
   local inside = alone(w, fault.nodes[1], fault.nodes[2])
   check("uplink_link: within the leaf at full rate", near(inside.ab_gbs, full(w), EPS))
   for _, name in ipairs(fault.nodes) do
      for _, other in ipairs(outside) do
         local r = alone(w, name, other)
         for field, direction in pairs({ ab_gbs = "up", ba_gbs = "down" }) do
            if fault.direction == direction or fault.direction == "both" then
               n = n + 1
               slow = slow + (r[field] < 0.99 * full(w) and 1 or 0)
            else
               check("uplink_link: the other direction is well", near(r[field], full(w), EPS))
            end
            check("uplink_link: not below its factor", r[field] >= full(w) * fault.factor * (1 - EPS))
         end
      end
   end
   check("uplink_link: a share of pairs is slow", slow > 0 and slow / n > 0.2 / fault.links
      and (fault.links > 1 or slow == n), slow / n .. " of 1/" .. fault.links)
end

local function uplink_lost(w, fault)
   local outside, pairs_ = partners(w, fault.nodes[1], false), {}
   check("uplink_lost: a lone pair at full rate", near(alone(w, fault.nodes[1], outside[1]).ab_gbs, full(w), EPS))
   Rng.new(3):shuffle(outside)
   for i, name in ipairs(fault.nodes) do
      pairs_[i] = { name, outside[i] }
   end
   local healthy = world.build(w.seed, w.options_healthy)
   local before, after = loaded_share(healthy, pairs_), loaded_share(w, pairs_)
   check("uplink_lost: loaded, the leaf is slower", after < 0.97 * before, after / before .. " " .. w.describe())
   return after / before
end

--- Build many sites with one fault each, and look at it.
return function()
   local seen, lost = {}, 0
   local kinds = { "nic", "host", "latency", "uplink_link", "uplink_lost", "route", "leaf_switch", "dead" }
   for seed = 1, 320 do
      local kind = kinds[seed % #kinds + 1]
      local options = with({ nodes = 120, leaf_size = 16, faults = { [kind] = 1 } })
      local w = world.build(seed, options)
      w.seed, w.options_healthy = seed, with({ nodes = 120, leaf_size = 16, faults = {} })
      local fault = w.truth[1]
      if fault then
         seen[kind] = (seen[kind] or 0) + 1
         if kind == "nic" or kind == "host" or kind == "latency" then
            node_faults(w, fault)
            if fault.how == "load" then
               host_under_load(w, fault)
            end
         elseif kind == "uplink_link" then
            uplink_link(w, fault)
         elseif kind == "uplink_lost" then
            lost = lost + uplink_lost(w, fault)
         elseif kind == "route" then
            local r = alone(w, fault.pair[1], fault.pair[2])
            check("route", near(r.ab_gbs, full(w) * fault.factor, EPS))
            check("route back", near(r.ba_gbs, full(w) * (fault.direction == "both" and fault.factor or 1), EPS))
         elseif kind == "leaf_switch" then
            check("leaf_switch", near(alone(w, fault.nodes[1], fault.nodes[2]).ab_gbs, full(w) * fault.factor, EPS))
         else
            check("dead", alone(w, fault.node, partners(w, fault.node, true)[1]).error == "no answer")
         end
      end
   end
   for _, kind in ipairs(kinds) do
      check("a fault of each kind", (seen[kind] or 0) >= 20, kind .. " " .. (seen[kind] or 0))
   end
   print(("uplink_lost, loaded: %.2f of the healthy rate"):format(lost / seen.uplink_lost))
end
