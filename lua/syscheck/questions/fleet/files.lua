--- Which policy and which baseline a cluster's nodes go by, and who by another than most. Pure.
local hostlist = require("syscheck.lib.hostlist")

local files = {}

-- A node whose newest record is so much older than its cluster's was away, or is idle and without a health program:
-- what it would go by now nobody knows.
local RECENT_S = 2 * 86400
-- In the place of a digest, see node/node.lua.
local NONE = { policy = "the defaults, no file", baseline = "none" }
files.KINDS = { "policy", "baseline" }

-- "3f2a91cc 2026-11-20" -> "3f2a91cc", "2026-11-20"
local function parts_of(word)
   return word:match("^(%S+) ?(.*)$")
end

-- Those of one kind, most nodes first.
local function groups_of(nodes, kind)
   local by, list = {}, {}
   for _, node in ipairs(nodes) do
      local word = node[kind]
      if word and not by[word] then
         local hash, version = parts_of(word)
         by[word] = { hash = hash or word, version = version ~= "" and version or nil, nodes = {} }
         list[#list + 1] = by[word]
      end
      if word then
         table.insert(by[word].nodes, node.name)
      end
   end
   table.sort(list, function(a, b)
      if #a.nodes ~= #b.nodes then
         return #a.nodes > #b.nodes
      end
      return a.hash < b.hash
   end)
   return list
end

--- @param nodes list of { name, cluster, time = of its newest record in epoch seconds, policy, baseline = what that
--   record says, nil: nothing }
-- @return list of { cluster, kind = "policy" or "baseline", groups = list of { hash ("none": see NONE), version,
--   nodes = names }, the majority first, silent = how many do not say it, away = how many were not heard from }, of
--   each cluster where somebody says it
function files.of(nodes)
   local clusters, names, out = {}, {}, {}
   for _, node in ipairs(nodes) do
      local cluster = node.cluster or ""
      if not clusters[cluster] then
         clusters[cluster], names[#names + 1] = { nodes = {}, newest = 0 }, cluster
      end
      local c = clusters[cluster]
      table.insert(c.nodes, node)
      c.newest = math.max(c.newest, node.time)
   end
   table.sort(names)
   for _, name in ipairs(names) do
      local c, heard = clusters[name], {}
      for _, node in ipairs(c.nodes) do
         heard[#heard + 1] = node.time >= c.newest - RECENT_S and node or nil
      end
      for _, kind in ipairs(files.KINDS) do
         local groups, said = groups_of(heard, kind), 0
         for _, group in ipairs(groups) do
            said = said + #group.nodes
         end
         out[#out + 1] = #groups > 0 and { cluster = name, kind = kind, groups = groups, silent = #heard - said,
            away = #c.nodes - #heard } or nil
      end
   end
   return out
end

--- Whether some node goes by another one than most.
-- @param list of files.of
function files.differ(list)
   for _, one in ipairs(list) do
      if #one.groups > 1 then
         return true
      end
   end
   return false
end

--- "3f2a91cc (2026-11-20)"
function files.name(group, kind)
   return group.hash == "none" and NONE[kind] or group.hash .. (group.version and (" (%s)"):format(group.version) or "")
end

--- "policy: 998 nodes have 3f2a91cc (2026-11-20), n[17,18] have 91cc0a12"
-- @param one of files.of
-- @param several whether there are several clusters
function files.sentence(one, several)
   local parts = {}
   for i, group in ipairs(one.groups) do
      local n = #group.nodes
      parts[i] = ("%s ha%s %s"):format(i == 1 and ("%d node%s"):format(n, n == 1 and "" or "s")
         or hostlist.fold(group.nodes), n == 1 and "s" or "ve", files.name(group, one.kind))
   end
   if one.silent > 0 then
      parts[#parts + 1] = ("%d of an older version do%s not say"):format(one.silent, one.silent == 1 and "es" or "")
   end
   return ("%s%s: %s"):format(one.kind, several and one.cluster ~= "" and " on " .. one.cluster or "",
      table.concat(parts, ", "))
end

return files
