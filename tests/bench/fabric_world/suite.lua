--- The sites that a benchmark runs: from 16 to 10,000 nodes, drawn mostly, with the rare ones asked for by name; and
-- those of a network as it is built to be (`plain`): full leaves of one kind, known, not oversubscribed, balanced by
-- the switches or by destination, 3 % run noise, 1 % of nodes bad, leaves that lost links, dead routes.
-- Each entry is { seed = offset, options = table for world.build, plain }. Options that an entry leaves out are drawn.

-- What the rows of one size have in common is given once; each row is one site.
local SITES <const> = {
   [16] = {
      { leaves = 1 }, { leaves = 1, faults = { nic = 1 } }, { leaves = 1, faults = { host = 1 } },
      { leaves = 1, faults = { latency = 1 } }, { leaves = 1, faults = {} }, { faults = {} }, { faults = {} },
      { leaf_size = 8, faults = { nic = 1 } }, { leaf_size = 8, faults = { host = 1 } },
      { leaf_size = 8, faults = { uplink_link = 1 } },
      { leaf_size = 8, shape = "even", oversubscription = 2, link_ratio = 1, faults = { uplink_lost = 1 } },
      { leaf_size = 8, faults = { route = 2 } }, { mixed = true, faults = {} }, { faults = { dead = 1 } },
      { leaf_size = 8, shape = "sparse", faults = { nic = 1 } }, { topology_known = false, faults = { nic = 1 } },
   },
   [36] = {
      { leaves = 1, faults = {} }, { leaves = 1, faults = { nic = 1, host = 1 } }, { faults = {} }, { faults = {} },
      { leaf_size = 12, faults = { nic = 2 } }, { leaf_size = 12, faults = { host = 1, latency = 1 } },
      { leaf_size = 12, oversubscription = 4, link_ratio = 2, faults = { uplink_link = 1 } },
      { leaf_size = 12, oversubscription = 2, faults = { uplink_lost = 1 } },
      { leaf_size = 8, shape = "uneven", faults = { nic = 1, uplink_link = 1 } },
      { leaf_size = 8, shape = "sparse", faults = { latency = 1, route = 1 } },
      { leaf_size = 12, faults = { leaf_switch = 1 } }, { topology_known = false, faults = {} },
      { mixed = true, rate_known = true, faults = { nic = 1 } }, { mixed = true, rate_known = false, faults = {} },
      { leaf_size = 18, routing = "ecmp", faults = { nic = 1 } }, { faults = { dead = 1, nic = 1 } },
   },
   [64] = {
      { leaves = 1, faults = {} }, { leaves = 1, faults = { nic = 2, host = 1, latency = 1 } }, { faults = {} },
      { faults = {}, routing = "ecmp" }, { leaf_size = 16, faults = { nic = 2, latency = 1 } },
      { leaf_size = 8, faults = { uplink_link = 1, nic = 1 } }, { leaf_size = 16, faults = { uplink_lost = 1 } },
      { leaf_size = 16, oversubscription = 4, link_ratio = 4, faults = { uplink_link = 1 } },
      { leaf_size = 24, shape = "sparse", faults = { nic = 1, uplink_link = 1 } },
      { leaf_size = 12, shape = "uneven", faults = { host = 2, uplink_lost = 1 } },
      { topology_known = false, faults = { nic = 1, latency = 1 } }, { topology_known = false, faults = {} },
      { mixed = true, faults = { nic = 2 } }, { mixed = true, rate_known = false, faults = {} },
      { noise = 0.06, faults = { nic = 1 } }, { noise = 0.06, faults = {} }, { faults = { leaf_switch = 1 } },
   },
   [128] = {
      { faults = {} }, { faults = {}, routing = "ecmp" }, { faults = {}, routing = "static" }, { leaves = 1 },
      { oversubscription = 1 }, { oversubscription = 2 }, { oversubscription = 4 }, { shape = "sparse" },
      { shape = "uneven" }, { leaf_size = 8 }, { leaf_size = 32 }, { mixed = true }, { topology_known = false },
      { noise = 0.06 }, { noise = 0.01 }, { faults = { nic = 3, host = 2, uplink_link = 2 } },
      { faults = { latency = 2, uplink_lost = 2 } }, { faults = { nic = 2, leaf_switch = 1, dead = 1 } },
   },
   [256] = {
      { faults = {} }, { faults = {}, mixed = true }, { faults = {}, shape = "sparse" }, {}, {}, {}, {},
      { oversubscription = 1, routing = "static" }, { oversubscription = 4, routing = "ecmp" }, { shape = "sparse" },
      { leaf_size = 8, shape = "uneven" }, { leaf_size = 48 }, { topology_known = false }, { mixed = true },
      { leaves = 1 }, { faults = { nic = 6, host = 4, latency = 3, uplink_link = 2, uplink_lost = 2, dead = 1 } },
   },
   [512] = {
      { faults = {} }, { faults = {}, topology_known = false }, { faults = {}, routing = "ecmp" }, {}, {}, {}, {},
      { shape = "sparse" }, { shape = "uneven", leaf_size = 40 }, { oversubscription = 1, routing = "adaptive" },
      { oversubscription = 4, routing = "static" }, { mixed = true, rate_known = false }, { noise = 0.06 },
      { topology_known = false }, { faults = { nic = 10, host = 6, uplink_link = 4, uplink_lost = 4, dead = 2 } },
   },
   [1000] = {
      { faults = {} }, { faults = {}, shape = "sparse" }, {}, {}, {}, {}, { leaf_size = 8 }, { leaf_size = 48 },
      { shape = "sparse" }, { mixed = true, rate_known = true }, { topology_known = false }, { routing = "ecmp" },
      { oversubscription = 4 }, { oversubscription = 1 }, { noise = 0.05 },
   },
   [2000] = {
      { faults = {} }, { faults = {}, routing = "static" }, {}, {}, {}, { shape = "sparse" }, { mixed = true },
      { routing = "static", oversubscription = 1 }, { routing = "ecmp", oversubscription = 2 }, { renumbered = true },
   },
   [5000] = {
      { faults = {} }, {}, {}, { shape = "uneven", routing = "static" }, { shape = "sparse", oversubscription = 4 },
      { oversubscription = 1, routing = "adaptive" }, { routing = "ecmp" },
   },
   [10000] = {
      { faults = {} }, { routing = "adaptive" }, { routing = "static", oversubscription = 2 },
      { shape = "uneven", leaf_size = 24 },
   },
}

local SIZES <const> = { 16, 36, 64, 128, 256, 512, 1000, 2000, 5000, 10000 }

local suite = {}
for _, nodes in ipairs(SIZES) do
   for number, options in ipairs(SITES[nodes]) do
      options.nodes = nodes
      suite[#suite + 1] = { seed = 100 * nodes + number, options = options }
   end
end

for _, nodes in ipairs(SIZES) do
   for number = 1, math.max(2, math.min(12, 3000 // nodes)) do
      local size = nodes < 64 and ({ 8, 12 })[number % 2 + 1] or ({ 8, 16, 32 })[number % 3 + 1]
      local leaves = math.ceil(nodes / size)
      suite[#suite + 1] = { seed = 100 * nodes + 50 + number, plain = true, options = { nodes = nodes, shape = "even",
         leaf_size = size, mixed = false, rate_known = number % 2 == 0, noise = 0.03, oversubscription = 1,
         routing = ({ "adaptive", "static" })[(number // 2) % 2 + 1], faults = { nic = math.max(1, nodes // 100),
            uplink_lost = leaves > 2 and math.max(1, leaves // 50) or 0, route = math.max(1, nodes // 500) } } }
   end
end
return suite
