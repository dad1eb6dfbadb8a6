--- The counter sources, in the order in which they are read and have their columns. Pure.
-- Each has
--
--   name    in a record's delta: its file's
--   read(machine) -> flat table of numbers that only grow, keyed `name:unit`
--           (`package_count:0`) or `name`; nil or empty where the machine has no such files:
--           absent is not zero. Units stay apart in a snapshot, so that a CPU taken offline takes
--           only its own share away; a delta adds them up by name. `machine` is
--           hardware/machine.lua's
--   fields  the numbers of it that the store keeps, see catalogue/fields.lua
--
-- and, where it needs them,
--
--   growth(before, now, key, span) -> what a number grew by, nil where that is not known; without
--           it, growth.plain; math.huge where then the sum of that name is not known, either.
--           span = { seconds, known = they are, beside, before, now = all of this source's numbers }
--   worst   { name = name }: of a name in the delta the largest growth of one unit, under a name of its
--           own. A parallel job waits for its slowest core, which a sum over cores does not show
--   beside  the name in a snapshot of a second table that read returns; what it is for is the
--           source's own matter
--   since_new(now, key, span) -> what a unit did that the earlier snapshot does not have
--   errors(from, to, add) adds errors of units: add(kind, unit, name, count); `from` and `to` are
--           { values, beside }
local NAMES = { "throttle", "pressure", "cpu", "disk", "nfs", "lustre", "memory_errors", "machine_checks", "oom",
   "reclaim", "link", "energy", "memory_traffic", "sched" }

local places = {}
for i, name in ipairs(NAMES) do
   places[name] = i
end

--- By place and by name; each is loaded when it is asked for, as most checks of an idle node need one of them.
local sources = setmetatable({}, {
   __index = function(self, key)
      local i = places[key] or key
      local name = NAMES[i]
      if not name then
         return nil
      end
      local source = require("syscheck.counters." .. name)
      source.name = name
      self[i], self[name] = source, source
      return source
   end,
})

return sources
