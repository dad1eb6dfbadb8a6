--- What was predicted beside what was measured: do they agree? Pure.
local verify = {}

local PART = 0.2 -- of the larger one: what predictions are good to, see docs/performance.md
local ERRORS = 2 -- standard errors of what was measured
local LEAST_PCT = 0.1 -- points, below which nothing can be told

--- @param answer of noise.of, of certain nodes, with the allreduce that was measured
-- @param measured list of fabric's work.run
-- @return list of { work_us, predicted_pct, at_least, measured_pct, se_pct or nil, steps, step_us, base_us,
--   allreduce_us, scatter_pct = that part of measured_pct that the allreduce alone has, its mean less its usual time;
--   agrees = true, false, or nil: cannot be told (what was measured varies too much, or at least so much is predicted
--   and more was measured); differs = nil, "more" (was measured than predicted) or "less" }; only of the columns that
--   both have
function verify.compare(answer, measured)
   local predicted, out = {}, {}
   for _, work in ipairs(answer.works) do
      predicted[work.work_us] = work.rows[1]
   end
   for _, one in ipairs(measured) do
      local row = predicted[one.work_us]
      -- Not all nodes may have samples that are long enough for the longest quanta.
      if row and row.nodes == answer.nodes then
         local function percent(us)
            return us and 100 * us / one.base_us
         end
         -- Fixed work is never done sooner; the median of pieces of it may be off by a clock's tick.
         local p, m, se = row.pct, math.max(0, percent(one.step_us - one.base_us)), percent(one.se_us)
         local part, errors = math.max(PART * math.max(p, m), LEAST_PCT), ERRORS * (se or 0)
         local more = m > p + part + errors
         local differs = m < p - part - errors and "less" or more and not row.at_least and "more" or nil
         local told = differs or errors <= part and not more
         out[#out + 1] = { work_us = one.work_us, predicted_pct = p, at_least = row.at_least, measured_pct = m,
            se_pct = se, steps = one.steps, step_us = one.step_us, base_us = one.base_us, allreduce_us = one.call_us,
            scatter_pct = one.call_mean_us and math.max(0, percent(one.call_mean_us - one.call_us)),
            differs = differs }
         if told then
            out[#out].agrees = not differs
         end
      end
   end
   return out
end

--- Nodes whose cores in the job are not as many as were sampled.
-- @param nodes of read.nodes
-- @return names, how many cores in the job and how many sampled of the first
function verify.other_cores(nodes, measured)
   local out, has, had = {}, nil, nil
   for _, node in ipairs(nodes) do
      local cores, sampled = measured[1].cores[node.name_alone], node.checks[1].of.cores
      if cores and sampled and cores ~= sampled then
         out[#out + 1] = node.name
         has, had = has or cores, had or sampled
      end
   end
   return out, has, had
end

return verify
