-- policy/text, schema, check, policy: the site's policy, which slurmctld evaluates under its locks.
local oracle = require("oracle")
local policy = require("syscheck.policy.policy")
local policy_text = require("syscheck.policy.text")

local function seeds()
   local file = io.open("etc/syscheck/policy.lua")
   local text = file:read("a")
   file:close()
   -- As a site has it: without the comments, and a comment taken for what it shows.
   return { (text:gsub("%-%-[^\n]*", "")), (text:gsub("\n(%s*)%-%- (%s*[%w_%[]+[^\n]*=)", "\n%1%2")),
      'local p = { mode = "enforce" }\np.limits = { triad_gbs = { min = 1, tolerance = 0.1, action = "warn" } }\nreturn p\n',
      'return { partitions = { ["gpu-a"] = { floor = "quick" } }, expect = { ["epyc*"] = { dimms = { 8, 12 } } } }',
      'return { io_paths = { "/scratch" }, store = "postgresql://u@h/d", ship = "syslog:local0", --[==[ a ]] ]==] }',
      "return { lmits = 1, mode = enforce, mode = 'x', window = 0x10, budget = 1e-2, health = 5; kernels = { stream = {} } }" }
end

local function run(input)
   local value, err, more = policy.parse(input, "policy.lua")
   if value == nil then
      -- Lua's own messages quote what they stumble over, which may be any byte.
      oracle.is("string", err, "the error")
      assert(not err:find("\n", 1, true) or err:find("^policy.lua:%d+: "), "an error of several lines")
      oracle.is("table", more, "the list of problems")
      for _, one in ipairs(more) do
         assert(one:find("^policy.lua:%d+: ") or one:find("^policy.lua:%d+:"), "a problem without its place: " .. one)
      end
   else
      assert(value.mode == "observe" or value.mode == "enforce", "mode")
      oracle.number(value.window, "window", 60, 31536000)
      oracle.number(value.max_drained, "max_drained", 0, 1)
      assert(math.type(more({ "mode" })) or more({ "mode" }) == nil, "the line of a key")
   end
   assert(("x"):rep(2) == "xx", "strings lost their methods")
   for _, one in ipairs(policy_text.repeated(input)) do
      assert(one.line >= one.first and one.first >= 1, "the lines of a repeated key")
   end
end

return { run = run, seeds = seeds, max = 3000, kept_bytes = 12000 }
