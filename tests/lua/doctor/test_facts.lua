-- A number from a shared object, whatever its bytes; text from elsewhere is bounded.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local cost = require("cost")
local elf = require("syscheck.doctor.facts.elf")
local probe = require("syscheck.doctor.facts.probe")

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

os.exit(lu.LuaUnit.run("-o", "TAP"))
