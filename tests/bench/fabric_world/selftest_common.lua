--- What the self-test's files have in common: checks, quiet sites, who pairs with whom.

local common = { failed = 0 }

-- No noise, nobody else, all nodes the same.
local QUIET <const> = { noise = 0, outliers = 0, spread = 0, topology_known = true, mixed = false, both_ways = 1 }

--- Count and print what does not hold.
function common.check(what, ok, detail)
   if not ok then
      common.failed = common.failed + 1
      print("FAILED: " .. what .. (detail and ": " .. tostring(detail) or ""))
   end
end

--- Whether x is within a part of y.
function common.near(x, y, part)
   return math.abs(x - y) <= part * math.abs(y)
end

--- Options of a quiet site, with more of them.
function common.with(options)
   local all = {}
   for name, value in pairs(QUIET) do
      all[name] = value
   end
   for name, value in pairs(options) do
      all[name] = value
   end
   return all
end

--- Every node with one other, by chance.
function common.random_pairs(w, rng)
   local order = rng:shuffle(table.move(w.nodes, 1, #w.nodes, 1, {}))
   local pairs_ = {}
   for i = 1, #order - 1, 2 do
      pairs_[#pairs_ + 1] = { order[i], order[i + 1] }
   end
   return pairs_
end

--- Rate of a healthy node's link, GB/s.
function common.full(w)
   return w.site.choice.link_rate * w.site.choice.efficiency
end

--- Result of a pair with nobody else at work.
function common.alone(w, a, b)
   return w.measure({ { pairs = { { a, b } } } })[1][1]
end

--- Nodes without faults in leaves without faults, in another leaf than `name`, or in the same.
function common.partners(w, name, same)
   local bad = {}
   for _, fault in ipairs(w.truth) do
      for _, node in ipairs(fault.nodes or fault.pair or { fault.node }) do
         bad[node] = true
      end
   end
   local list = {}
   for _, node in ipairs(w.nodes) do
      if not bad[node] and node ~= name and (w.leaf[node] == w.leaf[name]) == same then
         list[#list + 1] = node
      end
   end
   return list
end

--- Mean rate, in parts of full rate, of all pairs at once.
function common.loaded_share(w, pairs_)
   local sum = 0
   for _, result in ipairs(w.measure({ { pairs = pairs_ } })[1]) do
      sum = sum + result.ab_gbs / common.full(w)
   end
   return sum / #pairs_
end

return common
