--- What Slurm says of nodes: who could run a job.
local command = require("syscheck.slurm.command")

local states = {}

local CALL_S = 8
local MAX_BYTES = 16777216

--- Asks for the states of nodes.
-- @param option of sinfo: "--nodes=n[1-4]", "--partition=main"
-- @return { node's name = state as sinfo prints it: "idle", "drained*" }; nil: Slurm does not answer
function states.ask(scontrol, option)
   local text = command.run(command.beside(scontrol, "sinfo"), { "--noheader", "--Node", option, "--format=%N %T" },
      CALL_S, { max_output = MAX_BYTES })
   local of = {}
   for name, state in (text or ""):gmatch("(%S+) (%S+)") do
      of[name] = state
   end
   return text and of
end

--- What a state means for who wants to run there.
-- @return "idle"; "completing": idle soon; "out": of service, or not answering; "busy": all others
function states.kind(state)
   if state == "idle" then
      return "idle"
   elseif state:find("*", 1, true) or state:find("^drain") or state:find("^down") or state:find("^fail") then
      return "out"
   end
   return state:find("^compl") and "completing" or "busy"
end

return states
