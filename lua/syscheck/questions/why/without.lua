--- What a job should have taken by those of its like runs that lack what may have slowed the others. Pure.
local causes = require("syscheck.questions.why.causes")
local expected = require("syscheck.questions.why.expected")
local reference = require("syscheck.questions.why.reference")
local statistics = require("syscheck.lib.statistics")
local work = require("syscheck.questions.why.work")

local without = {}

local ALIKE = 0.5 -- share of what a setting may cost from which a run is under the same
local LOOKED, AS_SLOW = 7, 0.5 -- runs with it whose work is looked at; that lost such a part of what the job did

-- Whether most of the runs with it that were as slow, the job among them, did more than the like runs without: a node
-- with much memory may get the large inputs. Of one run alone chance says so too often.
local function did_more(state, has, e)
   local from = math.exp(AS_SLOW * state.y + (1 - AS_SLOW) * math.log(e.median_s))
   local slow, rest = { { rows = state.rows, begin_s = state.begin_s, elapsed_s = state.elapsed } }, {}
   for _, run in ipairs(state.all_like) do
      -- Those that were slow for whatever reason are no measure.
      if has(run) then
         slow[#slow + 1] = #slow < LOOKED and (run.elapsed_s or 0) >= from and run or nil
      elseif run.usual then
         rest[#rest + 1] = run.rows
      end
   end
   return work.most_did_more(slow, rest, function()
      return e
   end)
end

local function can(state)
   return state.e ~= expected.NONE and state.without ~= nil
end

local function apart(state, has)
   local e = state.without(has)
   return e and not did_more(state, has, e) and e or nil
end

--- By those that were not on a node.
-- @return of expected.of; nil: they took as long, or are too few
function without.node(state, node)
   return can(state) and apart(state, state.on(node)) or nil
end

-- The median of what nodes of a class are set to, scaled.
local function usual_of(state, item, class)
   local lists = { state.rows }
   for _, run in ipairs(state.all_like) do
      lists[#lists + 1] = run.rows
   end
   table.move(state.others, 1, #state.others, #lists + 1, lists)
   return statistics.median_sorted(reference.numbers(reference.by_class(item, lists)[class] or {}))
end

--- By those of which no node was set to so little (a link's rate, a limit of the clock): a job brings that about on no
-- node, so that those with it are as slow as they are for it. What its whole class is set to is no trouble: older nodes
-- have a lower clock.
-- @param e evidence, with most
-- @return { e = the same, has = function(run) -> whether a node of it was }; nil, too, for evidence of another kind
function without.setting(state, e)
   if e.check or e.item.kind ~= "rate" or e.most <= 0 or not can(state) then
      return nil
   end
   local low = (1 - ALIKE * e.most) * e.item.scale.back(e.usual)
   local class = e.row and e.row.class or causes.main_class(state.rows) or 0
   local key = ("%s %.9g %s"):format(e.item.name, low, class)
   if state.set[key] == nil then
      local usual = usual_of(state, e.item, class)
      local has = usual and e.item.scale.back(usual) > low and state.low(e.item.name, low)
      local e_without = has and apart(state, has)
      state.set[key] = e_without and { e = e_without, has = has } or false
   end
   return state.set[key] or nil
end

return without
