--- A cluster's history with planted causes of slow jobs, for the answers' benchmark. Nothing in it
-- follows from how an answer is found: it is made from how machines, counters and people behave.
--   package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
--   local world = require("world.world")
local causes = require("world.causes")
local checks = require("world.checks")
local kinds = require("world.kinds")
local neighbours = require("world.neighbours")
local plant = require("world.plant")
local reclaim = require("world.reclaim")
local records = require("world.records")
local schedule = require("world.schedule")
local secret = require("world.secret")
local site = require("world.site")
local truth = require("world.truth")

local world = {}

--- Builds the world of a seed.
-- @param seed integer; two seeds differ in everything
-- @param options { jobs = 10000, nodes = 480, days = 60 }
-- @param write function(line) gets each record, a line of JSON, in order of arrival
-- @return { leaf = { [node] = leaf's name }, jobs = how many ran,
--   cases = list of { id, slowdown, causes = list, largest share first, of { group, also, kind, nodes = list or "all",
--     unit, share, trace, jobs = of a neighbour }, kind (of no cause: input, mode, tail or none), why, size, like,
--     tight, traits = { harmless, hot_rack, shared }, begin, seconds },
--   suspects = list of { node, group, also, kind, unit, slowed, traced (of these), cost, from, to }, most first };
-- and the site itself
function world.build(seed, options, write)
   options = options or {}
   local s = site.draw(seed, { jobs = options.jobs or 10000, nodes = options.nodes or 480, days = options.days or 60 })
   reclaim.draw(s)
   local _, submissions = kinds.draw(s)
   s.causes, s.everywhere = {}, {}
   plant.sow(s, causes.LIST, "cause ")
   plant.sow(s, secret.LIST, "secret ")
   secret.harmless_updates(s)
   plant.seal(s)
   site.seal(s)
   local runs, dropped = schedule.run(s, submissions)
   s.runs, s.dropped = runs, dropped
   neighbours.meet(s)
   records.write(s, runs, checks.make(s), write)
   return truth.of(s, runs), s
end

return world
