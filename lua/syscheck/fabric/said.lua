--- What a rank's line says, as far as it is what can be said there. Pure.
local said = {}

local MOST_BYTES = 64
local MOST_ERRORS = 64 -- of a node

-- A number above 0, or nil.
local function positive(value)
   return type(value) == "number" and value > 0 and value < math.huge and value or nil
end

said.positive = positive

-- A text of a few bytes, or nil.
local function short(value)
   return type(value) == "string" and #value <= MOST_BYTES and value or nil
end

--- What a rank says of its node.
function said.about(got)
   return { boot_id = short(got.boot_id), rate_gbps = positive(got.rate_gbps), links = {}, errors = {},
      rail = short(got.rail), rails = math.tointeger(positive(got.rails)),
      tcp_rmem = positive(got.tcp_rmem), tcp_wmem = positive(got.tcp_wmem) }
end

--- Which MPI it is, by its own words.
function said.mpi(got)
   return short(got.mpi)
end

local OF_A_LINE = { kernel = true, v = true, version = true, event = true, plan = true, rank = true, link = true }

--- Errors that a port counted, into a node's list: { link, counter, count } each.
-- @param list what was counted before
function said.errors(got, list)
   local link, of = short(got.link), {}
   for _, one in ipairs(list) do
      of[one.link .. " " .. one.counter] = one
   end
   for counter, count in pairs(link and got or {}) do
      count = not OF_A_LINE[counter] and short(counter) and positive(count)
      local one = count and of[link .. " " .. counter]
      if one then
         one.count = one.count + count
      elseif count and #list < MOST_ERRORS then
         list[#list + 1] = { link = link, counter = counter, count = count }
      end
   end
end

--- A port that MPI used instead of the rail that it was to use; nil: none.
function said.instead(got)
   return short(got.instead)
end

--- A port of a node.
function said.link(got)
   return { name = short(got.name), duplex = short(got.duplex), firmware = short(got.firmware),
      rate_gbps = positive(got.rate_gbps), mtu = positive(got.mtu), pcie_lanes = positive(got.pcie_lanes),
      pcie_gts = positive(got.pcie_gts), pcie_lanes_most = positive(got.pcie_lanes_most),
      pcie_gts_most = positive(got.pcie_gts_most) }
end

--- What TCP says of what a rank sent one way; nil: nothing, by TCP.
function said.tcp(got)
   local rtt = positive(got.tcp_min_rtt_us) or positive(got.tcp_rtt_us)
   return rtt and { rtt_us = rtt, rwnd_pct = positive(got.tcp_rwnd_pct) or 0,
      sndbuf_pct = positive(got.tcp_sndbuf_pct) or 0, again_pct = positive(got.tcp_again_pct) or 0 }
end

local MOST_TEXT = 300

-- What went wrong, in the rank's words.
local function why(value)
   return type(value) == "string" and value:sub(1, MOST_TEXT) or nil
end

--- Of an all-to-all or an allreduce: { us (of a call), gbs (received), error }.
function said.collective(got)
   return { us = positive(got.call_us), gbs = positive(got.rx_gbs), error = why(got.error) }
end

--- Of fixed work: { step_us, se_us (mean of a step, standard error), work_us (undisturbed), call_us, call_mean_us (of a
-- step without work: median, mean), steps, cores, error }.
function said.work(got)
   return { step_us = positive(got.step_us), se_us = positive(got.step_se_us), work_us = positive(got.work_us),
      call_us = positive(got.call_us), call_mean_us = positive(got.call_mean_us), steps = positive(got.steps),
      cores = math.tointeger(positive(got.threads)), error = why(got.error) }
end

--- Of files: { write_gbs, read_gbs, written (bytes), filesystem, direct = true, error, stopped (by
-- another rank), wrong }.
function said.files(got)
   return { write_gbs = positive(got.write_gbs), read_gbs = positive(got.read_gbs), written = positive(got.written),
      filesystem = short(got.filesystem), direct = got.direct == true or nil, error = why(got.error),
      stopped = why(got.stopped), wrong = why(got.wrong) }
end

return said
