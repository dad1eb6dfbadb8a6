--- Conditions that a node's checks around the job show, against its class. Pure; see conditions.lua.
local causes = require("syscheck.questions.why.causes")
local conditions = require("syscheck.questions.why.conditions")
local reference = require("syscheck.questions.why.reference")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")

local checks = {}

local CANDIDATES = 8 -- nodes looked at closely per metric

-- Values of a class's checks, scaled: { list of { x, node }, median }
local function of_class(state, item, class)
   local known = state.checks[class] and state.checks[class][item.name]
   local list = {}
   for _, one in ipairs(known or {}) do
      local x = causes.scaled(item, one.value)
      list[#list + 1] = x and { x = x, node = one.node }
   end
   return list[1] and { list = list, median = statistics.median_sorted(reference.numbers(list)) } or nil
end

-- A node's check against other nodes of its class. @return p, usual value (scaled), how many
local function against_class(item, class, node, x)
   local list = {}
   for _, other in ipairs(class.list) do
      list[#list + 1] = other.node ~= node and { x = other.x, node = other.node } or nil
   end
   if not list[1] then
      return 1, x, 0
   end
   local usual = statistics.median_sorted(reference.numbers(list))
   for _, other in ipairs(list) do
      other.x = other.x - usual
   end
   local p, n = reference.p(x - usual, reference.of(list), nil, item.scale.prior)
   return p, usual, n
end

-- What a node's checks around the job show. Of several, two must be out of line, so the second
-- worst is the measure: what is wrong with a node shows again, what disturbed a check does not.
local function add_checks(state, item, one)
   local list = {}
   for _, check in ipairs(one.row.checks) do
      local x = causes.scaled(item, check[item.name])
      if x then
         local p, usual, n = against_class(item, one.class, one.row.node, x)
         local value = check[item.name]
         list[#list + 1] = { where = #state.rows > 1 and "node" or "only", node = one.row.node, item = item,
            when = check.when, value = value, class = item.scale.back(usual), compared = n, times = math.exp(x - usual),
            p = p, cost_s = item.scale.cost(item, value, usual, state.elapsed or 0) }
      end
   end
   table.sort(list, function(a, b)
      return a.p < b.p
   end)
   local m = #list
   local c = list[math.min(2, m)]
   if c and c.times > 1 then
      c.p = math.min(1, #state.rows * (m > 1 and stats.binomial(2, m, c.p) or c.p))
      c.checks = m
      state.nodes[#state.nodes + 1] = c
   end
end

--- Looks at one metric of the nodes' checks around the job, against their class.
-- @param item of causes.CHECK
function checks.of(state, item)
   local found, classes = {}, {}
   for _, row in ipairs(state.rows) do
      local xs = {}
      for _, check in ipairs(row.class and row.checks or {}) do
         xs[#xs + 1] = causes.scaled(item, check[item.name])
      end
      if xs[1] then
         if classes[row.class] == nil then
            classes[row.class] = of_class(state, item, row.class) or false
         end
         state.looked = state.looked + #xs
         table.sort(xs)
         found[#found + 1] = classes[row.class] and { row = row, class = classes[row.class],
            over = xs[math.max(1, #xs - 1)] - classes[row.class].median } or nil
      end
   end
   table.sort(found, function(a, b)
      return a.over > b.over
   end)
   if found[1] then
      conditions.looked_at(state.metrics, item)
   end
   for i = 1, math.min(CANDIDATES, #found) do
      add_checks(state, item, found[i])
   end
end

return checks
