--- What will bite: a list of rules, each reads the facts and reports what it finds. Pure:
-- doctor/facts.lua gathers the facts, the rules are in doctor/rules/.
local doctor = {}

--- The rules, in the order of the way of the data: { id, check = function(facts, say) }.
-- `say(severity, finding)` takes "error", "warn" or "info" and { text = what was seen,
-- file, line = where, why = what it does to jobs and nodes, add = the line to add }.
-- A rule whose facts are missing returns why.
doctor.RULES = {}
for _, part in ipairs({ "slurm", "install", "node" }) do
   local rules = require("syscheck.doctor.rules." .. part)
   table.move(rules, 1, #rules, #doctor.RULES + 1, doctor.RULES)
end

local RANK = { error = 1, warn = 2, info = 3 }

--- Examines the facts.
-- @param facts from doctor/facts.lua
-- @param rules default doctor.RULES
-- @return { findings = worst first, each with severity and rule, skipped = list of
--   { rule, why }, errors, warnings, infos = how many, rules = how many had their facts }
function doctor.examine(facts, rules)
   local out = { findings = {}, skipped = {}, rules = 0 }
   local counts = { error = 0, warn = 0, info = 0 }
   for _, rule in ipairs(rules or doctor.RULES) do
      -- A rule that breaks must not hide what the others see.
      local ok, skipped = pcall(rule.check, facts, function(severity, finding)
         finding.severity, finding.rule = severity, rule.id
         finding.order = #out.findings
         out.findings[#out.findings + 1] = finding
         counts[severity] = counts[severity] + 1
      end)
      if not ok or skipped then
         out.skipped[#out.skipped + 1] = { rule = rule.id,
            why = ok and skipped or "internal error: " .. tostring(skipped) }
      else
         out.rules = out.rules + 1
      end
   end
   table.sort(out.findings, function(a, b)
      if a.severity ~= b.severity then
         return RANK[a.severity] < RANK[b.severity]
      end
      return a.order < b.order
   end)
   for _, finding in ipairs(out.findings) do
      finding.order = nil
   end
   out.errors, out.warnings, out.infos = counts.error, counts.warn, counts.info
   return out
end

--- One line of a finding.
function doctor.line(finding)
   local where = finding.file and (" [%s%s]"):format(finding.file, finding.line and ":" .. finding.line or "") or ""
   return ("%-5s %s%s: %s%s"):format(finding.severity, finding.text, where, finding.why,
      finding.add and "; add: " .. finding.add or finding.fix and "; " .. finding.fix or "")
end

return doctor
