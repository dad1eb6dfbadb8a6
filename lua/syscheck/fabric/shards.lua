--- Which nodes are measured together where there are more than one job should have. Pure.
--
-- A shard has whole leaves, as far as they fit: what is within a leaf and at its uplink is seen there. What is between
-- the shards is measured last, by one node of each leaf that nothing was found of.
local hostlist = require("syscheck.lib.hostlist")
local parts = require("syscheck.lib.parts")

local shards = {}

--- In a shard, at most: MPI's start takes a minute, and one program can read what they say.
shards.MOST = 512
--- At least: of two nobody can be blamed.
shards.LEAST = 3

-- Nodes leaf by leaf, both in the order of their names; without a topology one list of all.
local function by_leaf(names, tree)
   local lists, at = {}, {}
   for _, name in ipairs(hostlist.sort(table.move(names, 1, #names, 1, {}))) do
      local leaf = tree and (tree.leaf[name] or "of " .. name) or ""
      if not at[leaf] then
         at[leaf] = {}
         lists[#lists + 1] = at[leaf]
      end
      table.insert(at[leaf], name)
   end
   return lists
end

-- The last one gets what it lacks from the one before.
local function fill_last(list)
   local last, before = list[#list], list[#list - 1]
   while before and #last < shards.LEAST and #before > shards.LEAST do
      table.insert(last, 1, table.remove(before))
   end
end

--- @param tree { leaf = { node's name = its leaf's } }, or nil
-- @param most nodes of a shard, at least LEAST
-- @return list of lists of names
function shards.build(names, tree, most)
   local out = {}
   for _, members in ipairs(by_leaf(names, tree)) do
      for _, part in ipairs(parts(members, most)) do
         local last = out[#out]
         if last and #last + #part <= most then
            table.move(part, 1, #part, #last + 1, last)
         else
            out[#out + 1] = part
         end
      end
   end
   fill_last(out)
   return out
end

-- Names of those that a finding of one of the answers is about.
local function named(answers)
   local out = {}
   for _, answer in ipairs(answers) do
      local net = answer.net
      for _, one in ipairs(answer.findings) do
         for _, node in pairs({ one.node, one.from, one.to }) do
            out[net.names[node]] = true
         end
      end
   end
   return out
end

--- Who measures between the shards: one of each leaf, of those that were measured and nothing was found of.
-- @param answers of the shards, from run.run
-- @param most of them
-- @return list of names, of fewer than LEAST leaves an empty one
function shards.across(answers, most)
   local bad, seen, out = named(answers), {}, {}
   for _, answer in ipairs(answers) do
      local net = answer.net
      for node, leaf in pairs(net.known and net.leaf or {}) do
         local name, at = net.names[node], net.leaves[leaf].name
         if not bad[name] and (not seen[at] or hostlist.order(name) < hostlist.order(seen[at])) then
            seen[at] = name
         end
      end
   end
   for _, name in pairs(seen) do
      out[#out + 1] = name
   end
   hostlist.sort(out)
   if #out < shards.LEAST then
      return {}
   end
   local count, list = math.min(#out, most), {}
   for k = 1, count do
      list[k] = out[(k - 1) * #out // count + 1]
   end
   return list
end

-- What a node is called that is alone at its leaf, and was good there.
local UPLINK = { nic = "uplink_link", host = "uplink_lost" }
local WAY = { out = "up", ["in"] = "down", both = "both" }

--- Makes of what was found between shards what it is, in place: each node was good within its leaf, so that it is the
-- leaf's uplink that is slow, and none of a node's latency is its own.
-- @param answer from run.run, of the nodes of across
function shards.explain(answer)
   local list = {}
   for _, one in ipairs(answer.findings) do
      if UPLINK[one.kind] then
         list[#list + 1] = { kind = UPLINK[one.kind], leaf = answer.net.leaf[one.node], direction = WAY[one.direction],
            share = one.share }
      elseif one.kind == "latency" then
         answer.unconfirmed = answer.unconfirmed + 1
      else
         list[#list + 1] = one
      end
   end
   answer.findings, answer.across = list, true
end

--- What a shard could not see, in place: an uplink, or a leaf switch, is compared with those of other leaves.
-- @param answer from run.run, of one of several shards
function shards.note(answer)
   local net = answer.net
   if net.known and #net.leaves < shards.LEAST then
      table.insert(answer.notes, ("%s in this shard: no uplink or leaf switch is compared with others under load; a "
         .. "larger --shard has more"):format(#net.leaves == 1 and "one leaf" or #net.leaves .. " leaves"))
   end
end

return shards
