--- Who took all others of a step along, by what Slurm and MPI said. Pure.
--
-- Slurm names each task that ended, "srun: error: n5: task 4: Killed", the first one first, and srun sends SIGTERM to
-- the others; but where MPI itself ends the step, as somebody is gone, it kills all of them, in any order, and who
-- noticed may be told first: it lost somebody, and is not to blame. Both happen at once, and who is ended so is lost by
-- others in turn.
local blame = {}

local BY_ITSELF = "Exited with exit code"
-- OpenMPI's own in who lost somebody, where fabric has none of these: -1 of 4's, MPI_ERR_UNKNOWN of 5's, which says
-- no word where it was not sending.
local MPIS_OWN = { [BY_ITSELF .. " 255"] = true, [BY_ITSELF .. " 14"] = true }
local TOLD_TO_END = "Terminated" -- by srun, which sends SIGTERM to all others once one has ended badly
-- What OpenMPI's TCP says in a process that it then ends; 5's names the peer.
local LOST_SOMEBODY = { "^%[([%w._-]+)%].* failed: Connection reset by peer", "^%[([%w._-]+):%d+%] .* FATAL$" }
local PEER = " peer: ([%w._-]+) "

-- Who said that it lost somebody, as a set, and in the order of their lines a list of { node, peer = whom it names, or
-- nil }; whose tasks ended, in theirs: a list of { node, how, line = all that Slurm says }; the set of all who lost
-- somebody; whether the first task ended before anybody had said so.
local function read(errors, rank_of)
   local told, ended, lost, is_before = {}, {}, {}, false
   for _, text in ipairs(errors) do
      for _, pattern in ipairs(LOST_SOMEBODY) do
         local node = text:match(pattern)
         if rank_of[node or ""] and not told[node] then
            told[#told + 1] = { node = node, peer = text:match(PEER) }
            told[node], lost[node] = true, true
         end
      end
      local line, node, how = text:match("^srun: error: (([%w._-]+): task %d+: (.*))")
      if rank_of[node or ""] then
         is_before = is_before or not ended[1] and not told[1]
         ended[#ended + 1] = { node = node, how = how, line = line }
         lost[node] = lost[node] or MPIS_OWN[how]
      end
   end
   return told, ended, lost, is_before
end

--- @param errors lines of the step's standard error
-- @param rank_of { node = its rank }: nobody else is blamed
-- @param partner_of function(node) -> with whom it was at that time, or nil
-- @return the node's name and what Slurm says of it; or nil: it says nothing
function blame.find(errors, rank_of, partner_of)
   local told, ended, lost, is_before = read(errors, rank_of)
   local function first(may)
      for _, one in ipairs(ended) do
         if may(one) then
            return one
         end
      end
   end
   local function is_free(one) -- lost nobody, and nobody told it to end
      return not lost[one.node] and one.how ~= TOLD_TO_END
   end
   local found
   -- The one that was lost first: those that come later lose whom MPI, or srun, has ended meanwhile. So do all where
   -- somebody ended before.
   is_before = is_before and not lost[ended[1].node]
   for _, loser in ipairs(is_before and {} or told) do
      local peer = loser.peer or partner_of(loser.node)
      found = found or peer and first(function(one) return one.node == peer and is_free(one) end)
   end
   found = found or first(function(one) return is_free(one) and one.how:find(BY_ITSELF, 1, true) == 1 end)
      or first(is_free) or first(function(one) return not lost[one.node] end) or ended[1]
   if found then
      return found.node, found.line
   end
end

--- Who was silent with two partners, or more, and answered nobody.
-- @param nodes names
-- @param rounds, results of step.measure
-- @return names
function blame.silent(nodes, rounds, results)
   local asked, answered, out = {}, {}, {}
   for r, list in ipairs(results) do
      for k, result in ipairs(list) do
         local p = rounds[r].pairs[k]
         for side, node in ipairs(p) do
            if result.error and result.ends > 0 then
               asked[node] = asked[node] or { n = 0 }
               local other = p[3 - side]
               asked[node].n = asked[node].n + (asked[node][other] and 0 or 1)
               asked[node][other] = true
            elseif result.ends == 2 then
               answered[node] = true
            end
         end
      end
   end
   for _, node in ipairs(nodes) do
      if asked[node] and asked[node].n >= 2 and not answered[node] then
         out[#out + 1] = node
      end
   end
   return out
end

return blame
