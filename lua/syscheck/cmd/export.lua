--- syscheck export prometheus: the fleet's metrics, from the store.
local uv = require("luv")
local data = require("syscheck.questions.prometheus.read")
local files = require("syscheck.lib.files")
local logic = require("syscheck.questions.prometheus.logic")
local printable = require("syscheck.lib.printable")
local prometheus = require("syscheck.lib.prometheus")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")

local command = {}

function command.add_to(parser)
   local c = parser:command("export", "Print what the store knows for other programs."):require_command(true)
      :command_target("format")
   local one = c:command("prometheus", "Metrics of the fleet for Prometheus' textfile collector: nodes by class and "
      .. "status, slow jobs and what they lost by cause, ingest lag, lost records.")
      :summary("Metrics of the fleet for Prometheus.")
   question.add_since(one, "1d", "Jobs that ended")
   one:option("--output", "File to write, as a whole or not at all (default: standard output)."):argname("FILE")
   question.add_store(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

-- A new file, renamed into place; what an export that was killed has left goes.
local function write(path, text)
   local stat = uv.fs_lstat(path)
   if stat and stat.type ~= "file" then -- a rename would take the place of /dev/null, too
      return nil, ("is a %s, not a file: %s"):format(stat.type, path)
   end
   local before = stat and files.read(path, 64)
   if before and not before:find("^# HELP syscheck_") then
      return nil, "exists, and is no file of syscheck's: " .. path
   end
   local ok, err = files.write(path, text)
   files.sweep(path)
   return ok, err
end

function command.run(args)
   return question.run(args, function(db)
      local text = prometheus.text(logic.families(data.read(db, os.time(), args.since)))
      if not args.output then
         local ok, err = io.stdout:write(text)
         if ok then
            ok, err = io.stdout:flush()
         end
         return ok and 0 or report.error(report.FAILED, "%s", err)
      end
      local ok, err = write(args.output, text)
      return ok and 0 or report.error(report.FAILED, "--output: %s", printable.plain(err, 300))
   end)
end

return command
