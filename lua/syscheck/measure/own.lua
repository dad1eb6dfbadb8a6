--- What a site has looked at in a check, beside kernels and counters: its own programs, and what its policy names.
-- What is bad is looked at twice, as a kernel that failed runs twice.
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local checks_d = lazy.require("syscheck.measure.checks_d")
local site = require("syscheck.measure.site")

local own = {}

-- Beside the first look at what is bad, one more at that.
local function look_twice(node, until_s, first)
   local function left_s()
      return until_s - uv.hrtime() / 1e9
   end
   local entries, why = site.look(node, left_s())
   local again, any = {}, false
   for _, e in ipairs(entries) do
      if e.status == "fail" then
         first[e.name], any = e, true
         again[e.name:match("^[^:]*")] = true
      end
   end
   if not any then
      return entries, why
   end
   local second = {}
   for _, e in ipairs((site.look(node, left_s(), again))) do
      second[e.name] = e
   end
   for i, e in ipairs(entries) do
      entries[i] = first[e.name] and second[e.name] or e
   end
   return entries, why
end

--- Looks at all of it.
-- @param node from node.open
-- @param lvl of the check: passive, quick or full
-- @param until_s when it has to be over (uv.hrtime)
-- @param first { [name of a metric] = its first rating }: those of what was looked at twice are added
-- @param has_checks whether the site has programs of its own
-- @return list of entries (verdict/site.lua); runs of own checks, or nil
function own.run(node, lvl, until_s, first, has_checks)
   local entries = {}
   if site.is_wanted(node.policy) then
      local why
      entries, why = look_twice(node, until_s, first)
      if why then
         node:notice(why)
      end
   end
   if not has_checks then
      return entries
   end
   local list, before, runs = checks_d.run(node, lvl, until_s)
   for name, entry in pairs(before) do
      first[name] = entry
   end
   table.move(list, 1, #list, #entries + 1, entries)
   return entries, #runs > 0 and runs or nil
end

return own
