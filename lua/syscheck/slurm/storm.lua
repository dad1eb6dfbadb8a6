--- The storm guard: how many nodes of a partition syscheck has drained within the
-- window, and whether one more may stay drained. Pure; why the cap holds when hundreds
-- of nodes ask in the same second is proven in docs/decisions.md.
local printable = require("syscheck.lib.printable")
local time = require("syscheck.lib.time")

local storm = {}

--- What the reasons of our drains begin with.
storm.PREFIX = "syscheck:"

--- And, after that, those of `syscheck fabric`: a check of the node, which does not see the network, leaves them alone.
storm.FABRIC = "fabric: "

-- As short as what slurmdbd keeps of a reason (tinytext: 255 bytes).
local MAX_REASON = 250

--- A reason that Slurm shows as it was given: printable ASCII on one line, without
-- double quotes (scontrol takes them off), prefixed, at most 250 bytes.
function storm.reason(text)
   text = text:gsub('"', "'"):gsub("[\xC2-\xF4][\x80-\xBF]+", "?"):gsub("[^ -~]", "?")
   -- Slurm puts " [who@when]" behind it: a process' name in it must not look like that.
   text = text:gsub("@", "?")
   return printable.trimmed((storm.PREFIX .. " " .. printable.trimmed(text)):sub(1, MAX_REASON))
end

--- Epoch seconds of scontrol's time under TZ=UTC, "2026-11-21T08:23:34"; nil when it is none.
function storm.time(text)
   return time.parse(text .. "Z")
end

--- Reads `scontrol --all show nodes --oneliner`.
-- @return list of { name, state, partitions = list, reason, time = epoch seconds of the
--   reason, drained (or failing: an admin takes it out), down, reboots = is to be rebooted, ours =
--   drained by syscheck, fabric = by `syscheck fabric` }, and the same by name
function storm.parse(text)
   local nodes, by_name, lists = {}, {}, {}
   for line in text:gmatch("[^\n]+") do
      local name, state = line:match("^NodeName=(%S+)"), line:match(" State=(%S+)")
      if name and state and not by_name[name] then
         local joined = line:match(" Partitions=(%S+)") or ""
         if not lists[joined] then
            lists[joined] = {}
            for partition in joined:gmatch("[^,]+") do
               table.insert(lists[joined], partition)
            end
            -- A node in none: all such nodes together.
            lists[joined][1] = lists[joined][1] or ""
         end
         local node = { name = name, state = state, partitions = lists[joined] }
         local _, from = line:find(" Reason=", 1, true)
         if from then
            local rest = line:sub(from + 1)
            local reason, at = rest:match("^(.-) %[[^%[%]@]*@([%dT:-]+)%]")
            node.reason, node.time = reason or printable.trimmed(rest), at and storm.time(at)
         end
         local drained = state:find("DRAIN", 1, true) ~= nil
         node.drained = drained or state:find("FAIL", 1, true) ~= nil
         node.down = state:find("DOWN", 1, true) ~= nil
         -- An admin asked for it, and may have said why.
         node.reboots = state:find("REBOOT", 1, true) ~= nil
         node.ours = drained and node.reason ~= nil and node.reason:sub(1, #storm.PREFIX) == storm.PREFIX
         node.fabric = node.ours and node.reason:sub(#storm.PREFIX + 2):sub(1, #storm.FABRIC) == storm.FABRIC
         nodes[#nodes + 1], by_name[name] = node, node
      end
   end
   return nodes, by_name
end

--- How many nodes of a partition may be drained: the share, and always one.
function storm.cap(share, count)
   return math.max(1, math.floor(share * count + 1e-9))
end

-- The order in which nodes count: by the controller's second, then by name. A node whose
-- second is not known counts first, so that it is never forgotten.
local function before(a, b)
   if a.time ~= b.time then
      return not a.time or (b.time ~= nil and a.time < b.time)
   end
   return a.name < b.name
end

--- Whether one node may be, or stay, drained.
-- @param nodes from storm.parse
-- @param me one of them. Drained by syscheck: counted are those before it in the order,
--   within the window that ends with its own second. Else: all of the window
-- @param share max_drained of the policy
-- @param window seconds
-- @param now epoch seconds, for a node that is not drained
-- @return the first of its partitions that has no room, as { name, total, cap, taken };
--   nil when all have
function storm.full(nodes, me, share, window, now)
   local of, order = {}, {}
   for i, name in ipairs(me.partitions) do
      of[name] = { name = name, total = 0, taken = 0 }
      order[i] = of[name]
   end
   local since = (me.ours and me.time or now) - window
   for _, node in ipairs(nodes) do
      local counts = node.ours and node ~= me and (not node.time or node.time > since)
         and (not me.ours or before(node, me))
      for _, name in ipairs(node.partitions) do
         local partition = of[name]
         if partition then
            partition.total = partition.total + 1
            partition.taken = partition.taken + (counts and 1 or 0)
         end
      end
   end
   for _, partition in ipairs(order) do
      partition.cap = storm.cap(share, partition.total)
      if partition.taken >= partition.cap then
         return partition
      end
   end
end

--- Which node stays in service, and why: for the log.
-- @param drained from drain.node, { reason, full, error }
function storm.sentence(drained)
   local full, why = drained.full, {}
   why[1] = full and ("partition %s: %d of %d nodes drained by syscheck, at most %d"):format(full.name, full.taken,
      full.total, full.cap)
   why[#why + 1] = drained.error
   return ("%s (%s)"):format(drained.reason, #why > 0 and table.concat(why, "; ") or "?")
end

return storm
