--- How long a run took (run.elapsed_s), kept with it so that hundreds of runs are cheap to compare.
local runs = require("syscheck.store.runs")

local elapsed = {}

--- Nodes of a run that are all looked at; of a larger one about as many.
elapsed.ALL = 64

local GROWTH = math.log(9 / 8)

local TIMES = "SELECT j.elapsed_s FROM job_node j WHERE j.run = ?"
-- The key's low bits are random: a share of them is a share of the nodes, and the index of
-- runs holds the key, so rows that are not wanted are not read.
local SHARE_OF_TIMES = TIMES .. " AND (j.key & 1023) < ?"

--- Times of a run's nodes.
-- @param seen how many records of it are stored
-- @return list of seconds
function elapsed.read(store, run, seen)
   local share, list = math.ceil(1024 * elapsed.ALL / math.max(1, seen)), {}
   local each = share >= 1024 and store:rows(TIMES, run) or store:rows(SHARE_OF_TIMES, run, share)
   for row in each do
      list[#list + 1] = row[1]
   end
   return list
end

--- Whether a run's time has to be read again as it has more nodes than before. Of a large one at each eighth
-- more, and when it is complete: its nodes may come in as many batches.
-- @param was, seen records before and now
-- @param nodes of the run, nil where that is not known
function elapsed.is_due(was, seen, nodes)
   return seen <= elapsed.ALL or was < 1 or seen == nodes
      or math.log(was) // GROWTH ~= math.log(seen) // GROWTH
end

--- Sets the time of a run some of whose records went.
function elapsed.renew(store, run)
   local left = store:row("SELECT COUNT(*) FROM job_node j WHERE j.run = ?", run)[1]
   store:exec("UPDATE run SET elapsed_s = ? WHERE id = ?", runs.elapsed(elapsed.read(store, run, left)), run)
end

return elapsed
