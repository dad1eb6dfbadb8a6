--- Memory traffic of a job by the memory controllers' counters, where there is no resctrl: they count only while they
-- are open. The prolog asks for it, the plugin holds them beside the extern step (spank/memory.h) and leaves what they
-- counted for the epilog. Only of jobs that have the node for themselves, and only where the policy wants it: there are
-- few, and others may count with them.
local uv = require("luv")
local files = require("syscheck.lib.files")
local log = require("syscheck.lib.log")
local memory_traffic = require("syscheck.counters.memory_traffic")
local ruler = require("syscheck.verdict.ruler")

local uncore = {}

local FILE_MAX = 4096

-- What perf says, by errno (asm-generic); others by their number.
local WHY = { [1] = "not allowed to the plugin", [13] = "not allowed to the plugin",
   [16] = "others counted with the same counters", [19] = "a CPU went offline, or the counters are gone" }

local function wanted_path(node, job_id)
   return node:status_path(job_id) .. ".uncore"
end

local function path_of(node, job_id)
   return node:status_path(job_id) .. ".traffic"
end

--- Forgets those of an earlier run, or of one that is recorded.
function uncore.forget(node, job_id)
   node:forget_status(job_id, { ".uncore", ".traffic" })
end

--- Asks for it, in the job's prolog.
-- @param whole true: the job has the node for itself
-- @param boot_id of now
-- @return true where it is wanted and can be had
function uncore.begin(node, job_id, whole, boot_id)
   uncore.forget(node, job_id)
   local one = whole and node.policy.traffic.perf and ruler.of_boot(node:read_state(ruler.FILE), boot_id)
   if not one or one.source ~= "perf" then
      return nil
   end
   local ok, err = files.put(wanted_path(node, job_id), node.root .. memory_traffic.PMUS .. "\n", 420) -- 0644
   if not ok then
      log.error("memory traffic of the job: %s", err)
   end
   return ok
end

-- "ns 12\n0 34\n28 56\n": { [cpu] = { bytes } }, seconds; or nil and why.
local function parse(text)
   local failed = text:match("^error (%d+)\n$")
   if failed then
      return nil, "memory controllers: " .. (WHY[tonumber(failed)] or "error " .. failed)
   end
   local ns, rest = text:match("^ns (%d+)\n(.+)$")
   local out = {}
   for line in (rest or ""):gmatch("([^\n]*)\n") do
      local cpu, bytes = line:match("^(%d+) (%d+)$")
      out[cpu or 0] = { bytes = tonumber(bytes) }
   end
   if not next(out) or out[0] then
      return nil, "what the plugin left of memory traffic is damaged"
   end
   return out, tonumber(ns) * 1e-9
end

--- What was counted of a job, for its epilog.
-- @return { [CPU as text] = { bytes } } as memory_traffic.by_cache, and seconds; nil, nil where nobody wanted it; nil
--   and why it is not known
function uncore.read(node, job_id)
   if not uv.fs_lstat(wanted_path(node, job_id)) then
      return nil
   elseif not uv.fs_lstat(path_of(node, job_id)) then
      return nil, "nobody held the memory controllers' counters: it takes the plugin and PrologFlags=Contain"
   end
   local text, err = files.read_trusted(path_of(node, job_id))
   if not text or #text > FILE_MAX then
      return nil, err or "what the plugin left of memory traffic is damaged"
   end
   return parse(text)
end

return uncore
