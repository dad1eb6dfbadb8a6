--- Who took all others of a step along, by what Slurm and MPI said. Pure.
--
-- Slurm names each task that ended, "srun: error: n5: task 4: Killed", the first one first; but where MPI itself ends
-- the step, as it could not send to somebody who is gone, it kills all of them, in any order, and who could not send
-- may be told first: it lost somebody, and is not to blame.
local blame = {}

local BY_ITSELF = "Exited with exit code"
-- What OpenMPI's TCP says in a process that it then ends.
local LOST_SOMEBODY = { "^%[([%w._-]+)%].* failed: Connection reset by peer", "^%[([%w._-]+):%d+%] .* FATAL$" }

local function who_lost(errors)
   local out = {}
   for _, line in ipairs(errors) do
      for _, pattern in ipairs(LOST_SOMEBODY) do
         out[line:match(pattern) or ""] = true
      end
   end
   return out
end

-- @param may function(node) -> whether it can be the one
-- @param how what Slurm's words begin with
local function first(errors, may, how)
   for _, line in ipairs(errors) do
      local node, text = line:match("^srun: error: ([%w._-]+): task %d+: (.*)")
      if node and may(node) and text:find(how, 1, true) == 1 then
         return node, line:match("^srun: error: (.*)")
      end
   end
end

--- @param errors lines of the step's standard error
-- @param rank_of { node = its rank }: nobody else is blamed
-- @param partner_of function(node) -> with whom it was at that time, or nil
-- @return the node's name and what Slurm says of it; or nil: it says nothing
function blame.find(errors, rank_of, partner_of)
   local lost, gone = who_lost(errors), {}
   for node in pairs(lost) do
      gone[rank_of[node] and partner_of(node) or ""] = true
   end
   local function is_gone(node)
      return gone[node] and not lost[node]
   end
   local function may(node)
      return rank_of[node] and not lost[node]
   end
   local function is_ours(node)
      return rank_of[node]
   end
   for _, by in ipairs({ { is_gone, "" }, { may, BY_ITSELF }, { may, "" }, { is_ours, "" } }) do
      local node, why = first(errors, by[1], by[2])
      if node then
         return node, why
      end
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
