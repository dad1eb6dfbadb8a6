--- One line an event on stderr; the prolog's shell appends stderr to the log.
local printable = require("syscheck.lib.printable")
local time = require("syscheck.lib.time")

local log = {}

local context = ""

--- What every line names: node, stage, job.
function log.context(text)
   context = text
end

function log.write(severity, format, ...)
   local text = select("#", ...) > 0 and format:format(...) or format
   -- One event, one line; a user's bytes must not forge another.
   text = text:gsub("[%c\127]", printable.hex)
   -- One string: each argument would be a write of its own, and another stage's between them.
   io.stderr:write(("%s %s%s: %s\n"):format(time.show(os.time()), context, severity, text))
end

function log.error(...)
   log.write("error", ...)
end

function log.info(...)
   log.write("info", ...)
end

return log
