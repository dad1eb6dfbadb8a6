#!/usr/bin/env lua5.4
-- In srun's place: all ranks of a step in one process. What each node is like is in $RANKS, an object:
--   { "n1": { "rails": 2, "slow": { "2": 0.5 }, "instead": { "2": "eth0" } }, ... }
-- slow: by rail, the share of the rate that it receives with; instead: by rail, the port that MPI uses in its place;
-- work = of fixed work: slow, the times that it takes; threads; error; says = a line instead;
-- stuck: it measures nothing, and says so; mute: its partners wait for it in vain; garbage: lines that it prints first;
-- ends: when and how it takes the step with it: { at = "launch": no task starts there, "init": MPI does not start,
-- "go": in the middle of the rounds; others_done = true: but for it; errors = what srun says then, code }.
-- "srun": { errors, code }: no step at all.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson.safe").new()
local hostlist = require("syscheck.lib.hostlist")

local RATE = 10 -- GB/s

local world, names, rail = json.decode(os.getenv("RANKS")), nil, nil
for i = 1, #arg do
   local list = arg[i]:match("^%-%-nodelist=(.*)")
   names = list and hostlist.expand(list) or names
   rail = arg[i] == "--rail" and arg[i + 1] or rail
end

local function say(event, rank, more)
   more.event, more.rank = event, rank
   io.stdout:write(json.encode(more), "\n")
end

local function of(rank)
   return world[names[rank + 1]]
end

local function leave(how)
   io.stdout:flush()
   io.stderr:write(table.concat(how.errors, "\n"), "\n")
   os.exit(how.code)
end

-- A number is a line of so many bytes: more than the environment takes.
local function spill(rank)
   for _, line in ipairs(of(rank).garbage or {}) do
      io.stdout:write(type(line) == "number" and ("x"):rep(line) or line, "\n")
   end
end

-- How one of the step's nodes ends it there, or nil.
local function ended(at)
   for _, name in ipairs(names) do
      local how = world[name].ends
      if how and how.at == at then
         return how
      end
   end
end

local function rate(rank)
   return RATE * ((of(rank).slow or {})[rail] or 1)
end

-- What a rank prints of a round with another one.
local function pair(plan, round, rank, other)
   local got = math.min(rate(rank), RATE)
   if of(rank).stuck or of(other).stuck or of(rank).mute then
      return
   elseif of(other).mute then
      say("round", rank, { plan = plan, round = round, partner = other, error = "nobody came" })
   else
      say("round", rank, { plan = plan, round = round, partner = other, lat_us = 2, rx_gbs = got, rx_both_gbs = got })
   end
end

if world.srun then
   leave(world.srun)
end
for k, name in ipairs(names) do
   local rank = k - 1
   spill(rank)
   if not of(rank).ends or of(rank).ends.at ~= "launch" then
      say("hello", rank, { node = name, rate_gbps = 100, rails = of(rank).rails, rail = rail and "eth" .. rail - 1 })
   end
end
local over = ended("launch") or ended("init")
if over then
   leave(over)
end
for k in ipairs(names) do
   say("ready", k - 1, { mpi = "Open MPI v4.1.4" })
end
io.stdout:flush()

local plan, round, settings = nil, nil, {}
for line in io.lines() do
   local what, rest = line:match("^(%a+) ?(.*)$")
   if what == "plan" then
      plan, round = tonumber(rest), 0
   elseif what == "round" then
      for a, b in rest:gmatch("(%d+)-(%d+)") do
         for rank, other in pairs({ [tonumber(a)] = tonumber(b), [tonumber(b)] = tonumber(a) }) do
            pair(plan, round, rank, other)
         end
      end
      round = round + 1
   elseif what == "alltoall" or what == "allreduce" then
      for rank in rest:gmatch("%d+") do
         say("collective", tonumber(rank), { plan = plan, round = round, call_us = 10, rx_gbs = 5 })
      end
      round = round + 1
   elseif what == "set" then
      local name, value = rest:match("^(%S+) (%S+)$")
      settings[name] = tonumber(value)
   elseif what == "work" then
      for text in rest:gmatch("%d+") do
         local rank = tonumber(text)
         local one = of(rank).work or {}
         -- A node that takes longer, and what all wait for.
         say("work", rank, one.says or { plan = plan, round = round, steps = 100, threads = one.threads or 8,
            work_us = settings.work_us * (one.slow or 1), step_us = 1.5 * settings.work_us, step_se_us = 1,
            call_us = 10, call_mean_us = 12, error = one.error })
      end
      round = round + 1
   elseif what == "go" then
      over = ended("go")
      for k in ipairs(names) do
         local one = of(k - 1)
         spill(k - 1)
         if one.stuck then
            say("stuck", k - 1, { plan = plan, phase = "forward" })
         elseif not one.ends and not one.mute and (not over or over.others_done) then
            say("done", k - 1, { plan = plan, instead = (one.instead or {})[rail] })
         end
      end
      if over then
         leave(over)
      end
      io.stdout:flush()
   elseif what == "end" then
      break
   end
end
