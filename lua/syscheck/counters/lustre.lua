--- Lustre client: the llite stats of each mounted file system. Lines are
-- `name samples [unit] min max sum sumsq`; operations have a time ("usec", "usecs") from
-- 2.13 on, before that only a count ("regs", "reqs").
local growth = require("syscheck.counters.growth")

local lustre = {}

lustre.fields = {
   { "ops", name = "lustre_ops", unit = "count", label = "Lustre operations" },
   { "op_us", name = "lustre_op_us", unit = "us", label = "Lustre operation time", cause = "storage" },
   { "read_bytes", name = "lustre_read_bytes", unit = "bytes", label = "read from Lustre", work = 0.1 },
   { "written_bytes", name = "lustre_written_bytes", unit = "bytes", label = "written to Lustre", work = 0.2 },
}

local DIRS = { "/sys/kernel/debug/lustre/llite", "/proc/fs/lustre/llite" }

local TIMES = { usec = true, usecs = true }
local COUNTS = { regs = true, reqs = true }
local BYTES = { read_bytes = "read_bytes", write_bytes = "written_bytes" }

-- How long files stayed closed, and how often inodes were open: no operations.
local NO_OPERATION = { openclosetime = true, opencount = true }

-- Counts of one file system. @return { ops, op_us, read_bytes, written_bytes } or nil
local function parse(text)
   local out, calls, has = nil, 0, {}
   for name, samples, unit, rest in text:gmatch("(%S+)%s+(%d+) samples %[(%a+)%]([^\n]*)") do
      local sum = tonumber(rest:match("^%s+%d+ %d+ (%d+)"))
      local function add(key, value)
         out = out or {}
         out[key] = (out[key] or 0) + value
      end
      if BYTES[name] and sum then
         add(BYTES[name], sum)
         calls = calls + tonumber(samples)
      elseif (TIMES[unit] or COUNTS[unit]) and not NO_OPERATION[name] then
         add("ops", tonumber(samples))
         has[name] = true
         if TIMES[unit] and sum then
            add("op_us", sum)
         end
      end
   end
   -- Where reads and writes have no line of their own, their bytes' lines count them.
   if out and calls > 0 and not has.read and not has.write then
      out.ops = (out.ops or 0) + calls
   end
   return out
end

--- @return { ops:FS, op_us:FS, read_bytes:FS, written_bytes:FS }
function lustre.read(machine)
   local out = {}
   for _, dir in ipairs(DIRS) do
      for _, fs in ipairs(machine:list(dir)) do
         for key, value in pairs(parse(machine:read(dir .. "/" .. fs .. "/stats") or "") or {}) do
            out[key .. ":" .. fs] = value
         end
      end
      if next(out) then
         break
      end
   end
   return out
end

lustre.growth = growth.cleared -- lctl set_param llite.*.stats=clear

return lustre
