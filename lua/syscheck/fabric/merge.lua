--- One finding a fault, of what each suspect was judged to be. Pure.

-- One finding for what is one fault: both directions of an uplink or a route; two kinds of trouble of one node.
local function per_place(list)
   local out, seen = {}, {}
   for _, one in ipairs(list) do
      local place = one.leaf and "leaf " .. one.kind .. one.leaf
         or one.from and ("pair %d %d"):format(math.min(one.from, one.to), math.max(one.from, one.to))
         or "node " .. one.node .. (one.kind == "latency" and " latency" or "")
      local first = seen[place]
      if first and (one.leaf or one.from) then
         local other_way = one.leaf and first.direction ~= one.direction or one.from and one.from == first.to
         first.direction = other_way and "both" or first.direction
         first.share = math.min(first.share, one.share)
         first.affected = one.affected and math.max(first.affected, one.affected) or first.affected
      elseif not first then
         seen[place] = one
         out[#out + 1] = one
      end
   end
   return out
end

-- Who loses packets is slow now with this partner, now with that one.
local function without_routes_of_losers(list)
   local loses, out = {}, {}
   for _, one in ipairs(list) do
      if one.how == "loss" then
         loses[one.node] = true
      end
   end
   for _, one in ipairs(list) do
      local echo = (one.kind == "route" or one.kind == "collision") and (loses[one.from] or loses[one.to])
      out[#out + 1] = not echo and one or nil
   end
   return out
end

-- Links lost and a bad link of one uplink are one fault: the link explains both. Who is silent is nothing else beside.
local function without_echoes(list)
   local link, dead, out = {}, {}, {}
   for _, one in ipairs(list) do
      if one.kind == "uplink_link" then
         link[one.leaf] = true
      elseif one.kind == "silent" then
         dead[one.node] = true
      end
   end
   for _, one in ipairs(list) do
      local echo = one.kind == "uplink_lost" and link[one.leaf] or one.kind ~= "silent" and one.node and dead[one.node]
      out[#out + 1] = not echo and one or nil
   end
   return out
end

-- Routes that are slow alone, several of one leaf in one direction with several others: not so many routes are
-- wrong, but one link of its uplink, over which these go.
local function links_of_routes(net, list, tried)
   local of, out = {}, {}
   local function count(leaf, direction, other, one)
      local name = direction .. leaf
      of[name] = of[name] or { leaf = leaf, direction = direction, others = {}, n = 0, routes = {} }
      local link = of[name]
      link.n = link.n + (link.others[other] and 0 or 1)
      link.others[other] = true
      table.insert(link.routes, one)
   end
   for _, one in ipairs(list) do
      if one.kind == "route" then
         local from, to = net.leaf[one.from], net.leaf[one.to]
         count(from, "up", to, one)
         count(to, "down", from, one)
         if one.direction == "both" then
            count(to, "up", from, one)
            count(from, "down", to, one)
         end
      end
   end
   local links = {}
   for _, link in pairs(of) do
      links[#links + 1] = link.n >= 2 and link or nil
   end
   table.sort(links, function(a, b)
      if #a.routes ~= #b.routes then
         return #a.routes > #b.routes
      end
      return a.leaf < b.leaf or a.leaf == b.leaf and a.direction < b.direction
   end)
   local explained = {}
   for _, link in ipairs(links) do
      local share, others, n = 1, {}, 0
      for _, one in ipairs(link.routes) do
         local other = net.leaf[one.from] == link.leaf and net.leaf[one.to] or net.leaf[one.from]
         if not explained[one] and not others[other] then
            others[other], n = true, n + 1
         end
         share = math.min(share, one.share)
      end
      if n >= 2 or #link.routes >= 2 and explained[link.routes[1]] == link.leaf then
         for _, one in ipairs(link.routes) do
            explained[one] = explained[one] or link.leaf
         end
         out[#out + 1] = { kind = "uplink_link", leaf = link.leaf, direction = link.direction, share = share,
            affected = #link.routes / math.max(1, tried[link.direction .. link.leaf] or 0) }
      end
   end
   for _, one in ipairs(list) do
      out[#out + 1] = not explained[one] and one or nil
   end
   return out
end

--- @param net from net.new
-- @param list of findings, as judge.all gives them
-- @param tried { "up3" or "down3" = how many of leaf 3's pairs were measured alone }
-- @return list of findings
return function(net, list, tried)
   return without_echoes(per_place(links_of_routes(net, per_place(without_routes_of_losers(list)), tried)))
end
