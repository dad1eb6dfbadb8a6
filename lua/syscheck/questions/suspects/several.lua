--- Suspects that are no node: what each kind of them says of itself. Pure.
local hours = require("syscheck.questions.suspects.hours")
local sorted = require("syscheck.lib.sorted")
local uplinks = require("syscheck.questions.suspects.uplinks")

local several = {}

local KINDS = { uplink = uplinks, hours = hours } -- by group

--- @param one of suspects.find
-- @return { CAUSE, HINT, text = function(one, safe) }, or nil: it is a node
function several.of(one)
   return KINDS[one.group]
end

--- What to do about those that a list has: each advice once.
function several.hints(list)
   local by, out = {}, {}
   for _, one in ipairs(list) do
      by[one.group] = KINDS[one.group]
   end
   for i, group in ipairs(sorted(by)) do
      out[i] = by[group].HINT
   end
   return out
end

return several
