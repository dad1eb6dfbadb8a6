-- The policy: whose bounds hold, what a file may not do, the copy of a good one, submissions.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local level = require("syscheck.policy.level")
local policy = require("syscheck.policy.policy")
local policy_bounds = require("syscheck.policy.bounds")
local policy_copy = require("syscheck.policy.copy")
local policy_text = require("syscheck.policy.text")
local submit = require("syscheck.policy.submission")

local function parse(text)
   return assert(policy.parse("return {" .. text .. "}", "p.lua"))
end

TestRules = {}

local RULES = [[
   partitions = { ["*"] = { default = "passive" },
      main = { floor = "passive", default = "passive", ceiling = "quick" } },
   accounts = { physics = { floor = "quick" }, bench = { default = "full" }, guest = { ceiling = "passive" } },
   qos = { debug = { ceiling = "none" }, night = { default = "quick" }, careful = { floor = "full" } },
]]

function TestRules:test_the_highest_floor_the_lowest_ceiling_the_most_specific_default()
   local p = parse(RULES)
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
   local bounds, from = policy_bounds.of(parse(RULES), { partition = "main", account = "physics" })
   local _, note = level.decide("none", bounds, { owned = true }, from)
   lu.assertEquals(note, "none asked, the account's floor is quick")
   _, note = level.decide("full", bounds, { owned = true }, from)
   lu.assertEquals(note, "full asked, the partition's ceiling is quick")
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
         "unknown key limits.linpack (best_gbs, class, config, gflops, " },
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

function TestBadFiles:test_what_burns_time_or_memory_is_refused_before_it_runs()
   local cases = {
      { "while true do end", '"while": a policy has tables and values only, no loop' },
      { "return\n{ mode = ('x'):rep(1e9) }", "p.lua:2: \":\": a policy" },
      { "return { mode = ('x').rep('x', 1e9) }", "p.lua:1: " },
      { "local s = 'x' s = s..s return {}", '"..": a policy' },
      { "for i = 1, 2 do end return {}", "no loop" },
      { "repeat until nil return {}", "no loop" },
      { "local function f() return f() end return f()", "no function" },
      { "\27LuaQ", "bytecode" },
      { "return { mode = [==[\n", "p.lua:" },
      { "return { mode = 'x", "p.lua:1: " },
      { "return setmetatable({}, {})", "p.lua:1: " },
      { ("{"):rep(1000), "p.lua:" },
   }
   for _, c in ipairs(cases) do
      local parsed, err = policy.parse(c[1], "p.lua")
      lu.assertNil(parsed, c[1])
      lu.assertStrContains(err, c[2])
      lu.assertEquals(("x"):rep(2), "xx", "strings have their methods back")
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

function TestBadFiles:test_words_in_comments_and_strings_are_no_loops()
   local p = assert(policy.parse('return { -- while "x".. for\n io_paths = { "/for..while:x", [[/function]] },'
      .. " --[==[ goto ]] ]==] spool = '/it\\'s..' }", "p"))
   lu.assertEquals(p.io_paths, { "/for..while:x", "/function" })
   lu.assertEquals(p.spool, "/it's..")
end

function TestBadFiles:test_every_problem_has_its_line()
   local _, first, all = policy.parse("return {\n budgt = 1,\n mode = 2 }", "p.lua")
   lu.assertEquals(first, 'p.lua:2: unknown key budgt, did you mean "budget"? (and 1 more)')
   lu.assertEquals(all, { 'p.lua:2: unknown key budgt, did you mean "budget"?',
      'p.lua:3: mode must be one of "observe", "enforce"; got 2' })
   local _, why, same = policy.parse("return", "p.lua")
   lu.assertEquals(same, { why })
end

function TestBadFiles:test_keys_that_are_set_twice()
   local twice = policy_text.repeated('return {\n mode = "observe", -- mode = 1\n limits = { gflops = { min = 1 },'
      .. ' triad_gbs = { min = 1 } },\n ["mode"] = "enforce",\n io_paths = { "/mode = 1", "/x" } }')
   lu.assertEquals(twice, { { key = "mode", line = 4, first = 2 } })
   lu.assertEquals(policy_text.repeated("local p = { a = 1 }\np.a = 2\np.a = 3\n"
      .. "local q = { a = p.a == 1, b = p.a == 2 } return p"), {})
end

function TestBadFiles:test_a_line_for_each_key_that_is_set()
   local text = 'local p = {\n mode = "enforce",\n partitions = { ["gpu.x"] = { floor = "none",\n'
      .. ' default = "quick" } },\n}\np.limits = { triad_gbs = {\n mode = "observe" } }\nreturn p'
   local _, _, line_of = policy.parse(text, "p")
   lu.assertEquals(line_of({ "mode" }), 2)
   lu.assertEquals(line_of({ "partitions", "gpu.x", "floor" }), 3)
   lu.assertEquals(line_of({ "partitions", "gpu.x", "default" }), 4)
   lu.assertEquals(line_of({ "limits", "triad_gbs", "mode" }), 7)
   lu.assertNil(line_of({ "budget" }))
   lu.assertNil(line_of({ "partitions", "gpu.x", "ceiling" }))
end

TestCopy = {}

function TestCopy:test_whole_or_nothing()
   local text = "return {\n}\n" .. ("-- x\n"):rep(5000)
   local copy = policy_copy.wrap(text, "2026-11-21T08:00:00Z")
   lu.assertEquals({ policy_copy.unwrap(copy) }, { text, "2026-11-21T08:00:00Z" })
   lu.assertTrue(policy_copy.is_of(copy, text))
   lu.assertFalse(policy_copy.is_of(copy, text .. " "))
   for _, bad in ipairs({ "", "return {}", copy:sub(1, -2), copy .. " ", (copy:gsub("%-%- x\n", "-- y\n", 1)) }) do
      lu.assertNil(policy_copy.unwrap(bad))
   end
   -- It is a policy itself, for whoever wants it back.
   lu.assertTrue(policy.parse(copy, "p") ~= nil)
end

TestSubmissions = {}

local function whole(partition)
   return ({ main = true, shared = false })[partition]
end

function TestSubmissions:test_account_and_qos_are_named()
   local p = parse(RULES)
   local function why(job)
      local ok, text = submit.check(p, job)
      return ok == nil and text
   end
   lu.assertEquals(why({ asked = "passive", partitions = { "main" }, account = "physics" }),
      "syscheck: --syscheck=passive is below the floor of account physics: use quick or more, or leave it out")
   lu.assertEquals(why({ asked = "quick", partitions = { "main" }, qos = "debug" }),
      "syscheck: --syscheck=quick is more than QOS debug allows: use none or less")
   lu.assertEquals(why({ asked = "quick", partitions = {}, account = "guest" }),
      "syscheck: --syscheck=quick is more than account guest allows: use passive or less")
   lu.assertEquals(why({ asked = "full", partitions = { "other", "main" }, component = 1 }),
      "syscheck: component 1: --syscheck=full is more than partition main allows: use quick or less")
   lu.assertFalse(why({ asked = "quick", partitions = { "main" }, account = "x", qos = "y" }))
   lu.assertNil(why({ asked = "quick", partitions = { "main" }, account = "guest\27\n" }) or nil)
end

function TestSubmissions:test_shared_nodes_as_the_policy_says()
   local job = { asked = "full", partitions = { "main", "shared" }, is_whole = whole }
   local ok, note, exclusive = submit.check(parse(""), job)
   lu.assertEquals({ ok, exclusive }, { true })
   lu.assertStrContains(note, "--syscheck=full needs whole nodes, and partition shared gives parts of them: passive")
   ok, note, exclusive = submit.check(parse("shared = 'exclusive'"), job)
   lu.assertEquals({ ok, exclusive }, { true, true })
   lu.assertStrContains(note, "the job is made exclusive")
   ok, note = submit.check(parse("shared = 'refuse'"), job)
   lu.assertNil(ok)
   lu.assertStrContains(note, "add --exclusive, or use passive")
   -- Nothing to say where it gets whole nodes, asked for none, or nobody knows.
   for _, quiet in ipairs({ { asked = "full", partitions = { "main" } },
      { asked = "passive", partitions = { "shared" } },
      { asked = "full", partitions = { "shared" }, exclusive = true }, { asked = "full", partitions = { "?" } } }) do
      quiet.is_whole = whole
      lu.assertEquals({ submit.check(parse("shared = 'refuse'"), quiet) }, { true })
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
