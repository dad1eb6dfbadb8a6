-- hardware/dimms: the firmware's table, in bytes.
local dimms = require("syscheck.hardware.dimms")
local tree = require("tree")

local function seeds()
   return { tree.memory_device(32768) .. tree.END_OF_TABLE, tree.memory_device(0) .. tree.memory_device(512, 9),
      "\4\5\0\0x\0\0" .. tree.memory_device(), "\17\4\0\0\0\0", "\0" }
end

local function run(input)
   local sizes = dimms.smbios(input)
   for _, mib in ipairs(sizes or {}) do
      assert(math.type(mib) == "integer" and mib >= 0 and mib < 1 << 31, "a size")
   end
end

return { run = run, seeds = seeds, max = 600 }
