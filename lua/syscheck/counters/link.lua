--- InfiniBand (and RoCE) ports: errors of the link, and how often it went down.
-- Linux shows the counters of IBA's PortCounters (drivers/infiniband/core/sysfs.c), which
-- do not wrap: at their largest value they stick until somebody clears them.
-- Congestion, partitions and the far end's errors are not this link's; counters_ext of older
-- kernels has traffic only.
local growth = require("syscheck.counters.growth")

local link = {}

-- each_s: a lost packet is sent again after the transport's time-out, 0.5 to 1 s as MPI libraries
-- set it; a link that was down is retrained and routed anew within a minute, in a large fabric within some.
link.fields = {
   { "errors", name = "link_errors", unit = "count", label = "InfiniBand link errors", cause = "link", each_s = 1,
      rare = true },
   { "downed", name = "link_downed", unit = "count", label = "InfiniBand link went down", cause = "link", each_s = 300,
      rare = true },
}

local DIR = "/sys/class/infiniband"

-- Counters by file, with what they count and their largest value.
local COUNTERS = {
   symbol_error = { name = "errors", limit = 0xFFFF },
   link_error_recovery = { name = "errors", limit = 0xFF },
   port_rcv_errors = { name = "errors", limit = 0xFFFF },
   local_link_integrity_errors = { name = "errors", limit = 0xF },
   excessive_buffer_overrun_errors = { name = "errors", limit = 0xF },
   link_downed = { name = "downed", limit = 0xFF },
}

local MAX_PORTS = 64

--- Ports of a node. @return list of { unit = "mlx5_0/1", dir }
function link.ports(machine)
   local ports = {}
   for _, device in ipairs(machine:list(DIR, "^[%w_.-]+$")) do
      local dir = ("%s/%s/ports"):format(DIR, device)
      for _, port in ipairs(machine:list(dir, "^%d+$")) do
         if #ports < MAX_PORTS then
            ports[#ports + 1] = { unit = device .. "/" .. port, dir = dir .. "/" .. port .. "/" }
         end
      end
   end
   return ports
end

--- @return { errors:DEVICE/PORT/COUNTER, downed:DEVICE/PORT/link_downed }
function link.read(machine)
   local out = {}
   for _, port in ipairs(link.ports(machine)) do
      for file, counter in pairs(COUNTERS) do
         out[("%s:%s/%s"):format(counter.name, port.unit, file)] = machine:number(port.dir .. "counters/" .. file)
      end
   end
   return out
end

--- ibclearerrors. A counter that was stuck at its largest value says no more.
function link.growth(before, now, key)
   local counter = COUNTERS[key:match("[^/]*$")]
   if counter and before == counter.limit and now == before then
      return nil
   end
   return growth.cleared(before, now)
end

--- Ports that had errors, see deltas.errors.
function link.errors(from, to, add)
   for key, now in pairs(to.values) do
      local name, port = key:match("^(%a+):(.*)/[^/]*$")
      if name and type(from.values[key]) == "number" then
         add("link", port, name, link.growth(from.values[key], now, key))
      end
   end
end

return link
