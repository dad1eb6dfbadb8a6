-- A number from a shared object, whatever its bytes; text from elsewhere is bounded.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local elf = require("syscheck.doctor.facts.elf")
local probe = require("syscheck.doctor.facts.probe")
local site = require("syscheck.doctor.facts.site")
local tree = require("tree")

TestElf = {}

local SO = "build/spank/spank_syscheck.so"

function TestElf:test_real_plugin_and_every_cut_of_it()
   local text = probe.object(SO)
   if not text then
      lu.skip("not built")
   end
   lu.assertStrMatches(elf.slurm_version(text), "%d+%.%d%d%.%d+")
   local version, err = elf.number(text, "slurm_error")
   lu.assertNil(version)
   lu.assertStrContains(err, "exports no slurm_error")
   for cut = 0, #text, math.max(1, #text // 200) do
      local ok, value = pcall(elf.slurm_version, text:sub(1, cut))
      lu.assertTrue(ok, tostring(value))
   end
end

function TestElf:test_junk()
   for _, text in ipairs({ "", "\127ELF", "\127ELF\1", "#!/bin/sh\n", ("\127ELF\2\1"):rep(100),
      "\127ELF\2\1" .. ("\255"):rep(4096), "\127ELF\2\2" .. ("\0"):rep(4096) }) do
      local version, err = elf.slurm_version(text)
      lu.assertNil(version)
      lu.assertEquals(type(err), "string")
   end
end

function TestElf:test_tables_that_lie_upon_each_other()
   local function read(count)
      local symbols = 20000
      local text = "\127ELF\2\1" .. ("\0"):rep(26) .. ("<I8I8"):pack(64, 64) .. ("\0"):rep(6)
         .. ("<I2I2I2I2"):pack(56, 0, 64, count) .. "\0\0"
         .. ("<I4I4I8I8I8I8I4I4I8I8"):pack(0, 11, 0, 0, 0, 24 * symbols, 0, 0, 0, 24):rep(count)
         .. ("\1"):rep(24 * symbols)
      local value, err = elf.number(text, "plugin_version")
      lu.assertNil(value)
      lu.assertEquals(err, "exports no plugin_version")
   end
   lu.assertTrue(cost(read, 200) < 30 * cost(read, 1))
end

TestLook = {}

function TestLook:test_text_is_bounded()
   lu.assertNil(probe.text("/"))
   lu.assertNil(probe.text("/dev/zero"))
   lu.assertNil(probe.text("/nonexistent"))
   lu.assertEquals(probe.glob("/nonexistent/*.conf"), {})
   lu.assertEquals(probe.glob("/a/b.conf"), { "/a/b.conf" })
   lu.assertEquals(probe.glob("lua/syscheck/doctor/rules/t*.lua"), { "lua/syscheck/doctor/rules/times.lua" })
end

TestRefused = {}

function TestRefused:test_in_slurms_own_words()
   local fatal = "scontrol: fatal: Unable to process configuration file\n"
   lu.assertEquals(site.refusal("scontrol: error: _parse_next_key: Parsing error at unrecognized key: Prollog\n"
      .. "scontrol: error: \"Include\" failed in file /etc/slurm/slurm.conf line 5\n" .. fatal),
      "Parsing error at unrecognized key: Prollog; \"Include\" failed in file /etc/slurm/slurm.conf line 5")
   lu.assertEquals(site.refusal("scontrol: error: MessageTimeout value \"abc\" is not a valid number\n" .. fatal),
      "MessageTimeout value \"abc\" is not a valid number")
   lu.assertEquals(site.refusal(fatal), "Unable to process configuration file")
   lu.assertNil(site.refusal("slurm_load_ctl_conf error: Unable to contact slurm controller (connect failure)\n"))
   lu.assertNil(site.refusal(""))
end

-- Slurm itself, without a daemon.
function TestRefused:test_by_scontrol()
   local dir = tree.new()
   local conf = "ClusterName=x\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=localhost\n"
   tree.put(dir, "/good.conf", conf)
   tree.put(dir, "/bad.conf", conf .. "MessageTimeout=abc\n")
   tree.put(dir, "/more.conf", conf .. "include typo.conf\n")
   tree.put(dir, "/typo.conf", "Prollog=/x\n")
   local function refused(name)
      return site.refused(dir .. "/" .. name, "scontrol")
   end
   local has_slurm = probe.ask("scontrol", { "show", "hostnames", "a" }, nil, { "SLURM_CONF=" .. dir .. "/good.conf" })
   local said = { good = refused("good.conf"), bad = refused("bad.conf"), more = refused("more.conf") }
   tree.remove(dir)
   lu.assertNil(site.refused("/nonexistent", "/nonexistent/scontrol"))
   if not has_slurm then
      lu.skip("no scontrol")
   end
   lu.assertNil(said.good)
   lu.assertStrContains(said.bad, "MessageTimeout")
   lu.assertStrContains(said.more, "Prollog")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
