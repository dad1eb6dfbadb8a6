--- This node: its name, its directories, its policy, the files it keeps between jobs.
local json = require("cjson.safe").new()
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local baseline_file = require("syscheck.node.baseline_file")
local claim = lazy.require("syscheck.node.claim")
local files = require("syscheck.lib.files")
local hostlist = require("syscheck.lib.hostlist")
local log = require("syscheck.lib.log")
local paths = require("syscheck.lib.paths")
local policy_file = require("syscheck.node.policy_file")
local process = require("syscheck.lib.process")
local records = lazy.require("syscheck.spool.records")
local slurmconf = lazy.require("syscheck.slurm.conf")

local MAX_CONF = 33554432 -- as slurm.conf and what it includes may have in all

json.decode_invalid_numbers(false)

local node = {}
node.__index = node

--- In place of a file's digest: the defaults, no baseline.
node.NO_FILE = "none"

-- A file's own word on its age, as a record has it.
local function text_of(value)
   return type(value) == "string" and #value <= 40 and value or nil
end

--- Opens this node.
-- @param name node name from Slurm (checked here), or nil for the host's
-- @param options { policy = file, without_policy = a missing file means defaults and
--   is no problem, root = of a prepared tree instead of the machine's, copy = where a
--   copy of a good policy is kept }; nil: the agent, which keeps it in its state directory
-- @return node; its field `problems` lists what went wrong in the checker itself, and
--   `inconclusive` says that one of them leaves its verdicts open; `policy_id` and `baseline_id`: which ones are in use
function node.open(name, options)
   local file = options and options.policy or paths.policy
   local self = setmetatable({ problems = {}, root = options and options.root or "" }, node)
   self.name = hostlist.name(name) or hostlist.name((uv.os_gethostname():match("^[^.]*"))) or "unknown"
   local copy = options and options.copy or not (options and options.policy) and paths.state .. "/policy.good" or nil
   if options and options.without_policy and not uv.fs_stat(file) then
      file, copy = nil, nil
   end
   local err, sound, digest
   self.policy, err, sound, digest = policy_file.read(file, copy, not options or options.copy)
   self.policy_id = { hash = digest or node.NO_FILE, version = self.policy.version }
   if err then
      self[sound and "notice" or "problem"](self, "policy: " .. err)
   end
   for field, key in pairs({ spool = "spool", state = "state", run_dir = "run" }) do
      self[field] = self:expand(self.policy[key] or paths[key])
   end
   self.lock = self.policy.lock and self:expand(self.policy.lock)
   local absent
   file = self:expand(self.policy.baseline or paths.baseline)
   self.baseline, err, absent, digest = baseline_file.read(file)
   -- It decides over drains, as the policy does.
   if self.baseline then
      local trusted
      trusted, err = files.trusted(file)
      self.baseline = trusted and self.baseline or nil
   end
   if err and not absent then
      self:problem("baseline: " .. err)
   end
   self.baseline_id = self.baseline and { hash = digest, time = text_of(self.baseline.time) } or { hash = node.NO_FILE }
   return self
end

--- Puts the node's name for %n.
function node:expand(path)
   return (path:gsub("%%n", self.name))
end

--- Notes what went wrong in the checker itself and leaves its verdict open: nothing drains.
function node:problem(text)
   self:notice(text)
   self.inconclusive = true
end

--- The same, where the verdict stands all the same.
function node:notice(text)
   self.problems[#self.problems + 1] = text
end

function node:log_problems()
   for _, problem in ipairs(self.problems) do
      log.error("%s", problem)
   end
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
   return files.put(self.state .. "/" .. name, json.encode(value), 384) -- 0600
end

--- The same, where the work goes on without: a failure is logged. @return whether it is written
function node:save_state(name, value)
   local ok, err = self:write_state(name, value)
   if not ok then
      log.error("state: %s", err)
   end
   return ok
end

function node:forget_state(name)
   uv.fs_unlink(self.state .. "/" .. name)
end

--- Appends a record to this node's spool.
-- @param also see spool/journal.lua, or nil
-- @return true; or nil, and it is logged
function node:append(record, also)
   local ok, err = records.append(self.spool, record, self.policy, also)
   if not ok then
      log.error("%s record lost: %s", record.kind, err)
   end
   return ok
end

--- Whether the job holds every CPU of this node.
-- @param cpus CPUs of the job here, or nil when that is not known (then not)
-- @param topology inventory of the node
function node:is_whole(cpus, topology)
   local all = self.policy.node_cpus
   if type(all) ~= "number" then
      all = topology[all]
   end
   return cpus ~= nil and all > 0 and cpus >= all
end

--- Seconds of the kernel's monotonic clock, which the budget's ledger counts in.
function node.now_s()
   return uv.hrtime() / 1e9
end

--- Keeps what Slurm says to a prolog and not to the health program: the place of its
-- configuration, the cluster's name.
-- @param get function(name) -> environment variable
function node:remember_slurm(get)
   local known = self:read_state("slurm.json") or {}
   local function now(name, before)
      local value = get(name)
      return value ~= "" and value or before
   end
   local conf, cluster = now("SLURM_CONF", known.conf), now("SLURM_CLUSTER_NAME", known.cluster)
   if conf ~= known.conf or cluster ~= known.cluster then
      self:write_state("slurm.json", { conf = conf, cluster = cluster })
   end
end

-- What a prolog said, or nil.
local function remembered(self, name)
   local value = (self:read_state("slurm.json") or {})[name]
   return type(value) == "string" and value ~= "" and value or nil
end

--- The place of Slurm's configuration, where a prolog said it; or nil.
function node:slurm_conf()
   return remembered(self, "conf")
end

local function conf_text(path)
   return files.regular(path, MAX_CONF)
end

--- Slurm's configuration where this node knows it, parsed; or nil and why.
function node:read_slurm_conf()
   return slurmconf.parse(self:slurm_conf() or slurmconf.PLACES[1], conf_text)
end

--- The cluster's name, the same in every stage: what Slurm says, else what it said to the last
-- prolog, else slurm.conf's (which Slurm, too, takes in small letters). Nobody is asked.
-- @return name, or nil
function node:cluster()
   local name = os.getenv("SLURM_CLUSTER_NAME")
   name = name ~= "" and name or remembered(self, "cluster")
   if name then
      return name
   end
   for _, path in ipairs({ os.getenv("SLURM_CONF") or self:slurm_conf() or slurmconf.PLACES[1],
      table.unpack(slurmconf.PLACES, 2) }) do
      local conf = slurmconf.parse(path, conf_text)
      name = conf and slurmconf.value(conf, "ClusterName")
      if name then
         return name:lower()
      end
   end
end

--- Takes a lock in this node's run directory, see process.lock_file.
function node:lock_file(name, timeout_s)
   local ok, err = files.mkdir(self.run_dir)
   if not ok then
      return nil, err
   end
   return process.lock_file(self.run_dir .. "/" .. name, timeout_s)
end

--- Makes this process the only one that measures here: the policy's lock first, where several
-- nodes share a machine, then the node itself.
-- @param timeout_s seconds to wait for the former; the latter is another check's, and not waited for
-- @return release function; or nil and why not
function node:hold(timeout_s)
   local unlock, release, err
   local uid, dir = uv.getuid(), self.lock and uv.fs_stat(self.lock:match("^(.*/)"))
   if dir and uid ~= 0 and dir.uid ~= uid then
      -- Whoever may open it may hold it for ever, and where everybody may make files (/run/lock)
      -- root would refuse his.
      self:notice(("measured without the lock %s, which is root's: another node of this machine may have "
         .. "measured at the same time"):format(self.lock))
   elseif self.lock then
      unlock, err = process.lock(self.lock, timeout_s)
      if not unlock then
         return nil, "lock: " .. err
      end
   end
   release, err = claim.hold(self)
   if not release then
      if unlock then
         unlock()
      end
      return nil, err
   end
   return function()
      release()
      if unlock then
         unlock()
      end
   end
end

--- Path of what the SPANK plugin reads for a job, and of its "shown" marker.
function node:status_path(job_id)
   return ("%s/%d"):format(self.run_dir, job_id)
end

--- Removes a job's files there.
-- @param suffixes list, as ".shown"
function node:forget_status(job_id, suffixes)
   for _, suffix in ipairs(suffixes) do
      uv.fs_unlink(self:status_path(job_id) .. suffix)
   end
end

return node
