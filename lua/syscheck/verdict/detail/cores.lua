--- Details of the cores: dgemm, noise. Pure. See verdict/detail.lua for the form of a section.
local printable = require("syscheck.lib.printable")
local values = require("syscheck.verdict.detail.values")

local cores = {}

local number, list, show, whole = values.number, values.list, values.show, values.whole

local SLOWEST = 4 -- rows
local EVEN_PCT = 95 -- of the median: a core below has a lower clock, or shares it with something
local BEATS = 7 -- of a periodic source, to be found
local NAMES = 5 -- of processes, of interrupts
local LOST_PCT = 0.01 -- a source that takes less hurts no job
local MOST_NAME = 32

function cores.dgemm(r)
   local all, median = list(r.cores, "cpu", "gflops"), number(r.gflops_core_median)
   local slowest, clock = number(r.gflops_core_min), number(r.clock_mhz)
   if not median or not slowest or median <= 0 then
      return nil
   end
   local of_median = 100 * slowest / median
   local section = { title = "Cores under load (dgemm)" }
   if all[3] then
      table.sort(all, function(a, b)
         return a.gflops < b.gflops or a.gflops == b.gflops and a.cpu < b.cpu
      end)
      local rows = { { "CPU", "GFLOP/s", "OF_MEDIAN_%", "CLOCK_MHz", "" } }
      local most = math.max(all[#all].gflops, 1e-9)
      local function add(name, gflops, mhz)
         rows[#rows + 1] = { name, show(gflops), whole(100 * gflops / median), whole(mhz), { bar = gflops / most } }
      end
      for i = 1, math.min(SLOWEST, #all - 1) do
         add(whole(all[i].cpu), all[i].gflops, all[i].clock_mhz)
      end
      add("median", median, clock)
      add(whole(all[#all].cpu), all[#all].gflops, all[#all].clock_mhz)
      section[1] = { rows = rows }
   end
   local text = ("Slowest core: CPU %s, %s GFLOP/s, %.0f %% of the median %s%s"):format(whole(r.slowest_cpu),
      show(slowest), of_median, show(median), of_median >= EVEN_PCT and ": even." or ".")
   section[#section + 1] = of_median < EVEN_PCT and { text = text, style = "warn" } or text
   if clock then
      local limit = number(r.clock_limit_mhz)
      section[#section + 1] = ("Clock under load: median %s MHz, lowest %s on CPU %s; limit %s."):format(whole(clock),
         whole(r.clock_mhz_min), whole(r.lowest_clock_cpu), limit and whole(limit) or "not known (no cpufreq)")
   end
   return section
end

local function text_of(value, max)
   return type(value) == "string" and value ~= "" and printable.safe(value, max or MOST_NAME) or nil
end

-- "dgemm 142 ms, apt-cache 125 ms": the first of a list.
local function names(all, name, value)
   local words = {}
   for i = 1, math.min(NAMES, #all) do
      words[i] = ("%s %s"):format(text_of(all[i][name]) or "?", value(all[i]))
   end
   return words[1] and table.concat(words, ", ") or nil
end

-- Periodic sources, and who they are as far as that is known.
local function sources(r)
   local rows = { { "SOURCE", "LASTS", "EVERY", "LOST_%", "CPUS" } }
   for _, one in ipairs(list(r.components, "duration_us", "period_ms", "lost_pct")) do
      if one.lost_pct >= LOST_PCT then
         local name = text_of(one.source)
         local pid = name and number(one.source_pid)
         rows[#rows + 1] = { name and name .. (pid and (" (%.0f)"):format(pid) or "") or "not known",
            values.time(one.duration_us), values.time(1000 * one.period_ms), show(one.lost_pct),
            text_of(one.cpus, 24) or "-" }
      end
   end
   return rows[2] and { rows = rows, cut = 1 } or nil
end

--- What the operating system took, from whom it came.
function cores.noise(r)
   local noise = number(r.noise_pct)
   if not noise then
      return nil
   end
   local words = { ("Lost %s %% of the cores' time"):format(show(noise)) }
   if number(r.noise_pct_max) then
      words[2] = ("%s %% on the worst (CPU %s)"):format(show(r.noise_pct_max), whole(r.worst_cpu))
   end
   if number(r.longest_us) then
      words[#words + 1] = ("longest interruption %s, 99 %% are below %s"):format(values.time(r.longest_us),
         values.time(r.p99_us))
   end
   local section = { title = "Noise", table.concat(words, "; ") .. "." }
   section[2] = sources(r)
   if type(r.components) == "table" and not section[2] then
      section[2] = ("No periodic source of %s %% or more; %s s show those with a period below %.2g s."):format(
         show(LOST_PCT), show(r.seconds), (number(r.seconds) or 0) / BEATS)
   end
   local processes = names(list(r.processes, "cpu_ms"), "comm", function(one)
      return values.time(1000 * one.cpu_ms)
   end)
   local interrupts = names(list(r.interrupts, "count"), "name", function(one)
      return whole(one.count)
   end)
   local seconds = number(r.activity_s)
   section[#section + 1] = processes and ("Processes that ran meanwhile%s: %s."):format(
      seconds and (" (%s s)"):format(show(seconds)) or "", processes) or nil
   section[#section + 1] = interrupts and ("Interrupts: %s."):format(interrupts) or nil
   return section
end

return cores
