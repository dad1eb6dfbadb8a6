--- A group by its name, as this host knows it.
local process = require("syscheck.lib.process")

local ASK_MS = 10000

-- @param name of the policy or the command line
-- @return its id; or nil and why: there is none, or nobody says
return function(name)
   local got, err = process.run("getent", { "group", "--", name }, { timeout_ms = ASK_MS })
   if not got or got.timed_out or got.stuck then
      return nil, err or ("getent does not answer within %d s"):format(ASK_MS // 1000)
   end
   local found, id = (got.code == 0 and got.out or ""):match("^([^:]*):[^:]*:(%d+):")
   -- Digits are a number to getent first; other names some directories know in other cases, too.
   if not id or (name:match("^%d+$") and found ~= name) then
      return nil, "no such group"
   end
   return tonumber(id)
end
