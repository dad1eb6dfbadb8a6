--- What will bite: a list of rules, each reads the facts and reports what it finds. Pure:
-- doctor/facts.lua gathers the facts, the rules are in doctor/rules/.
local doctor = {}

--- The rules, in the order of the way of the data: { id, check = function(facts, say), file = function(facts) ->
-- where all that it finds is, or nil: each finding says where }.
-- `say(severity, finding)` takes "error", "warn" or "info" and { text = what was seen,
-- file, line = where, why = what it does to jobs and nodes, add = the line to add }.
-- A rule whose facts are missing returns why.
doctor.RULES = {}
for _, part in ipairs({ "slurm", "connect", "install", "policy", "node" }) do
   local rules = require("syscheck.doctor.rules." .. part)
   table.move(rules, 1, #rules, #doctor.RULES + 1, doctor.RULES)
end

--- Examines the facts.
-- @param facts from doctor/facts.lua
-- @param rules default doctor.RULES
-- @return { findings = worst first, each with severity and rule, skipped = list of
--   { rule, why }, errors, warnings, infos = how many, rules = how many had their facts }
function doctor.examine(facts, rules)
   local out = { findings = {}, skipped = {}, rules = 0 }
   local by_severity = { error = {}, warn = {}, info = {} }
   for _, rule in ipairs(rules or doctor.RULES) do
      -- A rule that breaks must not hide what the others see.
      local ok, skipped = pcall(rule.check, facts, function(severity, finding)
         finding.severity, finding.rule = severity, rule.id
         finding.file = finding.file or rule.file and rule.file(facts)
         table.insert(by_severity[severity], finding)
      end)
      if not ok or skipped then
         out.skipped[#out.skipped + 1] = { rule = rule.id,
            why = ok and skipped or "internal error: " .. tostring(skipped) }
      else
         out.rules = out.rules + 1
      end
   end
   for _, severity in ipairs({ "error", "warn", "info" }) do
      table.move(by_severity[severity], 1, #by_severity[severity], #out.findings + 1, out.findings)
   end
   out.errors, out.warnings, out.infos = #by_severity.error, #by_severity.warn, #by_severity.info
   return out
end

--- One line of a finding.
function doctor.line(finding)
   local where = finding.file and (" [%s%s]"):format(finding.file, finding.line and ":" .. finding.line or "") or ""
   return ("%-5s %s%s: %s%s"):format(finding.severity, finding.text, where, finding.why,
      finding.add and "; add: " .. finding.add or finding.fix and "; " .. finding.fix or "")
end

return doctor
