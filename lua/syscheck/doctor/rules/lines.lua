--- Where in slurm.conf a finding is, and what the line would be. Pure.
local slurmconf = require("syscheck.slurm.conf")

local lines = {}

--- A finding at a key's line, or at the file where the key would stand.
function lines.at(facts, key, finding)
   local entry = facts.conf.values[key:lower()]
   finding.file, finding.line = entry and entry.file or facts.conf.file, entry and entry.line
   return finding
end

--- The line that a list would be with one more item.
function lines.with(facts, key, item)
   local value = (slurmconf.value(facts.conf, key) or ""):gsub(",+$", "")
   local quote = value:find("%s") and '"' or ""
   return ("%s=%s%s%s%s"):format(key, quote, value ~= "" and value .. "," or "", item, quote)
end

return lines
