-- verdict/rating over a kernel's numbers, whatever JSON makes of them: { "limits": POLICY'S, "values": { metric = v } }.
local json = require("cjson.safe").new()
local oracle = require("oracle")
local policy = require("syscheck.policy.policy")
local verdict = require("syscheck.verdict.rating")

json.decode_invalid_numbers(false)

local site = policy.parse([[return { mode = "enforce", limits = { triad_gbs = { min = 100 }, gflops = { min = 5,
   action = "warn" }, noise_pct = { max = 5 }, }, expect = { ["*"] = { dimms = { 8, 12 }, memory_gib = 256 } } }]], "p")
local learned = { v = 2, classes = { ["epyc-1s8c-32g"] = { nodes = 9, config = {}, expect = { dimms = 8 }, metrics = {
   triad_gbs = { median = 200, mad_pct = 1, tolerance_pct = 10, nodes = 9, n = 90 } } } } }
local limits = assert(verdict.limits(assert(site), "epyc-1s8c-32g", learned))
local STATUS = { pass = true, warn = true, fail = true, unknown = true, unrated = true }

local function seeds()
   return { '{"triad_gbs":150.5,"gflops":1e300,"noise_pct":0.5,"dimms":7,"memory_gib":200}', '{"triad_gbs":1e308,"gflops":-0}',
      '{"triad_gbs":0,"throttle_events":3}' }
end

local function run(input)
   local values = json.decode(input)
   if type(values) ~= "table" then
      return
   end
   local results = {}
   for name, value in pairs(values) do
      results[name] = type(value) == "number" and { value = value } or type(value) == "string" and { unknown = value }
         or value == true and { corrupt = "x" } or nil
   end
   local rated = verdict.rate(results, limits)
   assert(STATUS[rated.status], "a status")
   oracle.is("string", rated.text, "the sentence")
   verdict.set_modes(rated, site, "epyc-1s8c-32g")
   local reason = verdict.reason(rated)
   assert((reason ~= nil) == (rated.status == "fail"), "a reason where nothing failed")
end

return { run = run, seeds = seeds, max = 1000 }
