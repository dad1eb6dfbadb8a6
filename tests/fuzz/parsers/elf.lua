-- doctor/facts/elf: a plugin's file, which may be any bytes.
local elf = require("syscheck.doctor.facts.elf")
local oracle = require("oracle")

-- A small shared object: one segment, a symbol table of two, their names.
local function object(order)
   local e = order == 2 and ">" or "<"
   local names = "\0plugin_version\0other\0"
   local at_names, at_symbols, at_value, at_sections, at_segments = 400, 440, 520, 540, 64
   local head = "\127ELF\2" .. string.char(order) .. "\1" .. ("\0"):rep(9)
      .. (e .. "I2I2I4I8I8I8I4I2I2I2I2I2I2"):pack(3, 62, 1, 0, at_segments, at_sections, 0, 64, 56, 1, 64, 3, 2)
   local segment = (e .. "I4I4I8I8I8I8I8I8"):pack(1, 5, 0, 4096, 4096, 600, 600, 4096)
   local symbols = (e .. "I4BBI2I8I8"):pack(0, 0, 0, 0, 0, 0) .. (e .. "I4BBI2I8I8"):pack(1, 17, 0, 1, 4096 + at_value, 4)
   local function section(kind, offset, size, link, entry)
      return (e .. "I4I4I8I8I8I8I4I4I8I8"):pack(0, kind, 0, 0, offset, size, link, 0, 1, entry)
   end
   local out = head .. segment
   out = out .. ("\0"):rep(at_names - #out) .. names
   out = out .. ("\0"):rep(at_symbols - #out) .. symbols
   out = out .. ("\0"):rep(at_value - #out) .. (e .. "I4"):pack(0x160508)
   out = out .. ("\0"):rep(at_sections - #out)
   return out .. section(0, 0, 0, 0, 0) .. section(11, at_symbols, #symbols, 2, 24) .. section(3, at_names, #names, 0, 0)
end

local function seeds()
   return { object(1), object(2), "\127ELF\1", "\127ELF\2" }
end

local function run(input)
   local version, err = elf.slurm_version(input)
   if oracle.value_or_line(version, err) then
      assert(version:find("^%d+%.%d%d+%.%d+$"), "a version")
   end
end

assert(elf.slurm_version(object(1)) == "22.05.8")

return { run = run, seeds = seeds, max = 1200, kept_bytes = 6000 }
