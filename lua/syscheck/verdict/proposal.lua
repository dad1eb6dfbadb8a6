--- A baseline that may be applied: which classes have enough, what is missing for the others. Pure.
local baseline = require("syscheck.verdict.baseline")
local choose = require("syscheck.verdict.adoption")
local metrics = require("syscheck.catalogue.metrics")
local sorted = require("syscheck.lib.sorted")

local proposal = {}

-- Nodes and checks of a class' best known metric.
local function known_of(c)
   local nodes, checks = 0, 0
   for name, m in pairs(c.metrics) do
      if not metrics.BY_NAME[name].static and m.n > checks then
         nodes, checks = m.nodes + m.dropped, m.n
      end
   end
   return nodes, checks
end

--- What is there of each class, before choose.from: that changes `learned`.
-- @return list of { class, nodes, checks = of the metric that most checks measured }
function proposal.counts(learned)
   local out = {}
   for i, class in ipairs(sorted(learned.classes)) do
      local nodes, checks = known_of(learned.classes[class])
      out[i] = { class = class, nodes = nodes, checks = checks }
   end
   return out
end

--- How a class stands, in words.
-- @param count of proposal.counts
-- @param chosen baseline that may be used, or nil
-- @param used baseline in use, or nil
function proposal.standing(count, chosen, used)
   local has = used and used.classes[count.class]
   if count.checks < baseline.MIN_CHECKS then
      local missing = baseline.MIN_CHECKS - count.checks
      return ("not enough: %d check%s more"):format(missing, missing == 1 and "" or "s")
   elseif not chosen or not chosen.classes[count.class] or chosen.classes[count.class] == has then
      return "not proposed, see above"
   end
   local few = count.nodes < baseline.MIN_NODES and (", wider tolerance until there are %d nodes"):format(
      baseline.MIN_NODES) or ""
   return (has and "enough, in use" or "enough, new") .. few
end

--- A baseline with what the one in use has, as it is, and with classes that it lacks.
-- @param learned of learn.of; changed
-- @param used baseline in use, or nil
-- @return baseline, list of { class, nodes, checks } that it adds; nil where it adds none
function proposal.with_new(learned, used)
   local counts, out = proposal.counts(learned), {}
   for class in pairs(used and used.classes or {}) do
      learned.classes[class] = nil
   end
   local chosen = choose.from(learned, used, false)
   for _, count in ipairs(chosen and counts or {}) do
      out[#out + 1] = not (used and used.classes[count.class]) and chosen.classes[count.class] and count or nil
   end
   if #out == 0 then
      return nil
   end
   for class, c in pairs(used and used.classes or {}) do
      chosen.classes[class] = c
   end
   return chosen, out
end

return proposal
