--- syscheck why ID: was this job slow, and which node condition goes with it.
local answer = require("syscheck.questions.why.answer")
local job_store = require("syscheck.questions.job.read")
local jobid = require("syscheck.questions.jobid")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local why_show = require("syscheck.questions.why.show")

local command = {}

function command.add_to(parser)
   local one = parser:command("why", "Tell whether a job was slow against like runs, and why: explanations, each as "
      .. "likely as all that is known makes it, and what was considered and dropped.")
      :summary("Tell why a job was slow, if it was.")
   jobid.add_argument(one)
   one:flag("--explain", "Show the whole reasoning: what each explanation is made of.")
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
      -- An answer makes much garbage, and then the process ends: a third less CPU for 40 MB at most.
      collectgarbage("incremental", 400, 400)
      local out = answer.of(db, runs, args.only_user ~= nil)
      out.explain = args.explain
      if args.html then
         out.times = answer.times(db, runs)
         out.rows = job_store.answer(db, { runs[#runs] }, args.only_user ~= nil)[1].rows
      end
      return question.print(args, why_show, out, function(of)
         of.conclusion, of.dropped = why_show.conclusion(of), why_show.dropped(of)
         return require("syscheck.questions.why.page")(of)
      end)
   end)
end

return command
