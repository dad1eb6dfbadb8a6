--- Moves what a spool has closed to where the fleet's records are collected.
--
-- A segment is marked as shipped, by its name, once the destination has all of it on disk.
-- Whatever is killed before that is done again: the same name, the same content.
local uv = require("luv")
local journal = require("syscheck.spool.journal")
local segments = require("syscheck.spool.segments")

local ship = {}

local MIB = 1048576

-- Shipped segments stay for `syscheck job` on the node, the newest of them.
local function trim(spool, keep_mb)
   local shipped, sum = segments.list(spool).shipped, 0
   for i = #shipped, 1, -1 do
      local path = spool .. "/" .. shipped[i]
      sum = sum + segments.size(path)
      if sum > keep_mb * MIB then
         uv.fs_unlink(path)
      end
   end
end

--- Ships one spool. Runs in a process of its own, as any of its calls may hang for ever.
-- @param o { spool, node = name, to = directory or syslog[:FACILITY[@SOCKET]], keep_mb }
-- @return { segments, bytes = shipped; damaged = lines that syslog cannot take; err =
--   why it ended early, or nil; waiting, waiting_bytes = not shipped }
function ship.run(o)
   local out = { segments = 0, bytes = 0, damaged = 0 }
   local way = require(o.to:sub(1, 1) == "/" and "syscheck.spool.ship_dir" or "syscheck.spool.ship_syslog")
   local target
   target, out.err = way.open(o)
   if target then
      -- Only now: while a destination is away, its nodes' segments do not get many and small.
      local _, err = journal.close(o.spool)
      out.err = err
      for _, name in ipairs(segments.list(o.spool).closed) do
         local bytes, why, damaged = target:send(name)
         out.damaged = out.damaged + (damaged or 0)
         if bytes then
            out.segments, out.bytes = out.segments + 1, out.bytes + bytes
            uv.fs_rename(o.spool .. "/" .. name, o.spool .. "/" .. segments.shipped_name(name))
         elseif uv.fs_lstat(o.spool .. "/" .. name) then
            out.err = why
            break
         end
         -- Else it was dropped meanwhile, for room: counted there.
      end
   end
   trim(o.spool, o.keep_mb)
   local left = segments.list(o.spool).closed
   out.waiting, out.waiting_bytes = #left, segments.total(o.spool, left)
   return out
end

return ship
