--- syscheck why ID: was this job slow, and which node condition goes with it.
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local why = require("syscheck.questions.why.logic")
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

local function answer_of(db, runs)
   local run = runs[#runs]
   local input, name, comparable, more = data.read(db, run)
   local answer = why.analyse(input)
   answer.run, answer.runs, answer.name, answer.comparable, answer.more = run, #runs, name, comparable, more
   answer.recorded, answer.nodes = #input.rows, math.tointeger(run.nodes) or #input.rows
   return answer
end

--- @param args also only_user = name: of nobody else's jobs
function command.run(args)
   return question.run(args, function(db)
      local runs = jobid.runs(db, args.id, args.only_user)
      if #runs == 0 then
         return report.error(report.NOT_FOUND, "%s", jobid.not_found(db, args.id, args.only_user))
      end
      return question.print(args, why_show, answer_of(db, runs))
   end)
end

return command
