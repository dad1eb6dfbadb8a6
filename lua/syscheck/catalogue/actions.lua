--- What a check, or a run of `syscheck fabric`, did to its node: as event and words. Pure.
local actions = {}

local function text(value)
   return type(value) == "string" and value or nil
end

local function drain_of(c)
   return type(c.drain) == "table" and c.drain or {}
end

local WORDS = {
   drain = function(c)
      local drain = drain_of(c)
      local kept = text(drain.kept)
      return text(drain.reason) or c.text or "drained", kept and "out of service already: " .. kept
         or text(drain.error)
   end,
   storm = function(c)
      return c.text or "bad, not drained: the storm guard's cap was used up"
   end,
   undecided = function(c)
      local drain = drain_of(c)
      return c.text or text(drain.reason) or "bad, not drained", text(drain.error)
   end,
   observed = function(c)
      return ("would have been drained: %s"):format(c.text or "bad")
   end,
   resume = function(c)
      return c.text or "back in service after passing checks"
   end,
}

--- The actions that do something, or would.
actions.NAMES = { "drain", "observed", "storm", "undecided", "resume" }

--- @param c { action, text, drain }, as in a record
-- @return what happened, in words; more of it or nil; nil where nothing was done
function actions.words(c)
   local words = WORDS[c.action]
   if words then
      return words(c)
   end
end

--- What came of it: a record's `drain` says that Slurm has our reason, that another one stood there, or neither,
-- as of older versions where Slurm did not answer.
-- @return one of NAMES or "kept" (out of service already, by somebody else); nil where nothing was done
function actions.outcome(c)
   if c.action ~= "drain" then
      return WORDS[c.action] and c.action or nil
   end
   local drain = drain_of(c)
   return drain.kept and "kept" or drain.done == true and "drain" or "undecided"
end

local LONGEST = 200

--- A reason without its numbers, and without what else is behind it: a node that stays bad is one story, by however
-- much, and whoever used it meanwhile.
function actions.kind_of(reason)
   return ((reason or ""):gsub(";.*", ""):gsub("%d[%d.]*", "0"):sub(1, LONGEST))
end

local TOGETHER_S = 60 -- prologs of several jobs on one node

--- Whether a drain is another node's leave, or the same found once more: before a job the node was in service.
-- @param before, now { time, text, trigger }
function actions.is_same_drain(before, now)
   return before.text == now.text and (now.trigger ~= "prolog" or now.time - before.time <= TOGETHER_S)
end

return actions
