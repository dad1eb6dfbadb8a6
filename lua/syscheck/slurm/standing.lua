--- A node's standing with slurmctld: whether our drain still holds, and its end.
local command = require("syscheck.slurm.command")

local standing = {}

local CALL_TIMEOUT_S = 5

-- A state with any other flag (DOWN, MAINTENANCE, REBOOT, POWERED_DOWN, ...), or with a
-- mark behind it (* for not responding), is not ours to change.
local MAY_RESUME = { IDLE = true, DRAIN = true, CLOUD = true, DYNAMIC_NORM = true, DYNAMIC_FUTURE = true,
   RESERVED = true, PLANNED = true }

--- Whether a node is out of service for exactly this reason.
-- @param reason as it was set, with prefix
-- @return "drained": it is, and nothing else is the matter; "wait": it is, and not idle;
--   "other": it is in service, or somebody else's reason stands there; nil and why when
--   that cannot be told
function standing.stands(program, node, reason)
   local shown, err = command.run(program, { "show", "node", "--oneliner", node }, CALL_TIMEOUT_S)
   if not shown then
      return nil, err
   end
   local state = (" " .. shown):match(" State=(%S+)")
   if not state or (" " .. shown):match(" NodeName=(%S+)") ~= node then
      return nil, "scontrol show: not a node: " .. shown:sub(1, 100)
   end
   local from, to = shown:find(" Reason=" .. reason, 1, true)
   -- scontrol adds who and when, and there may be a comment behind.
   if not from or not (shown:find("^ %[[^%]]*%]", to + 1) or shown:find("^%s*$", to + 1))
      or not ("+" .. state):find("+DRAIN", 1, true) then
      return "other"
   end
   for flag in state:gmatch("[^+]+") do
      if not MAY_RESUME[flag] then
         return "wait"
      end
   end
   return "drained"
end

--- Puts a node back into service, see stands() first.
-- @return true, or nil and why
function standing.resume(program, node)
   local out, err = command.run(program, { "update", "nodename=" .. node, "state=resume" }, CALL_TIMEOUT_S)
   return out and true, err
end

return standing
