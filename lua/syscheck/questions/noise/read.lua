--- What the newest checks of nodes say of noise, from the store: one short look through the index for each node.
local clusters = require("syscheck.questions.clusters")
local delays = require("syscheck.catalogue.delays")
local fleet_store = require("syscheck.questions.fleet.read")
local job_store = require("syscheck.questions.job.read")
local schema = require("syscheck.store.schema")

local read = {}

local CHECKS = 12000 -- of all nodes together, at least one of each
local MOST_OF_NODE = 9 -- as many slots has the store

local NEWEST = [[SELECT c.key >> 30, c.class, c.detail FROM noise_node c WHERE c.node = ? AND c.key >= ? AND c.key < ?
   ORDER BY c.key DESC LIMIT %d]]
local WITHOUT = [[SELECT c.without FROM noise_node c WHERE c.node = ? AND c.key >= ? AND c.key < ?
   ORDER BY c.key DESC LIMIT 1 OFFSET %d]]

-- Newest runs of fabric in which the time of an allreduce was measured.
local ALLREDUCE = [[SELECT c.key >> 30, c.node, c.detail FROM fabric_node c WHERE c.key >= ? ORDER BY c.key DESC]]
local LOOK = 2000

local function has_name(of)
   for _, component in ipairs(of.components) do
      if component.source then
         return true
      end
   end
   return false
end

-- The newest first, but that which knows a name before others that do not: sources are read from the first.
local function checks_of(store, span, node, most)
   local list, at, named = {}, 0, nil
   for t in store:rows(clusters.asked(NEWEST:format(most), node, schema.key(span.from), schema.key(span.to))) do
      local of = node.was(t[2]) and delays.of(job_store.detail(t[3]))
      list[#list + 1] = of and { time = t[1], of = of, at = at } or nil
      named = named or of and has_name(of) and #list or nil
      at = at + 1
   end
   if named then
      table.insert(list, 1, table.remove(list, named))
   end
   return list
end

--- Nodes whose noise is known.
-- @param span { from, to } epoch seconds
-- @param wanted list of fleet_store.nodes
-- @return list of { name, class, key, checks = list of { time, of = of delays.of } }; those of the wanted
--   of which none is known
function read.nodes(store, span, wanted)
   local out, silent = {}, {}
   local most = math.max(1, math.min(MOST_OF_NODE, CHECKS // math.max(1, #wanted)))
   for _, node in ipairs(wanted) do
      local checks = checks_of(store, span, node, most)
      if checks[1] then
         out[#out + 1] = { name = node.name, name_alone = node.name_alone, class = node.class, at = node,
            checks = checks }
      else
         silent[#silent + 1] = node.name
      end
   end
   return out, silent
end

--- Fills in `spared` and the components' `without` of a node's first check.
function read.add_without(store, span, node)
   if node.has_without then
      return
   end
   node.has_without = true
   local t = store:row(clusters.asked(WITHOUT:format(node.checks[1].at), node.at, schema.key(span.from),
      schema.key(span.to)))
   if t then
      delays.join(node.checks[1].of, job_store.detail(t[1]))
   end
end

--- How long an allreduce of 8 bytes takes among such nodes, as the newest run of fabric there says.
-- @param nodes of read.nodes
-- @return { us, steps, time }; nil where none was measured
function read.allreduce(store, from, nodes)
   local is_one = {}
   for _, node in ipairs(nodes) do
      is_one[node.at.key], is_one[node.at.also or node.at.key] = true, true
   end
   local looked = 0
   for t in store:rows(ALLREDUCE, schema.key(from)) do
      looked = looked + 1
      if looked > LOOK then
         break
      end
      -- Most runs of a fleet measure none.
      local telling = is_one[t[2]] and t[3] and t[3]:find('"allreduce_us"', 1, true)
      local of = telling and job_store.detail(t[3]) or {}
      if type(of.allreduce_us) == "number" and type(of.allreduce_steps) == "number" and of.allreduce_us > 0
         and of.allreduce_steps >= 1 and math.tointeger(of.allreduce_steps) then
         return { us = of.allreduce_us, steps = of.allreduce_steps, time = t[1] }
      end
   end
end

local OF_RUN = "SELECT j.node FROM job_node j WHERE j.run = ?"
local CHECKED = "SELECT c.node FROM check_node c WHERE c.run = ?"

--- Keys of the nodes that a run was on.
-- @return set
function read.of_run(store, run)
   local set = {}
   for _, text in ipairs({ OF_RUN, CHECKED }) do
      for t in store:rows(text, run.key) do
         set[t[1]] = true
      end
   end
   return set
end

--- Nodes of the fleet.
-- @param want { class, cluster }
-- @return list of those wanted; the name that was probably meant
function read.wanted(store, from, want)
   local all, near = fleet_store.nodes(store, from, want)
   local out = {}
   for _, node in ipairs(all) do
      out[#out + 1] = node.wanted and node or nil
   end
   return out, near
end

return read
