--- Rules on the policy alone: what can be done, and its writer hardly meant. Each finding has
-- keys, too: where in the policy it stands (`config check` says the line). See doctor/rules.lua
-- for their form.
local baselines = require("syscheck.verdict.baseline")
local metrics = require("syscheck.catalogue.metrics")
local sorted = require("syscheck.lib.sorted")
local times = require("syscheck.doctor.rules.times")

-- Limits on the side where no defect is, as a min that was typed as max: they fail what is good.
local function upside_down(facts, say)
   for _, m in ipairs(metrics.LIST) do
      local limit = facts.policy.value.limits[m.name]
      local wrong, right = "max", "min"
      if m.better == "lower" then
         wrong, right = right, wrong
      end
      if m.better and limit and limit[wrong] and limit.action ~= "off" then
         say("warn", { keys = { "limits", m.name, wrong },
            text = ("limits.%s.%s = %.14g"):format(m.name, wrong, limit[wrong]),
            why = "it fails nodes that are better than that", fix = "what is bad has a " .. right })
      end
   end
end

-- Limits by which no slow node is found.
local function tolerances(facts, say)
   local p = facts.policy.value
   local function look(value, ...)
      local keys = { ... }
      if value and value > baselines.MAX_TOLERANCE then
         say("warn", { keys = keys, text = ("%s = %g"):format(table.concat(keys, "."), value),
            why = "what it would let through is rated as unrated: there is no limit",
            fix = ("%g at most"):format(baselines.MAX_TOLERANCE) })
      end
   end
   look(p.tolerance, "tolerance")
   for _, name in ipairs(sorted(p.limits)) do
      look(p.limits[name].tolerance, "limits", name, "tolerance")
   end
end

-- Time for all kernels, and for the second measurement that a drain needs.
local function boxes(facts, say)
   for _, t in ipairs(times.reachable(facts.policy.value)) do
      local text = ("level %s: kernels take %g s, %g s with the second run, the deadline is %g s"):format(t.level,
         t.once_s, t.confirmed_s, t.deadline_s)
      if t.once_s > t.deadline_s then
         say("error", { keys = { "deadline" }, text = text,
            why = "the last kernels never run, and every check is unknown",
            add = ("kernels with shorter boxes, or deadline = { %s = %g }"):format(t.level,
               math.min(60, math.ceil(t.once_s * 2))) })
      elseif t.confirmed_s > t.deadline_s then
         say("warn", { keys = { "deadline" }, text = text,
            why = "a failure may not be confirmed in time, and then does not drain",
            add = ("kernels with shorter boxes, or deadline = { %s = %g }"):format(t.level,
               math.min(60, math.ceil(t.confirmed_s * 1.25))) })
      end
   end
   for _, m in ipairs(metrics.LIST) do
      local box = facts.policy.value.kernels[m.kernel] or {}
      if not m.static and (box.quick or 0) > 0 and (box.full or 0) > 0 and box.quick ~= box.full then
         say("warn", { keys = { "kernels", m.kernel },
            text = ("%s runs for %g s at level quick, for %g s at full"):format(m.kernel, box.quick, box.full),
            why = "a baseline is learned from the one that is there more often, and does not rate the other",
            add = ("kernels with %s = { quick = %g, full = %g }"):format(m.kernel, box.quick, box.quick) })
      end
   end
end

local function file(facts)
   return facts.policy.file
end

return {
   { id = "limits", check = upside_down, file = file },
   { id = "tolerance", check = tolerances, file = file },
   { id = "boxes", check = boxes, file = file },
}
