--- syscheck job ID: what each node measured before a job and went through in it, against
-- its peers.
local json = require("cjson").new()
local detail = require("syscheck.verdict.detail")
local job_export = require("syscheck.questions.job.export")
local job_records = require("syscheck.questions.job.records")
local job_show = require("syscheck.questions.job.show")
local job_store = require("syscheck.questions.job.read")
local jobid = require("syscheck.questions.jobid")
local page = require("syscheck.cmd.common.page")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local spool = require("syscheck.cmd.common.spool")
local why_answer = require("syscheck.questions.why.answer")

local job = {}

json.encode_invalid_numbers("null")

function job.add_to(parser)
   local command = parser:command("job", "Show what each node measured before a job and went through during it, "
      .. "against its peers: of the store, or where there is none of the spool directories.")
      :summary("Show a job's checks and counters, per node.")
   jobid.add_argument(command)
   question.add_options(command)
   spool.add_options(command)
end

-- Of one node its curve and matrix; of several they are in its JSON, and in `syscheck node`.
local function as_table(answer, ...)
   local rows = #answer == 1 and answer[1].rows or {}
   local sections = #rows == 1 and detail.of_kept(rows[1].check or {}) or {}
   return job_show.table(answer, ...) .. (sections[1] and "\n\n" .. page.sections(sections, page.form()) or "")
end

local SHOW = { table = as_table, json = job_export.json, csv = job_export.csv }

local function print_answer(args, answer)
   answer.id = args.id.text
   return question.print(args, SHOW, answer, function(runs)
      return require("syscheck.questions.job.page")(runs)
   end)
end

local function from_store(args, policy)
   return question.run(args, function(db)
      local runs = jobid.runs(db, args.id, args.only_user)
      if #runs == 0 then
         return report.error(report.NOT_FOUND, "%s", jobid.not_found(db, args.id, args.only_user))
      end
      local answer = job_store.answer(db, runs, args.only_user ~= nil)
      answer.why = why_answer.blame(db, runs, args.only_user ~= nil)
      answer.times = args.html and why_answer.times(db, runs) or nil
      return print_answer(args, answer)
   end, policy)
end

local function from_spool(args)
   local host = spool.node(args)
   local found, jobs = {}, {}
   -- A decoded line costs a hundred times a search in it.
   local needle = ("%d"):format(args.id.id)
   local records, where = spool.records(args, host, function(line)
      return line:find(needle, 1, true) ~= nil
   end)
   for record in records do
      if type(record.job) == "table" and jobid.matches(args.id, record.job) then
         found[#found + 1], jobs[#jobs + 1] = record, record.job
      end
   end
   local believed = jobid.believed(args.id, jobs)
   for i = believed and #found or 0, 1, -1 do
      if not believed[found[i].job.id] then
         table.remove(found, i)
      end
   end
   if #found == 0 then
      return report.error(report.NOT_FOUND, "job %s: no record in %s", args.id.text, where)
   elseif args.json then
      print(json.encode(found))
      return 0
   end
   return print_answer(args, job_records.answer(found))
end

--- @param args also only_user = name: of nobody else's jobs, in the store that the policy names
function job.run(args)
   if #args.spool > 0 and args.store then
      return report.error(report.USAGE, "--spool and --store exclude each other")
   elseif #args.spool > 0 then
      return from_spool(args)
   end
   local policy = spool.node(args).policy
   local _, named = question.where(args, policy)
   if named or args.only_user or question.has_default() then
      return from_store(args, policy)
   end
   return from_spool(args)
end

return job
