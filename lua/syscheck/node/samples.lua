--- A job's samples: how often which share of what memory moves. The prolog asks for them, epilog/sample.lua takes them,
-- the epilog reads what is left: a file in the run directory.
local uv = require("luv")
local json = require("cjson.safe").new()
local files = require("syscheck.lib.files")
local groups = require("syscheck.node.groups")
local log = require("syscheck.lib.log")
local machine = require("syscheck.hardware.machine")
local memory_traffic = require("syscheck.counters.memory_traffic")
local ruler = require("syscheck.verdict.ruler")
local saturation = require("syscheck.verdict.saturation")

local samples = {}
samples.__index = samples

json.decode_invalid_numbers(false)

-- Fewer say nothing of a time.
local LEAST = 3
local FILE_MAX = 4096

local function wanted_path(node, job_id)
   return node:status_path(job_id) .. ".sample"
end

local function path_of(node, job_id)
   return node:status_path(job_id) .. ".samples"
end

--- Forgets those of an earlier run, or of one that is recorded.
function samples.forget(node, job_id)
   node:forget_status(job_id, { ".sample", ".samples" })
end

-- Samples are of resctrl; without a ruler they would have no scale.
local function resctrl_ruler(node, boot_id)
   local one = ruler.of_boot(node:read_state(ruler.FILE), boot_id)
   return one and one.source == "resctrl" and one or nil
end

--- Asks for samples, in the job's prolog, where nobody else's traffic would be in them.
-- @param boot_id of now
-- @return true where they are wanted and can be had
function samples.begin(node, job_id, boot_id)
   if not node.policy.traffic.sample_s or not resctrl_ruler(node, boot_id) then
      return nil
   end
   local ok, err = files.put(wanted_path(node, job_id), "", 420) -- 0644
   if not ok then
      log.error("samples of the job: %s", err)
   end
   return ok
end

--- @return sampler, with `every` (seconds); nil where none is wanted, or nothing counts
function samples.open(node, job_id)
   local every = node.policy.traffic.sample_s
   local from = machine.at(node.root)
   local one = resctrl_ruler(node, from:line("/proc/sys/kernel/random/boot_id") or "unknown")
   if not every or not one or not uv.fs_lstat(wanted_path(node, job_id)) then
      return nil
   end
   local bins = {}
   for i = 1, saturation.BINS do
      bins[i] = 0
   end
   local self = setmetatable({ node = node, job_id = job_id, from = from, every = every, peak = one.peak_gbs,
      group = groups.of(node, job_id), bins = bins, seconds = 0 }, samples)
   self:read()
   return self
end

-- @return bytes by cache since the last reading, and seconds; nil where that is not known
function samples:read()
   local at = uv.hrtime() / 1e9
   local now = self.group and memory_traffic.read_group(self.from, self.group)
      or not self.group and memory_traffic.read(self.from)
   local before, began = self.last, self.at
   self.last, self.at = now, at
   return before and now and memory_traffic.by_cache(before, now), began and at - began
end

--- Takes one, and writes down what is known.
-- @return false where nobody wants more: the job is over
function samples:take()
   if not uv.fs_lstat(wanted_path(self.node, self.job_id)) then
      return false
   end
   local caches, seconds = self:read()
   if caches and seconds and seconds > 0 then
      local bytes = 0
      for _, one in pairs(caches) do
         bytes = bytes + one.bytes
      end
      local at = saturation.bin(bytes / seconds * 1e-9 / self.peak)
      self.bins[at], self.seconds = self.bins[at] + 1, self.seconds + seconds
      local ok, err = files.write(path_of(self.node, self.job_id), json.encode({ bins = self.bins,
         seconds = self.seconds }), 384) -- 0600
      if not ok then
         log.error("samples: %s", err)
         return false
      end
   end
   return true
end

--- What is left of a job's samples, for its epilog.
-- @return { bins, seconds }; nil where there are none, or too few
function samples.left(node, job_id)
   local path = path_of(node, job_id)
   if not uv.fs_lstat(path) then
      return nil
   end
   local text, err = files.read_trusted(path)
   local one = text and #text <= FILE_MAX and json.decode(text)
   local sum = 0
   for _, n in ipairs(type(one) == "table" and type(one.bins) == "table" and one.bins or {}) do
      sum = sum + (type(n) == "number" and n or 0)
   end
   if sum == 0 then
      log.error("samples of the job: %s", err or "damaged")
   end
   return sum >= LEAST and one or nil
end

return samples
