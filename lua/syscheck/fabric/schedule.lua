--- Who talks with whom, and when. Pure. A round is a matching: each node has one partner at most, and all
-- pairs run at the same time, so that what a run costs does not grow with the nodes.
--
-- First within leaves, where nothing but two nodes and their switch is in the way; then across, where a leaf's
-- nodes all talk with those of one other leaf, so that its uplink is as loaded as it can be.
local random = require("syscheck.lib.random")

local schedule = {}

schedule.WITHIN = 5
schedule.ACROSS = 4

-- The circle method: round r of a list with an even number of places, of which one may be `false` (nobody).
-- Over #list - 1 rounds everybody meets everybody once.
local function circle(list, r, meet)
   local n = #list
   local function at(place) -- the first stays, the others go round
      return place == 1 and list[1] or list[(place - 2 + r) % (n - 1) + 2]
   end
   for k = 1, n // 2 do
      meet(at(k), at(n + 1 - k))
   end
end

local function even(list)
   if #list % 2 == 1 then
      list[#list + 1] = false
   end
   return list
end

-- Who has nobody yet: with one of another leaf, as far as there is one. Sorted by leaves, in an order of this round's
-- own, one from the first half with one from the second; only of a leaf that has more than half are some paired there.
local function pair_rest(net, rest, pairs_, draw)
   local leaves, place, last = {}, {}, {}
   for l = 1, #net.leaves do
      leaves[l] = l
   end
   for k, l in ipairs(random.shuffle(leaves, draw)) do
      place[l] = k
   end
   for k, node in ipairs(random.shuffle(rest, draw)) do
      last[node] = k
   end
   table.sort(rest, function(a, b)
      local p, q = place[net.leaf[a]], place[net.leaf[b]]
      return p < q or p == q and last[a] < last[b]
   end)
   local half = #rest // 2
   for k = 1, half do
      pairs_[#pairs_ + 1] = { rest[k], rest[k + half] }
   end
end

-- Two of a component's nodes that have the same colour when it is coloured with two, for each component where that
-- succeeds: joined, they close an odd cycle. Without one, what is added to all nodes of one colour and taken from
-- the others changes no sum of two: latencies of nodes cannot be told apart.
local function missing_chords(net, rounds)
   local beside, colour, chords = {}, {}, {}
   for i = 1, #net.names do
      beside[i] = {}
   end
   for _, round in ipairs(rounds) do
      for _, p in ipairs(round.pairs) do
         table.insert(beside[p[1]], p[2])
         table.insert(beside[p[2]], p[1])
      end
   end
   for first = 1, #net.names do
      if not colour[first] then
         colour[first] = 1
         local queue, at, odd, second = { first }, 1, false, nil
         while queue[at] do
            local node = queue[at]
            at = at + 1
            for _, other in ipairs(beside[node]) do
               if not colour[other] then
                  colour[other] = 3 - colour[node]
                  queue[#queue + 1] = other
               end
               odd = odd or colour[other] == colour[node]
            end
            if node ~= first and colour[node] == 1 and (not second or net.leaf[node] == net.leaf[first]) then
               second = node
            end
         end
         if not odd and second then
            chords[#chords + 1] = { first, second }
         end
      end
   end
   return chords
end

local function within(net, draw, count)
   local order, rounds = {}, {}
   for l, leaf in ipairs(net.leaves) do
      order[l] = even(random.shuffle(table.move(leaf.members, 1, #leaf.members, 1, {}), draw))
   end
   for r = 1, count do
      local round, rest = { kind = "within", pairs = {} }, {}
      for _, list in ipairs(order) do
         circle(list, r, function(a, b)
            if a and b then
               table.insert(round.pairs, { a, b })
            else
               rest[#rest + 1] = a or b
            end
         end)
      end
      pair_rest(net, rest, round.pairs, draw)
      rounds[r] = round
   end
   return rounds
end

local function across(net, draw, count)
   local order, rounds = {}, {}
   for l = 1, #net.leaves do
      order[l] = l
   end
   even(random.shuffle(order, draw))
   for r = 1, count do
      local round, rest = { kind = "across", pairs = {} }, {}
      local function members(l)
         local list = l and net.leaves[l].members or {}
         return random.shuffle(table.move(list, 1, #list, 1, {}), draw)
      end
      circle(order, r, function(one, other)
         local from, to = members(one), members(other)
         for k = 1, math.max(#from, #to) do
            if from[k] and to[k] then
               table.insert(round.pairs, { from[k], to[k] })
            else
               rest[#rest + 1] = from[k] or to[k]
            end
         end
      end)
      pair_rest(net, rest, round.pairs, draw)
      rounds[r] = round
   end
   return rounds
end

--- Rounds in which all nodes are at work: within leaves, then across.
-- @param draw from random.new
function schedule.loaded(net, draw, near, far)
   local rounds = within(net, draw, near)
   if #net.leaves > 1 then
      table.move(across(net, draw, far), 1, far, #rounds + 1, rounds)
   end
   return rounds
end

--- The rounds of a run.
-- @param net from net.new
-- @param seed of all orders; the same seed and nodes, the same rounds
-- @param all true: everybody with everybody, one round less than nodes
-- @return list of { kind = "within", "across" or "all", pairs = list of { a, b } }: a is who sends first
function schedule.build(net, seed, all)
   local draw = random.new(seed)
   if all then
      local order, rounds = {}, {}
      for i = 1, #net.names do
         order[i] = i
      end
      even(random.shuffle(order, draw))
      for r = 1, #order - 1 do
         rounds[r] = { kind = "all", pairs = {} }
         circle(order, r, function(a, b)
            table.insert(rounds[r].pairs, a and b and { a, b } or nil)
         end)
      end
      return rounds
   end
   local rounds = schedule.loaded(net, draw, schedule.WITHIN, schedule.ACROSS)
   local chords = missing_chords(net, rounds)
   if chords[1] then
      rounds[#rounds + 1] = { kind = "within", pairs = chords }
   end
   return rounds
end

return schedule
