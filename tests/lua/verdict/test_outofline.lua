-- What was out of line during a job, for its user.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local outofline = require("syscheck.verdict.outofline")
local throttle = require("syscheck.counters.throttle")

TestOutOfLine = {}

local function find(delta, elapsed, whole, told)
   return outofline.find({ delta = delta, elapsed_s = elapsed or 60, whole = whole ~= false,
      throttle_events = throttle.events(delta.throttle) }, told or {})
end

local CASES = {
   -- delta, elapsed, whole, phrases
   { {}, 60, true, {} },
   { { throttle = { package_count = 1204, package_ms = 3600, package_worst_ms = 3600, core_count = 3 } }, 60, true,
      { "throttled 1,204 times (3.6 s of 60 s)" } },
   -- Two packages at once: the job waited for the worse one.
   { { throttle = { package_count = 2, package_ms = 7000, package_worst_ms = 4000, core_count = 0 } }, 60, true,
      { "throttled 2 times (4.0 s of 60 s)" } },
   { { throttle = { core_count = 1, core_ms = 1200, core_worst_ms = 1200, package_count = 0 } }, 60, true,
      { "throttled once (1.2 s of 60 s)" } },
   -- 0.1 s of an hour, and where no time is known some events.
   { { throttle = { package_count = 40, package_ms = 100 } }, 3600, true, {} },
   { { throttle = { package_count = 0, package_ms = 0, core_count = 0, core_ms = 0 } }, 0, true, {} },
   { { throttle = { package_count = 9 } }, 60, true, {} },
   { { throttle = { package_count = 10 } }, 60, false, { "throttled 10 times" } },
   { { memory_errors = { corrected = 99, uncorrected = 0 } }, 60, true, {} },
   { { memory_errors = { corrected = 1234567, uncorrected = 1 } }, 60, false,
      { "had 1 memory error that could not be corrected", "corrected 1,234,567 memory errors" } },
   { { oom = { kills = 1 } }, 60, true, { "ran out of memory, 1 process was killed" } },
   { { oom = { kills = 2 } }, 60, true, { "ran out of memory, 2 processes were killed" } },
   { { pressure = { io_some_us = 41e6 } }, 60, true, { "waited for storage for 41 s of 60 s" } },
   { { pressure = { io_some_us = 14e6 } }, 60, true, {} },
   { { pressure = { io_some_us = 4e6 } }, 5, true, {} },
   -- The clocks are read at different times.
   { { pressure = { io_some_us = 61e6 } }, 60, true, { "waited for storage for 60 s of 60 s" } },
   -- On a node with other jobs it is not known whose they were.
   { { pressure = { io_some_us = 41e6 }, oom = { kills = 2 } }, 60, false, {} },
   { { nfs = { ops = 1204, op_ms = 421400 } }, 60, true, { "waited for NFS, 1,204 operations took 0.3 s each" } },
   { { nfs = { ops = 19, op_ms = 421400 } }, 60, true, {} },
   { { nfs = { ops = 1204, op_ms = 12040 } }, 60, true, {} },
   { { lustre = { ops = 20, op_us = 60e6 } }, 60, true, { "waited for Lustre, 20 operations took 3.0 s each" } },
   { { lustre = { ops = 20 } }, 60, true, {} },
   { { nfs = { ops = 1204, op_ms = 421400 } }, 60, false, {} },
   -- An episode that began before the job, and ended in it.
   { { throttle = { package_count = 0, package_ms = 405000 } }, 10, true, { "was throttled for 10 s of 10 s" } },
   { { link = { errors = 9, downed = 0 } }, 60, true, {} },
   { { link = { errors = 10 } }, 60, true, { "had 10 errors of its network link" } },
   { { link = { errors = 700, downed = 1 } }, 60, true, { "lost its network link once" } },
}

function TestOutOfLine:test_cases()
   for i, case in ipairs(CASES) do
      lu.assertEquals((find(case[1], case[2], case[3])), case[4], "case " .. i)
   end
end

-- A job of a thousand steps must not print a thousand lines.
function TestOutOfLine:test_said_again_only_when_doubled()
   local function throttled(ms, told)
      return find({ throttle = { package_count = 5, package_ms = ms } }, 60, true, told)
   end
   local phrases, told = throttled(1000)
   lu.assertEquals({ #phrases, told }, { 1, { throttled = 1000 } })
   phrases, told = throttled(1999, told)
   lu.assertEquals({ #phrases, told }, { 0, { throttled = 1000 } })
   phrases, told = throttled(2000, told)
   lu.assertEquals({ #phrases, told }, { 1, { throttled = 2000 } })
   -- Something else is said all the same, and what was told stays.
   phrases, told = find({ oom = { kills = 1 } }, 60, true, told)
   lu.assertEquals({ #phrases, told }, { 1, { throttled = 2000, killed = 1 } })
end

function TestOutOfLine:test_line()
   lu.assertEquals(outofline.line("n3", 4711, { "a (1 s)", "b" }),
      "syscheck: n3 a (1 s); b during this job; ask: syscheck why 4711")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
