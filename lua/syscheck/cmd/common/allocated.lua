--- The nodes of a running job, and what a command needs that measures in a step of it.
local uv = require("luv")
local hostlist = require("syscheck.lib.hostlist")
local output = require("syscheck.lib.output")
local paths = require("syscheck.lib.paths")
local printable = require("syscheck.lib.printable")
local report = require("syscheck.cmd.common.report")
local slurm = require("syscheck.slurm.command")

local allocated = {}

local CALL_S = 8
local MAX_BYTES = 16777216

--- Path of the kernel that runs in the step; nil, and why it is not there.
function allocated.kernel()
   local kernel = paths.libexec .. "/fabric"
   if uv.fs_stat(kernel) then
      return kernel
   end
   return nil, kernel .. " is not there: it is in the package syscheck-fabric. Built by make: install libopenmpi-dev "
      .. "(or name a site's own: make MPICC=/opt/openmpi/bin/mpicc), and build again"
end

--- The job in which this runs, by its environment; nil: none.
function allocated.here()
   return math.tointeger(tonumber(os.getenv("SLURM_JOB_ID") or os.getenv("SLURM_JOBID")))
end

--- Names of a list of nodes, each once; ends the command where it is none.
-- @param alone what is said of one node, after its name
function allocated.names(list, alone)
   local names, seen = {}, {}
   for _, name in ipairs(hostlist.expand(list) or {}) do
      if not hostlist.name(name) then
         names = {}
         break
      elseif not seen[name] then
         seen[name] = true
         names[#names + 1] = name
      end
   end
   if #names == 0 then
      report.stop(report.USAGE, '"%s" is no list of nodes; one is n[1-16] or n1,n2', printable.safe(list, 100))
   elseif #names == 1 then
      report.stop(report.USAGE, "%s alone: %s", names[1], alone)
   end
   return names
end

-- scontrol's word on a running job: its nodes.
local function nodes_of(scontrol, id)
   local text, err = slurm.run(scontrol, { "--oneliner", "show", "job", ("%d"):format(id) }, CALL_S,
      { max_output = MAX_BYTES })
   if not text then
      return nil, err:find("Invalid job id", 1, true) and ("job %d: Slurm knows no such job"):format(id) or err
   end
   local state = text:match(" JobState=(%S+)")
   if state ~= "RUNNING" then
      return nil, ("job %d is %s: its nodes can be measured only while it runs"):format(id,
         printable.safe(state or "of no state", 32))
   end
   return text:match(" NodeList=(%S+)")
end

--- Names of a running job's nodes; ends the command where there are none.
function allocated.of_job(scontrol, id, alone)
   local list, err = nodes_of(scontrol, id)
   if not list then
      report.stop(report.UNKNOWN, "%s", err or "scontrol names no nodes")
   end
   return allocated.names(list, alone)
end

--- What goes on, for who waits at a terminal.
-- @param seconds function() -> how long it takes so far
-- @return function(format, ...)
function allocated.progress(args, seconds)
   local quiet = output.format(args) ~= "table" or uv.guess_handle(2) ~= "tty"
   return function(format, ...)
      if not quiet then
         io.stderr:write(("%5.1f s  "):format(seconds()), printable.plain(format:format(...), 200), "\n")
      end
   end
end

--- ^C and scancel: the step goes first, then we.
-- @param take function(signal's name)
-- @return function() that ends it
function allocated.on_stop(take)
   local stops = {}
   for _, name in ipairs({ "sigint", "sigterm", "sighup" }) do
      local handle = uv.new_signal()
      handle:start(name, function()
         take(name)
      end)
      handle:unref()
      stops[#stops + 1] = handle
   end
   return function()
      for _, handle in ipairs(stops) do
         handle:close()
      end
   end
end

return allocated
