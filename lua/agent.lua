-- The agent: what the shell entries of prolog, epilog and health program run, bounded by
-- them.
--   agent.lua prolog | epilog | health
-- Exit code 99 of `prolog` means: node bad, confirmed. Any other, a crash too,
-- lets the job start.
package.path = "@DATADIR@/lua/?.lua"
package.cpath = (";" .. package.cpath):gsub(";[^/;][^;]*", ""):sub(2) -- no "./?.so"

local function main(stage)
   if stage == "prolog" then
      return require("syscheck.prolog").main(os.getenv)
   elseif stage == "epilog" then
      require("syscheck.epilog").main(os.getenv)
      return 0
   elseif stage == "health" then
      require("syscheck.health").main(os.getenv)
      return 0
   end
   error("usage: agent.lua prolog | epilog | health", 0)
end

local ok, result = xpcall(main, debug.traceback, arg[1])
if not ok then
   io.stderr:write(os.date("!%Y-%m-%dT%H:%M:%SZ "), "agent: error: ", (tostring(result):gsub("\n%s*", " | ")), "\n")
   os.exit(1)
end
os.exit(result)
