--- This node: its name, its directories, its policy, what it remembers between
-- jobs. Nothing here leaves the node.
local json = require("cjson.safe").new()
local uv = require("luv")
local baseline_file = require("syscheck.node.baseline_file")
local budget = require("syscheck.node.budget")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local paths = require("syscheck.lib.paths")
local policy_file = require("syscheck.node.policy_file")
local records = require("syscheck.spool.records")
local runs = require("syscheck.node.runs")
local hostlist = require("syscheck.slurm.hostlist")

json.decode_invalid_numbers(false)

local node = {}
node.__index = node

-- A job that holds no process here, and whose prolog began longer ago than any
-- prolog lasts, runs nothing.
local PROLOG_MAX_S = 120

--- Opens this node.
-- @param name node name from Slurm (checked here), or nil for the host's
-- @param options { policy = file, without_policy = a missing file means defaults and
--   is no problem, root = of a prepared tree instead of the machine's, copy = where a
--   copy of a good policy is kept }; nil: the agent, which keeps it in its state directory
-- @return node; its field `problems` lists what the checker itself suffered from, and
--   `doubtful` says that one of them leaves its verdicts open
function node.open(name, options)
   local file = options and options.policy or paths.policy
   local self = setmetatable({ problems = {}, root = options and options.root or "" }, node)
   self.name = hostlist.name(name) or hostlist.name((uv.os_gethostname():match("^[^.]*"))) or "unknown"
   local copy = options and options.copy or not (options and options.policy) and paths.state .. "/policy.good" or nil
   if options and options.without_policy and not uv.fs_stat(file) then
      file, copy = nil, nil
   end
   local err, sound
   self.policy, err, sound = policy_file.read(file, copy, not options or options.copy)
   if err then
      self[sound and "notice" or "problem"](self, "policy: " .. err)
   end
   for _, dir in ipairs({ "spool", "state", "run" }) do
      self[dir] = self:expand(self.policy[dir] or paths[dir])
   end
   self.lock = self.policy.lock and self:expand(self.policy.lock)
   local absent
   file = self:expand(self.policy.baseline or paths.baseline)
   self.baseline, err, absent = baseline_file.read(file)
   -- It decides over drains, as the policy does.
   if self.baseline then
      local trusted
      trusted, err = files.trusted(file)
      self.baseline = trusted and self.baseline or nil
   end
   if err and not absent then
      self:problem("baseline: " .. err)
   end
   return self
end

--- Puts the node's name for %n.
function node:expand(path)
   return (path:gsub("%%n", self.name))
end

--- What the checker suffered from, and leaves its verdict open: nothing drains.
function node:problem(text)
   self:notice(text)
   self.doubtful = true
end

--- The same, where the verdict stands all the same.
function node:notice(text)
   self.problems[#self.problems + 1] = text
end

function node:read_state(name)
   local path = self.state .. "/" .. name
   -- A FIFO would hold up every job.
   local stat = uv.fs_stat(path)
   local text = stat and stat.type == "file" and files.read(path)
   local value = text and json.decode(text)
   return type(value) == "table" and value or nil
end

--- @return true, or nil and why
function node:write_state(name, value)
   local path = self.state .. "/" .. name
   local ok, err = files.mkdir(path:match("^(.*)/"))
   if ok then
      ok, err = files.write(path, json.encode(value), 384) -- 0600
   end
   return ok, err
end

function node:forget_state(name)
   uv.fs_unlink(self.state .. "/" .. name)
end

local function begin_name(job_id)
   return ("begin/%d.json"):format(job_id)
end

--- Keeps what the epilog needs of a job's begin.
function node:write_begin(job_id, value)
   return self:write_state(begin_name(job_id), value)
end

function node:read_begin(job_id)
   return self:read_state(begin_name(job_id))
end

function node:forget_begin(job_id)
   self:forget_state(begin_name(job_id))
   runs.forget(self, job_id)
end

--- Keeps a check's record while Slurm is asked to drain: see settle.
function node:keep_record(job_id, snapshot, record)
   record.action = "drain"
   record.drain = { done = false, error = "the agent was ended before Slurm had answered" }
   local ok, err = self:write_begin(job_id, { snapshot = snapshot, record = record })
   if not ok then
      log.error("check record not kept: %s", err)
   end
end

--- Appends the record of a check whose agent was ended before it could.
-- @param begin from read_begin, or nil
function node:settle(begin)
   if begin and type(begin.record) == "table" then
      local ok, err = records.append(self.spool, begin.record, self.policy)
      if not ok then
         log.error("check record lost: %s", err)
      end
   end
end

--- Job IDs of the slurmstepd processes, by their titles: "slurmstepd: [4711.batch]". Only
-- root's: a title is its owner's text and, worse, his memory, which can make a read hang.
-- @return set
function node.jobs_with_steps()
   local jobs = {}
   for _, pid in ipairs(files.list("/proc")) do
      local stat = pid:match("^%d+$") and uv.fs_stat("/proc/" .. pid)
      local title = stat and stat.uid == 0 and (files.line("/proc/" .. pid .. "/comm") or ""):match("^slurmstepd")
         and files.read("/proc/" .. pid .. "/cmdline", 256)
      local id = title and title:match("^slurmstepd: %[(%d+)")
      if id then
         jobs[tonumber(id)] = true
      end
   end
   return jobs
end

--- Whether another job runs on this node, from what their prologs left here.
function node:has_other_jobs(job_id, boot_id)
   local steps
   for _, name in ipairs(files.list(self.state .. "/begin")) do
      local other = tonumber(name:match("^(%d+)%.json$"))
      if other and other ~= job_id then
         local begin = self:read_begin(other)
         if begin and begin.snapshot and begin.snapshot.boot_id ~= boot_id then
            self:settle(begin)
            self:forget_begin(other) -- the node went down under that job
         elseif begin then
            steps = steps or node.jobs_with_steps()
            local age = os.time() - (begin.snapshot and begin.snapshot.time or 0)
            if steps[other] or (age >= 0 and age < PROLOG_MAX_S) then
               return true
            end
         end
      end
   end
   return false
end

-- An epilog that never ran (slurmd was killed) leaves its job's begin here. A job of
-- several nodes may leave one of them without a step for hours, so not much sooner.
local STALE_S = 86400

--- What runs here, for the health program: it asks nobody.
-- @return text, or nil for an idle node
function node:busy(boot_id)
   local steps = node.jobs_with_steps()
   for _, name in ipairs(files.list(self.state .. "/begin")) do
      local id = tonumber(name:match("^(%d+)%.json$"))
      local begin = id and self:read_begin(id)
      local snapshot = type(begin) == "table" and type(begin.snapshot) == "table" and begin.snapshot or {}
      if begin and snapshot.boot_id ~= boot_id then
         self:settle(begin)
         self:forget_begin(id) -- the node went down under that job
      elseif begin then
         local time = type(snapshot.time) == "number" and snapshot.time or 0
         if steps[id] or math.abs(os.time() - time) < STALE_S then
            return "job " .. id
         end
      end
   end
   -- A job whose prolog left no begin. On a machine of several virtual nodes (they
   -- share a lock) a step without one is another node's.
   local id = not self.lock and next(steps)
   return id and "job " .. id or nil
end

--- Whether the job holds every CPU of this node.
-- @param cpus CPUs of the job here, or nil when it cannot be told (then not)
-- @param topology inventory of the node
function node:is_whole(cpus, topology)
   local all = self.policy.node_cpus
   if type(all) ~= "number" then
      all = topology[all]
   end
   return cpus ~= nil and all > 0 and cpus >= all
end

--- Seconds of the kernel's monotonic clock, which the ledger of the budget counts in.
function node.now_s()
   return uv.hrtime() / 1e9
end

--- The ledger of the budget, see budget.lua.
function node:read_ledger(boot_id)
   return budget.open(self:read_state("last_pass.json"), boot_id)
end

--- @return true, or nil and why
function node:write_ledger(ledger)
   return self:write_state("last_pass.json", ledger)
end

--- Enters into the ledger, and writes, what an unasked check may take, before it runs:
-- who cannot write that down does not measure, or he would measure before every job.
-- @return true, or nil and why
function node:pay_ahead(ledger, lvl, begin_s)
   local paid, seconds = budget.open(ledger, ledger.boot_id), 0
   for name, box in pairs(self.policy.kernels) do
      seconds = seconds + (box[lvl] or 0) * (name == "io" and #self.policy.io_paths or 1)
   end
   budget.charge(paid, self.policy.budget, begin_s, seconds)
   return self:write_ledger(paid)
end

local PASSED = { pass = true, warn = true, unrated = true }

--- Enters a check that ran, and writes.
-- @param ledger as it was before pay_ahead
-- @param asked true: somebody asked, the budget does not pay
-- @return true, or nil and why
function node:pay(ledger, result, begin_s, asked)
   budget.charge(ledger, self.policy.budget, begin_s, result.duration_s, asked)
   budget.done(ledger, PASSED[result.status], result.level, begin_s)
   return self:write_ledger(ledger)
end

--- Slurm tells a prolog where its configuration is, and the health program nothing.
-- @param conf of the prolog's environment, or nil to ask
-- @return what is known, or nil
function node:slurm_conf(conf)
   local known = self:read_state("slurm.json")
   known = known and known.conf
   if conf and conf ~= known then
      self:write_state("slurm.json", { conf = conf })
   end
   return conf or type(known) == "string" and known or nil
end

--- Path of what the SPANK plugin reads for a job, and of its "shown" marker.
function node:status_path(job_id)
   return ("%s/%d"):format(self.run, job_id)
end

return node
