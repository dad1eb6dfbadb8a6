-- Who is to blame (make bench-fabric): simulated networks with planted faults (fabric_world/), the schedule and the
-- fits of `syscheck fabric` on them. Counted is who is named, who is named wrongly, and whether what is said of him is
-- right.
--   fabric.lua OUT SEED...: OUT the JSON
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local json = require("cjson").new()
local uv = require("luv")
local net = require("syscheck.fabric.net")
local session = require("syscheck.fabric.session")
local statistics = require("syscheck.lib.statistics")
local world = require("fabric_world.world")

local OUT = arg[1]
local SEEDS = table.move(arg, 2, #arg, 1, {})
local SHOW = os.getenv("SHOW") -- missed, wrong

-- What a planted fault should be called.
local CALLED = { nic = "nic", host = "host", latency = "latency", dead = "silent", leaf_switch = "leaf_switch",
   uplink_link = "uplink_link", uplink_lost = "uplink_lost", route = "route" }

local count = setmetatable({}, { __index = function()
   return 0
end })

local group = "" -- of sites: "" or "drawn_"

local function add(name, n)
   count[group .. name] = count[group .. name] + (n or 1)
end

local function place_of(one, named)
   if one.leaf then
      return "leaf " .. (named and named.leaves[one.leaf].name or one.leaf)
   elseif one.from or one.pair then
      local a, b = one.from and named.names[one.from] or one.pair[1], one.to and named.names[one.to] or one.pair[2]
      return "pair " .. (a < b and a .. " " .. b or b .. " " .. a)
   end
   return "node " .. (named and named.names[one.node] or one.node)
end

local function describe(one)
   local parts = {}
   for key, value in pairs(one) do
      parts[#parts + 1] = type(value) ~= "table" and ("%s=%s"):format(key, value) or nil
   end
   table.sort(parts)
   return table.concat(parts, " ")
end

local function is_right(fault, finding)
   return CALLED[fault.kind] == finding.kind
      and (fault.kind == "host" or not fault.direction or not finding.direction
         or fault.direction == finding.direction
         or fault.kind == "route" and (fault.direction == "both") == (finding.direction == "both"))
end

-- Which pairs of nodes ever met across: of a route that nobody took nothing can be known.
local function met(out, named)
   local set = {}
   for _, round in ipairs(out.rounds) do
      for _, p in ipairs(round.pairs) do
         local a, b = named.names[p[1]], named.names[p[2]]
         set["pair " .. (a < b and a .. " " .. b or b .. " " .. a)] = true
      end
   end
   return set
end

local function one_site(seed, options)
   local w = world.build(seed, options)
   local hops = w.leaf and function(from, to)
      return w.leaf_hops and w.leaf_hops(from, to) or 2
   end
   local started = uv.hrtime()
   local n = net.new(w.nodes, w.topology_known and { leaf = w.leaf, hops = hops } or nil, w.rate)
   n.hops = function(a, b)
      return w.hops(n.names[a], n.names[b])
   end
   local measuring = 0
   local out = session.run(n, function(rounds)
      local from = uv.hrtime()
      local results = w.measure(net.named(n, rounds))
      measuring = measuring + uv.hrtime() - from
      return results
   end, { seed = seed })
   local seconds = (uv.hrtime() - started - measuring) / 1e9
   local by_place, named_right, faulty = {}, {}, {}
   for _, one in ipairs(out.findings) do
      local place = place_of(one, n)
      by_place[place] = by_place[place] or {}
      table.insert(by_place[place], one)
   end
   local seen = met(out, n)
   for _, fault in ipairs(w.truth) do
      local place = place_of(fault)
      faulty[place] = true
      for _, l in ipairs(n.leaves) do
         if fault.kind == "leaf_switch" and l.name == fault.leaf then
            for _, node in ipairs(l.members) do
               faulty["node " .. n.names[node]] = true
            end
         end
      end
      -- Where no topology is known, its nodes are all that a leaf's trouble can be seen by.
      for _, node in ipairs(not w.topology_known and fault.nodes or {}) do
         faulty["node " .. node] = true
      end
      -- What pairs do to each other when all are at work is no fault of the network's.
      local can = CALLED[fault.kind] and (fault.kind ~= "route" or seen[place])
         -- Of two leaves, whose uplink is it?
         and (not fault.kind:find("^uplink") or #n.leaves > 2)
      if can then
         local list, right = by_place[place] or {}, false
         for _, one in ipairs(list) do
            right = right or is_right(fault, one)
         end
         add("faults_" .. fault.kind)
         add("found_" .. fault.kind, #list > 0 and 1 or 0)
         if fault.kind:find("^uplink") then
            add(("faults_%s_%s"):format(fault.kind, w.routing))
            add(("found_%s_%s"):format(fault.kind, w.routing), #list > 0 and 1 or 0)
         end
         local severity = fault.kind == "nic" and fault.factor >= 0.8 and "nic15"
            or fault.kind == "uplink_lost" and fault.factor <= 0.5 and "uplink_half"
         if severity then
            add("faults_" .. severity)
            add("found_" .. severity, #list > 0 and 1 or 0)
         end
         if #list > 0 then
            add("named")
            add("cell_right", right and 1 or 0)
         end
         if SHOW and (#list == 0 or not right) then
            print(#list == 0 and "missed" or "cell", seed, describe(fault), list[1] and describe(list[1]) or "")
         end
      end
   end
   for place, list in pairs(by_place) do
      for _, one in ipairs(list) do
         if not faulty[place] and not named_right[place] and one.kind ~= "collision" then
            named_right[place] = true
            add("innocent_" .. place:match("^%a+"))
            if SHOW then
               print("innocent", seed, place, describe(one))
            end
         end
      end
   end
   add("nodes", #w.nodes)
   add("leaves", #n.leaves)
   add("sites")
   print(("%6d nodes  %d faults  %d findings  %d unconfirmed  %d + %d rounds  %.2f s  %s"):format(#w.nodes, #w.truth,
      #out.findings, out.unconfirmed, #out.rounds, out.again and #out.again.rounds or 0, seconds, w.describe()))
   return #w.nodes, seconds
end

local function pct(part, whole)
   return whole > 0 and math.floor(1e5 * part / whole + 0.5) / 1e3 or json.null
end

local times = {}
local only = tonumber(os.getenv("ONLY"))
for _, seed in ipairs(SEEDS) do
   for i, site in ipairs(world.SUITE) do
      if not only or only == i then
         group = site.plain and "" or "drawn_"
         local nodes, seconds = one_site(tonumber(seed) * 1000 + site.seed, site.options)
         if nodes == 10000 then
            times[#times + 1] = seconds
         end
      end
   end
end
collectgarbage()

-- What is in OUT of a group of sites, its names with that before them.
local function summary(of)
   group = of
   local function n(name)
      return count[group .. name]
   end
   local function share(fault)
      return pct(n("found_" .. fault), n("faults_" .. fault))
   end
   local out = {
      sites = n("sites"), nodes = n("nodes"), leaves = n("leaves"),
      node_found_pct = share("nic"), node_faults = n("faults_nic"),
      node15_found_pct = share("nic15"), node15_faults = n("faults_nic15"),
      innocent_per_node = n("nodes") > 0 and n("innocent_node") / n("nodes") or json.null,
      innocent_nodes = n("innocent_node"),
      innocent_leaves = n("innocent_leaf"), innocent_pairs = n("innocent_pair"),
      -- Of uplinks at half rate or less, as `plain` sites have them, and of all that lost links, a quarter, too.
      uplink_found_pct = share("uplink_half"), uplink_faults = n("faults_uplink_half"),
      uplink_any_found_pct = share("uplink_lost"), uplink_any_faults = n("faults_uplink_lost"),
      uplink_link_found_pct = share("uplink_link"),
      cell_right_pct = pct(n("cell_right"), n("named")), named = n("named"),
      kinds = {},
   }
   for _, kind in ipairs({ "uplink_lost", "uplink_link" }) do
      for _, routing in ipairs({ "adaptive", "static", "ecmp" }) do
         local name = kind .. "_" .. routing
         out[name] = { faults = n("faults_" .. name), found = n("found_" .. name) }
      end
   end
   for kind in pairs(CALLED) do
      out.kinds[kind] = { faults = n("faults_" .. kind), found = n("found_" .. kind) }
   end
   return out
end

-- The network as it is planned for has the short names; the harsher one, where much is drawn, has "drawn_" before them.
local result = summary("")
for key, value in pairs(summary("drawn_")) do
   result["drawn_" .. key] = value
end
result.seeds, result.fit_10000_s = SEEDS, statistics.median(times) or json.null
local status = io.open("/proc/self/status"):read("a")
result.peak_mb = tonumber(status:match("VmHWM:%s*(%d+)")) // 1024
local file = assert(io.open(OUT, "w"))
file:write(json.encode(result), "\n")
file:close()
print(json.encode(result))
