#!/usr/bin/env lua5.4
-- In srun's place: all ranks of a step in one process. What each node is like is in $RANKS, an object:
--   { "n1": { "rails": 2, "slow": { "2": 0.5 }, "instead": { "2": "eth0" } }, ... }
-- slow: by rail, the share of the rate that it receives with; instead: by rail, the port that MPI uses in its place.
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

local function rate(rank)
   return RATE * ((of(rank).slow or {})[rail] or 1)
end

for k, name in ipairs(names) do
   local rank = k - 1
   say("hello", rank, { node = name, rate_gbps = 100, rails = of(rank).rails, rail = rail and "eth" .. rail - 1 })
   say("ready", rank, {})
end
io.stdout:flush()

local plan, round = nil, nil
for line in io.lines() do
   local what, rest = line:match("^(%a+) ?(.*)$")
   if what == "plan" then
      plan, round = tonumber(rest), 0
   elseif what == "round" then
      for a, b in rest:gmatch("(%d+)-(%d+)") do
         for rank, other in pairs({ [tonumber(a)] = tonumber(b), [tonumber(b)] = tonumber(a) }) do
            local got = math.min(rate(rank), RATE)
            say("round", rank, { plan = plan, round = round, partner = other, lat_us = 2, rx_gbs = got,
               rx_both_gbs = got })
         end
      end
      round = round + 1
   elseif what == "alltoall" or what == "allreduce" then
      for rank in rest:gmatch("%d+") do
         say("collective", tonumber(rank), { plan = plan, round = round, call_us = 10, rx_gbs = 5 })
      end
      round = round + 1
   elseif what == "go" then
      for k in ipairs(names) do
         say("done", k - 1, { plan = plan, instead = (of(k - 1).instead or {})[rail] })
      end
      io.stdout:flush()
   elseif what == "end" then
      break
   end
end
