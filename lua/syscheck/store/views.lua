--- Views of the store for others' SQL, as Grafana's: columns that stay, and nothing about whose job it was.
--
-- A column, once here, keeps its name, its place and its meaning; new ones come last (PostgreSQL replaces no other
-- view). docs/store.md (Views) says what they are. Outer joins from the table with the key: SQLite reads that one
-- first then, by the range of time that was asked for.
local fields = require("syscheck.catalogue.fields")
local fnv = require("syscheck.lib.fnv")

local views = {}

-- $(x): x, a text, as people read it.
local VIEWS = {
   { "syscheck_node", [[SELECT $(w.text) AS cluster, $(n.name) AS node, $(k.text) AS class, $(n.leaf) AS leaf,
      n.seen_s AS seen_s, n.id AS node_no
      FROM node n LEFT JOIN word w ON w.id = n.cluster LEFT JOIN word k ON k.id = n.class]] },
   -- Words that name a process and its user are left out, as are those of jobs.
   { "syscheck_check", [[SELECT c.key AS time_key, c.key >> 30 AS time_s, $(w.text) AS cluster, $(n.name) AS node,
      $(k.text) AS class, $(g.text) AS stage, $(l.text) AS level, $(s.text) AS status, $(a.text) AS action,
      CASE WHEN $(c.text) LIKE '%uid %' OR $(c.text) LIKE '%(pid %' THEN NULL ELSE $(c.text) END AS reason,
      c.triad_gbs AS triad_gbs,
      c.gflops AS gflops, c.noise_pct AS noise_pct, c.latency_ns AS latency_ns, c.node AS node_no
      FROM check_node c LEFT JOIN node n ON n.id = c.node LEFT JOIN word w ON w.id = n.cluster
      LEFT JOIN word k ON k.id = c.class LEFT JOIN word g ON g.id = c.trigger LEFT JOIN word l ON l.id = c.level
      LEFT JOIN word s ON s.id = c.status LEFT JOIN word a ON a.id = c.action]] },
   { "syscheck_job", [[SELECT j.key AS time_key, j.key >> 30 AS time_s, j.run AS run, $(w.text) AS cluster,
      $(n.name) AS node, $(k.text) AS class, r.job_id AS job_id, $(p.text) AS slurm_partition, r.nodes AS nodes,
      j.begin_s AS begin_s, j.elapsed_s AS elapsed_s, j.throttle_events AS throttle_events,
      j.throttle_package_ms AS throttle_package_ms, j.memory_corrected AS memory_corrected,
      j.memory_uncorrected AS memory_uncorrected, j.link_errors AS link_errors, j.oom_kills AS oom_kills,
      j.io_some_us AS io_some_us, j.energy_j AS energy_j, j.node AS node_no
      FROM job_node j LEFT JOIN run r ON r.id = j.run LEFT JOIN node n ON n.id = j.node
      LEFT JOIN word w ON w.id = n.cluster LEFT JOIN word k ON k.id = j.class
      LEFT JOIN word p ON p.id = r.partition]] },
   -- Runs of one user_no, name_no and as many nodes are like runs; whose and which, only the tables say.
   { "syscheck_run", [[SELECT r.id AS run, $(w.text) AS cluster, r.job_id AS job_id, $(p.text) AS slurm_partition,
      r.nodes AS nodes, r.begin_s AS begin_s, r.end_s AS end_s, r.elapsed_s AS elapsed_s, r.user AS user_no,
      r.name AS name_no FROM run r LEFT JOIN word w ON w.id = r.cluster LEFT JOIN word p ON p.id = r.partition
      LEFT JOIN word o ON o.id = r.name WHERE o.text IS NULL OR $(o.text) <> ']] .. fields.OWN_JOB .. "'" },
}

local function statements(driver)
   local out = {}
   for _, view in ipairs(VIEWS) do
      local text = view[2]:gsub("%s+", " "):gsub("%$(%b())", function(column)
         return driver.TEXT_OUT:format(column:sub(2, -2))
      end)
      for _, form in ipairs(driver.NEW_VIEW) do
         out[#out + 1] = form:format(view[1], text)
      end
   end
   return out
end

local HAS = "SELECT value FROM meta WHERE name = 'views'"

local function replace(store, list, mark)
   -- The lock of every writer, see schema.lua.
   store:row("SELECT value FROM meta WHERE name = 'schema_version'" .. store.driver.LOCK)
   local row = store:row(HAS)
   if row and row[1] == mark then
      return
   end
   for _, text in ipairs(list) do
      store:exec(text)
   end
   store:exec(row and "UPDATE meta SET value = ? WHERE name = 'views'"
      or "INSERT INTO meta (value, name) VALUES (?, 'views')", mark)
end

--- Makes them, where the store has none, or those of another version. Who may not (MariaDB has a privilege for it)
-- still ingests: nothing of ours reads them.
-- @param store opened for writing, its tables up to date
function views.make(store)
   local list = statements(store.driver)
   local mark = ("%08x"):format(fnv.of32(table.concat(list)))
   local row = store:row(HAS)
   if not row or row[1] ~= mark then
      pcall(store.transaction, store, function()
         replace(store, list, mark)
      end)
   end
end

return views
