-- Which floor, default and ceiling hold for a job.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local level = require("syscheck.policy.level")
local policy = require("syscheck.policy.policy")
local policy_bounds = require("syscheck.policy.bounds")

local RULES = assert(io.open("tests/fixtures/bounds.lua")):read("*a")

local function parse(text)
   return assert(policy.parse("return {" .. text .. "}", "p.lua"))
end

TestRules = {}

local function bounds_of(p, job)
   return (policy_bounds.of(p, job)) -- without where each is from
end

function TestRules:test_bounds_fall_back_to_star_then_defaults()
   local p = policy.parse('return { partitions = { ["*"] = { floor = "passive", default = "quick" },'
      .. ' debug = { default = "passive" } } }', "p")
   lu.assertEquals(bounds_of(p, { partition = "debug" }), { floor = "passive", default = "passive", ceiling = "full" })
   lu.assertEquals(bounds_of(p, { partition = "other" }), { floor = "passive", default = "quick", ceiling = "full" })
   lu.assertEquals(bounds_of(p, {}), { floor = "passive", default = "quick", ceiling = "full" })
end

function TestRules:test_the_highest_floor_the_lowest_ceiling_the_most_specific_default()
   local p = policy.parse(RULES, "bounds.lua")
   local cases = {
      -- job, floor, default, ceiling
      { {}, "none", "passive", "full" },
      { { partition = "main" }, "passive", "passive", "quick" },
      { { partition = "main", account = "physics" }, "quick", "quick", "quick" },
      { { partition = "main", account = "bench" }, "passive", "quick", "quick" },
      { { partition = "MAIN", account = "Physics" }, "quick", "quick", "full" },
      { { partition = "other", account = "bench" }, "none", "full", "full" },
      { { partition = "other", account = "bench", qos = "night" }, "none", "full", "full" },
      { { partition = "other", qos = "night" }, "none", "quick", "full" },
      { { partition = "other", account = "guest", qos = "night" }, "none", "passive", "passive" },
      -- A floor above a ceiling: the ceiling wins.
      { { partition = "main", qos = "debug" }, "none", "none", "none" },
      { { partition = "main", qos = "careful" }, "quick", "quick", "quick" },
      { { partition = "other", account = "nobody", qos = "nothing" }, "none", "passive", "full" },
   }
   for i, c in ipairs(cases) do
      local b = policy_bounds.of(p, c[1])
      lu.assertEquals({ b.floor, b.default, b.ceiling }, { c[2], c[3], c[4] }, "case " .. i)
   end
end

function TestRules:test_star_is_every_name_that_is_not_there_key_by_key()
   local p = parse('accounts = { ["*"] = { floor = "passive", ceiling = "quick" }, physics = { floor = "quick" } }')
   lu.assertEquals(policy_bounds.of(p, { account = "other" }).floor, "passive")
   lu.assertEquals(policy_bounds.of(p, {}).floor, "passive")
   lu.assertEquals(policy_bounds.of(p, { account = "physics" }),
      { floor = "quick", default = "quick", ceiling = "quick" })
end

function TestRules:test_a_note_says_whose_bound_it_is()
   local bounds, from = policy_bounds.of(policy.parse(RULES, "bounds.lua"), { partition = "main", account = "physics" })
   local _, note = level.decide("none", bounds, {}, from)
   lu.assertEquals(note, "none asked, the account's floor is quick")
   _, note = level.decide("full", bounds, {}, from)
   lu.assertEquals(note, "full asked, the partition's ceiling is quick")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
