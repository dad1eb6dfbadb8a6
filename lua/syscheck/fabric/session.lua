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
   if #measured.flows == 0 then
      local silent = measured.silent[1]
      return nil, "no pair of nodes could be measured" .. (silent and ": " .. silent.error or "")
   end
   local found = suspects.find(net, measured)
   local out = { found = found, rounds = rounds, results = results, findings = {}, unconfirmed = 0 }
   local again = trials.build(net, found, options.seed)
   local wrong = measured.wrong
   if #again > 0 then
      results, err = measure(again)
      if not results then
         return nil, err
      end
      out.again = { rounds = again, results = results }
      local confirmed = samples.of(net, again, results)
      out.findings, out.unconfirmed = judge.all(net, found, measured, confirmed)
      table.move(confirmed.wrong, 1, #confirmed.wrong, #wrong + 1, wrong)
   end
   -- Once is enough: nothing that is only slow changes what it carries.
   local named = {}
   for _, one in ipairs(wrong) do
      local pair = math.min(one.a, one.b) .. " " .. math.max(one.a, one.b)
      if not named[pair] then
         named[pair] = true
         table.insert(out.findings, 1, { kind = "corrupt", from = one.a, to = one.b, why = one.text })
      end
   end
   return out
end

return session
