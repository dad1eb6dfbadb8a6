--- What a node is called between its checks, for whoever counts nodes by status. Pure.
local standing = {}

--- Every status, worst first.
standing.STATUSES = { "fail", "unknown", "warn", "pass", "unrated" }

local RANK = {}
for i, status in ipairs(standing.STATUSES) do
   RANK[status] = i
end

--- The newest check's status; where that one measured nothing, what the last one that did has found stands beside it:
-- counters that are calm do not make a slow node well. A pass of theirs makes no pass of a node that nothing rated.
-- @param newest status of the newest check, or nil
-- @param measured status of the newest one that ran kernels (perhaps the same), or nil
-- @return status; nil where neither is known
function standing.of(newest, measured)
   newest, measured = RANK[newest] and newest, RANK[measured] and measured
   if not newest or not measured then
      return newest or measured
   end
   return newest ~= "pass" and RANK[newest] < RANK[measured] and newest or measured
end

return standing
