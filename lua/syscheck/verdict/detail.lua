--- What kernels measured beyond the values that are rated, for who looks at one node. Pure.
--
-- A section is { title, parts ... }; a part is a sentence, { text, style = "warn" }, or a table: { rows = as
-- output.table takes them, narrow = other rows where those do not fit, cut = column that may be shortened }. A cell
-- { bar = 0 to 1, after = text } is drawn as wide as there is room.
local cores = require("syscheck.verdict.detail.cores")
local memory = require("syscheck.verdict.detail.memory")
local metrics = require("syscheck.catalogue.metrics")
local printable = require("syscheck.lib.printable")
local values = require("syscheck.verdict.detail.values")

local detail = {}

local number, show = values.number, values.show

local LOST_PCT = 5 -- of the time: below, a rate is what the node can do

-- In this order; a section without its kernel is left out.
local SECTIONS = {
   { "stream", memory.stream },
   { "scaling", memory.scaling },
   { "numa", memory.caches },
   { "numa", memory.numa },
   { "dgemm", cores.dgemm },
   { "noise", cores.noise },
}

-- The last good measurement of each kernel.
local function by_kernel(runs)
   local found = {}
   for _, one in ipairs(runs) do
      if one.state == "ok" and not one.path and type(one.result) == "table" then
         found[one.kernel] = one
      end
   end
   return found
end

-- Whose rates are lower than what the node can do, and by whom.
local function disturbed(found)
   local words, most = {}, nil
   for _, kernel in ipairs(metrics.KERNELS) do
      local one = found[kernel.name]
      local lost = one and number(one.result.lost_pct)
      -- Of the noise kernel that is what it measures.
      if lost and lost >= LOST_PCT and kernel.name ~= "noise" then
         words[#words + 1] = ("%s %.0f %%"):format(kernel.name, lost)
      end
      most = one and type(one.others) == "table" and one.others.most or most
   end
   if not words[1] then
      return nil
   end
   local name = most and most.comm and printable.safe(most.comm, 32)
   return { title = "Disturbed", { style = "warn",
      text = ("Cores were not ours for a part of the time: %s. Rates may be so much lower than what the node can do. "
         .. "%s"):format(table.concat(words, ", "), name and ("Most of it had %s%s."):format(name,
            number(most.pid) and (" (process %.0f)"):format(most.pid) or "")
         or "Other processes, a CPU quota or a hypervisor had them.") } }
end

local function directories(runs)
   local rows = { { "DIRECTORY", "TYPE", "WRITE", "READ", "FSYNC", "99_%", "CREATE", "STAT", "UNLINK" } }
   local cached = false
   for _, one in ipairs(runs) do
      local r = one.path and one.state == "ok" and one.result
      if r then
         local kind = type(r.filesystem) == "string" and printable.safe(r.filesystem, 20) or "-"
         rows[#rows + 1] = { printable.safe(one.path, 100), kind .. (r.direct and "" or "*"),
            show(r.write_gbs), show(r.read_gbs), values.time(r.fsync_us), values.time(r.fsync_p99_us),
            values.whole(r.creates_per_s), values.whole(r.stats_per_s), values.whole(r.unlinks_per_s) }
         cached = cached or not r.direct
      end
   end
   return rows[2] and { title = "I/O by directory, one process (GB/s; time of an fsync; files a second)",
      { rows = rows, cut = 1 },
      cached and "*: through the page cache, which may hold what was read." or nil } or nil
end

--- Of a check.
-- @param runs of check.run
-- @return list of sections
function detail.sections(runs)
   local found = by_kernel(runs)
   local out = { disturbed(found) }
   for _, one in ipairs(SECTIONS) do
      local measured = found[one[1]]
      out[#out + 1] = measured and one[2](measured.result) or nil
   end
   out[#out + 1] = directories(runs)
   return out
end

--- The same of what the store keeps of a check: see beside.of.
-- @param kept { scaling, numa }, each may be nil; anybody may have written it
function detail.of_kept(kept)
   local out = {}
   for _, name in ipairs({ "scaling", "numa" }) do
      out[#out + 1] = type(kept[name]) == "table" and memory[name](kept[name]) or nil
   end
   return out
end

return detail
