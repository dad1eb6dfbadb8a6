--- What nodes' links are made for and run at, by the majority of the nodes that have a link of that name; and what
-- errors few of them counted meanwhile. Pure.
local hostlist = require("syscheck.lib.hostlist")
local printable = require("syscheck.lib.printable")

local inventory = {}

local LEAST = 3 -- nodes that have a link, to speak of most
local MOST_HAVE = 0.75 -- of all nodes, for a link that the others lack to be missed
local ERRORS_SHOWN = 8 -- nodes of a counter
local SHOWN = 200 -- bytes of a list of nodes

local function shown(value)
   return type(value) == "number" and ("%.4g"):format(value) or printable.safe(value, 64)
end

local function says(format)
   return function(value)
      return format:format(shown(value))
   end
end

-- What is compared. PCIe by what the slot lets through: fewer faster lanes are as good.
local LOOKS = {
   { name = "rate", of = function(l) return l.rate_gbps end, says = says("at %s Gbit/s") },
   { name = "duplex", of = function(l) return l.duplex end, says = says("%s duplex") },
   { name = "mtu", of = function(l) return l.mtu end, says = says("MTU %s") },
   { name = "pcie", of = function(l) return type(l.pcie_lanes) == "number" and type(l.pcie_gts) == "number"
      and l.pcie_lanes * l.pcie_gts end,
      says = says("PCIe of %s GT/s in all") },
   { name = "firmware", of = function(l) return l.firmware end, says = says("firmware %s") },
}

local function usable(value)
   return type(value) == "number" and value == value and value or type(value) == "string" and value or nil
end

-- The value of more than half of the nodes that say one.
-- @return value, how many have it, how many say one; nil where there is none
local function majority(values)
   local votes, n, most = {}, 0, nil
   for _, value in pairs(values) do
      n = n + 1
      votes[value] = (votes[value] or 0) + 1
      most = (not most or votes[value] > votes[most]) and value or most
   end
   if n >= LEAST and votes[most] > n / 2 then
      return most, votes[most], n
   end
end

-- link's name -> node -> link
local function by_link(names, about)
   local of, order = {}, {}
   for _, node in ipairs(names) do
      for _, link in ipairs(about[node] and about[node].links or {}) do
         local name = type(link) == "table" and type(link.name) == "string" and link.name or nil
         if name and not of[name] then
            of[name], order[#order + 1] = {}, name
         end
         if name then
            of[name][node] = link
         end
      end
   end
   table.sort(order)
   return of, order
end

-- Errors that few nodes counted: what half of them did is the network's, or no error. Of each counter those with most.
local function add_errors(names, about, say)
   local of, order = {}, {}
   for _, node in ipairs(names) do
      for _, one in ipairs(about[node] and about[node].errors or {}) do
         local key = one.link .. " " .. one.counter
         if not of[key] then
            of[key], order[#order + 1] = {}, key
         end
         table.insert(of[key], { node = node, link = one.link, counter = one.counter, count = one.count })
      end
   end
   table.sort(order)
   for _, key in ipairs(order) do
      local list = of[key]
      table.sort(list, function(a, b)
         return a.count > b.count
      end)
      for k = 1, 2 * #list < #names and math.min(#list, ERRORS_SHOWN) or 0 do
         local one = list[k]
         say(one.link, one.counter, { one.node }, ("counted %.0f %s meanwhile"):format(one.count,
            printable.safe(one.counter, 64)))
      end
   end
end

--- Links that are unlike most.
-- @param names list of nodes
-- @param about { node's name = { links = list of { name, rate_gbps, duplex, mtu, pcie_lanes, pcie_gts, firmware },
--   errors = list of { link, counter, count } } }
-- @return list of { nodes = names, link, what = "rate", "duplex", "mtu", "pcie", "firmware", "missing" or a counter of
--   errors, text }; text says what they have, and what most: "eth0 at 1 Gbit/s, 8 of 9 at 10 Gbit/s"
function inventory.unlike(names, about)
   local of, order = by_link(names, about)
   local out = {}
   local function say(link, what, nodes, text)
      out[#out + 1] = { nodes = nodes, link = link, what = what,
         text = ("%s %s"):format(printable.safe(link, 64), text) }
   end
   for _, link in ipairs(order) do
      for _, look in ipairs(LOOKS) do
         local values, groups, seen = {}, {}, {}
         for node, one in pairs(of[link]) do
            values[node] = usable(look.of(one))
         end
         local most, n, all = majority(values)
         for _, node in ipairs(most and names or {}) do
            local value = values[node]
            if value and value ~= most then
               if not seen[value] then
                  seen[value] = { value = value, nodes = {} }
                  groups[#groups + 1] = seen[value]
               end
               table.insert(seen[value].nodes, node)
            end
         end
         for _, group in ipairs(groups) do
            say(link, look.name, group.nodes, ("%s, %d of %d %s"):format(look.says(group.value), n, all,
               look.says(most)))
         end
      end
      local have, without = 0, {}
      for _, node in ipairs(names) do
         have = have + (of[link][node] and 1 or 0)
         without[#without + 1] = about[node] and not of[link][node] and node or nil
      end
      if #without > 0 and have >= math.max(LEAST, MOST_HAVE * #names) then
         say(link, "missing", without, ("not in use, %d of %d have it"):format(have, #names))
      end
   end
   add_errors(names, about, say)
   return out
end

--- As a sentence: "n5: eth0 at 1 Gbit/s, 8 of 9 at 10 Gbit/s".
function inventory.words(one)
   return ("%s: %s"):format(printable.safe(hostlist.fold(one.nodes), SHOWN), one.text)
end

return inventory
