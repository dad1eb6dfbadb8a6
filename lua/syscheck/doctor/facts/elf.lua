--- A number that a shared object exports, read from the file without loading it: nodes
-- have no objdump, and dlopen would run the object's code. Pure.
local elf = {}

local SHT_DYNSYM, PT_LOAD = 11, 1
local MAX_SYMBOLS = 100000

-- Layouts of System V ABI, "ELF-64 Object File Format"; 32-bit objects are refused.
local function read(text, name)
   if text:sub(1, 4) ~= "\127ELF" then
      return nil, "not a shared object"
   elseif text:byte(5) ~= 2 then
      return nil, "not a 64-bit object"
   end
   local e = text:byte(6) == 2 and ">" or "<"
   local phoff, shoff = (e .. "I8I8"):unpack(text, 33)
   local phentsize, phnum, shentsize, shnum = (e .. "I2I2I2I2"):unpack(text, 55)

   -- From an address to a place in the file.
   local function place(address)
      for i = 0, phnum - 1 do
         local kind, _, offset, vaddr, _, filesz = (e .. "I4I4I8I8I8I8"):unpack(text, phoff + i * phentsize + 1)
         if kind == PT_LOAD and address >= vaddr and address < vaddr + filesz then
            return offset + address - vaddr
         end
      end
   end

   local function section(i)
      local kind, _, _, offset, size, link, _, _, entry = (e .. "I4I8I8I8I8I4I4I8I8"):unpack(text,
         shoff + i * shentsize + 5)
      return { kind = kind, offset = offset, size = size, link = link, entry = entry }
   end

   local left = MAX_SYMBOLS -- of all tables: they may lie upon each other
   for i = 0, shnum - 1 do
      local s = section(i)
      if s.kind == SHT_DYNSYM and s.entry >= 24 then
         local names = section(s.link)
         local count = math.max(0, math.min(s.size // s.entry, left))
         left = left - count
         for n = 0, count - 1 do
            local at, _, _, index, value = (e .. "I4BBI2I8"):unpack(text, s.offset + n * s.entry + 1)
            local where = names.offset + at + 1
            -- index 0: wanted from elsewhere, not exported.
            if index ~= 0 and text:sub(where, where + #name) == name .. "\0" then
               local offset = place(value)
               return offset and (e .. "I4"):unpack(text, offset + 1)
            end
         end
      end
   end
   return nil, "exports no " .. name
end

--- Value of an exported 32-bit constant.
-- @param text content of the object
-- @param name of the symbol
-- @return number; or nil and why
function elf.number(text, name)
   -- A truncated or hostile file: an offset outside of it is unpack's error.
   local ok, value, err = pcall(read, text, name)
   if not ok then
      return nil, "not a whole shared object"
   end
   return value, err or (not value and "exports no value of " .. name or nil)
end

--- The Slurm that a plugin was built for, as "22.05.8": Slurm compares the same number
-- (slurm/spank.h: plugin_version, 8 bits each).
-- @return version; or nil and why
function elf.slurm_version(text)
   local n, err = elf.number(text, "plugin_version")
   if not n then
      return nil, err
   end
   return ("%d.%02d.%d"):format(n >> 16 & 255, n >> 8 & 255, n & 255)
end

return elf
