--- Packages and cores of the online CPUs, with few reads: one CPU of a core or a
-- package names all the others, so that their folders need not be opened.
local files = require("syscheck.lib.files")

local topology = {}

topology.DIR = "/sys/devices/system/cpu"

-- A larger number in a list is damage: twice the most that Linux is built for (x86: NR_CPUS 8192). Each
-- costs several files of a prolog's time.
local MAX_CPU = 16383

--- CPUs of a list: "0-2,8" -> { 0, 1, 2, 8 }; what is no list is empty.
function topology.parse_list(text)
   local cpus = {}
   for first, last in (text or ""):gmatch("(%d+)%-?(%d*)") do
      first = tonumber(first)
      -- No more of them than there are numbers, however often a range comes.
      for cpu = first, math.min(tonumber(last) or first, MAX_CPU, first + MAX_CPU - #cpus) do
         cpus[#cpus + 1] = cpu
      end
   end
   return cpus
end

--- As a set: { [cpu] = true }.
function topology.set_of(cpus)
   local set = {}
   for _, cpu in ipairs(cpus) do
      set[cpu] = true
   end
   return set
end

--- The reverse of parse_list, of a sorted list.
function topology.format_list(cpus)
   local parts, from = {}, nil
   for i, cpu in ipairs(cpus) do
      from = from or cpu
      if cpus[i + 1] ~= cpu + 1 then
         parts[#parts + 1] = from == cpu and ("%d"):format(cpu) or ("%d-%d"):format(from, cpu)
         from = nil
      end
   end
   return table.concat(parts, ",")
end

-- Without the kernel's own list (a prepared tree), the CPUs that have a folder.
local function listed_cpus(root)
   local cpus = {}
   for _, name in ipairs(files.list(root .. topology.DIR, "^cpu%d+$")) do
      local cpu = tonumber(name:match("%d+"))
      cpus[#cpus + 1] = cpu <= MAX_CPU and cpu or nil
   end
   table.sort(cpus)
   return cpus
end

-- The first online CPU of each unit.
-- @param lists files that name the CPUs of a unit; the first that exists holds
-- @param ids files that tell units apart, where there is no such list
local function first_of_each(root, online, lists, ids)
   local first, seen = {}, {}
   for _, cpu in ipairs(online) do
      if not seen[cpu] then
         local dir = ("%s%s/cpu%d/topology/"):format(root, topology.DIR, cpu)
         local text, unit
         for _, name in ipairs(lists) do
            text = text or files.line(dir .. name)
         end
         if text then
            for _, other in ipairs(topology.parse_list(text)) do
               seen[other] = true
            end
         else
            for _, id in ipairs(ids) do
               local value = files.line(dir .. id)
               unit = value and (unit or "") .. ":" .. value or unit
            end
         end
         if text or unit and not seen[unit] then
            first[#first + 1] = cpu
            seen[unit or cpu] = true
         end
      end
   end
   return first
end

-- Files that name the CPUs of a core; the second name is that of Linux before 5.3.
local CORE_LISTS = { "core_cpus_list", "thread_siblings_list" }

--- The cores of which no CPU is in a set, each as its first CPU.
-- @param topo from topology.read
-- @param set { [cpu] = true }
function topology.cores_without(topo, set)
   local out = {}
   for _, cpu in ipairs(topo.cores) do
      local has = set[cpu]
      for _, name in ipairs(has and {} or CORE_LISTS) do
         local text = files.line(("%s%s/cpu%d/topology/%s"):format(topo.root, topology.DIR, cpu, name))
         for _, other in ipairs(topology.parse_list(text)) do
            has = has or set[other]
         end
      end
      out[#out + 1] = not has and cpu or nil
   end
   return out
end

local last -- of this process: a check reads it for the counters and the inventory

--- Reads the topology of the online CPUs. It cannot change within a boot while the
-- same CPUs are online; the list of those is read every time.
-- @return { online, present = lists of CPUs; online_list = "0-7"; packages, dies, cores = the first online
--   CPU of each }; lists are empty where the machine has no such files
function topology.read(root)
   local mask = files.line(root .. topology.DIR .. "/online")
   if last and mask and last.root == root and last.mask == mask then
      return last
   end
   local online = mask and topology.parse_list(mask) or listed_cpus(root)
   -- The second name is that of Linux before 5.3.
   local package_lists = { "package_cpus_list", "core_siblings_list" }
   local topo = {
      root = root,
      mask = mask,
      online = online,
      online_list = topology.format_list(online),
      present = topology.parse_list(files.line(root .. topology.DIR .. "/present")),
      cores = first_of_each(root, online, CORE_LISTS,
         { "physical_package_id", "die_id", "core_id" }),
      packages = first_of_each(root, online, package_lists, { "physical_package_id" }),
      -- A kernel that does not report dies has one in a package.
      dies = first_of_each(root, online, { "die_cpus_list", table.unpack(package_lists) },
         { "physical_package_id", "die_id" }),
   }
   last = topo
   return topo
end

return topology
