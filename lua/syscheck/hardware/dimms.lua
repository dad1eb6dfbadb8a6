--- Memory modules: by EDAC, which asks the memory controllers; else by the firmware's
-- table (SMBIOS, for root only).
local files = require("syscheck.lib.files")

local dimms = {}

local EDAC = "/sys/devices/system/edac/mc"
local DMI = "/sys/firmware/dmi"
local MAX_TABLE = 1048576

-- SMBIOS 3.7, 7.18: structure types, and offsets into a memory device's structure.
local MEMORY_DEVICE, END_OF_TABLE = 17, 127
local SIZE, TYPE, EXTENDED_SIZE, TECHNOLOGY = 0x0C, 0x12, 0x1C, 0x28
local NO_MODULE, UNKNOWN, EXTENDED = 0, 0xFFFF, 0x7FFF
local FLASH, NON_VOLATILE = 0x09, 0x1F -- types that are no main memory
local PERSISTENT = 7 -- technology: Optane

-- Size of one memory device.
-- @return MiB, 0 when its size is not known; nil for an empty slot and what is no DIMM
local function device_size(bytes, at, length)
   local function field(format, offset)
      if offset + string.packsize(format) <= length then
         return (string.unpack(format, bytes, at + offset))
      end
   end
   local size, kind = field("<I2", SIZE), field("B", TYPE)
   if not size or size == NO_MODULE or kind == FLASH or kind == NON_VOLATILE
      or field("B", TECHNOLOGY) == PERSISTENT then
      return nil
   elseif size == UNKNOWN then
      return 0
   elseif size == EXTENDED then
      return (field("<I4", EXTENDED_SIZE) or 0) & 0x7FFFFFFF
   elseif size & 0x8000 ~= 0 then
      return (size & 0x7FFF) // 1024 -- in KiB
   end
   return size
end

--- Sizes of the memory modules in SMBIOS structures.
-- @param bytes the whole table, or one structure with its strings
-- @return list of MiB (0: size not known), empty when there is none; nil for a damaged
--   table: half of one would miss modules that are there
function dimms.smbios(bytes)
   local sizes, at = {}, 1
   while at <= #bytes do
      local kind, length = bytes:byte(at, at + 1)
      if not length or length < 4 or at + length - 1 > #bytes then
         return nil
      elseif kind == END_OF_TABLE then
         break
      elseif kind == MEMORY_DEVICE then
         sizes[#sizes + 1] = device_size(bytes, at, length)
      end
      -- Strings follow, each with its end; one more zero ends them all.
      local stop = bytes:find("\0\0", at + length, true)
      if not stop then
         return nil
      end
      at = stop + 2
   end
   return sizes
end

local function from_firmware(root)
   local bytes = files.read(root .. DMI .. "/tables/DMI", MAX_TABLE)
   if bytes then
      return dimms.smbios(bytes)
   end
   local sizes = {}
   for _, name in ipairs(files.list(root .. DMI .. "/entries", "^17%-%d+$")) do
      local one = dimms.smbios(files.read(root .. DMI .. "/entries/" .. name .. "/raw", 4096) or "\0")
      if not one then
         return nil
      end
      table.move(one, 1, #one, #sizes + 1, sizes)
   end
   return sizes
end

-- Drivers that know ranks and not modules have folders rankN: those say nothing here.
local function from_edac(root)
   local sizes = {}
   for _, mc in ipairs(files.list(root .. EDAC, "^mc%d+$")) do
      for _, name in ipairs(files.list(root .. EDAC .. "/" .. mc, "^dimm%d+$")) do
         local mib = files.number(("%s%s/%s/%s/size"):format(root, EDAC, mc, name))
         sizes[#sizes + 1] = mib and mib > 0 and mib or nil
      end
   end
   return sizes
end

-- "16x32g", largest first: "8x64g+4x32g".
local function layout(sizes)
   local counts, kinds = {}, {}
   for _, mib in ipairs(sizes) do
      if not counts[mib] then
         kinds[#kinds + 1] = mib
      end
      counts[mib] = (counts[mib] or 0) + 1
   end
   table.sort(kinds, function(a, b)
      return a > b
   end)
   for i, mib in ipairs(kinds) do
      local size = mib == 0 and "?" or mib % 1024 == 0 and ("%dg"):format(mib // 1024) or ("%dm"):format(mib)
      kinds[i] = ("%dx%s"):format(counts[mib], size)
   end
   return table.concat(kinds, "+")
end

--- Reads the memory modules.
-- @return { count, layout }; nil where neither source has them
function dimms.read(root)
   local sizes = from_edac(root)
   if #sizes == 0 then
      sizes = from_firmware(root)
   end
   if not sizes or #sizes == 0 then
      return nil
   end
   return { count = #sizes, layout = layout(sizes) }
end

return dimms
