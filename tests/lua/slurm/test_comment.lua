-- The job's AdminComment.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local comment = require("syscheck.slurm.comment")

TestComment = {}

-- As squeue prints them.
local function row(job, array, task, het, offset, text)
   return ("%-12s%-12s%-12s%-12s%-12s%s\n"):format(job, array or job, task or "N/A", het or "N/A", offset or "N/A",
      text or "(null)")
end

local function find(shown, id)
   return { comment.find(shown, id) }
end

function TestComment:test_find()
   lu.assertEquals(find(row(1), "1"), { "1", "" })
   lu.assertEquals(find(row(1, nil, nil, nil, nil, "a b "), "1"), { "1", "a b" })
   lu.assertEquals(find(row(1, nil, nil, nil, nil, "a\nsecond line"), "1"), {})
   lu.assertEquals(find(row(1, nil, nil, nil, nil, "a\n"), "1"), {})
   lu.assertEquals(find(row(1, nil, nil, nil, nil, "a\n" .. row(1)), "1"), {})
   lu.assertEquals(find("slurm_load_jobs error", "1"), {})
   lu.assertEquals(find("", "1"), {})
   lu.assertEquals(find(row(12), "1"), {})
end

function TestComment:test_a_part_of_an_array_or_of_a_heterogeneous_job()
   local array = row(5, 4, 1, nil, nil, "its own\nof two lines") .. row(4, 4, 2, nil, nil, "mine")
      .. row(6, 4, "3,5-99999,12")
   lu.assertEquals(find(array, "4"), { "4_2", "mine" })
   lu.assertEquals(find(row(5, 4, 1), "5"), { "5", "" })
   lu.assertEquals(find(row(4, 4, "1-3"), "4"), { "4", "" })
   local het = row(6, 6, nil, 6, 0) .. row(7, 7, nil, 6, 1, "of 7")
   lu.assertEquals(find(het, "6"), { "6+0", "" })
   lu.assertEquals(find(het, "7"), { "7", "of 7" })
   -- By the ID of all a component must not be named.
   for _, offset in ipairs({ "N/A", "0x", "0!", "0\15", "Nothing", "026-11-21T0" }) do
      lu.assertEquals(find(row(6, 6, nil, 6, offset), "6"), {})
   end
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

-- What admins write may be blank and long: a prolog reads it as root.
function TestComment:test_long_and_blank_costs_its_length()
   local function of(text)
      return cost(comment.find, row(1, nil, nil, nil, nil, "a" .. text .. "b"), "1")
   end
   lu.assertTrue(of((" "):rep(20000)) < 100 * of(("x"):rep(20000)) + 0.01)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
