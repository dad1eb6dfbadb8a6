--- A part of a job's nodes that has more of something than such a job is used to: the median of a node's peers says
-- little where they are half of a job. Of fewer each stands out (why/conditions.lua). Pure.
local causes = require("syscheck.questions.why.causes")
local reference = require("syscheck.questions.why.reference")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")

local parts = {}

local PART, ALIKE = 0.25, 0.5 -- of a job's nodes; of what their median lost each lost so much
local LEAST = 0.03 -- of a node's time that a condition of several may have cost
local SDS = 2 -- spreads of the nodes of like runs from which a node has more than those; but what it is set to

--- Whether a part of the nodes may have more of it by a trouble of theirs: of sums over operations most nodes of a job
-- have more in one run than in another.
function parts.may_be(item)
   return item.over == "unit" or item.kind == "rate" or item.own and item.kind == "latency"
end

-- Nodes of a run that lost so much to it beyond what such a job is used to, and have so much of it; the most first.
local function beyond(item, rows, usual, least, from)
   local list = {}
   for _, row in ipairs(rows) do
      local share = causes.share(item, row, usual)
      local is = share and share >= least and causes.of_row(item, row) >= from
      -- Of operations that take several times as long the shares hardly differ.
      local much = is and item.kind == "latency" and causes.of_row(item, row) - usual or share
      list[#list + 1] = is and { row = row, share = share, much = much } or nil
   end
   table.sort(list, function(a, b)
      return a.much > b.much
   end)
   return list
end

-- How many of other runs have as large a part with so much; of how many.
local function others_like(runs, item, usual, least, from, part)
   local count, alike = 0, 0
   for _, rows in ipairs(runs) do
      if #rows > 1 then
         count, alike = count + 1, alike + (#beyond(item, rows, usual, least, from) >= part * #rows and 1 or 0)
      end
   end
   return alike, count
end

--- Adds it to state.parts, if there is one.
-- @param state { like, others = lists of lists of rows; parts }
-- @param rows of the job
-- @param back { usual, levels (of nodes of like runs) = on the metric's scale; p_median = p of the job's median or nil;
--   all = where all nodes have it, from how many on a part is all of them, else nil }
function parts.add(state, item, rows, back)
   if #rows < 3 or not back.usual or not parts.may_be(item) then
      return
   end
   local from = -math.huge
   if item.kind ~= "rate" then
      from = back.usual + SDS * select(2, statistics.robust(reference.numbers(back.levels)))
   end
   local list, much = beyond(item, rows, back.usual, LEAST, from), {}
   for i, one in ipairs(list) do
      much[i] = one.much
   end
   if not list[1] or back.all and #list >= back.all then
      return
   end
   local median = statistics.median(much)
   while list[#list].much < ALIKE * median do
      list[#list] = nil
   end
   if #list < math.max(2, PART * #rows) or #list == #rows then
      return
   end
   local least, part = list[#list // 2 + 1].share / 2, #list / #rows
   local alike, runs = others_like(state.like, item, back.usual, least, from, part)
   if item.kind ~= "latency" then -- how long operations take each kind of job has for itself
      local also, more = others_like(state.others, item, back.usual, least, from, part)
      alike, runs = alike + also, runs + more
   end
   local p, first, nodes = (alike + 0.5) / (runs + 1), list[1].row, {}
   for i, one in ipairs(list) do
      nodes[i] = one.row.node
   end
   -- What more than half have the median has, which says how far beyond other runs that is.
   if back.p_median and 2 * #list > #rows then
      p = stats.together({ p, back.p_median }, 2)
   end
   state.parts[#state.parts + 1] = { where = "several", nodes = nodes, row = first, item = item,
      value = first[item.name], elapsed_s = first.elapsed_s, p = p, compared = runs, usual = back.usual,
      most = math.min(1, list[1].share), times = math.exp(causes.of_row(item, first) - back.usual) }
end

return parts
