--- Every node's newest measured values, read from the store: one short look through the
-- index for each node, so that a fleet of 10,000 takes no more memory than its values.
local beside = require("syscheck.catalogue.beside")
local classes_of = require("syscheck.questions.why.classes")
local clusters = require("syscheck.questions.clusters")
local fabric = require("syscheck.questions.fleet.fabric")
local fields = require("syscheck.catalogue.fields")
local finding = require("syscheck.questions.finding")
local job_store = require("syscheck.questions.job.read")
local schema = require("syscheck.store.schema")
local spelling = require("syscheck.lib.spelling")

local fleet_store = {}

-- Checks of one node that are looked at: quick ones lack what only full ones measure.
local LOOK = 64
local STRIP = 1000 -- of one node in a picture of its checks

-- A passive check measures nothing, and there may be thousands since the last quick one.
local MEASURED = {}
for _, field in ipairs(fields.CHECK) do
   MEASURED[#MEASURED + 1] = field.unit ~= "count" and ("c.%s IS NOT NULL"):format(field.name) or nil
end
local NEWEST = ([[SELECT c.key >> 30, c.status, %s FROM check_node c WHERE c.node = ? AND c.key >= ? AND (%s)
   ORDER BY c.key DESC LIMIT %d]]):format(job_store.columns(fields.CHECK, "c"), table.concat(MEASURED, " OR "), LOOK)

local FABRIC = ([[SELECT c.key >> 30, c.node, c.class, c.status, c.text, c.detail, %s FROM fabric_node c
   WHERE c.key >= ? ORDER BY c.key]]):format(job_store.columns(fields.FABRIC, "c"))

local LAST = "SELECT c.key >> 30, c.status, c.text FROM check_node c WHERE c.node = ? AND c.key >= ? "
   .. "ORDER BY c.key DESC LIMIT 1"

-- Of a node whose newest check found out nothing (an agent that dies, kernels that are not
-- there): when and why; else nil.
local function blind(store, node, from, word)
   local t = store:row(clusters.asked(LAST, node, schema.key(from)))
   return t and word(t[2]) == "unknown" and { time = t[1], text = t[3] } or nil
end

local function values_of(store, node, from, word)
   local values, missing = {}, #MEASURED
   for t in store:rows(clusters.asked(NEWEST, node, schema.key(from))) do
      for name, value in pairs(job_store.numbers(fields.CHECK, t, 3)) do
         if not values[name] then
            values[name] = { value = value, time = t[1], status = word(t[2]) }
            missing = missing - (fields.CHECK_BY_NAME[name].unit ~= "count" and 1 or 0)
         end
      end
   end
   return values
end

-- Its links at the end of its newest job, in the same form: gauges. Only that record is looked at.
local LINK = "SELECT j.key >> 30, j.link_rate_gbps, j.link_ports FROM job_node j WHERE j.node = ? AND j.key >= ? "
   .. "ORDER BY j.key DESC LIMIT 1"

local function add_links(store, node, from, values)
   local t = store:row(clusters.asked(LINK, node, schema.key(from)))
   for i, name in ipairs({ "link_rate_gbps", "link_ports" }) do
      values[name] = t and type(t[i + 1]) == "number" and { value = t[i + 1], time = t[1] } or nil
   end
end

-- Which policy and baseline its newest record names.
local FILES = "SELECT %s.key >> 30, %s.policy, %s.baseline FROM %s_node %s WHERE %s.node = ? AND %s.key >= ? "
   .. "ORDER BY %s.key DESC LIMIT 1"
local BY_CHECK, BY_JOB = FILES:gsub("%%s_", "check_"):gsub("%%s", "c"), FILES:gsub("%%s_", "job_"):gsub("%%s", "j")

--- What nodes go by.
-- @param nodes from fleet_store.nodes
-- @return list for files.of; those that were not heard from since `from` are not in it
function fleet_store.files(store, from, nodes)
   local out, word = {}, job_store.words(store)
   for _, node in ipairs(nodes) do
      local newest
      for _, text in ipairs({ BY_CHECK, BY_JOB }) do
         local t = node.wanted and store:row(clusters.asked(text, node, schema.key(from)))
         newest = t and (not newest or t[1] > newest[1]) and t or newest
      end
      out[#out + 1] = newest and { name = node.name_alone, cluster = node.cluster, time = newest[1],
         policy = word(newest[2]), baseline = word(newest[3]) } or nil
   end
   return out
end

-- Whether one of its last jobs ran in a partition. Which partitions a node is in only Slurm knows, and today's; to look
-- at all jobs would take minutes in a large store.
local JOBS_LOOK = 50
local IN_PARTITION = ([[SELECT COUNT(*) FROM (SELECT j.run FROM job_node j WHERE j.node = ? AND j.key >= ?
   ORDER BY j.key DESC LIMIT %d) l JOIN run r ON r.id = l.run WHERE r.partition = ?]]):format(JOBS_LOOK)

-- @param partition name
-- @return function(node) -> whether it is in it; nil: no job of it is in the store
local function member_of(store, from, partition)
   local word = store:row("SELECT w.id FROM word w WHERE w.text = ?", partition)
   return word and function(node)
      return store:row(clusters.asked(IN_PARTITION, node, schema.key(from), word[1]))[1] > 0
   end
end

-- The partition that was probably meant.
local function partition_like(store, partition)
   local names = {}
   for t in store:rows("SELECT w.text FROM word w WHERE w.id IN (SELECT DISTINCT r.partition FROM run r)") do
      names[#names + 1] = t[1]
   end
   local near = spelling.nearest(partition, names)
   return near ~= partition and near or nil
end

-- What runs of `syscheck fabric` found of all nodes: one look through its table.
-- @param nodes { key of a node in the store = { key that it goes by, name } }
local function between(store, from, word, nodes)
   local out = fabric.new()
   for t in store:rows(FABRIC, schema.key(from)) do
      local node, status, text = nodes[t[2]], word(t[4]), t[6] or ""
      -- Of most nothing was found, and nothing was before: what they met is not read.
      local telling = text:find('"findings"', 1, true) or text:find('"rail"', 1, true)
      local found = node and finding.all(telling and job_store.detail(text) or {}, status, t[5])
      if node then
         out:add(node.key, { time = t[1], class = word(t[3]), status = status, findings = found,
            values = job_store.numbers(fields.FABRIC, t, 7), is_over = function(f)
               return finding.is_over(f, node.name_alone, finding.looked(job_store.detail(text), status))
            end })
      end
   end
   return out
end

-- The class that was probably meant: misspelled, or a part of it.
local function like(class, classes)
   for _, name in ipairs(classes) do
      if name ~= class and name:find(class, 1, true) then
         return name
      end
   end
   local near = spelling.nearest(class, classes)
   return near ~= class and near or nil
end

--- The nodes that are wanted.
-- @param want { class, cluster, partition }: names, or nil for all
-- @return list of { key, also, name (n17 may be in each of several clusters), own (class), class (that it is compared
--   with), cluster, wanted (of that class) }; a class or partition of a name like the one that has no node
function fleet_store.nodes(store, from, want)
   local all, nodes, classes, several = {}, {}, {}, false
   local word = job_store.words(store)
   -- A node that has lost a DIMM is compared with what it was: its own class has few nodes, or it alone.
   local rated = classes_of.rated_as(store)
   for t in store:rows([[SELECT n.id, n.name, n.class, wc.text FROM node n LEFT JOIN word wc ON wc.id = n.cluster
      ORDER BY n.id]]) do
      local own = word(t[3])
      local class = t[3] and word(rated(t[1], t[3]))
      all[#all + 1] = { key = t[1], name = t[2], own = own, class = class, cluster = t[4],
         -- Whether what it measured as a node of that class is of the one that it is in now.
         was = function(number)
            return number == nil or class == nil or number == t[3] or word(rated(t[1], number)) == class
         end }
   end
   local is_member = want.partition and member_of(store, from, want.partition)
   for _, node in ipairs(clusters.united(all)) do
      if (not want.cluster or node.cluster == want.cluster)
         and (not want.partition or is_member and is_member(node)) then
         nodes[#nodes + 1] = node
         several = several or node.cluster ~= nodes[1].cluster
         classes[#classes + 1] = node.class
      end
   end
   for _, node in ipairs(nodes) do
      node.name_alone = node.name
      node.name = several and ("%s/%s"):format(node.cluster or "?", node.name) or node.name
      node.wanted = not want.class or node.class == want.class or node.own == want.class
   end
   return nodes, #nodes == 0 and want.partition and partition_like(store, want.partition)
      or want.class and like(want.class, classes)
end


local STATUSES = ([[SELECT c.key >> 30, c.status FROM check_node c WHERE c.node = ? AND c.key >= ?
   ORDER BY c.key DESC LIMIT %d]]):format(STRIP)

--- How each node's checks ended, the newest STRIP of each.
-- @param want of fleet_store.nodes
-- @return list of { node, checks = list of { time, status }, in order of time }
function fleet_store.checks(store, from, want)
   local word, out = job_store.words(store), {}
   for _, node in ipairs((fleet_store.nodes(store, from, want))) do
      local checks = {}
      for t in store:rows(clusters.asked(STATUSES, node, schema.key(from))) do
         table.insert(checks, { time = t[1], status = word(t[2]) })
      end
      for i = 1, #checks // 2 do
         checks[i], checks[#checks - i + 1] = checks[#checks - i + 1], checks[i]
      end
      out[#out + 1] = node.wanted and #checks > 0 and { node = node.name, checks = checks } or nil
   end
   return out
end

--- @param want of fleet_store.nodes
-- @return list for fleet.compare; list of { node, class, time, text } of those whose newest
--   check is unknown; of fabric.standing; the name that was probably meant; and of fleet_store.files
function fleet_store.newest(store, from, want)
   local list, unknown, linked, by_key, word = {}, {}, {}, {}, job_store.words(store)
   local nodes, near = fleet_store.nodes(store, from, want)
   for _, node in ipairs(nodes) do
      by_key[node.key], by_key[node.also or node.key] = node, node
   end
   local runs = between(store, from, word, by_key)
   for _, node in ipairs(nodes) do
      local values = node.wanted and values_of(store, node, from, word) or {}
      local last = node.wanted and blind(store, node, from, word)
      if node.wanted then
         add_links(store, node, from, values)
      end
      if next(values) then
         list[#list + 1] = { node = node.name, key = node.key, class = node.class, values = values }
      end
      local found = runs:of(node.key)
      if found and (node.wanted or found.class == want.class) then
         linked[#linked + 1] = { name = node.name, of = found }
         list[#list + 1] = found.values and { node = node.name, key = node.key, class = found.class,
            values = found.values } or nil
      end
      if last then
         last.node, last.class = node.name, node.class
         unknown[#unknown + 1] = last
      end
   end
   return list, unknown, fabric.standing(linked), near, fleet_store.files(store, from, nodes)
end

local MOST_NOISY = 50 -- nodes of a class whose noise is read
local DETAIL = "SELECT c.detail FROM check_node c WHERE c.node = ? AND c.key >= ? AND c.key < ? "
   .. "AND c.noise_pct IS NOT NULL"

-- What noise was made of in the check that measured it; nil: it does not say.
local function noise_of(store, item)
   local t = store:row(DETAIL, item.key, schema.key(item.time), schema.key(item.time + 1))
   local noise = t and job_store.detail(t[1]).noise
   return type(noise) == "table" and beside.noise_text(noise) or nil
end

--- Fills in `noise` of the noisiest node of each class, and of those that are out.
-- @param answer of fleet.compare
function fleet_store.add_noise(store, answer)
   for _, class in ipairs(answer) do
      for _, m in ipairs(class.metrics) do
         if m.field.name == "noise_pct" then
            m.slowest.noise = noise_of(store, m.slowest)
            for i = 1, math.min(MOST_NOISY, #m.out) do
               m.out[i].noise = noise_of(store, m.out[i])
            end
         end
      end
   end
end

return fleet_store
