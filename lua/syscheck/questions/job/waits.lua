--- Whether a run waited for memory, by what its nodes' records say: verdict/waits.lua. Pure.
local fields = require("syscheck.catalogue.fields")
local statistics = require("syscheck.lib.statistics")
local verdict = require("syscheck.verdict.waits")

local waits = {}

--- Cores that differ by less are alike.
waits.ALIKE = 0.1

--- A node's numbers by the names of verdict/saturation.lua.
-- @param values by column of the store; kept { unknown, source } of its detail, or nil; name of the node
function waits.node(values, kept, name)
   local unknown = type(kept) == "table" and kept.unknown
   local out = { name = name, unknown = type(unknown) == "string" and unknown or nil,
      source = type(kept) == "table" and kept.source or nil }
   for key, column in pairs(fields.SATURATION) do
      out[key] = values and values[column]
   end
   return out
end

--- @param rows of an answer (records.lua)
-- @return of verdict/waits.of_job, nil where nothing was counted
function waits.of_rows(rows)
   local nodes = {}
   for _, row in ipairs(rows) do
      nodes[#nodes + 1] = row.job and waits.node(row.values, row.job.saturation, row.node) or nil
   end
   return verdict.of_job(nodes)
end

--- What like runs with another number of cores took: it replaces what the curve says.
-- @param job of of_rows, with cores
-- @param own_s how long runs with as many cores take
-- @param like list of { cores, elapsed_s }
-- @return { cores, ratio, runs } of the count that most of them have; nil where there are none
function waits.other_cores(job, own_s, like)
   local by, best = {}, nil
   for _, one in ipairs(job.cores and own_s and own_s > 0 and like or {}) do
      if one.cores and one.elapsed_s and math.abs(one.cores / job.cores - 1) > waits.ALIKE then
         local cores = math.floor(one.cores + 0.5)
         by[cores] = by[cores] or {}
         table.insert(by[cores], one.elapsed_s)
         local more = not best or #by[cores] > #by[best] or #by[cores] == #by[best] and cores < best
         best = more and cores or best
      end
   end
   return best and { cores = best, runs = #by[best], ratio = statistics.median(by[best]) / own_s } or nil
end

--- "this job used 92 % of its nodes' memory bandwidth ...", or why that is not known.
-- @param job of of_rows, or nil
function waits.sentence(job, like)
   if not job then
      return nil
   end
   local text = verdict.text(job, like)
   return text and "this job " .. text or ("how much of its nodes' memory bandwidth this job used is not known: %s")
      :format(job.unknown)
end

--- The same for JSON.
function waits.object(job, like)
   if not job then
      return nil
   end
   local out = { text = waits.sentence(job, like), like = like }
   for name, value in pairs(job) do
      out[name] = value
   end
   out.differing = job.differing and {} or nil
   for i, group in ipairs(job.differing or {}) do
      out.differing[i] = { state = group.state, nodes = group.names }
   end
   return out
end

return waits
