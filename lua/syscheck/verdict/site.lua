--- Rates what a site has looked at: file systems, services, links, own checks. Pure; a part of the verdict.
-- Each item of the policy gives one entry among a check's metrics, called KEY:NAME.
local hostlist = require("syscheck.lib.hostlist")
local printable = require("syscheck.lib.printable")

local site = {}

-- What is no fault of the node for sure is only told, unless the policy wants more.
local WARNS = { clock = true, leftovers = true, load = true, memory = true }

local MAX_HOSTS = 65536 -- as Slurm takes of one list

--- Whether an item is for this node.
-- @param list of the policy: a hostlist in which * stands for any characters, ? for one; after ! those that it is not
--   for; nil: every node
function site.is_for(list, node)
   if not list then
      return true
   end
   local negated, names = list:match("^(!?)(.*)$")
   for _, name in ipairs(hostlist.expand(names, MAX_HOSTS) or {}) do
      if name == node or name:find("[*?]")
         and node:find("^" .. name:gsub("[%.%-]", "%%%0"):gsub("%*", ".*"):gsub("%?", ".") .. "$") then
         return negated == ""
      end
   end
   return negated ~= ""
end

--- Items of a list of the policy that are for this node.
function site.items(p, key, node)
   local out = {}
   for _, item in ipairs(p[key] or {}) do
      item = type(item) == "string" and { name = item } or item
      if item.action ~= "off" and site.is_for(item.nodes, node) then
         out[#out + 1] = item
      end
   end
   return out
end

--- An entry for a check's metrics.
-- @param rule of the policy: action, mode
-- @param found { bad = text } | { unknown = text } | { good = text }; value, limit, op where it is a number's
function site.entry(key, name, rule, found)
   local action = rule.action or WARNS[key] and "warn" or "fail"
   local status = found.bad and action or found.unknown and "unknown" or found.unrated and "unrated" or "pass"
   return { name = key .. ":" .. printable.plain(name, 200), status = status, value = found.value,
      limit = found.limit, op = found.op, source = found.limit and "policy" or nil, rule_mode = rule.mode,
      text = printable.plain(found.bad or found.unknown or found.good or found.unrated, 300) }
end

local function number(value)
   return ("%.4g"):format(value)
end

-- A number below its least.
-- @param words "%s GiB free"
local function below(value, least, words)
   if not least or not value or value >= least then
      return nil
   end
   return { bad = (words .. " < %s (policy)"):format(number(value), number(least)), value = value, limit = least,
      op = "<" }
end

local function above(value, most, words)
   if not most or not value or value <= most then
      return nil
   end
   return { bad = (words .. " > %s (policy)"):format(number(value), number(most)), value = value, limit = most,
      op = ">" }
end

local function is_one_of(value, right)
   for _, one in ipairs(type(right) == "table" and right or { right }) do
      if value == one then
         return true
      end
   end
   return false
end

local function list_text(right)
   return type(right) == "table" and table.concat(right, " or ") or right
end

-- Shorter is a server's hiccup, which both looks of one check would see.
local HUNG_S = 10

-- What keeps a path from being looked at; nil: it was.
-- @param fact one of lua/native/state.h's paths
local function no_answer(fact)
   if not fact or fact.state == "failed" then
      local why = fact and fact.error and (", its lock: %s"):format(tostring(fact.error)) or ""
      return { unknown = "could not be looked at" .. why }
   elseif fact.state == "hangs" then
      -- Slow, or gone: what waits there tells the next check.
      return { unknown = "does not answer" }
   elseif fact.state == "hung before" then
      local hung_s = type(fact.hung_s) == "number" and fact.hung_s or 0
      local text = ("does not answer, for %.0f s"):format(hung_s)
      return hung_s < HUNG_S and { unknown = text } or { bad = text }
   end
end

local RATERS = {}

-- One option of several, each wanted: "vers=3".
local function missing_option(options, wanted)
   for _, one in ipairs(type(wanted) == "table" and wanted or wanted and { wanted } or {}) do
      if not ("," .. (options or "") .. ","):find("," .. one .. ",", 1, true) then
         return one
      end
   end
end

function RATERS.filesystems(item, facts, i)
   local f = facts.filesystems[i]
   local found = no_answer(f)
   if found then
      return found
   elseif f.error then
      return f.absent and { bad = "no such directory" } or { bad = f.error }
   elseif item.mount ~= false and not f.type then
      return { bad = "not mounted" }
   elseif item.type and not is_one_of(f.type, item.type) then
      return { bad = ("is of type %s, expected %s"):format(tostring(f.type), list_text(item.type)) }
   elseif item.source and f.source ~= item.source then
      return { bad = ("is %s, expected %s"):format(tostring(f.source), item.source) }
   end
   local option = missing_option(f.options, item.option)
   if option then
      return { bad = ("mounted without %s"):format(option) }
   elseif item.writable and (f.read_only or f.writable == false) then
      return { bad = f.write_error and "cannot be written to: " .. f.write_error or "read-only" }
   elseif item.writable == false and not f.read_only then
      return { bad = "can be written to" }
   end
   return below(f.free_pct, item.free_pct, "%s %% free") or below(f.free_gib, item.free_gib, "%s GiB free")
      or below(f.inodes_pct, item.inodes_pct, "%s %% of inodes free") or below(f.inodes, item.inodes, "%s inodes free")
      or { good = "good" }
end

function RATERS.files(item, facts, i)
   local f = facts.files[i]
   local found = no_answer(f)
   if found then
      return found
   elseif item.type == "absent" then
      return f.absent and { good = "absent" } or { bad = "is there" }
   elseif f.error then
      return { bad = f.absent and "absent" or f.error }
   elseif item.type and f.kind ~= item.type then
      return { bad = ("is a %s, expected a %s"):format(tostring(f.kind), item.type) }
   elseif item.mode and f.mode ~= tonumber(item.mode, 8) then
      return { bad = ("mode 0%o, expected %s"):format(math.floor(f.mode), item.mode) }
   elseif item.owner and facts.uid(item.owner) and f.uid ~= facts.uid(item.owner) then
      return { bad = ("owner %d, expected %s"):format(f.uid, item.owner) }
   elseif item.group and f.gid ~= item.group then
      return { bad = ("group %d, expected %d"):format(f.gid, item.group) }
   end
   return below(f.size, item.min_size, "%s bytes") or above(facts.now - f.modified, item.newer_s, "%s s old")
      or { good = "good" }
end

function RATERS.services(item, facts)
   local state = facts.services[item.name]
   -- "unknown" of older ones is that they could not be asked.
   return (state == "active" or state == "reloading") and { good = state }
      or (not state or state == "unknown") and { unknown = "systemd does not say" }
      or { bad = "is " .. state }
end

function RATERS.processes(item, facts)
   local uid = item.user and facts.uid(item.user)
   if not facts.processes then
      return { unknown = "could not be looked at" }
   elseif item.user and not uid then
      return { unknown = ("user %s is not in /etc/passwd: give its number"):format(item.user) }
   end
   local n = 0
   for _, one in ipairs(facts.processes) do
      n = n + ((one.name == item.name and (not uid or one.uid == uid)) and one.count or 0)
   end
   local of = item.user and (" of user %s"):format(item.user) or ""
   local min, max = item.min or not item.max and 1 or 0, item.max
   if n < min then
      return { bad = n == 0 and ("not running%s"):format(of) or ("%d running%s, expected %d"):format(n, of, min),
         value = n, limit = min, op = "<" }
   elseif max and n > max then
      return { bad = ("%d running%s, expected %d at most"):format(n, of, max), value = n, limit = max, op = ">" }
   end
   return { good = ("%d running"):format(n) }
end

function RATERS.links(item, facts)
   local link = facts.links[item.name]
   if not link then
      return { bad = "absent" }
   elseif not link.up then
      return { bad = "is " .. tostring(link.state) }
   elseif item.rate and not link.rate then
      return { unknown = "its rate is not known" }
   end
   return below(link.rate, item.rate, "%s Gbit/s") or { good = "up" }
end

function RATERS.pcie(item, facts)
   local n = 0
   for _, device in ipairs(facts.pcie) do
      if device.kind == item.kind then
         n = n + 1
         local width, speed = item.width or device.max_width, item.speed
         local found = width and below(device.width, width, device.address .. " width x%s")
            or below(device.speed, speed, device.address .. " at %s GT/s")
         if found then
            return found
         end
      end
   end
   return below(n, item.count or 1, "%s found") or { good = ("%d at full width"):format(n) }
end

function RATERS.clock(item, facts)
   local clock = facts.clock
   if not clock then
      return { unknown = "the kernel does not say" }
   elseif not clock.synchronised then
      return { bad = "not synchronised" }
   end
   return above(clock.max_error_ms, item.max_error_ms, "may be wrong by %s ms") or { good = "synchronised" }
end

function RATERS.leftovers(item, facts)
   if not facts.users then
      return facts.why and { unknown = "could not be looked at" } or { unrated = "not looked at: jobs may run here" }
   end
   local except, n, most = {}, 0, nil
   for _, user in ipairs(item.except or {}) do
      except[facts.uid(user) or user] = true
   end
   for _, one in ipairs(facts.users) do
      if not except[one.uid] and one.uid >= (item.min_uid or site.FIRST_USER) then
         n, most = n + one.count, (not most or one.count > most.count) and one or most
      end
   end
   return n > 0 and { bad = ("%d process%s of users in no job (most: %s, user %d, process %d)"):format(n,
      n == 1 and "" or "es", tostring(most.comm), most.uid, most.pid), value = n, limit = 0, op = ">" }
      or { good = "none" }
end

function RATERS.load(item, facts)
   local load = facts.load
   return above(load.one, item.one, "%s in the last minute") or above(load.five, item.five, "%s in 5 minutes")
      or above(load.fifteen, item.fifteen, "%s in 15 minutes") or { good = "within limits" }
end

function RATERS.memory(item, facts)
   local memory = facts.memory
   return below(memory.free_gib, item.free_gib, "%s GiB available")
      or below(memory.swap_gib, item.swap_gib, "%s GiB of swap")
      or below(memory.swap_free_gib, item.swap_free_gib, "%s GiB of swap free") or { good = "enough" }
end

function RATERS.dmi(item, facts)
   local value = facts.dmi[item.name]
   if not value then
      return { unknown = "the firmware does not say" }
   end
   return is_one_of(value, item.value) and { good = value }
      or { bad = ("%s, expected %s"):format(value, list_text(item.value)) }
end

--- Users' accounts begin here, where the policy does not say.
site.FIRST_USER = 1000

-- What an item is called, and what its sentences begin with.
local NAMES = {
   filesystems = { "path" }, files = { "path" }, services = { "name", "service " }, processes = { "name", "process " },
   links = { "name", "link " }, pcie = { "kind", "PCIe " }, dmi = { "name", "" },
   clock = { nil, "clock" }, leftovers = { nil, "leftovers" }, load = { nil, "load" }, memory = { nil, "memory" },
}

--- Rates the items of one key.
-- @param items of site.items
-- @param facts of measure/site.lua
-- @return list of entries
function site.rate(key, items, facts)
   local out, seen = {}, {}
   for i, item in ipairs(items) do
      local field, words = NAMES[key][1], NAMES[key][2] or ""
      local what = field and item[field] or ""
      local found = RATERS[key](item, facts, i)
      for _, kind in ipairs({ "bad", "unknown", "good", "unrated" }) do
         found[kind] = found[kind] and ("%s%s: %s"):format(words, what, found[kind])
      end
      -- Of one name, several conditions may be asked for.
      seen[what] = (seen[what] or 0) + 1
      local name = (what ~= "" and what or "node") .. (seen[what] > 1 and ("#%d"):format(seen[what]) or "")
      out[i] = site.entry(key, name, item, found)
   end
   return out
end

return site
