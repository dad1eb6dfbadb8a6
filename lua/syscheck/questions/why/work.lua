--- What a job did more of than like runs: never blamed, said where nothing else explains. Pure.
local causes = require("syscheck.questions.why.causes")
local statistics = require("syscheck.lib.statistics")
local stats = require("syscheck.questions.why.stats")

local work = {}

local LEAST_SD = 0.02
local MIN_LIKE = 3

local function total(rows, name)
   local sum, n = 0, 0
   for _, row in ipairs(rows) do
      if type(row[name]) == "number" then
         sum, n = sum + row[name], n + 1
      end
   end
   return n > 0 and sum / n or nil
end

--- @param state { rows, like = list of rows of like runs }
-- @return list of { name, label, ratio (to the median of like runs), p (Student's t), p_rank }, the rarest first
function work.more(state)
   local out = {}
   for _, field in ipairs(causes.WORK) do
      local now, before, logs = total(state.rows, field.name), {}, {}
      for _, rows in ipairs(state.like) do
         local v = total(rows, field.name)
         before[#before + 1] = v
         logs[#logs + 1] = v and v > 0 and math.log(v) or nil
      end
      -- What a node counts is its jobs' together.
      local own = field.path[1] == "cgroup" or not (state.rows[1] and state.rows[1].others)
      -- Who waits for a slow node spins meanwhile: CPU time is no work.
      if now and now > 0 and #logs >= MIN_LIKE and own and field.name ~= "cg_cpu_us" then
         out[#out + 1] = { name = field.name, label = field.label, ratio = now / math.exp(statistics.median(logs)),
            p = stats.new_value(math.log(now), logs, LEAST_SD), p_rank = stats.rank(now, before) }
      end
   end
   table.sort(out, function(a, b)
      if a.p ~= b.p then
         return a.p < b.p
      end
      return a.name < b.name
   end)
   return out
end

return work
