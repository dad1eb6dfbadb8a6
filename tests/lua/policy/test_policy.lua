-- A policy file: the shipped one, and what is wrong with others.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")

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
      -- Each Lua has words of its own for it.
      { "return {\n\n mode = " .. ("("):rep(250), "p.lua:3: " },
      { "return {\n mode = " .. ("{\n"):rep(250), "p.lua:" },
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

TestBadFiles = {}

function TestBadFiles:test_named_with_file_and_line()
   local cases = {
      { "return { accounts = {\n a = { floor = 'full', ceiling = 'quick' } } }",
         "p.lua:2: accounts.a: want floor <= default <= ceiling, got full, -, quick" },
      { "return { qos = {\n\n a = { default = 'full', ceiling = 'quick' } } }", "p.lua:3: qos.a: want floor" },
      { "return { accounts = { ['*'] = { floor = 'full' }, a = { ceiling = 'quick' } } }", "accounts.a: want floor" },
      { "return { qos = { a = { flor = 'none' } } }", 'unknown key qos.a.flor, did you mean "floor"?' },
      { "return { partitions = {\n ['a,b'] = {} } }", "p.lua:2: partitions.a,b: no such name can exist in Slurm" },
      { "return { partitions = { ['a\\nb'] = { floor = 1 } } }", "partitions.a\\x0ab" },
      { "return { limits = {\n  triad = { min = 1 } } }",
         'p.lua:2: unknown key limits.triad, did you mean "triad_gbs"?' },
      { "return { limits = { linpack = { min = 1 } } }",
         "unknown key limits.linpack (best_gbs, class, config, fabric_in_gbs, " },
      { "return { limits = { fabric_in_ratio = { min = 90 } } }",
         "limits.fabric_in_ratio.min must be a number from 0 to 1" },
      { "return { limits = { gflops = { mode = 'observ' } } }", 'did you mean "observe"?' },
      { "return { limits = { throttle_events = { mode = 'enforce' } } }", "unknown key limits.throttle_events.mode" },
      { "return { kernels = { strem = {} } }", 'did you mean "stream"?' },
      { "return { shared = 'exclusiv' }", 'did you mean "exclusive"?' },
      { "return {\n mode = enforce }", 'p.lua:2: "enforce" is no value; a text wants quotes' },
      { "return { tolerance = '0.1' }", 'p.lua:1: tolerance must be a number from 0 to 1; got "0.1"' },
      { "return { partitions = { gpu = 'quick' } }",
         'partitions.gpu must be a table { ceiling, default, floor }; got "quick"' },
      { "return { partitions = { gpu = { floor = 'quick' } } }",
         "got quick, passive, full (not set here: default, ceiling)" },
      { "return { limits = { gflops = { min = 3, max = 2 } } }", "limits.gflops: min 3 is above max 2" },
      -- Lua names the line after a comma that is not there.
      { "return {\n mode = 'observe' -- why\n -- more\n budget = 1 }",
         "near 'budget'; is a comma missing at the end of line 2 or in line 4?" },
      { "return { partitions = { gpu-a = {} } }", '; a key is one word, or in brackets and quotes: ["gpu-a"] = ' },
      { "return {\n mode = 'observe',\n", "a } or a quote is missing before the end" },
      { "return { store = 'records' }", "store must be an absolute path or a URL" },
      { "return { store = 'postgresql://a b' }", "store must be" },
      -- Comments and strings that look like keys.
      { "return {\n -- mode = 1\n io_paths = { '/mode = ' },\n --[[ mode = 2\n ]] mode = 3 }",
         "p.lua:5: mode must be" },
      { "local p = {}\np.limits = {}\np.limits.gflops = {\n min = -1 }\nreturn p",
         "p.lua:4: limits.gflops.min must be" },
      { "local g = { flor = 1 }\nreturn { partitions = {\n g = g } }", "p.lua:3: unknown key partitions.g.flor" },
   }
   for _, c in ipairs(cases) do
      local parsed, err = policy.parse(c[1], "p.lua")
      lu.assertNil(parsed, c[1])
      lu.assertStrContains(err, c[2])
      lu.assertNil(err:find("%c"), "one line: " .. err)
   end
end

function TestBadFiles:test_a_mistake_on_every_line()
   -- A script's table of accounts, under slurmctld's locks: lines, not lines squared.
   local function steps(count)
      local text, n = { "return { accounts = {" }, 0
      for i = 1, count do
         text[#text + 1] = ("a%d = { celing = 'full' },"):format(i)
      end
      text = table.concat(text, "\n") .. "\n} }"
      debug.sethook(function() n = n + 1 end, "", 1000)
      local _, err = policy.parse(text, "p.lua")
      debug.sethook()
      lu.assertStrContains(err, "p.lua:2: unknown key accounts.a1.celing")
      lu.assertStrContains(err, ("(and %d more)"):format(count - 1))
      return n
   end
   lu.assertTrue(steps(800) < 12 * steps(100))
end

function TestBadFiles:test_every_problem_has_its_line()
   local _, first, all = policy.parse("return {\n budgt = 1,\n mode = 2 }", "p.lua")
   lu.assertEquals(first, 'p.lua:2: unknown key budgt, did you mean "budget"? (and 1 more)')
   lu.assertEquals(all, { 'p.lua:2: unknown key budgt, did you mean "budget"?',
      'p.lua:3: mode must be one of "observe", "enforce"; got 2' })
   local _, why, same = policy.parse("return", "p.lua")
   lu.assertEquals(same, { why })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
