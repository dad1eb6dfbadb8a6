--- Hardware of a made-up cluster: classes of nodes, and what counters each lacks. Pure.
local hardware = {}

-- name, packages, cores, memory in GiB, DIMMs, NUMA nodes, triad GB/s, GFLOP/s, MHz at most, W a package
local INTEL = {
   { "xeon-e5-2680-v4", 2, 28, 128, 8, 2, 118, 870, 3300, 120 },
   { "xeon-gold-6148", 2, 40, 192, 12, 2, 187, 2050, 3700, 150 },
   { "xeon-platinum-8280", 2, 56, 384, 12, 2, 212, 2900, 4000, 205 },
   { "xeon-gold-6330", 2, 56, 256, 16, 2, 296, 3000, 3100, 205 },
   { "xeon-platinum-8380", 2, 80, 512, 16, 4, 318, 4300, 3400, 270 },
   { "xeon-platinum-8480", 2, 112, 512, 16, 8, 470, 6700, 3800, 350 },
}
local AMD = {
   { "epyc-7302", 2, 32, 256, 16, 8, 262, 1450, 3300, 155 },
   { "epyc-7h12", 2, 128, 512, 16, 8, 318, 4200, 3300, 280 },
   { "epyc-7763", 2, 128, 512, 16, 8, 340, 4500, 3500, 280 },
   { "epyc-9354", 1, 32, 384, 12, 4, 350, 1900, 3800, 280 },
   { "epyc-9654", 2, 192, 768, 24, 8, 700, 8900, 3700, 360 },
}
local ARM = {
   { "neoverse-n1-r3p1-3.0ghz-mt-jade", 1, 80, 256, 8, 1, 164, 1700, 3000, 250 },
   { "a64fx-r1p0-2.2ghz-fx700", 1, 48, 32, 4, 4, 630, 2400, 2200, 160 },
}
local CLOUD = {
   { "epyc-25.1.1-hb", 2, 120, 448, 1, 4, 330, 3900, nil, 280 },
   { "xeon-6.143.8-c7", 1, 48, 192, 1, 1, 150, 1900, nil, 300 },
}

-- Chance that a class has a source at all, by what it is.
local HAS = {
   intel = { throttle = 0.96, energy = 0.8, edac = 0.8, mce = 0.85, traffic = 0.6, clock = 0.93, power = 0.75,
      temperature = 0.92, cooling = 0.5 },
   amd = { throttle = 0, energy = 0.7, edac = 0.8, mce = 0.85, traffic = 0.55, clock = 0.93, power = 0,
      temperature = 0.9, cooling = 0.5 },
   arm = { throttle = 0, energy = 0, edac = 0.6, mce = 0, traffic = 0, clock = 0.8, power = 0, temperature = 0.7,
      cooling = 0.5 },
   cloud = { throttle = 0, energy = 0, edac = 0, mce = 0.4, traffic = 0, clock = 0.1, power = 0, temperature = 0,
      cooling = 0 },
}

local function class_of(r, p, family, row, lustre, lacks)
   local name, packages, cores, memory, dimms, numa, triad, gflops, mhz, watts = table.unpack(row, 1, 10)
   local smt = family ~= "arm" and name:find("9654") == nil and r:chance(0.4) and 2 or 1
   local has = {}
   local odds = HAS[family]
   for _, source in ipairs({ "throttle", "energy", "edac", "mce", "traffic", "clock", "power", "temperature",
      "cooling" }) do
      has[source] = r:chance(odds[source])
   end
   for _, source in ipairs({ "pressure", "sched", "oom", "disk", "nfs", "link" }) do
      has[source] = not r:chance(lacks)
   end
   has.lustre = lustre and not r:chance(lacks)
   has.cpu, has.reclaim = true, true -- every kernel has them
   local infiniband = family ~= "cloud" or r:chance(0.4)
   has.link = has.link and infiniband
   local class = {
      name = ("%s-%ds%dc-%dg"):format(name, packages, cores, memory), family = family, model = name,
      packages = packages, cores = cores, cpus = cores * smt, memory_gib = memory, dimms = dimms, numa = numa,
      triad = triad * r:uniform(0.93, 1.04), gflops = gflops * r:uniform(0.9, 1.05), mhz = mhz, watts = watts,
      best = 1.03, latency = r:uniform(75, 140), noise = r:log(0.02, 0.6),
      has = has,
      lustre_times = not r:chance(0.15), -- before 2.13 there are counts only
      lustre_waits = r:chance(0.5), -- whether a Lustre client's waits are iowait
      core_throttle = r:chance(0.6), -- some kernels flag cores, some the package only
      energy_long = r:chance(0.4), -- the plugin's extern step counts it
      energy_range = family == "amd" and 66 or 262,
      steal = family == "cloud" and r:log(1e-4, 4e-3) or 0,
      rails = infiniband and r:chance(0.15) and 2 or 1,
      rate = r:pick({ 56, 100, 100, 200, 200, 400 }),
      disk = r:pick({ "nvme", "nvme", "ssd", "hdd", "raid" }),
      heat = r:uniform(-6, 6),
      silicon = r:log(0.001, 0.012), -- how much nodes of it differ in speed
      error = p.check_error * r:uniform(0.7, 1.4), -- of one check
      parts = { memory_gib = memory, dimms = family ~= "cloud" and dimms or nil, packages = packages, cores = cores,
         threads = cores * smt, numa_nodes = numa },
   }
   has.disk = has.disk and not r:chance(0.1)
   class.config = {
      kernel = r:pick({ "5.14.0-427.el9.x86_64", "4.18.0-553.el8.x86_64", "6.1.0-21-amd64", "6.8.0-45-generic" }),
      microcode = ("0x%x"):format(r:int(0xa000000, 0xd0000ff)), bios = ("%d.%d.%d"):format(r:int(1, 3), r:int(0, 20),
      r:int(0, 9)), vendor = r:pick({ "Dell Inc.", "HPE", "Lenovo", "Supermicro" }),
      product = r:pick({ "PowerEdge C6525", "SD650", "XL225n", "SYS-221BT" }), smt = smt == 2 and "on" or "off",
      governor = has.clock and "performance" or nil, driver = has.clock and "acpi-cpufreq" or nil,
      turbo = has.clock and "on" or nil, max_mhz = has.clock and mhz or nil,
      thp = r:pick({ "always", "madvise" }), numa_balancing = "0", numa_nodes = numa,
      dimms = family ~= "cloud" and ("%dx%dg"):format(dimms, memory // dimms) or nil,
   }
   return class
end

-- A source that not one class has would leave a trait of the world to chance.
local function families(r, p)
   local list = {}
   for i = 1, p.classes do
      local x = r:float()
      list[i] = x < p.intel and "intel" or x < 0.88 and "amd" or x < 0.94 and "arm" or "cloud"
   end
   if p.cloud and p.classes > 1 then
      list[p.classes] = "cloud"
   end
   return list
end

--- @return list of classes, all different
function hardware.classes(r, p)
   local list, seen = {}, {}
   local rows = { intel = INTEL, amd = AMD, arm = ARM, cloud = CLOUD }
   for _, family in ipairs(families(r, p)) do
      local row = r:pick(rows[family])
      row = seen[row[1]] and r:pick(rows[family]) or row
      row = seen[row[1]] and r:pick(rows[family]) or row
      if not seen[row[1]] then
         seen[row[1]] = true
         list[#list + 1] = class_of(r, p, family, row, p.lustre, p.lacks)
      end
   end
   return list
end

--- What is high for ever on some nodes, and harms no job.
local HARMLESS = { "corrected", "link_errors", "throttle_core", "disk_busy", "hot_sensor", "wait_core",
   "machine_checks", "steal_core", "iowait", "nfs_timeouts" }

local function harmless(r, p, class, days)
   local kind = r:pick(HARMLESS)
   if r:chance(0.3) then -- the commonest in the field
      kind = "corrected"
   end
   local has = class.has
   local shows = { corrected = has.edac, link_errors = has.link, throttle_core = has.throttle, disk_busy = has.disk,
      hot_sensor = has.temperature, wait_core = has.sched, machine_checks = has.mce, steal_core = class.steal > 0,
      iowait = true, nfs_timeouts = has.nfs }
   if not shows[kind] then
      return nil
   end
   -- For ever, or from some day on for the rest of the time.
   local from = r:chance(0.7) and -1 or r:uniform(0, days * 0.6)
   return { kind = kind, from = from * 86400, level = r:log(0.2, 1), gap = r:uniform(0, 0.5) * p.burst }
end

--- @return list of { name, class, rack, leaf, i, ... }
function hardware.nodes(r, p, classes, count, days)
   local weights, left, nodes = {}, count, {}
   for i = 1, #classes do
      weights[i] = r:log(0.3, 1)
   end
   local sum = 0
   for i = 1, #weights do
      sum = sum + weights[i]
   end
   for c, class in ipairs(classes) do
      local wanted = math.max(math.min(24, left), math.floor(count * weights[c] / sum))
      local n = c == #classes and left or math.min(left, wanted)
      left = left - n
      class.first, class.count = #nodes + 1, n
      for _ = 1, n do
         local i = #nodes + 1
         nodes[i] = {
            i = i, name = p.node_name:format(i), class = class,
            rack = (i - 1) // p.rack + 1, leaf = (i - 1) // p.leaf + 1,
            speed = r:spread(class.silicon), triad = r:spread(class.silicon * 0.7), heat = r:normal(0, 2.5),
            noise = r:spread(0.3), idle = r:spread(0.4), skew = r:normal(0, p.skew_s),
            drift = r:normal(0, p.skew_s / 10), late = r:chance(p.late_nodes),
            harmless = r:chance(p.harmless) and harmless(r, p, class, days) or nil,
            boots = { { at = -1, id = nil } }, changes = {}, spans = {},
         }
      end
   end
   return nodes
end

return hardware
