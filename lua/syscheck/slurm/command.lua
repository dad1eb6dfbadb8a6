--- Calls of Slurm's commands, with a deadline.
local process = require("syscheck.lib.process")

local command = {}

--- Another of Slurm's commands: it is where scontrol is, whatever that one is called.
-- @param scontrol of the policy
function command.beside(scontrol, name)
   return (scontrol:match("^.*/") or "") .. name
end

--- Calls one of Slurm's commands. Times come back in UTC.
-- @param program a name or path
-- @param args list of strings
-- @param timeout_s seconds
-- @param options { max_output = bytes, conf = slurm.conf instead of SLURM_CONF's }, or nil
-- @return what it printed; or nil, why, and true when the program could not be started
function command.run(program, args, timeout_s, options)
   local conf = options and options.conf or os.getenv("SLURM_CONF")
   local name = program:match("[^/]+$") or program
   local answer, err = process.run(program, args, {
      timeout_ms = timeout_s * 1000,
      max_output = options and options.max_output,
      env = { "TZ=UTC", conf and "SLURM_CONF=" .. conf or nil },
   })
   if not answer then
      return nil, err, true
   elseif answer.timed_out then
      return nil, ("%s %s: no answer within %.0f s"):format(name, args[1], timeout_s)
   elseif answer.too_long then
      return nil, ("%s %s: an answer without end"):format(name, args[1])
   elseif answer.code ~= 0 or answer.signal ~= 0 then
      return nil, ("%s %s: %s %s: %s"):format(name, args[1], answer.signal ~= 0 and "ended by signal" or "exit code",
         tostring(answer.signal ~= 0 and answer.signal or answer.code), (answer.err:gsub("%s+", " "):sub(1, 300)))
   end
   return answer.out
end

return command
