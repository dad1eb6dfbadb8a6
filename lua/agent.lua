#!@LUA@ -E
-- The agent: what the shell entries of prolog, epilog and health program run, bounded by
-- them.
--   agent.lua prolog | epilog | health
--   agent.lua ended STAGE WHY   records that a stage's agent ended otherwise than it should
--   agent.lua compile           once, at installation: modules are then read as bytecode
--   agent.lua stepend           what was out of line so far, for the job's output; run by the plugin
--   agent.lua sample            a job's memory traffic every so many seconds; likewise, as long as the job runs
-- Exit code 99 of `prolog` means: node bad, confirmed. Any other, a crash too,
-- lets the job start.
if arg[1] ~= "sample" then
   collectgarbage("incremental", 1000) -- it ends before much has come together
end
package.path = "@DATADIR@/lua/?.lua"
package.cpath = "@LIBDIR@/lua/?.so" .. (";" .. package.cpath):gsub(";[^/;][^;]*", "") -- no "./?.so"
pcall(function()
   require("syscheck.lib.compiled").use("@LIBDIR@/modules.luac")
end)

local function main(stage, ...)
   if stage == "prolog" then
      return require("syscheck.prolog").main(os.getenv)
   elseif stage == "epilog" then
      require("syscheck.epilog").main(os.getenv)
      return 0
   elseif stage == "health" then
      require("syscheck.health").main(os.getenv)
      return 0
   elseif stage == "stepend" then
      require("syscheck.stepend").main(os.getenv)
      return 0
   elseif stage == "sample" then
      require("syscheck.sample").main(os.getenv)
      return 0
   elseif stage == "compile" then
      require("syscheck.lib.compile").write("@LIBDIR@/modules.luac", "@DATADIR@/lua")
      return 0
   elseif stage == "ended" then
      local name, why = ...
      -- The epilog's work is its record, and is done once.
      local function again()
         require("syscheck.epilog").main(os.getenv, nil, why)
      end
      if name ~= "epilog" or not pcall(again) then
         require("syscheck.ended").main(os.getenv, name, why)
      end
      return 0
   end
   error("usage: agent.lua prolog | epilog | health | stepend | sample | compile | ended STAGE WHY", 0)
end

local ok, result = xpcall(main, debug.traceback, table.unpack(arg))
if not ok then
   io.stderr:write(os.date("!%Y-%m-%dT%H:%M:%SZ ") .. "agent: error: " .. tostring(result):gsub("\n%s*", " | ") .. "\n")
   os.exit(1)
end
os.exit(result)
