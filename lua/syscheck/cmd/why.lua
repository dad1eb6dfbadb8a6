--- syscheck why ID: was this job slow, and which node condition goes with it.
local printable = require("syscheck.lib.printable")
local causes = require("syscheck.questions.why.causes")
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local text = require("syscheck.questions.why.words")
local time = require("syscheck.lib.time")
local why = require("syscheck.questions.why.logic")

local command = {}

function command.add_to(parser)
   local one = parser:command("why", "Tell whether a job was slow against like runs, and which condition of a node "
      .. "goes with it: against its peers, like runs and its class, ranked, with effect and probability.")
      :summary("Tell why a job was slow, if it was.")
   jobid.add_argument(one)
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

local function json_of(answer, run, job, name, conclusion)
   local list, work = output.list(), output.list(answer.work)
   for i, c in ipairs(answer.conditions) do
      local evidence = output.list()
      for k, e in ipairs(c.evidence) do
         evidence[k] = { name = e.name, label = e.label, unit = e.unit, when = e.when, checks = e.checks,
            value = e.value, peers = e.peers, like = e.like, class = e.class, times = e.times,
            cost_s = e.cost_s, p = e.p, compared = e.compared }
      end
      list[i] = { where = c.where, node = c.node and name(c.node), cause = c.group, text = causes.GROUPS[c.group],
         p = c.p, p_corrected = c.p_corrected, cost_s = c.cost_s, accounts = c.accounts, out_of_line = c.out_of_line,
         blamed = c.blamed, evidence = evidence }
   end
   return output.json({ v = 1, job = { id = run.job_id, label = job.label, user = run.user, name = run.name,
      nodes = job.nodes, seen = run.seen, cluster = run.cluster, partition = run.partition,
      begin = time.show(run.begin_s), ["end"] = time.show(run.end_s) }, elapsed_s = answer.elapsed_s,
      like = { count = answer.slow.count, normal = answer.slow.normal, wanted = answer.slow.wanted,
         rule = "same cluster, user, job name and node count; the nearest 30", median_s = answer.slow.median_s,
         low = answer.slow.low, high = answer.slow.high, ratio = answer.slow.ratio, p = answer.slow.p,
         p_rank = answer.slow.p_rank, lost_s = answer.slow.lost_s, verdict = answer.slow.verdict },
      looked = answer.looked, conditions = list, work = work, conclusion = conclusion })
end

local CSV = { "job", "node", "cause", "name", "unit", "value", "peers", "like", "class", "times", "cost_s", "accounts",
   "p", "p_corrected", "blamed", "where" }

local function csv_of(answer, run, name)
   local lines = { output.csv(CSV, #CSV) }
   for _, c in ipairs(answer.conditions) do
      for _, e in ipairs(c.evidence) do
         lines[#lines + 1] = output.csv({ run.job_id, c.node and name(c.node), c.group, e.name, e.unit, e.value,
            e.peers, e.like, e.class, e.times, e.cost_s, c.accounts, e.p, c.p_corrected, c.blamed, c.where }, #CSV)
      end
   end
   return table.concat(lines)
end

local function rule(answer, comparable, more)
   local slow = answer.slow
   local lines = { comparable and ("like runs: %d (same cluster, user, job name and node count; at most the "
      .. "nearest 30); conditions are compared with the %d that took at most %.2fx the median"):format(slow.count,
         slow.normal, why.NORMAL)
      or "like runs: none, as the job's user, name or node count is not known" }
   lines[2] = ("%s values looked at; P: how likely chance alone shows one like it among them; COST_s: time it "
      .. "may have cost, at most; OF_LOSS_%%: of %s"):format(text.count(answer.looked),
      slow.lost_s and ("%.0f s lost"):format(slow.lost_s) or "the time that 1.15x would have lost")
   lines[3] = more > 0 and ("%d more nodes were not looked at"):format(more) or nil
   return table.concat(lines, "\n")
end

local function print_answer(db, run, args, runs)
   local input, raw_name, comparable, more = data.read(db, run)
   local answer = why.analyse(input)
   local job = { label = jobid.label(run), nodes = math.tointeger(run.nodes) or #input.rows }
   local function name(node)
      return printable.safe(raw_name(node))
   end
   local conclusion = text.conclusion(answer, job, name)
   local format = output.format(args)
   if format == "json" then
      print(json_of(answer, run, job, raw_name, conclusion))
      return 0
   elseif format == "csv" then
      io.stdout:write(csv_of(answer, run, raw_name))
      return 0
   end
   print(conclusion .. ".")
   print()
   print(("job %s  user %s  name %s  nodes %d (%d recorded)  %s to %s  %s s"):format(job.label, output.name(run.user),
      output.name(run.name), job.nodes, #input.rows, time.show(run.begin_s), time.show(run.end_s),
      answer.elapsed_s and ("%.0f"):format(answer.elapsed_s) or "-"))
   if runs > 1 then
      print(("the last of its %d runs"):format(runs))
   end
   print(rule(answer, comparable, more))
   local conditions = text.table(answer, job, name, output.has_color())
   if conditions then
      print()
      print(conditions)
   end
   return 0
end

--- @param args also only_user = name: of nobody else's jobs
function command.run(args)
   local policy, code = question.policy(args)
   return policy and question.run(args, policy, function(db)
      local runs = jobid.runs(db, args.id, args.only_user)
      if #runs == 0 then
         return report.error(report.NOT_FOUND, "%s", jobid.not_found(db, args.id, args.only_user))
      end
      return print_answer(db, runs[#runs], args, #runs)
   end) or code
end

return command
