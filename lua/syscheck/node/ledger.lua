--- The budget's ledger as a file of this node, see budget.lua.
local budget = require("syscheck.node.budget")

local ledger = {}

local FILE = "last_pass.json"
local PASSED = { pass = true, warn = true, unrated = true }

function ledger.read(node, boot_id)
   return budget.open(node:read_state(FILE), boot_id)
end

--- Makes a check due, and writes.
function ledger.make_due(node, l, why)
   budget.make_due(l, why)
   node:save_state(FILE, l)
end

--- Enters, and writes, what an unasked check may take, before it runs: a node that cannot
-- write that down does not measure, or it would measure before every job.
-- @return true, or nil and why
function ledger.pay_ahead(node, l, lvl, begin_s)
   local paid, seconds = budget.open(l, l.boot_id), 0
   for name, box in pairs(node.policy.kernels) do
      seconds = seconds + (box[lvl] or 0) * (name == "io" and #node.policy.io_paths or 1)
   end
   budget.charge(paid, node.policy.budget, begin_s, math.min(seconds, budget.MAX_COST_S))
   return node:write_state(FILE, paid)
end

--- Enters a check that ran, and writes. One that could not measure leaves it as due as it was.
-- @param l as it was before pay_ahead
-- @param asked true: somebody asked, the budget does not pay
function ledger.pay(node, l, result, begin_s, asked)
   if not result.interrupted then
      budget.charge(l, node.policy.budget, begin_s, result.duration_s, asked)
      budget.done(l, PASSED[result.status], result.level, begin_s)
      if result.unconfirmed then
         budget.make_due(l, "a failure was neither confirmed nor excused")
      end
   end
   node:save_state(FILE, l)
end

return ledger
