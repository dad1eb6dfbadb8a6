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
   io.stderr:write("syscheck: ", printable.plain(text:format(...), MAX_LINE), "\n")
   return code
end

--- The same, as one command's own: "syscheck: ship: ...", with the code for what failed.
-- @return function(text, ...) -> FAILED
function report.of(name)
   return function(text, ...)
      return report.error(report.FAILED, name .. ": " .. text, ...)
   end
end

return report
