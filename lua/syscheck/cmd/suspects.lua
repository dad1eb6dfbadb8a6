--- syscheck suspects: nodes whose jobs were slow for a time, and the condition that goes with it.
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local suspects_data = require("syscheck.questions.suspects.read")
local suspects_show = require("syscheck.questions.suspects.show")
local time = require("syscheck.lib.time")

local command = {}

function command.add_to(parser)
   local one = parser:command("suspects", "List nodes, leaf switches and racks whose jobs were slow for a time, "
      .. "more than chance explains, with the days and what goes with it.")
   one:summary("List nodes whose jobs were slow for a time.")
   question.add_since(one, "30d", "Jobs that began")
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

function command.run(args)
   return question.run(args, function(db)
      local answer, totals = suspects_data.find(db, args.since)
      if totals.runs == 0 then
         local newest = db:row("SELECT MAX(r.begin_s) FROM run r WHERE r.user IS NOT NULL AND r.name IS NOT NULL "
            .. "AND r.nodes IS NOT NULL")
         return report.error(report.NOT_FOUND, "no job began since %s%s", time.show(args.since),
            newest and newest[1] and "; the newest: " .. time.show(newest[1]) or "")
      end
      answer.totals, answer.since, answer.to = totals, args.since, os.time()
      return question.print(args, suspects_show, answer, function(of)
         return require("syscheck.questions.suspects.page")(of)
      end)
   end)
end

return command
