--- A run: measure, suspect, measure suspects again, say what is wrong. Pure but for `measure`.
local judge = require("syscheck.fabric.judge")
local patterns = require("syscheck.fabric.patterns")
local samples = require("syscheck.fabric.samples")
local schedule = require("syscheck.fabric.schedule")
local suspects = require("syscheck.fabric.suspects")
local trials = require("syscheck.fabric.trials")

local session = {}

-- What all do at once comes last: what it tells is more than who is to blame, and is not worth an answer.
local function take_patterns(net, measure, out, alone)
   local rounds = patterns.build(net, out.findings, alone)
   local results, err = {}, nil
   if #rounds > 0 then
      results, err = measure(rounds)
   end
   if not results then
      out.patterns = { leaves = {}, errors = { err } }
   elseif #rounds > 0 then
      local overloaded
      out.patterns, overloaded = patterns.of(net, rounds, results, out.found)
      out.findings = patterns.merge(net, out.findings, overloaded)
   end
end

--- @param net from net.new
-- @param measure function(rounds) -> results, as samples.of takes them; or nil and why
-- @param options { seed = integer, all = true: everybody with everybody, patterns = "all", or "allreduce" only: measure
--   takes these rounds, too }
-- @return { findings, unconfirmed, untried = from judge.all, found = from suspects.find, rounds, results,
--   again = { rounds, results } of the confirmation, flows = from samples.of, of all of these; patterns = from
--   patterns.of, or nil }; or nil and why
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
   local out = { found = found, rounds = rounds, results = results, findings = {}, unconfirmed = 0, untried = {},
      flows = measured.flows }
   local again = trials.build(net, found, options.seed)
   local wrong = measured.wrong
   if #again > 0 then
      results, err = measure(again)
      if not results then
         return nil, err
      end
      out.again = { rounds = again, results = results }
      local confirmed = samples.of(net, again, results)
      out.findings, out.unconfirmed, out.untried = judge.all(net, found, measured, confirmed)
      table.move(confirmed.wrong, 1, #confirmed.wrong, #wrong + 1, wrong)
      table.move(confirmed.flows, 1, #confirmed.flows, #out.flows + 1, out.flows)
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
   if options.patterns then
      take_patterns(net, measure, out, options.patterns == "allreduce")
   end
   return out
end

return session
