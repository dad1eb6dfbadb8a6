--- Drains this node through the storm guard: list, drain, list again, and step back
-- when others were first. docs/decisions.md has the proof and what every failure does.
local uv = require("luv")
local comment = require("syscheck.slurm.comment")
local printable = require("syscheck.lib.printable")
local command = require("syscheck.slurm.command")
local storm = require("syscheck.slurm.storm")

local drain = {}

-- Seconds that one call may take at most; less when the time that is left asks for it. A
-- list that got no answer is given twice as long the next time.
local LIST_S, UPDATE_S, CHECK_S = 15, 30, 4
-- How long a reason read from slurmctld counts as current.
local SURE_S = 1
-- What a drain needs after it: the wait, a list, the step back. What a list leaves for that.
local NEEDS_S, BACK_S = 4, 2
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
-- @return what it printed; or nil, why, and whether trying again is of no use
function Calls:run(program, args, most, keep)
   -- 0.9 s: until a program that ignores SIGTERM is given up.
   local timeout = math.min(most, self:left() - keep - 0.9)
   if timeout < 0.2 then
      return nil, ("%s: no time is left"):format(args[1]), true
   end
   return command.run(program, args, timeout, { max_output = MAX_LIST })
end

function Calls:scontrol(args, most, keep)
   return self:run(self.program, args, most, keep or 0)
end

function Calls:squeue(args, most)
   return self:run(command.beside(self.program, "squeue"), args, most, 0)
end

-- Tried again while time remains. The pauses are by chance, up to twice as long each time, and
-- up to what the call took: hundreds of nodes that wait for a slow slurmctld come apart.
-- @return nodes, this node, seconds that it took; or nil and why
function Calls:list(keep)
   local most, pause = LIST_S, 1
   local began, text, latest, useless, err
   while true do
      began = now_s()
      text, latest, useless = self:scontrol({ "--all", "show", "nodes", "--oneliner" }, most, keep)
      if text then
         break
      end
      -- The first says why; the last may only say that little time was left.
      err = err or latest
      most, pause = 2 * most, 2 * pause
      local wait = math.random() * math.max(pause, now_s() - began)
      if useless or self:left() - wait < keep + 1.5 then
         return nil, err
      end
      uv.sleep(math.floor(1000 * wait))
   end
   local took = now_s() - began
   local nodes, by_name = storm.parse(text)
   local me = by_name[self.name]
   self.listed, self.unknown = true, me == nil
   if not me then
      return nil, ("scontrol show nodes: %s is not in its answer of %d nodes"):format(self.name, #nodes)
   elseif me.ours and not me.time then
      return nil, "scontrol show nodes: the time of the reason cannot be read"
   end
   return nodes, me, took
end

-- Whether the node carries exactly our reason, by a call that is light for slurmctld
-- where a whole list was too much for it.
function Calls:is_ours(reason)
   local text = self:run(command.beside(self.program, "sinfo"),
      { "--noheader", "--nodes=" .. self.name, "--format=%T %E" }, CHECK_S, 1.5)
   local state, standing = (text or ""):match("^(%S+) ([^\n]*)")
   return state ~= nil and state:find("dr", 1, true) ~= nil and printable.trimmed(standing) == reason
end

-- UNDRAIN and not RESUME: that one would also cancel a reboot that an admin asked for.
-- Tried again only while it is ours: after a call that got no answer for seconds the
-- drain may be an admin's. What got no answer stays open.
function Calls:step_back(out)
   local ok, err
   for _ = 1, 2 do
      local began = now_s()
      ok, err = self:scontrol({ "update", "nodename=" .. self.name, "state=undrain" }, UPDATE_S)
      if ok then
         out.done, out.open = false, nil
         return
      end
      out.error = "step back: " .. err
      if now_s() - began > SURE_S and not self:is_ours(out.reason) then
         return
      end
   end
end

-- The second list.
-- @param answered whether slurmctld took the drain, as far as this check knows
-- @param mine whether this check sent it
-- @return nodes and this node as of then, when it stays drained
local function confirm(calls, out, policy, answered, mine)
   local nodes, me
   while true do
      uv.sleep(WAIT_MS)
      nodes, me = calls:list(BACK_S)
      if answered or not nodes or not me.ours then
         break
      end
      -- Taken, though the answer was lost; perhaps less than a second before this list.
      answered = true
   end
   if not nodes then
      -- What cannot be counted does not drain.
      out.error = me
      if mine and calls:is_ours(out.reason) then
         calls:step_back(out)
      end
      return nil
   end
   if me.ours and me.reason == out.reason then
      out.done = true
      out.full = storm.full(nodes, me, policy.max_drained, policy.window)
      if out.full then
         out.action = "storm"
         calls:step_back(out)
         return nil
      end
      out.action, out.open = "drain", nil
      return nodes, me
   elseif me.drained then
      out.action, out.done, out.kept, out.open = "drain", false, me.reason or me.state, nil
   elseif answered then
      out.action, out.done, out.error, out.open = "storm", false, "somebody resumed it meanwhile", nil
   end
   -- Else it was refused, or slurmctld may do it yet.
   return nil
end

-- Drains the node, where it may be.
local function attempt(calls, out, policy, sending)
   local nodes, me, took = calls:list(NEEDS_S)
   if not nodes then
      out.error, out.open = me, not calls.unknown and out.open or nil
      return nil
   end
   if me.ours and me.fabric == calls.fabric then
      -- Drained before: a new second would move it in the order. Whether it may stay is
      -- asked again, in case that it could not step back then.
      out.done, out.reason, out.open = true, me.reason, true
      return confirm(calls, out, policy, true, false)
   end
   out.open = nil
   if not sending then
      out.action = "none"
      return nil
   elseif me.drained then
      out.action, out.kept = "drain", me.reason or me.state
      return nil
   end
   out.full = storm.full(nodes, me, policy.max_drained, policy.window, os.time())
   if out.full then
      out.action = "storm"
      return nil
   elseif me.reason and (me.reboots or me.down) then
      -- In service still (told to reboot), or back by itself (not responding): the prolog's
      -- exit code would take it out, uncounted.
      out.error = ("%s, with another reason, which stays: %s"):format(me.state, me.reason)
      return nil
   elseif calls:left() < NEEDS_S + 2 * took then
      out.error = "no time is left to drain and list again"
      return nil
   end
   sending()
   out.open = true
   local ok, err = calls:scontrol({ "update", "nodename=" .. calls.name, "state=drain", "reason=" .. out.reason },
      UPDATE_S, NEEDS_S - 1 + took)
   out.done, out.error = ok ~= nil, err
   return confirm(calls, out, policy, ok ~= nil, true)
end

--- Drains a node that is bad, confirmed, unless the storm guard's cap is used up or
-- somebody took it out of service already: then their reason stays. Whatever gets no answer,
-- is refused or cannot be counted leaves the node in service.
-- @param node from node.open
-- @param text why, without prefix; nil: only settles a drain of ours that may be standing
-- @param options { fabric = true: for `syscheck fabric`, whose drains no check of the node takes for its own, nor the
--   other way round; until_s = of uv.hrtime, by which all calls end; job = from environment.job,
--   whose AdminComment says so, or nil; open = a drain of ours may be standing; sending = called
--   before Slurm is told to drain; decided = called with what is returned before that comment is
--   written, which may take a while }
-- @return { action = "drain": carries our reason and may, or somebody else drained it; "storm": the
--   cap is used up, or somebody resumed it; "undecided"; "none": without text, no drain of ours
--   stands; done = carries our reason, open = may carry it without being counted, reason, kept = the
--   reason that stood, error, full = { name, total, cap, taken } of the partition without room };
--   true: slurmctld answered
function drain.node(node, text, options)
   local job = options.job
   local out = { action = "undecided", done = false, open = options.open, reason = text and storm.reason(text) }
   local calls = setmetatable({ program = node.policy.scontrol, name = node.name, until_s = options.until_s,
      fabric = options.fabric == true }, Calls)
   uv.sleep(math.floor(math.random() * math.min(MAX_SPREAD_MS, SPREAD_MS * (job and job.nodes or 1))))
   local nodes, me = attempt(calls, out, node.policy, text and options.sending)
   options.decided(out)
   if nodes and job then
      out.comment_error = comment.write(calls, job, nodes, me)
   end
   return out, calls.listed == true
end

return drain
