--- What the store tells Prometheus: bounded work, whatever the store's size.
local clusters = require("syscheck.questions.clusters")
local job_store = require("syscheck.questions.job.read")
local lost = require("syscheck.store.lost")
local rows = require("syscheck.questions.why.rows")
local schema = require("syscheck.store.schema")
local standing = require("syscheck.verdict.standing")
local times = require("syscheck.questions.why.times")
local why = require("syscheck.questions.why.logic")
local why_read = require("syscheck.questions.why.read")

local data = {}

local DAY = 86400
local NODE_DAYS = 30 -- a node without a check for so long is none of the fleet
local AHEAD_S = 300 -- a record may be of so much later than now
local LOOK = 200 -- newest checks of a node among which the last one that measured is looked for
--- Runs whose time is compared with like runs', the newest (1 ms each); those that are asked why, the dearest (0.1 s).
data.RUNS, data.EXAMINED = 20000, 100
local JOB_ROWS = 500000 -- libpq holds all of an answer in memory

local NODES = "SELECT n.id, n.name, n.class, n.seen_s, w.text FROM node n LEFT JOIN word w ON w.id = n.cluster "
   .. "ORDER BY n.id"
local NEWEST = "SELECT c.status, c.level, c.key >> 30 FROM check_node c WHERE c.node = ? AND c.key >= ? "
   .. "ORDER BY c.key DESC LIMIT 1"
local NEWEST_JOB = "SELECT j.key >> 30 FROM job_node j WHERE j.node = ? AND j.key >= ? ORDER BY j.key DESC LIMIT 1"
local MEASURED = ("SELECT c.status FROM (SELECT c.key, c.status, c.level FROM check_node c WHERE c.node = ? "
   .. "AND c.key >= ? ORDER BY c.key DESC LIMIT %d) c WHERE c.level IN (?, ?) ORDER BY c.key DESC LIMIT 1"):format(LOOK)
-- Without DISTINCT, for which SQLite would look through the index of all runs.
local ENDED = ("SELECT j.run, j.key >> 30 FROM job_node j WHERE j.key >= ? ORDER BY j.key DESC LIMIT %d")
   :format(JOB_ROWS)
local RUNS = "SELECT r.id, r.begin_s, r.end_s, r.seen, r.nodes, r.cluster FROM run r WHERE r.id"

local function word_id(store, text)
   local row = store:row("SELECT w.id FROM word w WHERE w.text = ?", text)
   return row and row[1] or -1
end

-- Nodes by what they are called now: list of { cluster, class, status }; and how old the newest record of a cluster is.
-- A node's seen_s is a day old at most, which will do for those without a newer one.
local function nodes(store, now, word)
   local all, out, newest, lag = {}, {}, {}, {}
   local function seen(cluster, at)
      -- What a clock that is ahead has written says nothing of what comes in.
      newest[cluster] = math.max(newest[cluster] or 0, at and at <= now + AHEAD_S and at or 0)
   end
   for t in store:rows(NODES) do
      seen(t[5] or "", t[4])
      all[#all + 1] = { key = t[1], name = t[2], class = word(t[3]), cluster = t[5] or "" }
   end
   local from = schema.key(math.max(0, now - NODE_DAYS * DAY))
   local quick, full = word_id(store, "quick"), word_id(store, "full")
   for _, node in ipairs(clusters.united(all)) do
      local t = store:row(clusters.asked(NEWEST, node, from)) or {}
      local measured = t[1] and t[2] ~= quick and t[2] ~= full
         and store:row(clusters.asked(MEASURED, node, from, quick, full))
      local status = standing.of(word(t[1]), measured and word(measured[1]))
      local job = store:row(clusters.asked(NEWEST_JOB, node, from))
      seen(node.cluster, t[3])
      seen(node.cluster, job and job[1])
      out[#out + 1] = status and { cluster = node.cluster, class = node.class or "", status = status } or nil
   end
   for cluster, at in pairs(newest) do
      -- One that is gone for good is no trouble of ingest.
      lag[cluster] = at > now - NODE_DAYS * DAY and math.max(0, now - at) or nil
   end
   return out, lag
end

-- Runs of which a record came since then, the newest first; since when all of them are among these.
local function ended(store, since, most)
   local keys, seen, list, rows_read, oldest, all = {}, {}, {}, 0, since, true
   for t in store:rows(ENDED, schema.key(since)) do
      rows_read = rows_read + 1
      if not seen[t[1]] and all then
         all = #keys < most
         seen[t[1]] = true
         keys[#keys + 1] = all and t[1] or nil
      end
      oldest = all and t[2] or oldest
   end
   -- The window is as long as what was looked at.
   since = (not all or rows_read == JOB_ROWS) and oldest or since
   rows.each_of(store, RUNS, keys, function(t)
      list[#list + 1] = { key = t[1], begin_s = t[2], end_s = t[3], seen = t[4], nodes = t[5], cluster = t[6] }
   end)
   return list, since
end

-- Those that were slower than like runs, the most node-seconds lost first; how many have like runs, by cluster.
local function slow_runs(store, list, word)
   local known, slow, compared = times.new(store), {}, {}
   for _, run in ipairs(list) do
      local time = known:of(run.key, true)
      run.cluster = word(run.cluster) or ""
      local is = why.slow(time.elapsed_s, time.e, #time.like)
      if is.verdict ~= "unknown" then
         compared[run.cluster] = (compared[run.cluster] or 0) + 1
      end
      if is.verdict == "slow" then
         run.lost_s = is.lost_s * (run.nodes or run.seen or 1)
         slow[#slow + 1] = run
      end
   end
   table.sort(slow, function(a, b)
      return a.lost_s > b.lost_s or a.lost_s == b.lost_s and a.key < b.key
   end)
   return slow, compared
end

local function examine(store, run)
   local out = why.analyse((why_read.read(store, run)))
   run.lost_s = (out.slow.lost_s or 0) * (run.nodes or run.seen or 1)
   local top = out.explanations[1]
   local own = top and top.group == "input" and top.probability >= why.NAMED
   run.cause = out.named and out.named.group or own and "input" or "unexplained"
end

--- @param now, since epoch seconds
-- @param limits { runs, examined }, or nil: the usual
-- @return what logic.families takes
function data.read(store, now, since, limits)
   local word = job_store.words(store)
   local out = { since = since, now = now, lost = {} }
   out.nodes, out.lag = nodes(store, now, word)
   for cluster in pairs(out.lag) do
      out.lost[cluster] = 0
   end
   for cluster, count in pairs(lost.totals(store)) do
      out.lost[word(cluster) or ""] = count
   end
   local list
   list, out.since = ended(store, since, limits and limits.runs or data.RUNS)
   out.slow, out.compared = slow_runs(store, list, word)
   for i = 1, math.min(#out.slow, limits and limits.examined or data.EXAMINED) do
      examine(store, out.slow[i])
   end
   return out
end

return data
