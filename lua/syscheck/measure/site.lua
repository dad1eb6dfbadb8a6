--- Looks at what the policy names beyond kernels and counters: file systems and files, processes and the clock by
-- lua/native/state.c, the rest in /sys and /proc. verdict/site.lua says what of it is bad.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local files = require("syscheck.lib.files")
local link = lazy.require("syscheck.counters.link")
local machine = require("syscheck.hardware.machine")
local process = require("syscheck.lib.process")
local schema = require("syscheck.policy.schema")
local verdict = require("syscheck.verdict.site")

local site = {}

local BOX_S = 1 -- what paths have to answer, all at once
local LEAST_S = 0.05
local END_S = 0.5 -- between that and the deadline
local SYSTEMCTL_S = 2
local GIB = 1073741824

--- Whether the policy names anything.
function site.is_wanted(p)
   for _, key in ipairs(schema.SITE) do
      if p[key] and #p[key] > 0 then
         return true
      end
   end
   return false
end

-- Number of a user of this machine's own file: no directory service is asked, which may hang.
local function uids(root)
   local text
   return function(user)
      if type(user) == "number" then
         return user
      end
      text = text or "\n" .. (files.read(root .. "/etc/passwd") or "")
      local _, last = text:find("\n" .. user .. ":", 1, true)
      -- Digits in quotes that are nobody's name are a number.
      return math.tointeger(tonumber(last and text:match("^[^:\n]*:(%d+):", last + 1) or user:match("^%d+$")))
   end
end

-- state() of lua/native/state.h, for all that is its work.
-- @return its table, or {}; why it, or a part of it, is missing, nil
local function ask_state(node, items, left_s)
   local wanted = { seconds = math.min(BOX_S, left_s - END_S), paths = {}, processes = {}, root = node.root }
   if #items.filesystems + #items.files > 0 and uv.getuid() == 0 and files.mkdir(node.run_dir) then
      wanted.locks = node.run_dir
   end
   for _, item in ipairs(items.filesystems) do
      table.insert(wanted.paths, { path = item.path, write = item.writable })
   end
   for _, item in ipairs(items.files) do
      table.insert(wanted.paths, { path = item.path })
   end
   local seen = {}
   for _, item in ipairs(items.processes) do
      if not seen[item.name] then
         seen[item.name] = true
         table.insert(wanted.processes, item.name)
      end
   end
   if #items.leftovers > 0 and node.quiet ~= false and not node.lock then
      wanted.users = math.huge
      for _, item in ipairs(items.leftovers) do
         wanted.users = math.min(wanted.users, item.min_uid or verdict.FIRST_USER)
      end
   end
   wanted.clock = #items.clock > 0
   if #wanted.paths + #wanted.processes == 0 and not wanted.users and not wanted.clock then
      return {}
   end
   local why = node.give_up and node.give_up()
   if why or wanted.seconds < LEAST_S then
      return {}, "state: not looked at, " .. (why and "as " .. why or "the deadline is too near")
   end
   local ok, state, missing = pcall(function()
      return require("syscheck_native").state(wanted)
   end)
   if not ok then
      return {}, tostring(state):match("^[^\n]*")
   end
   return state, missing
end

-- A unit's own group of processes: it is there while one of them lives. systemctl is asked for what has none: it takes
-- 10 ms, and most services are well.
local function is_alive(root, unit)
   for _, place in ipairs({ "/sys/fs/cgroup", "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified" }) do
      local group = ("%s%s/system.slice/%s/"):format(root, place, unit)
      local events = files.read(group .. "cgroup.events", 256)
      if events and events:find("populated 1", 1, true) or not events and files.line(group .. "cgroup.procs") then
         return true
      end
   end
   return false
end

-- @param until_s when the check has to be over (uv.hrtime)
local function services(node, items, until_s)
   local states, ask = {}, {}
   for _, item in ipairs(items) do
      local unit = item.name:find("%.%l+$") and item.name or item.name .. ".service"
      if is_alive(node.root, unit) then
         states[item.name] = "active"
      else
         ask[#ask + 1] = { item.name, unit }
      end
   end
   if #ask == 0 or until_s - uv.hrtime() / 1e9 < SYSTEMCTL_S then
      return states
   end
   local args = { "is-active", "--" }
   for i, one in ipairs(ask) do
      args[2 + i] = one[2]
   end
   local answer = process.run("systemctl", args, { timeout_ms = SYSTEMCTL_S * 1000, max_output = 65536 })
   local i = 0
   for state in (answer and not answer.timed_out and answer.out or ""):gmatch("(%l[%l-]*)\n") do
      i = i + 1
      if ask[i] then
         states[ask[i][1]] = state
      end
   end
   return states
end

-- @param name of a device, or one and its port; "infiniband": the fastest of those in use
local function port_of(from, name)
   local best
   for _, port in ipairs(link.ports(from)) do
      if port.unit == name or port.unit:match("^(.*)/") == name or name == "infiniband" then
         local state = from:line(port.dir .. "state") or "?"
         local one = { up = state:find("ACTIVE", 1, true) ~= nil, state = state:match("%u+") or state,
            rate = tonumber((from:line(port.dir .. "rate") or ""):match("^[%d.]+")) }
         if not best or one.up and (not best.up or (one.rate or 0) > (best.rate or 0)) then
            best = one
         end
         if name ~= "infiniband" then
            return one
         end
      end
   end
   return best
end

-- InfiniBand ports by their device, else network devices.
local function links(from, items)
   local out = {}
   for _, item in ipairs(items) do
      local dir = "/sys/class/net/" .. item.name .. "/"
      local state = not item.name:find("/", 1, true) and from:line(dir .. "operstate")
      out[item.name] = port_of(from, item.name) or state and { state = state,
         -- Virtual ones do not know whether they are up.
         up = state == "up" or state == "unknown" and from:number(dir .. "carrier") == 1,
         rate = (function(mbit)
            return mbit and mbit > 0 and mbit / 1000 or nil
         end)(from:number(dir .. "speed")) } or nil
   end
   return out
end

-- Of PCI's classes (pci_ids.h): display, 3D, processing accelerators; InfiniBand; Ethernet; NVMe.
local KINDS = { ["0x0300"] = "gpu", ["0x0302"] = "gpu", ["0x0380"] = "gpu", ["0x1200"] = "gpu",
   ["0x0207"] = "infiniband", ["0x0200"] = "ethernet", ["0x0108"] = "nvme" }
local PCI = "/sys/bus/pci/devices"

local function pcie(from)
   local out = {}
   for _, address in ipairs(from:list(PCI, "^[%x:.]+$")) do
      local dir = ("%s/%s/"):format(PCI, address)
      local kind = KINDS[(from:line(dir .. "class") or ""):sub(1, 6)]
      -- A board's own graphics and what a virtual machine is given have no link.
      local width = kind and from:number(dir .. "current_link_width")
      if width and width > 0 then
         out[#out + 1] = { kind = kind, address = address, width = width,
            max_width = from:number(dir .. "max_link_width"),
            speed = tonumber((from:line(dir .. "current_link_speed") or ""):match("^[%d.]+")) }
      end
   end
   return out
end

local function load_of(from)
   local one, five, fifteen = (from:line("/proc/loadavg") or ""):match("^([%d.]+) ([%d.]+) ([%d.]+)")
   return { one = tonumber(one), five = tonumber(five), fifteen = tonumber(fifteen) }
end

local function memory_of(root)
   local text, out = "\n" .. (files.read(root .. "/proc/meminfo", 8192) or ""), {}
   for key, field in pairs({ free_gib = "MemAvailable", swap_gib = "SwapTotal", swap_free_gib = "SwapFree" }) do
      local kb = tonumber(text:match("\n" .. field .. ":%s+(%d+) kB"))
      out[key] = kb and kb * 1024 / GIB
   end
   return out
end

local function dmi_of(from, items)
   local out = {}
   for _, item in ipairs(items) do
      out[item.name] = from:line("/sys/class/dmi/id/" .. item.name)
   end
   return out
end

local function look(node, items, left_s)
   local until_s = uv.hrtime() / 1e9 + left_s
   local from, state, why = machine.at(node.root), ask_state(node, items, left_s)
   local facts = { now = os.time(), uid = uids(node.root), filesystems = {}, files = {}, why = why }
   local paths = state.paths or {}
   local n = #items.filesystems
   table.move(paths, 1, n, 1, facts.filesystems)
   table.move(paths, n + 1, n + #items.files, 1, facts.files)
   facts.processes, facts.users = state.processes, state.users
   facts.clock = state.synchronised ~= nil and state or nil
   facts.services = services(node, items.services, until_s)
   facts.links = #items.links > 0 and links(from, items.links)
   facts.pcie = #items.pcie > 0 and pcie(from)
   facts.load = #items.load > 0 and load_of(from)
   facts.memory = #items.memory > 0 and memory_of(node.root)
   facts.dmi = dmi_of(from, items.dmi)
   return facts
end

--- Looks, and rates.
-- @param node from node.open; `quiet`: false where jobs may run here, whose processes are no leftovers
-- @param left_s seconds until the check's deadline
-- @param keys { [key of the policy] = true }: only these; nil: all
-- @return list of entries, see verdict/site.lua; why of a part nothing is known, or nil
function site.look(node, left_s, keys)
   local items = {}
   for _, key in ipairs(schema.SITE) do
      items[key] = (not keys or keys[key]) and verdict.items(node.policy, key, node.name) or {}
   end
   local facts = look(node, items, left_s)
   local out = {}
   for _, key in ipairs(schema.SITE) do
      local entries = verdict.rate(key, items[key], facts)
      table.move(entries, 1, #entries, #out + 1, out)
   end
   return out, facts.why
end

return site
