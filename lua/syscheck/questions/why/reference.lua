--- Values that others had, of which node: what a value is compared with. Pure.
local causes = require("syscheck.questions.why.causes")
local stats = require("syscheck.questions.why.stats")

local reference = {}

local KEPT = 256 -- largest values of a reference that are kept in order
local DEEP = 64 -- of these, without one node, what a tail is made of

--- Makes a list of { x, node } a reference: the largest in order, counts of all.
function reference.of(pool)
   local of, values = {}, {}
   for i, one in ipairs(pool) do
      of[one.node] = (of[one.node] or 0) + 1
      values[i] = one.x
   end
   -- Sorting plain numbers first is several times faster than sorting all by a function.
   local out = { list = pool, of = of, n = #pool }
   if #pool > KEPT then
      table.sort(values)
      local least = values[#values - KEPT + 1]
      out.list = {}
      for _, one in ipairs(pool) do
         out.list[#out.list + 1] = one.x >= least and one or nil
      end
   end
   table.sort(out.list, function(a, b)
      return a.x > b.x
   end)
   return out
end

--- P of x, in a reference without the node itself: a bad node is often bad for weeks.
-- @return p, how many values it was compared with
function reference.p(x, pool, node, prior)
   local largest = {}
   for _, one in ipairs(pool.list) do
      if one.node ~= node then
         largest[#largest + 1] = one.x
         if #largest == DEEP then
            break
         end
      end
   end
   local n = pool.n - (pool.of[node] or 0)
   return stats.exceeds(x, largest, n, prior), n
end

--- What nodes are set to, one value of each: the first.
-- @param lists of rows
-- @return by class, 0 where it is not known: list of { x (scaled), node }
function reference.by_class(item, lists)
   local of, seen = {}, {}
   for _, list in ipairs(lists) do
      for _, row in ipairs(list) do
         local x, class = causes.of_row(item, row), row.class or 0
         if x and not seen[row.node] then
            seen[row.node] = true
            of[class] = of[class] or {}
            table.insert(of[class], { x = x, node = row.node })
         end
      end
   end
   return of
end

--- Values of a list of { x, node }, sorted.
function reference.numbers(list)
   local out = {}
   for i, one in ipairs(list) do
      out[i] = one.x
   end
   table.sort(out)
   return out
end

return reference
