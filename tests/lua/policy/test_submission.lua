-- What a job may ask when it is submitted.
-- lua: lua5.1 lua5.2 lua5.3 lua5.4
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local policy = require("syscheck.policy.policy")
local submit = require("syscheck.policy.submission")

local RULES = assert(io.open("tests/fixtures/bounds.lua")):read("*a")

local function parse(text)
   return assert(policy.parse("return {" .. text .. "}", "p.lua"))
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
   for _, forged in ipairs({ "$(reboot)", "quick\nfull", "%s%s%n", "", "(null)", "QUICKLY", ("x"):rep(1e6),
      "\27[2J" }) do
      local ok, why = submit.check(self.policy, { asked = forged, partitions = { "main" } })
      lu.assertNil(ok)
      lu.assertNil(why:find("[^ -~]"), why)
      lu.assertTrue(#why < 200)
   end
end

function TestSubmit:test_bounds_hold_in_either_case()
   lu.assertTrue(submit.check(self.policy, { asked = "QUICK", partitions = { "main" } }))
   local ok, why = submit.check(self.policy, { asked = "FULL", partitions = { "main" } })
   lu.assertNil(ok)
   lu.assertEquals(why, "syscheck: --syscheck=full is more than partition main allows: use quick or less")
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
   -- Whatever a user writes is parsed under slurmctld's locks.
   lu.assertEquals(submit.partitions(("a,"):rep(30000) .. ",b"), { "a", "b" })
   local many = {}
   for i = 1, 30000 do
      many[i] = "p" .. i
   end
   lu.assertEquals(#submit.partitions(table.concat(many, ",")), 256)
end

TestSubmissions = {}

local function whole(partition)
   return ({ main = true, shared = false })[partition]
end

function TestSubmissions:test_account_and_qos_are_named()
   local p = policy.parse(RULES, "bounds.lua")
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
   lu.assertFalse(why({ asked = "quick", partitions = { "main" }, account = "guest\27\n" }))
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

TestNoRequeue = {}

local WARNING = "syscheck: with --no-requeue the job is cancelled if one of its nodes fails the check before it; "
   .. "without, it is requeued and runs on others"

function TestNoRequeue:test_warns_where_a_check_may_drain()
   for _, case in ipairs({
      { "mode = 'enforce'", "quick", true },
      { "mode = 'enforce'", nil, false }, -- passive: counters drain nothing
      { "mode = 'enforce', partitions = { main = { default = 'quick' } }", nil, true },
      { "mode = 'enforce', partitions = { main = { floor = 'quick', default = 'quick' } }", "passive", true },
      { "mode = 'enforce', partitions = { other = { default = 'full' } }", nil, false },
      { "mode = 'enforce', expect = { ['*'] = { dimms = 8 } }", nil, false },
      { "mode = 'enforce', expect = { ['*'] = { dimms = 8, action = 'fail' } }", nil, true },
      { "mode = 'enforce', expect = { ['*'] = { dimms = 8, action = 'fail' } }", "none", false },
      { "mode = 'observe'", "full", false },
      { "limits = { triad_gbs = { mode = 'enforce' } }", "quick", true },
      { "expect = { ['*'] = { dimms = 8, action = 'fail', mode = 'enforce' } }", "passive", true },
      { "mode = 'enforce', no_requeue = 'cancel'", "quick", true },
      { "mode = 'enforce', no_requeue = 'start'", "quick", false },
      { "mode = 'enforce', no_requeue = 'requeue'", "quick", false },
   }) do
      lu.assertEquals(submit.warning(parse(case[1]), { asked = case[2], partitions = { "main" } }),
         case[3] and WARNING or nil, case[1])
   end
   -- Any of several partitions; the default one not known.
   local p = parse("mode = 'enforce', partitions = { b = { default = 'quick' } }")
   lu.assertEquals(submit.warning(p, { partitions = { "a", "b" } }), WARNING)
   lu.assertNil(submit.warning(p, { partitions = {} }))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
