--- Errors of the command line: one line on standard error, and an exit code.
local printable = require("syscheck.lib.printable")

local report = {}

-- Exit codes, see docs/records.md. FAILED: a check failed, or not all was done.
report.FAILED, report.NOT_FOUND, report.USAGE, report.UNKNOWN = 1, 1, 2, 3

local MAX_LINE = 1000

--- Prints one line; what a terminal obeys is replaced.
-- @param text format
-- @return code
function report.error(code, text, ...)
   io.stderr:write("syscheck: " .. printable.plain(text:format(...), MAX_LINE) .. "\n") -- one write, one line
   return code
end

--- Ends the command with such a line: raised, and printed by report.run.
function report.stop(code, text, ...)
   error({ code = code, text = text:format(...) }, 0)
end

--- Runs an entry's main function.
-- @return its exit code; where it raised an error, that one's
function report.run(main)
   local ok, code = xpcall(main, debug.traceback)
   if ok then
      return code
   elseif type(code) == "table" then
      -- From report.stop, or of a store that cannot be read, or went away.
      return report.error(code.code or report.UNKNOWN, "%s", code.text)
   end
   io.stderr:write("syscheck: internal error: " .. tostring(code) .. "\n")
   return report.UNKNOWN
end

--- report.error, as one command's own: "syscheck: ship: ...", with the code for what failed.
-- @return function(text, ...) -> FAILED
function report.of(name)
   return function(text, ...)
      return report.error(report.FAILED, name .. ": " .. text, ...)
   end
end

return report
