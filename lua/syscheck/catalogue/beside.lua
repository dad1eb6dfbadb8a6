--- What the kernels of a check say beside its metrics, and the store keeps: the clock under load, what noise
-- was made of, how fast directories were. Nothing rates it. Pure.
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
}

local LEAST_NOISE_PCT = 0.1 -- what takes less of the cores' time is not worth a word
local MOST_DIRECTORIES = 8 -- of the policy's io_paths
local MOST = 1e9 -- MHz, GB/s; more is damage
local TEXT_BYTES, PATH_BYTES = 120, 256

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

--- @param record a check's, decoded; anybody may have written it
-- @param is_busy { kernel = true }, where others had the CPUs: their clock says nothing of the node
-- @return { name of FIELDS = number }; { noise = { text, lost_pct, source, by, by_kind, by_cpus }, io = list of { path,
--   filesystem, write_gbs, read_gbs, fsync_us, creates_per_s } }, each nil where there is none; and what the
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
         elseif run.kernel == "io" and #(more.io or {}) < MOST_DIRECTORIES then
            more.io = more.io or {}
            table.insert(more.io, directory_of(run))
         end
      end
   end
   return values, more, noise
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
