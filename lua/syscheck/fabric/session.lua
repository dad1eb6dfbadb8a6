--- A run: measure, suspect, measure suspects again, say what is wrong. Pure but for `measure`.
local judge = require("syscheck.fabric.judge")
local samples = require("syscheck.fabric.samples")
local schedule = require("syscheck.fabric.schedule")
local suspects = require("syscheck.fabric.suspects")
local trials = require("syscheck.fabric.trials")

local session = {}

--- @param net from net.new
-- @param measure function(rounds) -> results, as samples.of takes them; or nil and why
-- @param options { seed = integer, all = true: everybody with everybody }
-- @return { findings, unconfirmed = from judge.all, found = from suspects.find, rounds, results, again = { rounds,
--   results } of the confirmation }; or nil and why
function session.run(net, measure, options)
   local rounds = schedule.build(net, options.seed, options.all)
   local results, err = measure(rounds)
   if not results then
      return nil, err
   end
   local measured = samples.of(net, rounds, results)
   local found = suspects.find(net, measured)
   local out = { found = found, rounds = rounds, results = results, findings = {}, unconfirmed = 0 }
   local again = trials.build(net, found, options.seed)
   if #again > 0 then
      results, err = measure(again)
      if not results then
         return nil, err
      end
      out.again = { rounds = again, results = results }
      out.findings, out.unconfirmed = judge.all(net, found, measured, samples.of(net, again, results))
   end
   return out
end

return session
