--- Job IDs as people type them, 4711, 123_4 (task of an array), 123+1 (component of a
-- heterogeneous job), and the runs in the store that are meant.
local printable = require("syscheck.lib.printable")

local jobid = {}

local MAX = 4294967295 -- Slurm's are 32 bits
local LONGEST = 32 -- two numbers need 21; ask takes what any user types
local FORMS = "4711, 123_4 (array task) or 123+1 (component of a heterogeneous job)"

local function number(digits)
   local n = #digits <= 10 and tonumber(digits)
   return n and n <= MAX and n or nil
end

--- @return { kind = "job" | "array" | "het", id, part = task or offset, text = as Slurm
--   writes it }; or nil and what would be right, without prefix
function jobid.parse(text)
   local id, mark, part = text:sub(1, LONGEST):match("^(%d+)([_+]?)(%d*)$")
   local n, p = id and #text <= LONGEST and number(id), part and part ~= "" and number(part) or nil
   if n and mark == "" and part == "" then
      return { kind = "job", id = n, text = ("%d"):format(n) }
   elseif n and p and mark ~= "" then
      return { kind = mark == "_" and "array" or "het", id = n, part = p, text = ("%d%s%d"):format(n, mark, p) }
   end
   local step = text:match("^(%d[%d_+]*)%.%w+$")
   return nil, ('job ID must be one like %s, not "%s"%s'):format(FORMS, printable.safe(text, 32),
      step and "; a step has no record of its own" or "")
end

--- Adds the argument; its value is what parse returns.
function jobid.add_argument(command)
   command:argument("id", "Job ID: " .. FORMS .. "."):args(1):convert(jobid.parse)
end

--- Whether the job of a record (its table `job`) is the one that is meant.
function jobid.matches(id, job)
   if id.kind == "job" then
      return job.id == id.id
   elseif id.kind == "array" then
      return job.array_job_id == id.id and job.array_task_id == id.part
   end
   return job.het_job_id == id.id and job.het_offset == id.part
end

--- Of what claims to be a task of an array, what the batch step says it of: arrays are batch jobs, and any other
-- step's array is what its user has set. All of it where no batch step's node is known.
-- @param list of tables with `batch`, true or 1, and the job's number: records' `job`, or rows of runs()
-- @return set of job numbers; nil: all
function jobid.believed(id, list)
   local known = {}
   for _, job in ipairs(id.kind == "array" and list or {}) do
      if job.batch == true or job.batch == 1 then
         known[job.job_id or job.id] = true
      end
   end
   return next(known) and known or nil
end

--- "4711", "123_4 (job 4711)", "123+1 (job 124)".
-- @param run a row of runs(), or the table `job` of a record
function jobid.label(run)
   local own = run.job_id or run.id
   if run.array_job_id and run.array_task_id then
      return ("%d_%d (job %d)"):format(run.array_job_id, run.array_task_id, own)
   elseif run.het_job_id and run.het_offset then
      return ("%d+%d (job %d)"):format(run.het_job_id, run.het_offset, own)
   end
   return ("%d"):format(own)
end

local WHERE = {
   job = "r.job_id = ?",
   array = "r.array_job_id = ? AND r.array_task_id = ?",
   het = "r.het_job_id = ? AND r.het_offset = ?",
}

-- Columns are always qualified: user and partition are reserved words of some databases.
-- Not joined: PostgreSQL would weigh the orders of six tables, which takes longer than to ask.
local function word(column)
   return ("(SELECT w.text FROM word w WHERE w.id = r.%s)"):format(column)
end
local RUNS = ([[SELECT r.id, r.job_id, r.restart, r.array_job_id, r.array_task_id, r.het_job_id, r.het_offset,
   r.nodes, r.seen, r.begin_s, r.end_s, r.batch, %s, %s, %s, %s, %s FROM run r WHERE ]]):format(word("cluster"),
   word("user"), word("name"), word("account"), word("partition"))

--- All runs of a job (a requeued job has several), in the order in which they ended: not of each is it known when it
-- began.
-- @param store from store.open
-- @param id from parse
-- @param only_user name: of nobody else's jobs
-- @return list of { key (of table run), job_id, restart, array_job_id, array_task_id, het_job_id,
--   het_offset, nodes, seen, begin_s, end_s, batch, cluster, user, name, account, partition }, as
--   far as known
function jobid.runs(store, id, only_user)
   local values = { id.id, id.part }
   local sql = RUNS .. WHERE[id.kind]
   if only_user then
      sql = sql .. " AND r.user = (SELECT w.id FROM word w WHERE w.text = ?)"
      values[#values + 1] = only_user
   end
   local list = {}
   for t in store:rows(sql .. " ORDER BY r.end_s, r.id", table.unpack(values)) do
      list[#list + 1] = { key = t[1], job_id = t[2], restart = t[3], array_job_id = t[4], array_task_id = t[5],
         het_job_id = t[6], het_offset = t[7], nodes = t[8], seen = t[9], begin_s = t[10], end_s = t[11],
         batch = t[12], cluster = t[13], user = t[14], name = t[15], account = t[16], partition = t[17] }
   end
   local believed, out = jobid.believed(id, list), {}
   for _, run in ipairs(list) do
      out[#out + 1] = (not believed or believed[run.job_id]) and run or nil
   end
   return out
end

--- Why there is no run: one line, without prefix.
function jobid.not_found(store, id, only_user)
   local text = ("job %s: no record%s"):format(id.text, only_user and " of such a job of yours" or "")
   local row = id.kind == "job" and not only_user and store:row(
      "SELECT count(*), min(r.array_task_id), max(r.array_task_id) FROM run r WHERE r.array_job_id = ?", id.id)
   if row and row[1] and row[1] > 0 and row[2] then
      return ("%s of this number; it is an array with tasks from %d_%d to %d_%d"):format(text, id.id, row[2], id.id,
         row[3])
   end
   return text .. "; records come to the store by syscheck ingest"
end

return jobid
