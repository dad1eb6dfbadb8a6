--- Explanations that are another job's on a shared node. Pure.
local causes = require("syscheck.questions.why.causes")
local odds = require("syscheck.questions.why.odds")

local neighbours = {}

local NEIGHBOUR, UNSEEN = 0.6, 0.02 -- of a shared node's trouble, so much is another job's; and what nothing counts
local SHARED = { daemon = true, storage = true, shortage = true, clock = true }
-- Of slow storage of a shared node another job's part to its own, by how much of the node's bytes were not this job's:
-- a job that harms another one by its I/O does much, and so do many that harm nobody.
local NEIGHBOURS_IO, MUCH_IO, LITTLE, MUCH = 1.7, 0.3, 0.1, 2.4

-- How much likelier another job's I/O is the trouble than this node's own storage.
local function neighbours_io(row)
   local moved = { cgroup = 0, delta = 0 } -- by the job; by the node
   for _, field in ipairs(causes.WORK) do
      local by = field.path[1]
      moved[by] = moved[by] + math.max(0, row[field.name] or 0)
   end
   if (row.cg_read_bytes or -1) < 0 or moved.delta <= 0 then
      return NEIGHBOURS_IO
   end
   return NEIGHBOURS_IO * (moved.cgroup < (1 - MUCH_IO) * moved.delta and MUCH or LITTLE)
end

-- Whichever way it harms, it is another job: all that speaks for one on a node is one explanation's, the heaviest.
local function join(list)
   local heaviest, sum = {}, {}
   for _, h in ipairs(list) do
      if h.group == "neighbour" and h.node then
         local most = heaviest[h.node]
         heaviest[h.node] = (not most or h.weight > most.weight) and h or most
         sum[h.node] = (sum[h.node] or 0) + h.weight
      end
   end
   for i = #list, 1, -1 do
      local h = list[i]
      if h.group == "neighbour" and h.node and heaviest[h.node] ~= h then
         table.remove(list, i)
      end
   end
   for node, h in pairs(heaviest) do
      h.weight = sum[node]
   end
end

-- What a node is set to is no job's doing.
local function is_set(e)
   return e.item.kind == "rate"
end

--- Somebody else's job on a shared node, where the trouble may be that job's.
function neighbours.split(state, list)
   local shared = {}
   for _, row in ipairs(state.rows) do
      shared[row.node] = row.others and row.others[1] and row or nil
   end
   -- What it takes is not always counted (memory's bandwidth, caches).
   for node in pairs(shared) do
      local fit = odds.fit(state.e, state.y, odds.OWN_MOST, odds.OWN_WIDE, 1)
      list[#list + 1] = { where = #state.rows > 1 and "node" or "only", node = node, group = "neighbour", evidence = {},
         prior = UNSEEN, rarity = 1, fit = fit, most = odds.OWN_MOST, weight = UNSEEN / #state.rows * fit,
         others = shared[node].others }
   end
   for i = 1, #list do
      local h = list[i]
      if h.group == "neighbour" then
         h.others = shared[h.node] and shared[h.node].others
      elseif h.node and shared[h.node] and SHARED[h.group] and not (h.best and (h.best.check or is_set(h.best))) then
         local copy = {}
         for k, v in pairs(h) do
            copy[k] = v
         end
         copy.through, copy.group, copy.others = h.group, "neighbour", shared[h.node].others
         -- What slowed runs that had the node for themselves, too, was no other job.
         local another = 1 / math.max(1, math.min(h.alone or 1, h.harm or 1))
         if h.group == "storage" then
            -- What all share is no neighbour's.
            copy.weight = another * neighbours_io(shared[h.node]) * (h.weight - (h.of_all or 0))
         else
            -- What checks find, too, is less likely one.
            another = another * NEIGHBOUR
            copy.weight = another / (another + (1 - NEIGHBOUR) * math.max(1, h.checked)) * h.weight
            h.weight = h.weight - copy.weight
         end
         list[#list + 1] = copy
      end
   end
   join(list)
end

return neighbours
