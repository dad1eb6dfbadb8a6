--- Drains this node through the storm guard: list, drain, list again, and step back
-- when others were first. docs/decisions.md has the proof and what every failure does.
local uv = require("luv")
local comment = require("syscheck.slurm.comment")
local files = require("syscheck.lib.files")
local printable = require("syscheck.lib.printable")
local process = require("syscheck.lib.process")
local command = require("syscheck.slurm.command")
local storm = require("syscheck.slurm.storm")

local drain = {}

-- Seconds that one call may take at most; less when the time that is left asks for it.
local LIST_S, UPDATE_S, CHECK_S = 15, 15, 4
-- How long a reason read from slurmctld counts as current.
local SURE_S = 1
-- What a drain needs after it: the wait, a list, the step back.
local NEEDS_S = 4
-- Reasons have whole seconds: in a list that was made a second after the controller
-- answered, whoever drains from then on comes later in the order. 0.1 s for clocks that
-- slurmctld's machine slews.
local WAIT_MS = 1100
-- Nodes of one job that fail together do not all ask in the same millisecond.
local SPREAD_MS, MAX_SPREAD_MS = 5, 3000
-- Of 10,000 nodes, `scontrol show nodes` is about 7 MB.
local MAX_LIST = 256 * 1048576

local function now_s()
   return uv.hrtime() / 1e9
end

-- What all calls of one drain share: programs, and the time by which they must end.
local Calls = {}
Calls.__index = Calls

function Calls:left()
   return self.until_s - now_s()
end

-- A call that ends before `keep` seconds are all that is left.
function Calls:run(program, args, most, keep)
   -- 0.9 s: until a program that ignores SIGTERM is given up.
   local timeout = math.min(most, self:left() - keep - 0.9)
   if timeout < 0.2 then
      return nil, ("%s: no time is left"):format(args[1])
   end
   return command.run(program, args, timeout, { max_output = MAX_LIST })
end

function Calls:scontrol(args, most, keep)
   return self:run(self.program, args, most, keep or 0)
end

function Calls:squeue(args, most)
   return self:run((self.program:gsub("scontrol$", "squeue")), args, most, 0)
end

-- @return nodes, this node; or nil and why
function Calls:list(keep)
   local text, err = self:scontrol({ "--all", "show", "nodes", "--oneliner" }, LIST_S, keep)
   if not text then
      return nil, err
   end
   local nodes, by_name = storm.parse(text)
   local me = by_name[self.name]
   if not me then
      return nil, ("scontrol show nodes: %s is not in its answer of %d nodes"):format(self.name, #nodes)
   elseif me.ours and not me.time then
      return nil, "scontrol show nodes: the time of the reason cannot be read"
   end
   return nodes, me
end

-- Whether the node carries exactly our reason, by a call that is light for slurmctld
-- where a whole list was too much for it.
function Calls:is_ours(reason)
   local sinfo = self.program:gsub("scontrol$", "sinfo")
   local text = self:run(sinfo, { "--noheader", "--nodes=" .. self.name, "--format=%T %E" }, CHECK_S, 1.5)
   local state, standing = (text or ""):match("^(%S+) ([^\n]*)")
   return state ~= nil and state:find("dr", 1, true) ~= nil and printable.trimmed(standing) == reason
end

-- UNDRAIN and not RESUME: that one would also cancel a reboot that an admin asked for.
-- The job starts even if there is no answer: an overloaded slurmctld may have done it all
-- the same, and the prolog's exit code would take a node too many out of service.
-- Tried again only while it is ours: after a call that got no answer for seconds the
-- drain may be an admin's.
function Calls:step_back(out)
   out.action = "storm"
   local ok, err
   for _ = 1, 2 do
      local began = now_s()
      ok, err = self:scontrol({ "update", "nodename=" .. self.name, "state=undrain" }, UPDATE_S)
      if ok then
         out.done = false
         return
      end
      out.error = "step back: " .. err
      if now_s() - began > SURE_S and not self:is_ours(out.reason) then
         return
      end
   end
end

-- The second list. @return nodes and this node as of then, when it stays drained
local function confirm(calls, out, policy)
   uv.sleep(WAIT_MS)
   local nodes, me = calls:list(2)
   if not nodes and calls:left() > NEEDS_S + 2 then
      nodes, me = calls:list(2)
   end
   if not nodes then
      out.error = me
      -- The controller took the drain and gives no list: a storm is the likely reason.
      -- When it is ours alone for certain, fail open; else the node stays drained.
      if out.done and calls:is_ours(out.reason) then
         calls:step_back(out)
      end
      return nil
   end
   if me.ours and me.reason == out.reason then
      out.done = true
      out.full = storm.full(nodes, me, policy.max_drained, policy.window)
      if out.full then
         calls:step_back(out)
         return nil
      end
      return nodes, me
   elseif me.out then
      out.done, out.kept = false, me.reason or me.state
   elseif out.done then
      out.action, out.done, out.error = "storm", false, "somebody resumed it meanwhile"
   else
      -- The drain failed. Slurm's own, by the prolog's exit code, is for a cap with room.
      out.full = storm.full(nodes, me, policy.max_drained, policy.window, os.time())
      out.action = out.full and "storm" or "drain"
   end
   return nil
end

local function attempt(calls, out, policy, nodes_of_job)
   uv.sleep(math.floor(math.random() * math.min(MAX_SPREAD_MS, SPREAD_MS * nodes_of_job)))
   local nodes, me = calls:list(calls:left() / 2)
   if not nodes then
      -- Without knowing whose reason stands there, none is written: the prolog's exit
      -- code takes the node out of service with Slurm's own.
      out.error = me
      return nil
   end
   if me.out and not me.ours then
      out.kept = me.reason or me.state
      return nil
   end
   if me.ours then
      -- Drained before: a new second would move it in the order. Whether it may stay is
      -- asked again, in case that it could not step back then.
      out.done, out.reason = true, me.reason
   else
      out.full = storm.full(nodes, me, policy.max_drained, policy.window, os.time())
      if out.full then
         out.action = "storm"
         return nil
      end
      if me.reboots and me.reason then
         -- A node that an admin has told to reboot still takes jobs, with his reason. The
         -- prolog's exit code takes it out of service, and leaves that.
         out.kept = me.reason
         return nil
      end
      if calls:left() < NEEDS_S then
         out.error = "no time is left to drain and list again"
         return nil
      end
      local ok, err = calls:scontrol({ "update", "nodename=" .. calls.name, "state=drain", "reason=" .. out.reason },
         UPDATE_S, NEEDS_S - 1)
      out.done, out.error = ok ~= nil, err
   end
   return confirm(calls, out, policy)
end

--- Drains a node that is bad, confirmed, unless the storm guard's cap is used up or
-- somebody took it out of service already: then their reason stays.
-- @param node from node.open
-- @param text why, without prefix
-- @param options { until_s = of uv.hrtime, by which all calls end; job = from environment.job,
--   whose AdminComment says so, or nil; decided = called with what is returned before
--   that comment is written, which may take a while }
-- @return { action = "drain": the node leaves service, or "storm": it does not; done =
--   carries our reason, reason, kept = the reason that stood, error, full = { name,
--   total, cap, taken } of the partition whose cap is used up }
function drain.node(node, text, options)
   local job = options.job
   local out = { action = "drain", done = false, reason = storm.reason(text) }
   local calls = setmetatable({ program = node.policy.scontrol, name = node.name, until_s = options.until_s }, Calls)
   -- Two prologs of this node, one after the other: a step back of one would pull the
   -- drain away under the other.
   files.mkdir(node.state)
   local fd, err, held = process.lock_file(node.state .. "/drain.lock", math.max(0, calls:left() / 2))
   if held then
      out.error = "another check of this node is at it: " .. err
      return out
   end
   local nodes, me = attempt(calls, out, node.policy, job and job.nodes or 1)
   options.decided(out)
   if nodes and job then
      out.comment_error = comment.write(calls, job, nodes, me)
   end
   if fd then
      uv.fs_close(fd)
   end
   return out
end

return drain
