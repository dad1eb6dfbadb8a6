--- syscheck drains: which nodes left service, why, and when they came back; and which would have.
local drains_data = require("syscheck.questions.drains.read")
local drains_show = require("syscheck.questions.drains.show")
local output = require("syscheck.lib.output")
local question = require("syscheck.cmd.common.question")

local command = {}

function command.add_to(parser)
   local one = parser:command("drains", "List which nodes left service, why, and when they came back; and which would "
      .. "have: in mode observe, beyond the storm guard's cap, or where Slurm did not answer.")
      :summary("List which nodes left service, or would have.")
   question.add_since(one, "30d", "What happened")
   output.add_options(one)
   question.add_store(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

function command.run(args)
   return question.run(args, function(db)
      local answer = drains_data.read(db, args.since)
      answer.since, answer.to = args.since, os.time()
      return question.print(args, drains_show, answer)
   end)
end

return command
