--- A job of our own for the steps of a run. It ends with us, however we end: salloc's command reads a pipe from us, and
-- nothing else keeps it.
local uv = require("luv")
local fields = require("syscheck.catalogue.fields")
local hostlist = require("syscheck.lib.hostlist")
local loop = require("syscheck.fabric.loop")

local allocation = {}

local QUEUE_S = 30 -- for nodes that others use
local READY_S = 180 -- until the prologs are done
local TIME_MIN = 10 -- its limit; a run takes one or two
local END_S = 3

--- @param salloc path
-- @param nodes list of names
-- @param partition name, or nil: the user's default
-- @param stopped function() -> why it is no longer wanted, or nil
-- @return id, release function, function() -> true: it has ended by itself; or nil and why
function allocation.hold(salloc, nodes, partition, stopped)
   local input, err = uv.new_pipe(false), uv.new_pipe(false)
   local text, exited = "", false
   local args = { "--nodes=" .. #nodes, "--ntasks-per-node=1", "--nodelist=" .. hostlist.fold(nodes), "--exclusive",
      "--immediate=" .. QUEUE_S, "--time=" .. TIME_MIN, "--job-name=" .. fields.OWN_JOB }
   args[#args + 1] = partition and "--partition=" .. partition
   args[#args + 1] = "cat"
   local child, pid = uv.spawn(salloc, { args = args, stdio = { input, nil, err }, detached = true }, function()
      exited = true
   end)
   if not child then
      input:close()
      err:close()
      return nil, ("%s: %s"):format(salloc, pid)
   end
   err:read_start(function(_, data)
      text = #text < 65536 and text .. (data or "") or text
   end)
   local function release()
      if not input:is_closing() then
         input:close()
      end
      for _, signal in ipairs({ "sigterm", "sigkill" }) do
         if not loop.wait(END_S, function() return exited end) then
            uv.kill(pid, signal)
         end
      end
      for _, handle in ipairs({ err, child }) do
         if not handle:is_closing() then
            handle:close()
         end
      end
      uv.run("nowait")
   end
   local up = loop.wait(QUEUE_S + READY_S, function()
      return exited or stopped() or text:find("are ready for job", 1, true) ~= nil
   end)
   local id = text:match("Granted job allocation (%d+)")
   if up and id and not exited and not stopped() then
      return id, release, function()
         return exited or text:find("has been revoked", 1, true) ~= nil
      end
   end
   release()
   return nil, stopped() or text:match("salloc: (Required node[^\n]+)") or text:match("salloc: error: ([^\n]+)")
      or ("no allocation of %s within %d s"):format(hostlist.fold(nodes), QUEUE_S + READY_S)
end

return allocation
