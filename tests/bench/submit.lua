-- What job_submit adds to a submission: microseconds of CPU for one decision under a
-- policy of 50 partitions, 200 accounts and 20 QOS, and what reading that policy costs
-- once per load. `lua5.1 tests/bench/submit.lua`: one line of JSON; nothing is asserted.
package.path = "lua/?.lua;" .. package.path
local policy = require("syscheck.policy.policy")
local submit = require("syscheck.policy.submission")

local CALLS = 1e5

local function entries(kind, n, text)
   local lines = {}
   for i = 1, n do
      lines[i] = ('["%s%03d"] = { %s },'):format(kind, i, text)
   end
   return ("%ss = { %s },\n"):format(kind == "q" and "qo" or kind, table.concat(lines, "\n"))
end

local text = "return {\n" .. entries("partition", 50, 'floor = "passive", default = "quick", ceiling = "full"')
   .. entries("account", 200, 'floor = "passive", default = "quick"') .. entries("q", 20, 'ceiling = "full"') .. "}\n"
local began = os.clock()
local p = assert(policy.parse(text, "policy.lua"))
local parse_ms = (os.clock() - began) * 1e3

-- As slurmctld calls it: the SPANK environment, two partitions, account and QOS.
local env = { [0] = "SPANK_OTHER=1", "SPANK_SYSCHECK=full" }
local function whole()
   return true
end
local function decide(i)
   return submit.check(p, {
      asked = submit.asked(env),
      partitions = submit.partitions(("partition%03d,partition%03d"):format(i % 50 + 1, (i + 7) % 50 + 1)),
      account = ("account%03d"):format(i % 200 + 1),
      qos = ("q%03d"):format(i % 20 + 1),
      is_whole = whole,
   })
end

began = os.clock()
for i = 1, CALLS do
   assert(decide(i))
end
local submit_us = (os.clock() - began) / CALLS * 1e6
began = os.clock()
for _ = 1, CALLS do
   submit.check(p, { asked = submit.asked(nil) })
end
print(('{"submit_us":%.2f,"not_asked_us":%.2f,"parse_ms":%.2f,"calls":%d,"lua":"%s"}'):format(submit_us,
   (os.clock() - began) / CALLS * 1e6, parse_ms, CALLS, _VERSION))
