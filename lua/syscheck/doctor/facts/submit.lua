--- A site's job_submit.lua by its text, which is never run here: is it ours, does it load ours, does it fail without?
-- Pure.
local slurmconf = require("syscheck.slurm.conf")

local submit = {}

-- What loads ours: by its path, or without it.
local MODULE = "syscheck.policy.submission"

-- Without comments at the beginning of a line.
local function code_of(text)
   return (("\n" .. text):gsub("\n%s*%-%-%[(=*)%[.-%]%1%]", "\n"):gsub("\n%s*%-%-[^\n]*", "\n"))
end

--- Whether slurmctld loads it.
-- @param conf parsed slurm.conf
function submit.is_listed(conf)
   return slurmconf.has(conf, "JobSubmitPlugins", "lua") or slurmconf.has(conf, "JobSubmitPlugins", "job_submit/lua")
end

--- Whether it is ours, copied, of any version.
function submit.is_copy(text)
   return text:find("-- job_submit.lua: refuses --syscheck levels", 1, true) == 1
end

--- Whether it has to do with us.
function submit.names_us(text)
   return code_of(text):find("syscheck", 1, true) ~= nil
end

--- Whether it calls ours: by setup's lines, or by hand.
-- @param file share/syscheck/job_submit.lua
function submit.is_chained(text, file)
   local code = code_of(text)
   return code:find(MODULE, 1, true) ~= nil or code:find(file, 1, true) ~= nil
end

--- Whether slurmctld could not load it without ours: a line that names it and no pcall, as setup's and the documents'
-- have. A copy of ours goes on without its modules, and says so in slurmctld's log.
function submit.needs(text, file)
   local copy = submit.is_copy(text)
   for line in code_of(text):gsub("%-%-[^\n]*", ""):gmatch("[^\n]+") do
      local named = line:find(file, 1, true) or not copy and line:find(MODULE, 1, true)
      if named and not line:find("%f[%w_]pcall%s*%(") then
         return true
      end
   end
   return false
end

return submit
