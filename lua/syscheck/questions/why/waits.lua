--- Whether a job waited for memory, read from the store, and what like runs with other core counts took.
local fields = require("syscheck.catalogue.fields")
local job_store = require("syscheck.questions.job.read")
local statistics = require("syscheck.lib.statistics")
local times = require("syscheck.questions.why.times")
local waits = require("syscheck.questions.job.waits")

local stored = {}

local NODES = 20000

local COLUMNS = {}
for _, field in ipairs(fields.JOB) do
   COLUMNS[#COLUMNS + 1] = field.from:find("^saturation%.") and field or nil
end
local OF_RUN = ("SELECT j.detail, j.node, %s FROM job_node j WHERE j.run = ? LIMIT %d"):format(
   job_store.columns(COLUMNS, "j"), NODES)
local CORES = "SELECT avg(j.mem_cores) FROM job_node j WHERE j.run = ?"

-- What runs with as many cores take: where there are none, this one.
local function own_time(run, like, cores)
   local list = { run.elapsed_s }
   for _, one in ipairs(like) do
      list[#list + 1] = one.cores and math.abs(one.cores / cores - 1) <= waits.ALIKE and one.elapsed_s or nil
   end
   return statistics.median(list)
end

--- @param key of table run; name function(node's key) -> its name
-- @return of waits.of_rows, and of waits.other_cores; nil where nothing was counted
function stored.of(store, key, name)
   local rows = {}
   for t in store:rows(OF_RUN, key) do
      rows[#rows + 1] = { job = { saturation = job_store.detail(t[1]).saturation },
         values = job_store.numbers(COLUMNS, t, 3), node = name(t[2]) }
   end
   local job = waits.of_rows(rows)
   if not job or not job.cores then
      return job
   end
   local run, like = times.new(store):of(key), {}
   for i, one in ipairs(run.like) do
      local row = store:row(CORES, one.key)
      like[i] = { elapsed_s = one.elapsed_s, cores = row and type(row[1]) == "number" and row[1] or nil }
   end
   return job, waits.other_cores(job, run.elapsed_s and own_time(run, like, job.cores), like)
end

return stored
