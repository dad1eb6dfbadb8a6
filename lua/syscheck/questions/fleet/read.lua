--- Every node's newest measured values, read from the store: one short look through the
-- index for each node, so that a fleet of 10,000 takes no more memory than its values.
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
               return finding.is_over(f, node.name, finding.looked(job_store.detail(text), status))
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

--- @param class name, or nil for all
-- @param cluster name, or nil for all
-- @return list for fleet.compare; list of { node, class, time, text } of those whose newest
--   check is unknown; of fabric.standing; and where a class has no node, one of a name like it
function fleet_store.newest(store, from, class, cluster)
   local all, nodes, list, unknown, classes, several = {}, {}, {}, {}, {}, false
   local linked, by_key = {}, {}
   local word = job_store.words(store)
   -- A node that has lost a DIMM is compared with what it was: its own class has few nodes, or it alone.
   local rated = classes_of.rated_as(store)
   for t in store:rows([[SELECT n.id, n.name, n.class, wc.text FROM node n LEFT JOIN word wc ON wc.id = n.cluster
      ORDER BY n.id]]) do
      local own = word(t[3])
      all[#all + 1] = { key = t[1], name = t[2], own = own, class = t[3] and word(rated(t[1], t[3])), cluster = t[4] }
   end
   for _, node in ipairs(clusters.united(all)) do
      if not cluster or node.cluster == cluster then
         nodes[#nodes + 1] = node
         several = several or node.cluster ~= nodes[1].cluster
         classes[#classes + 1] = node.class
         by_key[node.key], by_key[node.also or node.key] = node, node
      end
   end
   local runs = between(store, from, word, by_key)
   for _, node in ipairs(nodes) do
      local wanted = not class or node.class == class or node.own == class
      local values = wanted and values_of(store, node, from, word) or {}
      local last = wanted and blind(store, node, from, word)
      -- n17 may be in each of several clusters.
      local name = several and ("%s/%s"):format(node.cluster or "?", node.name) or node.name
      if next(values) then
         list[#list + 1] = { node = name, key = node.key, class = node.class, values = values }
      end
      local found = runs:of(node.key)
      if found and (wanted or found.class == class) then
         linked[#linked + 1] = { name = name, of = found }
         list[#list + 1] = found.values and { node = name, key = node.key, class = found.class,
            values = found.values } or nil
      end
      if last then
         last.node, last.class = name, node.class
         unknown[#unknown + 1] = last
      end
   end
   return list, unknown, fabric.standing(linked), class and like(class, classes)
end

return fleet_store
