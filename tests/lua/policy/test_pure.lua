-- The pure part that job_submit loads: levels, policy, submissions.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local level = require("syscheck.policy.level")
local policy = require("syscheck.policy.policy")
local policy_bounds = require("syscheck.policy.bounds")
local submit = require("syscheck.policy.submission")

local FIXTURES = os.getenv("FIXTURES") or "tests/fixtures"

TestLevels = {}

local function unescape(text)
   if text == "<nil>" then
      return nil
   elseif text == "<1M>" then
      return ("a"):rep(1048576)
   end
   return (text:gsub("\\(.)(%x?%x?)", function(c, hex)
      if c == "x" then
         return string.char(tonumber(hex, 16))
      end
      return (({ n = "\n", t = "\t", ["\\"] = "\\" })[c] or c) .. hex
   end))
end

-- One grammar, one truth: the C plugin reads the same table.
function TestLevels:test_every_row_of_the_shared_table()
   local rows = 0
   for line in io.lines(FIXTURES .. "/levels.tsv") do
      local input, want, near = line:match("^([^\t#]*)\t([^\t]*)\t([^\t]*)$")
      if input then
         rows = rows + 1
         local value = unescape(input)
         local got, err = level.parse(value)
         if want == "!" then
            lu.assertNil(got, line)
            lu.assertStrContains(err, 'unknown level "')
            lu.assertEquals(err:match('did you mean "(%w+)"') or "-", near, line)
            lu.assertNil(err:find("[^ -~]"), "unprintable: " .. line)
            lu.assertTrue(#err < 300, line)
         else
            lu.assertEquals(got, want, line)
         end
      end
   end
   lu.assertTrue(rows >= 40, "rows read: " .. rows)
end

function TestLevels:test_message()
   local _, err = level.parse("ful")
   lu.assertEquals(err, 'unknown level "ful", did you mean "full"? (none, passive, quick, full)')
   _, err = level.parse("xyzzy")
   lu.assertEquals(err, 'unknown level "xyzzy" (none, passive, quick, full)')
end

function TestLevels:test_decide()
   local bounds = { floor = "passive", default = "quick", ceiling = "quick" }
   local mine, stale = { owned = true, fresh = false }, { owned = true, fresh = true }
   local cases = {
      -- asked, node, level, note contains
      { nil, mine, "quick", nil },
      { nil, stale, "passive", "fresh" },
      { "quick", stale, "quick", nil },
      { "none", mine, "passive", "floor" },
      { "full", mine, "quick", "ceiling" },
      { "full", { owned = false }, "passive", "whole node" },
      { "passive", { owned = false }, "passive", nil },
   }
   for i, c in ipairs(cases) do
      local got, note = level.decide(c[1], bounds, c[2])
      lu.assertEquals(got, c[3], "case " .. i)
      if c[4] then
         lu.assertStrContains(note, c[4])
      else
         lu.assertNil(note)
      end
   end
end

TestPolicy = {}

function TestPolicy:test_example_is_the_default()
   local file = assert(io.open("etc/syscheck/policy.lua"))
   local text = file:read("*a")
   file:close()
   local parsed, err = policy.parse(text, "policy.lua")
   lu.assertNil(err)
   lu.assertEquals(parsed, policy.default())
end

function TestPolicy:test_bad_files_are_named_with_file_and_line()
   local cases = {
      { "return {", "p.lua:1: " },
      { "return {\n   mode = \"observe\",\n   limts = {},\n}", 'p.lua:3: unknown key limts, did you mean "limits"?' },
      { "return {\n   partitions = {\n      gpu = {\n         flor = \"none\" } } }",
         'p.lua:4: unknown key partitions.gpu.flor, did you mean "floor"?' },
      { "return {\n  mode = \"enforced\" }", 'p.lua:2: mode must be one of "observe", "enforce"' },
      { "return { tolerance = 2 }", "p.lua:1: tolerance must be a number from 0 to 1" },
      { "return { tolerance = 0/0 }", "tolerance must be a number" },
      { "return { budget = -1 }", "budget must be" },
      { "return { deadline = { quick = 90 } }", "deadline.quick must be a number from 1 to 60" },
      { "return { spool = \"relative\" }", "spool must be an absolute path" },
      { "return { scontrol = \"scontrol; reboot\" }", "scontrol must be a program" },
      { "return { partitions = {\n a = { floor = \"full\", ceiling = \"quick\" } } }",
         "p.lua:2: partitions.a: want floor" },
      { "return { limits = { throttle_events = { action = \"fail\" } } }", 'must be one of "warn", "off"' },
      { "return {\n expect = {\n  [\"*\"] = { dimm = 1 } } }",
         'p.lua:3: unknown key expect.*.dimm, did you mean "dimms"?' },
      { "return { [1] = 2 }", "unknown key 1" },
      { "return 7", "must return a table" },
      { "", "must return a table" },
      { "while true do end", 'p.lua:1: "while": a policy has tables and values only, no loop' },
      { "return { mode = os.getenv('HOME') }", "p.lua:1: " },
      { "return { mode = 1, tolerance = 2 }", "(and 1 more)" },
      { "\27Lua", "bytecode" },
      { "return { kernels = { io = { quick = 1 } } }", "unknown key kernels.io.quick" },
      { "return {\n io_paths = '/tmp' }", "p.lua:2: io_paths must be a list of at most 8 absolute paths" },
      { "return { io_paths = { 'tmp' } }", "io_paths must be a list" },
      { "return { io_paths = { '/tmp', 5 } }", "io_paths must be a list" },
      { "return { io_paths = { a = '/tmp' } }", "io_paths must be a list" },
      { "return { io_paths = { '/tmp', nil, '/b' } }", "io_paths must be a list" },
      { "return { io_paths = { '/1', '/2', '/3', '/4', '/5', '/6', '/7', '/8', '/9' } }", "io_paths must be a list" },
   }
   for _, c in ipairs(cases) do
      local parsed, err = policy.parse(c[1], "p.lua")
      lu.assertNil(parsed, c[1])
      lu.assertStrContains(err, c[2])
      lu.assertNil(err:find("\n"), "one line: " .. err)
   end
end

function TestPolicy:test_a_list_is_taken_as_given()
   local p = assert(policy.parse("return { io_paths = { '/scratch', '/tmp' } }", "p"))
   lu.assertEquals(p.io_paths, { "/scratch", "/tmp" })
   lu.assertEquals(p.kernels.io, { full = 3 })
   lu.assertEquals(policy.default().io_paths, {})
end

local function bounds(p, job)
   return (policy_bounds.of(p, job)) -- without where each is from
end

function TestPolicy:test_bounds_fall_back_to_star_then_defaults()
   local p = policy.parse('return { partitions = { ["*"] = { floor = "passive", default = "quick" },'
      .. ' debug = { default = "passive" } } }', "p")
   lu.assertEquals(bounds(p, { partition = "debug" }), { floor = "passive", default = "passive", ceiling = "full" })
   lu.assertEquals(bounds(p, { partition = "other" }), { floor = "passive", default = "quick", ceiling = "full" })
   lu.assertEquals(bounds(p, {}), { floor = "passive", default = "quick", ceiling = "full" })
end

TestSubmit = {}

function TestSubmit:setUp()
   self.policy = policy.parse('return { partitions = { main = { floor = "passive", default = "passive", '
      .. 'ceiling = "quick" } } }', "p")
end

function TestSubmit:test_levels_within_bounds_pass()
   for _, asked in ipairs({ "passive", "quick" }) do
      lu.assertTrue(submit.check(self.policy, { asked = asked, partitions = { "main" } }))
   end
   lu.assertTrue(submit.check(self.policy, { partitions = { "main" } }))
   lu.assertTrue(submit.check(self.policy, { asked = "none", partitions = { "other" } }))
   lu.assertTrue(submit.check(self.policy, { asked = "none", partitions = {} }))
end

function TestSubmit:test_floor_and_ceiling_refuse_in_words()
   local ok, why = submit.check(self.policy, { asked = "none", partitions = { "other", "main" } })
   lu.assertNil(ok)
   lu.assertEquals(why,
      "syscheck: --syscheck=none is below the floor of partition main: use passive or more, or leave it out")
   ok, why = submit.check(self.policy, { asked = "full", partitions = { "main" } })
   lu.assertNil(ok)
   lu.assertEquals(why, "syscheck: --syscheck=full is more than partition main allows: use quick or less")
end

function TestSubmit:test_forged_values_are_refused_and_shown_harmless()
   for _, forged in ipairs({ "$(reboot)", "quick\nfull", "%s%s%n", "", "(null)", "QUICK", ("x"):rep(1e6), "\27[2J" }) do
      local ok, why = submit.check(self.policy, { asked = forged, partitions = { "main" } })
      lu.assertNil(ok)
      lu.assertNil(why:find("[^ -~]"), why)
      lu.assertTrue(#why < 200)
   end
end

function TestSubmit:test_asked_finds_the_variable()
   lu.assertEquals(submit.asked({ [0] = "SPANK_OTHER=1", "SPANK_SYSCHECK=full" }), "full")
   lu.assertEquals(submit.asked({ [0] = "SPANK_SYSCHECK=a=b" }), "a=b")
   lu.assertEquals(submit.asked({ [0] = "SYSCHECK=quick" }), "quick")
   lu.assertEquals(submit.asked({ SPANK_SYSCHECK = "none" }), "none")
   lu.assertNil(submit.asked({ [0] = "NOTSPANK_SYSCHECK=full", "SPANK_SYSCHECKS=1", "junk" }))
   lu.assertNil(submit.asked({}))
   lu.assertNil(submit.asked(nil))
end

function TestSubmit:test_partitions()
   lu.assertEquals(submit.partitions("a,b"), { "a", "b" })
   lu.assertEquals(submit.partitions(nil, "main"), { "main" })
   lu.assertEquals(submit.partitions(nil, nil), {})
   -- Whatever a user writes is looked at under slurmctld's locks.
   lu.assertEquals(submit.partitions(("a,"):rep(30000) .. ",b"), { "a", "b" })
   local many = {}
   for i = 1, 30000 do
      many[i] = "p" .. i
   end
   lu.assertEquals(#submit.partitions(table.concat(many, ",")), 256)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
