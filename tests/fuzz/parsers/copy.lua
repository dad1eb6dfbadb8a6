-- policy/copy: the copy of the last good policy, torn or damaged.
local policy_copy = require("syscheck.policy.copy")

local function run(input)
   local text, time = policy_copy.unwrap(input)
   if text then
      assert(#text < #input and time:find("^%S+$"), "a copy's text")
   end
   local wrapped = policy_copy.wrap(input, "2026-11-21T08:00:00Z")
   assert(policy_copy.unwrap(wrapped) == input and policy_copy.is_of(wrapped, input), "there and back")
end

local function seeds()
   return { policy_copy.wrap("return {}\n", "2026-11-21T08:00:00Z"), policy_copy.wrap("", "x") }
end

return { run = run, seeds = seeds, max = 600 }
