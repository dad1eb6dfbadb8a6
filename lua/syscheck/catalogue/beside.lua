--- What the kernels of a check say beside its metrics, and the store keeps: the clock under load, what noise
-- was made of, how fast directories were, bandwidth against threads and its knee, the NUMA matrix. Nothing rates it.
-- Pure.
local beside = {}

--- Columns of the store's table check_node, as fields.CHECK has them; `kernel` and `result`: where the value
-- stands. Of several directories the slowest.
beside.FIELDS = {
   { name = "clock_mhz", label = "clock", unit = "MHz", better = "higher", kernel = "dgemm", result = "clock_mhz" },
   { name = "clock_min_mhz", label = "slowest core's clock", unit = "MHz", better = "higher", kernel = "dgemm",
      result = "clock_mhz_min" },
   { name = "io_write_gbs", label = "I/O write", unit = "GB/s", better = "higher", kernel = "io",
      result = "write_gbs" },
   { name = "io_read_gbs", label = "I/O read", unit = "GB/s", better = "higher", kernel = "io", result = "read_gbs" },
   -- A class's own: with less bandwidth it comes earlier, with slower cores later, so neither way is better.
   { name = "knee_threads", label = "knee of bandwidth, threads", unit = "count", kernel = "scaling",
      result = "knee_threads" },
   { name = "numa_factor", label = "NUMA factor", unit = "times", better = "lower", kernel = "numa",
      result = "numa_factor" },
   { name = "remote_gbs", label = "memory of another NUMA node", unit = "GB/s", better = "higher", kernel = "numa",
      result = "remote_gbs_min" },
   -- What the kernel's counter of memory traffic makes of stream's triads: see verdict/ruler.lua.
   { name = "traffic_peak_gbs", label = "counted memory bandwidth", unit = "GB/s", better = "higher",
      kernel = "stream", result = "traffic_gbs" },
}

local LEAST_NOISE_PCT = 0.1 -- what takes less of the cores' time is not worth a word
local MOST_DIRECTORIES = 8 -- of the policy's io_paths
local MOST = 1e9 -- MHz, GB/s; more is damage
local TEXT_BYTES, PATH_BYTES = 120, 256
local MOST_POINTS = 64 -- of a curve; scaling has 22 for 1,024 cores
-- Of a larger matrix each node's own memory: all of 32 nodes' would be half of what a row may hold.
local MOST_NUMA = 16
local MOST_CELLS = 1024

local function number(value)
   return type(value) == "number" and value >= 0 and value <= MOST and value or nil
end

local function text(value, bytes)
   return type(value) == "string" and value ~= "" and value:sub(1, bytes) or nil
end

local function table_of(value)
   return type(value) == "table" and value or {}
end

-- The part of the noise that took most, and the process that had most CPU time meanwhile, if one stands out.
local function noise_of(run)
   local most
   for _, one in ipairs(table_of(run.result.components)) do
      local pct = number(table_of(one).lost_pct)
      if pct and pct >= LEAST_NOISE_PCT and (not most or pct > most.lost_pct) then
         most = { lost_pct = pct, text = text(one.text, TEXT_BYTES), source = text(one.source, TEXT_BYTES) }
      end
   end
   local other = table_of(table_of(run.others).most)
   local by = text(other.comm, TEXT_BYTES)
   if by then
      most = most or {}
      most.by, most.by_kind, most.by_cpus = by, text(other.kind, TEXT_BYTES), number(other.cpus)
   end
   return most
end

local function directory_of(run)
   local r = run.result
   return { path = text(run.path, PATH_BYTES), filesystem = text(r.filesystem, TEXT_BYTES),
      write_gbs = number(r.write_gbs), read_gbs = number(r.read_gbs), fsync_us = number(r.fsync_us),
      creates_per_s = number(r.creates_per_s) }
end

-- Objects of a list that have these numbers, and nothing else.
local function list_of(given, most, keys, wanted)
   local out = {}
   for _, one in ipairs(table_of(given)) do
      local kept, good = {}, #out < most
      for _, key in ipairs(keys) do
         kept[key] = number(table_of(one)[key])
         good = good and kept[key] ~= nil
      end
      out[#out + 1] = good and (not wanted or wanted(kept)) and kept or nil
   end
   return out[1] and out or nil
end

local function numbers(r, names)
   local out = {}
   for _, name in ipairs(names) do
      out[name] = number(r[name])
   end
   return out
end

local function curve_of(r)
   local out = numbers(r, { "best_gbs", "knee_threads", "knee_spread_threads", "node_best_gbs",
      "node_saturated_threads" })
   out.compact = list_of(r.compact, MOST_POINTS, { "threads", "triad_gbs" })
   out.spread = list_of(r.spread, MOST_POINTS, { "threads", "triad_gbs" })
   return out.compact and out or nil
end

local function is_own(cell)
   return cell.from == cell.to
end

local function matrix_of(r)
   local large = #table_of(r.nodes) > MOST_NUMA or #table_of(r.latency) > MOST_NUMA ^ 2
   local out = numbers(r, { "numa_factor" })
   out.latency = list_of(r.latency, MOST_CELLS, { "from", "to", "ns" }, large and is_own)
   out.bandwidth = list_of(r.bandwidth, MOST_CELLS, { "from", "to", "gbs" }, large and is_own)
   return out.latency and out or nil
end

--- @param record a check's, decoded; anybody may have written it
-- @param is_busy { kernel = true }, where others had the CPUs: their clock says nothing of the node
-- @return { name of FIELDS = number }; { noise = { text, lost_pct, source, by, by_kind, by_cpus }, io = list of { path,
--   filesystem, write_gbs, read_gbs, fsync_us, creates_per_s }, scaling = { compact, spread, knee_threads, ... },
--   numa = { latency, bandwidth, numa_factor } as the kernels have them }, each nil where there is none; and what the
--   noise kernel said, nil where it did not
function beside.of(record, is_busy)
   local values, more, noise = {}, {}, nil
   for _, run in ipairs(table_of(record.runs)) do
      run = table_of(run)
      if run.state == "ok" and type(run.result) == "table" and not (is_busy and is_busy[run.kernel]) then
         for _, field in ipairs(beside.FIELDS) do
            local value = field.kernel == run.kernel and number(run.result[field.result])
            local before = run.kernel == "io" and values[field.name]
            values[field.name] = value and (before and math.min(before, value) or value) or values[field.name]
         end
         if run.kernel == "noise" then
            more.noise, noise = noise_of(run), run.result
         elseif run.kernel == "scaling" then
            more.scaling = curve_of(run.result)
         elseif run.kernel == "numa" then
            more.numa = matrix_of(run.result)
         elseif run.kernel == "io" and #(more.io or {}) < MOST_DIRECTORIES then
            more.io = more.io or {}
            table.insert(more.io, directory_of(run))
         end
      end
   end
   return values, more, noise
end

-- What anybody may have written, as of() makes it: a store's row is no better than a record.
local SHAPES = { scaling = curve_of, numa = matrix_of }

--- The curve and the matrix of what a store's row or a record keeps.
-- @param kept { scaling, numa }, each may be anything
-- @return { scaling, numa }, only what is of its form
function beside.memory(kept)
   local out = {}
   for name, shape in pairs(SHAPES) do
      out[name] = type(kept[name]) == "table" and shape(kept[name]) or nil
   end
   return out
end

--- "3.1 ms every 10 ms on all cores (0.4 %); crond (service)"
-- @param noise from of()
-- @return nil where there is nothing to say
function beside.noise_text(noise)
   local parts = {}
   if type(noise.text) == "string" and type(noise.lost_pct) == "number" then
      parts[1] = ("%s%s (%.2g %%)"):format(noise.text,
         type(noise.source) == "string" and ", " .. noise.source or "", noise.lost_pct)
   end
   if type(noise.by) == "string" then
      parts[#parts + 1] = noise.by .. (type(noise.by_kind) == "string" and " (" .. noise.by_kind .. ")" or "")
   end
   return parts[1] and table.concat(parts, "; ") or nil
end

--- "/scratch lustre: write 1.61, read 0.95 GB/s, fsync 125 us"
-- @param one of `io` of of()
function beside.directory_text(one)
   local function value(name, format)
      return type(one[name]) == "number" and format:format(one[name]) or nil
   end
   local parts = {}
   for _, part in ipairs({ value("write_gbs", "write %.3g GB/s") or false, value("read_gbs", "read %.3g GB/s") or false,
      value("fsync_us", "fsync %.0f us") or false, value("creates_per_s", "%.3g creates/s") or false }) do
      parts[#parts + 1] = part or nil
   end
   local name = type(one.path) == "string" and one.path or "?"
   return ("%s%s: %s"):format(name, type(one.filesystem) == "string" and " " .. one.filesystem or "",
      table.concat(parts, ", "))
end

return beside
