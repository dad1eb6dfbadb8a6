--- Nodes next to each other by name, as those of a chassis, a rack or a leaf switch are. What they have in common each
-- of them alone may show too little of. Pure.
local hostlist = require("syscheck.lib.hostlist")
local sorted = require("syscheck.lib.sorted")

local racks = {}

racks.CLEAR = 0.15 -- mean probability of a condition in the runs looked at from which `why` sees it

-- From a chassis to a rack; each begins half its width after the one before, so that most of what lies anywhere is in
-- one of them.
local WIDTHS = { 6, 12, 24, 48 }
racks.LEAST = 3 -- members
local LOOKED = 5 -- least runs in which a rack's trouble is looked for
local OTHERWISE = 0.5 -- probability of something else from which a run says nothing of it

-- Of each cluster those whose names differ in numbers alone, in order.
local function rows(nodes)
   local of = {}
   for _, node in ipairs(nodes) do
      local key = ("%s %s"):format(node.cluster, (node.name:gsub("%d+", "#")))
      of[key] = of[key] or {}
      table.insert(of[key], { id = node.id, cluster = node.cluster, key = hostlist.order(node.name) })
   end
   local out = {}
   for i, key in ipairs(sorted(of)) do
      out[i] = of[key]
      table.sort(out[i], function(a, b)
         return a.key < b.key or a.key == b.key and a.id < b.id
      end)
   end
   return out
end

--- @param nodes list of { id, cluster, name }
-- @return list of { cluster, members = list of ids, width, row = list of all ids that are so named, from, to = places
--   of the members in it }, in order
function racks.of(nodes)
   local out = {}
   for _, row in ipairs(rows(nodes)) do
      local ids = {}
      for k, node in ipairs(row) do
         ids[k] = node.id
      end
      for i, width in ipairs(WIDTHS) do
         -- Where the width before has had all of them in one, this one has no more.
         local last = (i == 1 or #row > WIDTHS[i - 1]) and math.max(1, #row - width // 2) or 0
         for from = 1, last, width // 2 do
            local to = math.min(#row, from + width - 1)
            out[#out + 1] = to - from + 1 >= racks.LEAST and { members = table.move(ids, from, to, 1, {}),
               width = width, cluster = row[1].cluster, row = ids, from = from, to = to } or nil
         end
      end
   end
   return out
end

--- Their members' runs, each once.
-- @param of_node by node: its runs
function racks.runs(rack, of_node)
   local seen, out = {}, {}
   for _, node in ipairs(rack.members) do
      for _, run in ipairs(of_node[node] or {}) do
         if not seen[run] then
            seen[run] = true
            out[#out + 1] = run
         end
      end
   end
   return out
end

--- Adds to a node's or a rack's conditions what a run had: of several the one that may have cost it most.
-- @param groups by group: list of { run, share, item }
-- @return that one, if it is this
function racks.add(groups, group, run, share, item)
   local events = groups[group] or { by = {} }
   groups[group] = events
   local one = events.by[run]
   if not one then
      one = { run = run, share = 0 }
      events.by[run] = one
      events[#events + 1] = one
   end
   if share > one.share then
      one.share, one.item = share, item
      return one
   end
end

--- Their members' conditions.
-- @param of by node and group: list of { run, share, item }
-- @param wanted set of groups
-- @return by group the same, each with most, the member's that it is
function racks.conditions(rack, of, wanted)
   local out = {}
   for _, node in ipairs(rack.members) do
      for group in pairs(of[node] and wanted or {}) do
         for _, one in ipairs(of[node][group] or {}) do
            local all = racks.add(out, group, one.run, one.share, one.item)
            if all then
               all.most = one
            end
         end
      end
   end
   return out
end

--- Whether an explanation is of one of some nodes, alone or with others: of what all nodes of a run had, too, but
-- storage that they share.
-- @param h { group, node, nodes, all }
-- @param set of nodes
function racks.is_of(h, set)
   if set[h.node] or h.all and h.group ~= "storage" then
      return true
   end
   for _, node in ipairs(h.nodes or {}) do
      if set[node] then
         return true
      end
   end
   return false
end

--- Whether `why` sees a rack's trouble in runs of its nodes. One that it explains by a node that is a suspect itself,
-- by one of another rack, another job's work or more of the job's own says nothing of it.
-- @param runs list of what it says of each: list of { group, node, nodes, all, probability, text }, the likeliest
--   first
-- @param known set of nodes that are suspects themselves
-- @return { group, told = 0 (nodes that show it themselves), first = the likeliest of these }, or nil
function racks.shown(runs, group, members, known)
   local its, count, sum, first = {}, 0, 0, nil
   for _, node in ipairs(members) do
      its[node] = not known[node]
   end
   for _, run in ipairs(runs) do
      local shown, other, best = 0, 0, nil
      for _, h in ipairs(run) do
         if h.group == group and racks.is_of(h, its) then
            shown, best = shown + h.probability, best or h.text and h or nil
         elseif h.group == "input" or h.node or h.nodes or h.all then
            other = other + h.probability
         end
      end
      if other <= OTHERWISE then
         count, sum = count + 1, sum + shown
         first = best and (not first or best.probability > first.probability) and best or first
      end
   end
   return first and count >= LOOKED and sum >= racks.CLEAR * count and { group = group, told = 0, first = first } or nil
end

return racks
