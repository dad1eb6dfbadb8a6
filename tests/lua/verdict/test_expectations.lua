-- What a node of a class should have, and what comes of a lack.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local expect = require("syscheck.verdict.expectations")
local parts = require("syscheck.verdict.parts")
local policy = require("syscheck.policy.policy")
local show = require("syscheck.verdict.show")
local verdict = require("syscheck.verdict.rating")

TestExpect = {}

local CLASS = "epyc-9654-2s192c-736g"

local function rated(text, node, class)
   local p = assert(policy.parse("return { expect = {" .. text .. "} }", "p"))
   local limits, results = verdict.limits(p, class or CLASS, nil), {}
   parts.take(results, node, limits)
   return verdict.rate(results, limits)
end

local function texts(of)
   local list = {}
   for _, m in ipairs(of.metrics) do
      list[#list + 1] = m.status .. ": " .. m.text
   end
   return list
end

function TestExpect:test_a_lost_dimm()
   local r = rated('["epyc-9654"] = { memory_gib = 768, dimms = 24, threads = 384 }',
      { memory_gib = 736, dimms = 23, threads = 384 })
   lu.assertEquals(r.status, "warn")
   lu.assertEquals(texts(r), { "warn: memory 736 GiB, expected 768 GiB", "warn: DIMMs 23, expected 24",
      "pass: threads 384, as expected" })
   lu.assertEquals(show.line("n1", { level = "passive", status = "warn", metrics = r.metrics }),
      "syscheck: n1 passive warn  memory 736 GiB, expected 768 GiB  DIMMs 23, expected 24")
end

function TestExpect:test_no_expectation_no_metric()
   lu.assertEquals(rated("", { memory_gib = 736 }).metrics, {})
   lu.assertEquals(rated('["xeon"] = { memory_gib = 768 }', { memory_gib = 736 }).metrics, {})
end

function TestExpect:test_not_known_is_not_zero()
   local r = rated('["*"] = { dimms = 24, packages = 2, action = "fail" }', { packages = 0 })
   lu.assertEquals(r.status, "unrated")
   lu.assertEquals(texts(r), { "unrated: DIMMs not known here, expected 24",
      "unrated: packages not known here, expected 2" })
end

function TestExpect:test_only_a_lack_fails()
   local r = rated('["*"] = { memory_gib = 768, threads = 192, action = "fail" }', { memory_gib = 736, threads = 384 })
   lu.assertEquals(texts(r), { "fail: memory 736 GiB, expected 768 GiB", "warn: threads 384, expected 192" })
   lu.assertEquals(verdict.reason(r), "memory 736 GiB, expected 768 GiB")
end

function TestExpect:test_several_right_values()
   local text = '["*"] = { memory_gib = { 768, 1536 }, action = "fail" }'
   lu.assertEquals(rated(text, { memory_gib = 1536 }).status, "pass")
   -- Less than one of them and more than another: which node it is, nobody knows.
   lu.assertEquals(texts(rated(text, { memory_gib = 1472 })), { "warn: memory 1472 GiB, expected 768 or 1536 GiB" })
   lu.assertEquals(rated(text, { memory_gib = 736 }).status, "fail")
end

function TestExpect:test_the_longest_key_wins_field_by_field()
   local of = {
      ["*"] = { memory_gib = 1, dimms = 1, cores = 1 },
      ["epyc-9654"] = { memory_gib = 2, dimms = 2, action = "fail" },
      ["epyc-9654-2s192c"] = { memory_gib = 3 },
      ["epyc-96"] = { memory_gib = 9 },
      ["epyc-9654-2s"] = { memory_gib = 9 },
   }
   lu.assertEquals(expect.of(of, CLASS), { memory_gib = 3, dimms = 2, cores = 1, action = "fail" })
   lu.assertEquals(expect.of(of, "epyc-9654-1s96c-384g").memory_gib, 2)
   lu.assertEquals(expect.of({}, CLASS), { action = "warn" })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
