--- Measures suspects again: alone, with partners that were good; then loaded, all at once. Pure.
local random = require("syscheck.lib.random")
local schedule = require("syscheck.fabric.schedule")

local trials = {}

--- Rounds in which suspects are alone, at most; in the order of the list: who comes too late stays unconfirmed.
trials.ALONE = 10
--- Rounds in which all are loaded again.
trials.WITHIN = 2
trials.ACROSS = 3

local PARTNERS = 2 -- within the leaf, and as many across
local FLOWS = 4 -- of a leaf that are measured again

local CONTROLS = 2 -- pairs nobody suspects, in each round alone

-- In a round alone a leaf may have one pair; a large one has one of 32 nodes that goes by its uplink, and one of 8 in
-- all where the topology is known: pairs within it have only the leaf switch in common. Without one the whole site is
-- a leaf.
-- @return in all, across
local function room_of(net, leaf)
   local n = #net.leaves[leaf].members
   return math.max(1, n // (net.known and 8 or 32)), math.max(1, n // 32)
end

local function good_nodes(net, found, draw)
   local good = {}
   for l, leaf in ipairs(net.leaves) do
      good[l] = {}
      for _, node in ipairs(leaf.members) do
         if not found.bad[node] and not found.leaf[l] then
            table.insert(good[l], node)
         end
      end
      random.shuffle(good[l], draw)
   end
   return good
end

-- Leaves of which nothing is suspected, in random order; without any, all.
local function good_leaves(net, found, draw)
   local list, all = {}, {}
   for l = 1, #net.leaves do
      all[#all + 1] = l
      list[#list + 1] = not found.leaves.bad[l] and not found.leaf[l] and l or nil
   end
   return random.shuffle(#list > 1 and list or all, draw)
end

local NONE = { all = 0, far = 0 }

-- Rounds are filled first come, first served; where a leaf has several pairs in a round, in random order: it may be
-- many switches that nobody told us of, and the suspects of one of them follow each other in the list.
local function packer(net, draw)
   local rounds, used, load = {}, {}, {}
   for r = 1, trials.ALONE do
      rounds[r] = { kind = "alone", pairs = {} }
      used[rounds[r]], load[rounds[r]] = {}, {}
   end
   local function has_room(at, leaf, far)
      local all, across = room_of(net, leaf)
      return (at[leaf] or NONE).all < all and (at[leaf] or NONE).far + far <= across
   end
   local self = {}
   --- Puts the pair into the round if that has room.
   function self.put(round, a, b)
      local p, q = net.leaf[a], net.leaf[b]
      local taken, at, far = used[round], load[round], p ~= q and 1 or 0
      if a == b or taken[a] or taken[b] or not has_room(at, p, far) or not has_room(at, q, far) then
         return false
      end
      taken[a], taken[b] = true, true
      for _, leaf in ipairs(p == q and { p } or { p, q }) do
         at[leaf] = { all = (at[leaf] or NONE).all + 1, far = (at[leaf] or NONE).far + far }
      end
      table.insert(round.pairs, { a, b })
      return true
   end
   --- Puts it into one of the rounds; false if none has room.
   function self.add(a, b)
      local first = room_of(net, net.leaf[a]) > 1 and draw(trials.ALONE) or 1
      for k = first, first + trials.ALONE - 1 do
         if self.put(rounds[(k - 1) % trials.ALONE + 1], a, b) then
            return true
         end
      end
      return false
   end
   --- Rounds that have pairs.
   function self.rounds()
      local list = {}
      for _, round in ipairs(rounds) do
         list[#list + 1] = #round.pairs > 0 and round or nil
      end
      return list
   end
   return self
end

-- Partners of a node: some within its leaf, some in other leaves, each asked as seldom as can be.
local function partners(net, good, leaves_, node, start)
   local out, own = {}, net.leaf[node]
   local function take(from, count)
      local list = {}
      for k = 1, #from do
         local one = from[(start + k - 2) % #from + 1]
         if one ~= node and #list < count then
            list[#list + 1] = one
         end
      end
      table.move(list, 1, #list, #out + 1, out)
   end
   take(good[own], PARTNERS)
   local far = {}
   for k = 1, #leaves_ do
      local l = leaves_[(start + k - 2) % #leaves_ + 1]
      if l ~= own and #good[l] > 0 and #far < PARTNERS then
         far[#far + 1] = good[l][(start - 1) % #good[l] + 1]
      end
   end
   table.move(far, 1, #far, #out + 1, out)
   return out
end

local PAIRS_OF = {}

function PAIRS_OF.node(net, one, good, leaves_, k)
   local list = {}
   for _, partner in ipairs(partners(net, good, leaves_, one.node, k)) do
      list[#list + 1] = { one.node, partner }
   end
   return list
end

PAIRS_OF.latency, PAIRS_OF.silent = PAIRS_OF.node, PAIRS_OF.node

function PAIRS_OF.within(net, one)
   local list, members = {}, net.leaves[one.leaf].members
   for k = 1, math.min(#members // 2, PARTNERS) do
      list[k] = { members[2 * k - 1], members[2 * k] }
   end
   return list
end

-- Its slowest flows, each with another leaf as far as there are some.
function PAIRS_OF.leaf(net, one)
   local list, seen = {}, {}
   local other = one.direction == "up" and "to" or "from"
   for _, again in ipairs({ false, true }) do
      for _, flow in ipairs(one.flows) do
         local leaf = net.leaf[flow[other]]
         if #list < FLOWS and (again or not seen[leaf]) and not seen[flow] then
            seen[leaf], seen[flow] = true, true
            list[#list + 1] = { flow.from, flow.to }
         end
      end
   end
   return list
end

-- The pair, and each of its nodes with another one of the partner's leaf.
function PAIRS_OF.path(net, one, good)
   local from, to = one.flow.from, one.flow.to
   local function beside(node)
      for _, other in ipairs(good[net.leaf[node]]) do
         if other ~= from and other ~= to then
            return other
         end
      end
   end
   local list = { { from, to } }
   for _, p in ipairs({ { from, beside(to) or false }, { beside(from) or false, to } }) do
      list[#list + 1] = p[1] and p[2] and p or nil
   end
   return list
end

-- A matching in which each of the pairs is together: who loses his partner to one gets the other one's.
local function together(round, wanted)
   local at, fixed = {}, {}
   for k, p in ipairs(round.pairs) do
      at[p[1]], at[p[2]] = k, k
   end
   for _, p in ipairs(wanted) do
      local i, j = at[p[1]], at[p[2]]
      if i and j and i ~= j and not fixed[i] and not fixed[j] then
         local one, two = round.pairs[i], round.pairs[j]
         local left = { one[1] == p[1] and one[2] or one[1], two[1] == p[2] and two[2] or two[1] }
         round.pairs[i], round.pairs[j] = { p[1], p[2] }, left
         at[p[2]], at[left[1]] = i, j
         fixed[i] = true
      end
   end
end

--- The rounds that tell what is wrong with suspects.
-- @param found from suspects.find
-- @param seed as of schedule.build
-- @return list of rounds as schedule.build's, of kinds "alone", "within" and "across"; empty without suspects
function trials.build(net, found, seed)
   if #found.list == 0 then
      return {}
   end
   local draw = random.new(~seed)
   local good, leaves_ = good_nodes(net, found, draw), good_leaves(net, found, draw)
   local pack, paths = packer(net, draw), {}
   local most = 0
   for k, one in ipairs(found.list) do
      one.trials = PAIRS_OF[one.kind](net, one, good, leaves_, k)
      most = math.max(most, #one.trials)
      paths[#paths + 1] = one.kind == "path" and { one.flow.from, one.flow.to } or nil
   end
   local function put(one, p)
      one.tried = p and pack.add(p[1], p[2]) or one.tried
   end
   -- Everybody's first pair before anybody's second: where a leaf has many suspects, each has a turn. Where no topology
   -- is known, a pair may collide with others on the way: a few in full tell more than many by one pair each.
   for k = 1, net.known and most or 0 do
      for _, one in ipairs(found.list) do
         put(one, one.trials[k])
      end
   end
   for _, one in ipairs(net.known and {} or found.list) do
      for _, p in ipairs(one.trials) do
         put(one, p)
      end
   end
   -- Where there is room, pairs once more: a moment's other work lowers one of two.
   for _, p in ipairs(paths) do
      pack.add(p[1], p[2])
   end
   local rounds, kinds = pack.rounds(), {}
   for _, round in ipairs(rounds) do
      local n = 0
      for k = 1, #leaves_ do
         local here, there = good[leaves_[k]], good[leaves_[k % #leaves_ + 1]]
         -- One pair across, one within, in leaves that have room.
         local other = n == 0 and there[#there] or here[#here]
         if n < CONTROLS and here[1] and other and pack.put(round, here[1], other) then
            n = n + 1
         end
      end
   end
   for _, one in ipairs(found.list) do
      kinds[one.kind] = true
   end
   -- What is loaded again is what somebody is suspected for.
   for _, round in ipairs(schedule.loaded(net, draw, kinds.node and trials.WITHIN or 0,
      (kinds.leaf or kinds.path) and trials.ACROSS or 0)) do
      if round.kind == "across" then
         together(round, paths)
      end
      rounds[#rounds + 1] = round
   end
   return rounds
end

return trials
