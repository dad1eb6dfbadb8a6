--- At the end of a step: what was out of line on this node since the job began, as a line for the
-- job's own output. The plugin runs this (spank/stepend.c) with the job's stderr as its output, waits
-- for half a second at most, and ends it then.
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local environment = require("syscheck.slurm.environment")
local files = require("syscheck.lib.files")
local jobs = require("syscheck.node.jobs")
local nodes = require("syscheck.node.node")
local outofline = require("syscheck.verdict.outofline")
local throttle = require("syscheck.counters.throttle")
local waits = require("syscheck.node.waits")

local stepend = {}

local TOLD_MAX = 4096

-- { key = amount } of lines "key=amount".
local function read_told(path)
   local told = {}
   for key, amount in (files.regular(path, TOLD_MAX) or ""):gmatch("(%l+)=([%d.]+)\n") do
      told[key] = tonumber(amount)
   end
   return told
end

-- @return true; or nil and why
local function write_told(path, told)
   local lines = {}
   for key, amount in pairs(told) do
      lines[#lines + 1] = ("%s=%.0f\n"):format(key, amount)
   end
   return files.put(path, table.concat(lines), 384) -- 0600
end

--- @param get function(name) -> environment variable
-- @param options of node.open, for tests
-- @return the line, or nil
function stepend.line(get, options)
   local node = nodes.open(get("SLURMD_NODENAME"), options)
   local job = environment.job(get)
   local begin = job and jobs.read_begin(node, job.id)
   local from = begin and begin.snapshot
   if type(from) ~= "table" or type(from.sources) ~= "table" then
      return nil
   end
   local to = counters.snapshot(node.root)
   local delta, elapsed = deltas.delta(from, to), deltas.seconds(from, to)
   if not delta or not elapsed then
      return nil
   end
   local path = node:status_path(job.id) .. ".told"
   local phrases, told = outofline.find({ delta = delta, elapsed_s = elapsed, whole = begin.whole == true,
      throttle_events = throttle.events(delta.throttle),
      -- All nodes of a job wait alike: the first says it.
      memory = begin.first == true and waits.of(node, { from = from, to = to, seconds = elapsed,
         own = begin.whole == true }) or nil }, read_told(path))
   if #phrases == 0 then
      return nil
   end
   -- First: what cannot be kept would be said by each step.
   return write_told(path, told) and outofline.line(node.name, job.id, phrases)
end

--- Prints it: one write, so that it stays one line among others' output.
function stepend.main(get)
   local line = stepend.line(get)
   if line then
      io.stdout:setvbuf("full")
      io.stdout:write(line .. "\n")
   end
end

return stepend
