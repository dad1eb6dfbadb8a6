-- Slurm's configuration as Slurm reads it.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local slurmconf = require("syscheck.slurm.conf")

-- A file system of these files.
local function disk(files)
   return function(path)
      if files[path] then
         return files[path]
      end
      return nil, path .. ": is not there"
   end
end

local function parse(text, more)
   local files = more or {}
   files["/e/slurm.conf"] = text
   return assert(slurmconf.parse("/e/slurm.conf", disk(files)))
end

TestSlurmConf = {}

function TestSlurmConf:test_lines()
   local cases = { -- text, key, value, line
      { "Prolog=/p", "prolog", "/p", 1 },
      { "PROLOG = /p", "Prolog", "/p", 1 },
      { "\n  prolog=/p  \n", "Prolog", "/p", 2 },
      { "#Prolog=/a\nProlog=/b # c", "Prolog", "/b", 2 },
      { "Prolog=/a\\#b", "Prolog", "/a#b", 1 },
      { "Prolog=/a\\\\b", "Prolog", "/a\\b", 1 },
      { "Prolog=/a#b", "Prolog", "/a", 1 },
      { 'Prolog="/a b"', "Prolog", "/a b", 1 },
      { "Prolog=/a\r\n", "Prolog", "/a", 1 },
      { 'Prolog="/a"b', "Prolog", '"/a"b', 1 },
      { "Prolog=/a\nProlog=/b", "Prolog", "/b", 2 },
      { "X=1\nSchedulerParameters=a,\\\nb\nProlog=/p", "SchedulerParameters", "a,b", 2 },
      { "X=1\nSchedulerParameters=a,\\\nb\nProlog=/p", "Prolog", "/p", 4 },
      { "Prolog=\\ # why\n/p", "Prolog", "/p", 1 },
      { "Prolog=/p \\", "Prolog", "/p", 1 },
      { "AuthInfo=socket=/s,cred_expire=5", "AuthInfo", "socket=/s,cred_expire=5", 1 },
   }
   for _, c in ipairs(cases) do
      local conf = parse(c[1])
      local entry = conf.values[c[2]:lower()]
      lu.assertNotNil(entry, c[1])
      lu.assertEquals({ entry.value, entry.line }, { c[3], c[4] }, c[1])
      lu.assertEquals(conf.problems, {}, c[1])
   end
end

function TestSlurmConf:test_problems()
   local cases = { -- text, what is said, line
      { "Prolog=/a Epilog=/b", "one key a line", 1 },
      { "SchedulerParameters=a, b", "one key a line", 1 },
      { "X=1\n  include foo", "include must begin the line", 2 },
      { "hello", "cannot read this line", 1 },
      { "Prolog=", "cannot read this line", 1 },
      { "\0\1\2", "not text", 1 },
      { "include nope", "is not there", 1 },
      { "include slurm.conf", "includes itself", 1 },
   }
   for _, c in ipairs(cases) do
      local conf = parse(c[1])
      lu.assertEquals(#conf.problems, 1, c[1])
      lu.assertStrContains(conf.problems[1].text, c[2])
      lu.assertEquals(conf.problems[1].line, c[3], c[1])
   end
   lu.assertEquals(slurmconf.value(parse("Prolog=/a Epilog=/b"), "Epilog"), "/b")
   local conf, err = slurmconf.parse("/e/none", disk({}))
   lu.assertNil(conf)
   lu.assertStrContains(err, "is not there")
end

function TestSlurmConf:test_include()
   local conf = parse("ClusterName=Big\ninclude a.conf\nINCLUDE\t/x/%c.conf\nMessageTimeout=3", {
      ["/e/a.conf"] = "Prolog=/p\nMessageTimeout=1\ninclude sub/b.conf",
      ["/e/sub/b.conf"] = "include c.conf",
      ["/e/sub/c.conf"] = "\nEpilog=/e",
      ["/x/big.conf"] = "MessageTimeout=2",
   })
   lu.assertEquals(conf.problems, {})
   lu.assertEquals(conf.files, { "/e/slurm.conf", "/e/a.conf", "/e/sub/b.conf", "/e/sub/c.conf", "/x/big.conf" })
   lu.assertEquals({ conf.values.epilog.file, conf.values.epilog.line }, { "/e/sub/c.conf", 2 })
   lu.assertEquals(slurmconf.seconds(conf, "MessageTimeout"), 3)
   lu.assertEquals(#conf.all.messagetimeout, 3)
end

function TestSlurmConf:test_bounds()
   -- Two files that include each other; a chain without end; a file that includes many.
   local conf = parse("include a", { ["/e/a"] = "include slurm.conf\ninclude a\nProlog=/p" })
   lu.assertEquals(#conf.problems, 2)
   lu.assertEquals(slurmconf.value(conf, "Prolog"), "/p")
   local n = 0
   conf = slurmconf.parse("/e/0", function()
      n = n + 1
      return ("include %d\ninclude x%d"):format(n, n)
   end)
   lu.assertTrue(n <= 64, "files read: " .. n)
   lu.assertTrue(#conf.problems <= 20)
   conf = slurmconf.parse("/e/0", function()
      return ("\255\254\0=\\\n"):rep(100000)
   end)
   lu.assertTrue(#conf.problems <= 20)
   local reads = 0
   slurmconf.parse("/e/0", function()
      reads = reads + 1
      return ("#"):rep(8388608) .. ("\ninclude x" .. reads):rep(3)
   end)
   lu.assertTrue(reads <= 16, "files of 8 MiB read: " .. reads)
end

function TestSlurmConf:test_a_line_of_backslashes()
   local conf = parse("A=b\\\nc\nB=\\\\\nC=d \\ \ne")
   lu.assertEquals({ slurmconf.value(conf, "A"), slurmconf.value(conf, "B"), slurmconf.value(conf, "C") },
      { "bc", "\\", "d" })
   -- The square of 20000 is a thousand times more than reading as many of another kind.
   lu.assertTrue(cost(parse, ("\\"):rep(20000) .. "x") < 300 * cost(parse, ("\\x"):rep(10000)))
end

function TestSlurmConf:test_lists_and_seconds()
   local conf = parse("PrologFlags=alloc,X11\nAuthInfo=socket=/s,cred_expire=5\nA=INFINITE\nB=x\nC=7")
   lu.assertTrue((slurmconf.has(conf, "PrologFlags", "Alloc")))
   lu.assertFalse((slurmconf.has(conf, "PrologFlags", "Serial")))
   lu.assertFalse((slurmconf.has(conf, "PrologFlags", "Allo")))
   lu.assertEquals({ slurmconf.has(conf, "AuthInfo", "cred_expire") }, { true, "5" })
   lu.assertEquals(slurmconf.seconds(conf, "A"), math.huge)
   lu.assertNil(slurmconf.seconds(conf, "B"))
   lu.assertEquals(slurmconf.seconds(conf, "C"), 7)
   lu.assertEquals(slurmconf.seconds(conf, "D", 10), 10)
end

function TestSlurmConf:test_node_lines()
   local conf = parse("NodeName=DEFAULT CPUs=8\nNodeName=n[1-2] Sockets=1 NodeAddr=a\nNodeName=n3\n"
      .. "SlurmctldHost=c(1.2.3.4)")
   lu.assertEquals(conf.problems, {})
   lu.assertEquals(#conf.all.nodename, 3)
   lu.assertEquals(conf.all.nodename[2].more, { sockets = "1", nodeaddr = "a" })
end

function TestSlurmConf:test_plugstack()
   local files = {
      ["/e/plugstack.conf"] = "# c\ninclude p.d/*.conf\nOptional /x.so a=1 b # c\nmaybe /y.so\nrequired\n",
      ["/e/p.d/1.conf"] = "required /z.so",
   }
   local s = slurmconf.plugstack("/e/plugstack.conf", disk(files), function(pattern)
      lu.assertEquals(pattern, "/e/p.d/*.conf")
      return { "/e/p.d/1.conf" }
   end)
   lu.assertEquals(s.plugins, {
      { kind = "required", path = "/z.so", args = {}, file = "/e/p.d/1.conf", line = 1 },
      { kind = "optional", path = "/x.so", args = { "a=1", "b" }, file = "/e/plugstack.conf", line = 3 },
   })
   lu.assertEquals(#s.problems, 2)
   files["/e/p.d/1.conf"] = "include ../plugstack.conf"
   s = slurmconf.plugstack("/e/plugstack.conf", disk(files), function(pattern)
      return { (pattern:gsub("p%.d/%.%./", ""):gsub("%*", "1")) }
   end)
   lu.assertStrContains(s.problems[1].text, "includes itself")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
