-- The job's AdminComment.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local comment = require("syscheck.slurm.comment")

TestComment = {}

function TestComment:test_find()
   local head = "JobId=1 JobName=x\n   UserId=a(1)\n"
   lu.assertEquals(comment.find(head .. "   Comment=mine \n"), "")
   lu.assertEquals(comment.find(head .. "   AdminComment=a b \n   Comment=mine \n"), "a b")
   lu.assertEquals(comment.find(head .. "   AdminComment=a b \n   MailUser=x MailType=y\n\n"), "a b")
   lu.assertNil(comment.find(head .. "   AdminComment=a\nsecond line\n   Comment=mine \n"))
   lu.assertNil(comment.find(head .. "   AdminComment=a \n   Comment=x\n   AdminComment=forged \n"))
   lu.assertNil(comment.find("slurm_load_jobs error"))
end

function TestComment:test_a_part_of_an_array_or_of_a_heterogeneous_job()
   local array = "JobId=5 ArrayJobId=4 ArrayTaskId=1 JobName=x\n   AdminComment=its own \n\n"
      .. "JobId=4 ArrayJobId=4 ArrayTaskId=2 ArrayTaskThrottle=1 JobName=x\n\n"
   lu.assertEquals(comment.name(array, "4"), "4_2")
   lu.assertEquals(comment.name("JobId=5 ArrayJobId=4 ArrayTaskId=1 JobName=x\n\n", "5"), "5")
   lu.assertEquals(comment.name("JobId=6 HetJobId=6 HetJobOffset=0 JobName=x\n   A=b\n\nJobId=7 HetJobId=6 "
      .. "HetJobOffset=1 JobName=x\n\n", "6"), "6+0")
   -- A name is never another job's, whatever a user called this one.
   lu.assertEquals(comment.name("JobId=4 JobName=x ArrayTaskId=1\n\nJobId=4 ArrayJobId=9 ArrayTaskId=1 x\n", "4"), "4")
end

function TestComment:test_add_is_idempotent_and_bounded()
   local text = comment.add("", { "one", "two" })
   lu.assertEquals(text, "one | two")
   lu.assertEquals(comment.add(text, { "two", "one" }), text)
   local many = {}
   for i = 1, 100 do
      many[i] = ("syscheck drained n%03d: something bad"):format(i)
   end
   text = comment.add("", many)
   lu.assertTrue(#text <= 1030)
   lu.assertEquals(comment.add(text, many), text)
end

-- What users and admins write may be blank and long: a prolog reads it as root.
function TestComment:test_long_and_blank_costs_its_length()
   local function of(text)
      return cost(comment.find, "JobId=1 JobName=x\n   AdminComment=a" .. text .. "b\n   Comment=c" .. text .. "\n")
   end
   local plain = of(("x"):rep(20000))
   lu.assertTrue(of((" "):rep(20000)) < 100 * plain + 0.01)
   lu.assertTrue(of(("\n"):rep(20000)) < 100 * plain + 0.01)
   lu.assertTrue(of(("\n "):rep(10000)) < 100 * plain + 0.01)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
