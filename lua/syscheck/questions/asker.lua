--- What ask (lua/ask.lua) lets through: it runs with more rights than who typed it. Pure.
local jobid = require("syscheck.questions.jobid")

local asker = {}

local COMMANDS = { job = true, why = true }
local FORMATS = { ["--json"] = "json", ["--csv"] = "csv" }
local USAGE = "want: ask job ID [--json | --csv], or: ask why ID [--json | --csv]"

--- @param words of the command line
-- @return what the command's run() takes; or nil and one line
function asker.parse(words)
   local format = FORMATS[words[3]]
   if not COMMANDS[words[1]] or not words[2] or #words > 3 or (words[3] and not format) then
      return nil, USAGE
   end
   local id, err = jobid.parse(words[2])
   if not id then
      return nil, err
   end
   -- Nothing from the command line but these: no store, no spool, no policy.
   return { command = words[1], id = id, spool = {}, json = format == "json" or nil, csv = format == "csv" or nil }
end

--- Who called sudo, by what sudo itself sets.
-- @param get function(name) -> environment variable
-- @return uid as digits; or nil and one line
function asker.uid(get)
   local uid = get("SUDO_UID")
   if not uid or not uid:match("^%d+$") or #uid > 10 then
      return nil, "runs by sudo only (docs/operate.md); who may read the store uses syscheck itself"
   end
   return uid
end

return asker
