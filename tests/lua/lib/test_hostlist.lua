-- Host lists as Slurm writes them.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local hostlist = require("syscheck.lib.hostlist")

TestHostlist = {}

function TestHostlist:test_expand()
   local cases = {
      ["n1"] = "n1",
      ["n[1-3]"] = "n1 n2 n3",
      ["n[08-11,2],m7"] = "n08 n09 n10 n11 n2 m7",
      ["r[1-2]n[1-2]"] = "r1n1 r1n2 r2n1 r2n2",
      ["a[1]-ib"] = "a1-ib",
      [""] = "",
   }
   for list, want in pairs(cases) do
      lu.assertEquals(table.concat(hostlist.expand(list), " "), want)
   end
   for _, bad in ipairs({ "n[1-", "n[a]", "n]1[", "n[1-99999999]", "n[1]]",
      "n[" .. ("1-100000,"):rep(9) .. "1]", "n[0-100000]", "n[1-99999],n[1-2]",
      "n[99999999999999999990-99999999999999999991]",
      "n[" .. ("0"):rep(120) .. "1-2]" }) do
      lu.assertTrue(hostlist.expand(bad) == nil, bad)
   end
   lu.assertEquals(#hostlist.expand("n[00001-10000]"), 10000)
end

function TestHostlist:test_fold()
   for _, case in ipairs({
      { "n087 n086 n086", "n[086-087]" }, { "n1 n2 n10 n9", "n[1-2,9-10]" }, { "n099 n100 n101", "n[099-101]" },
      { "x01 x1 x2", "x[1-2],x01" }, { "b a n1", "a,b,n1" }, { "r1n1 r1n2 r2n1", "r1n[1-2],r2n1" }, { "", "" },
      { "7 8", "[7-8]" }, { "07 08 a", "[07-08],a" },
      { "n00000000000000000001 n00000000000000000002", "n00000000000000000001,n00000000000000000002" },
   }) do
      local names = {}
      for name in case[1]:gmatch("%S+") do
         names[#names + 1] = name
      end
      lu.assertEquals(hostlist.fold(names), case[2])
   end
   local list = "m2,n[0001-0999,1001],r1n[1-2,9-10]"
   lu.assertEquals(hostlist.fold(hostlist.expand(list)), list)
end

function TestHostlist:test_order()
   local names = { "r2n1", "n10", "n9", "r1n12", "n9b", "login", "r1n3", "n" .. ("7"):rep(30) }
   table.sort(names, function(a, b)
      return hostlist.order(a) < hostlist.order(b)
   end)
   lu.assertEquals(table.concat(names, " "), "login n9 n9b n10 n" .. ("7"):rep(30) .. " r1n3 r1n12 r2n1")
end

-- A name of many brackets has as many names as their product, before any of them is made.
function TestHostlist:test_many_brackets_cost_no_more_than_many_names()
   local names = cost(hostlist.expand, "n[1-100000]")
   for _, part in ipairs({ "[1-2]", "[0-9]", "[1]", "[1]n", "[1-999]" }) do
      for _, count in ipairs({ 17, 40, 2000 }) do
         lu.assertNil(hostlist.expand("n" .. part:rep(count)), part)
         lu.assertTrue(cost(hostlist.expand, "n" .. part:rep(count)) < 5 * names, part)
      end
   end
   -- Nor do many names of many numbers, most of which have no room.
   lu.assertTrue(cost(hostlist.expand, ("n[1-99999],"):rep(300)) < 2 * names)
   lu.assertEquals(#hostlist.expand("n" .. ("[1-2]"):rep(10)), 1024)
   lu.assertNil(hostlist.expand("n[,]"))
end

function TestHostlist:test_names_that_become_paths()
   for _, bad in ipairs({ "", "..", ".hidden", "a/b", "-x", "a b", "a\n", ("n"):rep(300) }) do
      lu.assertNil(hostlist.name(bad), bad)
   end
   lu.assertEquals(hostlist.name("n001-ib.cluster"), "n001-ib.cluster")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
