--- InfiniBand (and RoCE) ports: errors of the link, and how often it went down.
-- Linux shows the counters of IBA's PortCounters (drivers/infiniband/core/sysfs.c), which
-- do not wrap: at their largest value they stick until somebody clears them.
-- Congestion, partitions and the far end's errors are not this link's; counters_ext of older
-- kernels has traffic only.
local files = require("syscheck.lib.files")

local link = {}

local DIR = "/sys/class/infiniband"

--- Counters by file, with what they count and their largest value.
link.COUNTERS = {
   symbol_error = { name = "errors", limit = 0xFFFF },
   link_error_recovery = { name = "errors", limit = 0xFF },
   port_rcv_errors = { name = "errors", limit = 0xFFFF },
   local_link_integrity_errors = { name = "errors", limit = 0xF },
   excessive_buffer_overrun_errors = { name = "errors", limit = 0xF },
   link_downed = { name = "downed", limit = 0xFF },
}

local MAX_PORTS = 64

--- Ports of a node. @return list of { unit = "mlx5_0/1", dir }
function link.ports(root)
   local ports = {}
   for _, device in ipairs(files.list(root .. DIR)) do
      local dir = ("%s%s/%s/ports"):format(root, DIR, device)
      for _, port in ipairs(device:find("^[%w_.-]+$") and files.list(dir) or {}) do
         if port:find("^%d+$") and #ports < MAX_PORTS then
            ports[#ports + 1] = { unit = device .. "/" .. port, dir = dir .. "/" .. port .. "/" }
         end
      end
   end
   return ports
end

--- @return { errors:DEVICE/PORT/COUNTER, downed:DEVICE/PORT/link_downed }
function link.read(root)
   local out
   for _, port in ipairs(link.ports(root)) do
      for file, counter in pairs(link.COUNTERS) do
         local value = files.number(port.dir .. "counters/" .. file)
         if value then
            out = out or {}
            out[("%s:%s/%s"):format(counter.name, port.unit, file)] = value
         end
      end
   end
   return out
end

return link
