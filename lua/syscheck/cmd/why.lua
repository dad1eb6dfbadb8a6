--- syscheck why ID: was this job slow, and which node condition goes with it.
local answer = require("syscheck.questions.why.answer")
local jobid = require("syscheck.questions.jobid")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local why_show = require("syscheck.questions.why.show")

local command = {}

function command.add_to(parser)
   local one = parser:command("why", "Tell whether a job was slow against like runs, and which condition of a node "
      .. "goes with it: against its peers, like runs and its class, ranked, with effect and probability.")
      :summary("Tell why a job was slow, if it was.")
   jobid.add_argument(one)
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

--- @param args also only_user = name: of nobody else's jobs
function command.run(args)
   return question.run(args, function(db)
      local runs = jobid.runs(db, args.id, args.only_user)
      if #runs == 0 then
         return report.error(report.NOT_FOUND, "%s", jobid.not_found(db, args.id, args.only_user))
      end
      return question.print(args, why_show, answer.of(db, runs))
   end)
end

return command
