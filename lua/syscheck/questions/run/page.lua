--- What `syscheck run` measured, as a page. Pure.
--
-- It is given the record of the check, whose kernels' objects were printed by programs: what is not of its type is not
-- drawn.
local chart = require("syscheck.html.chart")
local element = require("syscheck.html.element")
local memory = require("syscheck.questions.run.memory")
local metrics = require("syscheck.catalogue.metrics")
local page = require("syscheck.html.page")
local scale = require("syscheck.html.scale")

local OPS = { ["<"] = "at least", [">"] = "at most", ["="] = "want" }
local TABLE = 1024

local function number(value)
   return type(value) == "number" and value == value and math.abs(value) < 1e300 and value or nil
end

local points_of, rows_of = memory.points, memory.rows

local function values_section(record)
   local rows = {}
   for _, r in ipairs(type(record.metrics) == "table" and record.metrics or {}) do
      local m = type(r.name) == "string" and metrics.of(r.name)
      if m then
         local text = number(r.value) and metrics.show(m, r.value, true)
         rows[#rows + 1] = { m.long or m.label, text and (r.status == "fail" or r.status == "warn") and page.bad(text)
            or text, number(r.limit) and ("%s %s"):format(OPS[r.op] or "", metrics.show(m, r.limit, true)), r.status,
            r.source and element.name(r.source, 120) or "" }
      end
   end
   return #rows > 0 and page.section({ title = "Values and their limits",
      more = page.table({ "metric", "value", "limit", "status", "limit from" }, rows) })
end

-- The last object of each kernel: what failed was measured twice.
local function results_of(record)
   local out = {}
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      if type(one.result) == "table" and not one.path then
         out[one.kernel] = one.result
      end
   end
   return out
end

local function bytes(kib)
   return kib >= 1048576 and ("%.0f GiB"):format(kib / 1048576) or kib >= 1024 and ("%.0f MiB"):format(kib / 1024)
      or ("%.0f KiB"):format(kib)
end

local function cache_section(r)
   local points = r and points_of(r.cache_latency, "kib", "ns") or {}
   if #points == 0 then
      return false
   end
   local list, names = {}, {}
   for i, point in ipairs(points) do
      local cache = math.tointeger(point[3].level)
      list[i], names[i] = { point[1], point[2], ("%s: %.3g ns"):format(bytes(point[1]), point[2]) },
         cache and ("L%d"):format(cache) or ""
   end
   local chase, ns = number(r.chase_mb), number(r.local_ns_median) or number(r.latency_ns)
   if chase and ns and chase > 0 and ns > 0 and chase * 1e6 / 1024 > list[#list][1] then
      list[#list + 1] = { chase * 1e6 / 1024, ns, ("memory, %.0f MB: %.3g ns"):format(chase, ns) }
      names[#list] = "memory"
   end
   local low, high = math.huge, 0
   for _, point in ipairs(list) do
      low, high = math.min(low, point[2]), math.max(high, point[2])
   end
   local c = chart.new({ label = "Latency against the size of what is read", height = 230,
      x = { low = list[1][1] / 2, high = list[#list][1] * 2, kind = "log2", show = bytes, count = 9,
         label = "size of what is read" },
      y = { low = low / 2, high = high, kind = "log", label = "latency, ns" } })
   c:line(list):marks(list, "circle", "own", 4)
   for i, point in ipairs(list) do
      c:note(point[1], point[2], ("%s %.3g"):format(names[i], point[2]))
   end
   return page.section({ title = "Latency of caches and memory", pictures = { c:done() },
      table = page.table({ "size", "ns" }, rows_of(list, "%.0f KiB", "%.3g"), 1) })
end

local function noise_sections(r, trace)
   local out = { false, false }
   local components = r and points_of(r.components, "period_ms", "duration_us") or {}
   if #components > 0 then
      local low, high, short, long = math.huge, 0, math.huge, 0
      for _, p in ipairs(components) do
         low, high = math.min(low, p[1]), math.max(high, p[1])
         short, long = math.min(short, p[2]), math.max(long, p[2])
      end
      local c = chart.new({ label = "Periodic noise: how long against how often", height = 230,
         x = { low = low, high = high, kind = "log", label = "every so many ms" },
         y = { low = short / 3, high = long, kind = "log", label = "takes, us" } })
      local marks, rows = {}, {}
      for i, p in ipairs(components) do
         local text = type(p[3].text) == "string" and element.name(p[3].text, 60) or ""
         marks[i] = { p[1], p[2], text }
         c:note(p[1], p[2], text)
         rows[i] = { text, ("%.4g ms"):format(p[1]), ("%.3g us"):format(p[2]),
            number(p[3].lost_pct) and ("%.3g %%"):format(p[3].lost_pct),
            number(p[3].count) and ("%.0f"):format(p[3].count) }
      end
      c:stems(components):marks(marks, "circle", "own", 4)
      out[1] = page.section({ title = ("Noise that comes back: %d source%s"):format(#components,
         #components == 1 and "" or "s"), say = "Each source by its period and by how long it takes a core.",
         pictures = { c:done() }, table = page.table({ "source", "every", "takes", "of the time", "seen" }, rows, 1) })
   end
   if trace then
      local high, rows, marks = 1, {}, {}
      for i, one in ipairs(trace.longest) do
         high = math.max(high, one.us)
         marks[i] = { one.at_s, one.us, ("CPU %d: %.0f us"):format(one.cpu, one.us) }
         rows[i] = { ("%d"):format(one.cpu), ("%.3f"):format(one.at_s), ("%.0f"):format(one.us) }
      end
      local c = chart.new({ label = "Length of each detour over time", height = 260,
         x = { low = 0, high = trace.seconds, kind = "exact", label = "s from the first detour" },
         y = { low = 1, high = high, kind = "log", label = "length, us" } })
      c:dots(trace.points, "d1"):marks(marks, "diamond", "own", 4)
      if marks[1] then
         c:note(marks[1][1], marks[1][2], marks[1][3])
      end
      out[2] = page.section({ title = ("What took the cores away from the loop: %s "
         .. "detours%s"):format(scale.show(trace.count),
         number(r and r.noise_pct) and (", %.2g %% of the time"):format(r.noise_pct) or ""),
         say = "A dot is an interruption of a core, by when and how long; where many fall on one place one is drawn. "
            .. "Rows of dots are timers, clouds are other work.", pictures = { c:done() },
         table = page.table({ "CPU", "at, s", "us" }, rows, 1), called = "The longest" })
   end
   return out
end

local function cores_section(r)
   local points, slowest = r and points_of(r.cores, "gflops", "gflops") or {}, nil
   local placed, rows, high = {}, {}, 0
   for _, p in ipairs(points) do
      local cpu = math.tointeger(p[3].cpu)
      if cpu then
         high = math.max(high, p[1])
         placed[#placed + 1] = { cpu, p[1], ("CPU %d: %.3g GFLOP/s%s"):format(cpu, p[1],
            number(p[3].clock_mhz) and (", %.0f MHz"):format(p[3].clock_mhz) or "") }
         slowest = slowest or placed[#placed]
         rows[#rows + 1] = { ("%d"):format(cpu), ("%.3g"):format(p[1]),
            number(p[3].clock_mhz) and ("%.0f"):format(p[3].clock_mhz) }
      end
   end
   if #placed < 2 then
      return false
   end
   local last = 0
   for _, p in ipairs(placed) do
      last = math.max(last, p[1])
   end
   local c = chart.new({ label = "DGEMM of each core", height = 210,
      x = { low = 0, high = last, kind = "exact", label = "CPU", count = math.min(8, last) },
      y = { low = 0, high = high, label = "GFLOP/s" } })
   local median = number(r.gflops_core_median)
   if median then
      c:horizontal(median, ("median %.3g"):format(median))
   end
   c:marks(placed, "circle", "own", #placed > 64 and 2.5 or 4)
   c:note(slowest[1], slowest[2], ("CPU %d"):format(slowest[1]))
   return page.section({
      title = ("DGEMM of each core: the slowest, CPU %d, at %.3g GFLOP/s"):format(slowest[1], slowest[2]),
      pictures = { c:done() }, table = page.table({ "CPU", "GFLOP/s", "MHz" }, rows, 1, TABLE) })
end

local function remarks_of(record, notes)
   local out = {}
   for _, r in ipairs(type(record.metrics) == "table" and record.metrics or {}) do
      if r.status == "fail" or r.status == "warn" or r.status == "unknown" then
         out[#out + 1] = ("%s: %s"):format(r.status, element.name(r.text, 300))
      end
   end
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      if type(one.others) == "table" and number(one.others.loss_pct) then
         local most = type(one.others.most) == "table" and one.others.most or {}
         out[#out + 1] = ("%s: others used the node meanwhile%s: up to %.0f %% is missing for it"):format(
            element.name(one.kernel), most.comm and (" (most: %s)"):format(element.name(most.comm)) or "",
            one.others.loss_pct)
      end
   end
   for _, list in ipairs({ notes or {}, type(record.problems) == "table" and record.problems or {} }) do
      for _, text in ipairs(list) do
         out[#out + 1] = element.name(text, 300)
      end
   end
   return out
end

--- @param record of a check, with `runs`, `made`
-- @param trace of detours.answer, or nil
-- @param notes list of texts: of directories
-- @return text of the file
return function(record, trace, notes)
   local r, says = results_of(record), remarks_of(record, notes)
   local noise = noise_sections(r.noise, trace)
   return page.build({ title = "Node " .. element.name(record.node), made = record.made,
      answer = ("%s: %s%s"):format(element.name(record.node), record.status,
         record.text and record.text ~= "" and ", " .. element.name(record.text, 300) or ""),
      facts = { { "class", element.name(record.class) }, { "level", element.name(record.level) },
         { "measured", element.name(record.time) },
         { "took", number(record.duration_s) and ("%.1f s"):format(record.duration_s) } },
      sections = { values_section(record),
         #says > 0 and page.section({ title = "Remarks", more = page.list(says) }),
         memory.numa(r.numa), memory.scaling(r.scaling), cache_section(r.numa), cores_section(r.dgemm),
         noise[1], noise[2] } })
end
