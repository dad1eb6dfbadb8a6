--- How flows share links: weighted max-min fairness by progressive filling.
-- All flows rise together, each at its weight; a flow stops at its own limit (its end nodes' links), or when one of
-- its links is full. Node links carry one flow per direction in a round, so they are limits of flows here, and only
-- leaf uplinks are links. (Bertsekas, Gallager: Data Networks, section 6.5.2.)

local flows = {}

-- Binary heap of links by the level at which each will be full. Levels only rise while flows stop,
-- so an old key is a lower bound, and is corrected when it comes up.
local function push(heap, link, key)
   local keys, links = heap.keys, heap.links
   local i = #keys + 1
   while i > 1 do
      local parent = i // 2
      if keys[parent] <= key then
         break
      end
      keys[i], links[i] = keys[parent], links[parent]
      i = parent
   end
   keys[i], links[i] = key, link
end

local function pop(heap)
   local keys, links = heap.keys, heap.links
   local top, n = links[1], #keys
   local key, link = keys[n], links[n]
   keys[n], links[n] = nil, nil
   n = n - 1
   local i = 1
   while n > 0 do
      local child = 2 * i
      if child > n then
         break
      end
      if child < n and keys[child + 1] < keys[child] then
         child = child + 1
      end
      if keys[child] >= key then
         break
      end
      keys[i], links[i] = keys[child], links[child]
      i = child
   end
   if n > 0 then
      keys[i], links[i] = key, link
   end
   return top
end

-- Only links on which more is wanted than they carry can ever hold a flow back.
local function contended_links(set, capacity)
   local wanted = {}
   for i = 1, set.n do
      local up, down, limit = set.up[i], set.down[i], set.limit[i]
      if up then
         wanted[up] = (wanted[up] or 0) + limit
         wanted[down] = (wanted[down] or 0) + limit
      end
   end
   local links = {}
   for id, sum in pairs(wanted) do
      local room = capacity(id)
      if sum > room * (1 + 1e-12) then
         links[id] = { id = id, room = room, weight = 0, active = 0, flows = {} }
      end
   end
   return links
end

local function enter(link, i, weight)
   link.weight = link.weight + weight
   link.active = link.active + 1
   link.flows[link.active] = i
end

local function stop(link, rate, weight)
   if link then
      link.room = link.room - rate
      link.weight = link.weight - weight
      link.active = link.active - 1
   end
end

-- A number that orders links of equal level the same way in every run.
local function heap_of(links)
   local ids = {}
   for id in pairs(links) do
      ids[#ids + 1] = id
   end
   table.sort(ids)
   local heap = { keys = {}, links = {} }
   for _, id in ipairs(ids) do
      push(heap, links[id], links[id].room / links[id].weight)
   end
   return heap
end

local function fill(set, order, up_of, down_of, heap, rate)
   local weight, level = set.weight, set.level
   local function halt(i, value)
      rate[i] = value
      stop(up_of[i], value, weight[i])
      stop(down_of[i], value, weight[i])
   end
   local next_flow = 1
   while next_flow <= #order do
      local i = order[next_flow]
      local key = heap.keys[1]
      if rate[i] then
         next_flow = next_flow + 1
      elseif not key or level[i] <= key then
         halt(i, set.limit[i])
         next_flow = next_flow + 1
      else
         local link = pop(heap)
         if link.active > 0 then
            local full = link.room / link.weight
            if full > key * (1 + 1e-9) then
               push(heap, link, full)
            else
               for _, f in ipairs(link.flows) do
                  if not rate[f] then
                     halt(f, math.min(full * weight[f], set.limit[f]))
                  end
               end
            end
         end
      end
   end
end

--- Rates of flows that run at the same time.
-- @param set { n, limit = {GB/s}, weight = {1 for all in a fair network}, up = {link id or nil}, down = {...} },
-- each list by flow number; a flow has both up and down, or neither
-- @param capacity function from link id to GB/s
-- @return list of rates in GB/s, by flow number
function flows.share(set, capacity)
   local links = contended_links(set, capacity)
   local rate, order, up_of, down_of, level = {}, {}, {}, {}, {}
   for i = 1, set.n do
      local up, down = links[set.up[i]], links[set.down[i]]
      if up or down then
         order[#order + 1] = i
         up_of[i], down_of[i] = up, down
         level[i] = set.limit[i] / set.weight[i]
         if up then
            enter(up, i, set.weight[i])
         end
         if down then
            enter(down, i, set.weight[i])
         end
      else
         rate[i] = set.limit[i]
      end
   end
   table.sort(order, function(x, y)
      if level[x] ~= level[y] then
         return level[x] < level[y]
      end
      return x < y
   end)
   set.level = level
   fill(set, order, up_of, down_of, heap_of(links), rate)
   return rate
end

return flows
