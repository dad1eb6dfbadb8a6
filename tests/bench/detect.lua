-- What the verdict finds, and whom it drains wrongly; see detect.sh.
--   lua5.4 tests/bench/detect.lua real DIR    judges the records that detect.sh made
--   lua5.4 tests/bench/detect.lua sim [N]     N synthetic checks, default 1,000,000
-- Adds its keys to build/bench/detect.json and leaves the others.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local json = require("cjson")
local choose = require("syscheck.verdict.adoption")
local files = require("syscheck.lib.files")
local learn = require("syscheck.verdict.learning")
local metrics = require("syscheck.catalogue.metrics")
local output = require("syscheck.lib.output")
local policy = require("syscheck.policy.policy")
local records = require("syscheck.spool.records")
local verdict = require("syscheck.verdict.rating")

local FILE = "build/bench/detect.json"

local function merge_into_file(keys)
   local text = files.read(FILE, 16777216)
   local good, all = pcall(json.decode, text or "{}")
   all = good and all or {}
   for key, value in pairs(keys) do
      all[key] = value
   end
   assert(files.mkdir(require("luv").cwd() .. "/build/bench"))
   assert(files.write(FILE, json.encode(all) .. "\n"))
end

-- As check.run does it: what failed runs again, and only what fails again drains.
-- @param first, again functions that return { metric = { value } }
local function drained(first, again, limits)
   local results = first
   local rated = verdict.rate(results, limits)
   if rated.status ~= "fail" then
      return false
   end
   local both = {}
   for name, result in pairs(results) do
      both[name] = result
   end
   for _, m in ipairs(rated.metrics) do
      if m.status == "fail" then
         both[m.name] = again(m.name)
      end
   end
   return verdict.rate(both, limits).status == "fail"
end

-- Real -------------------------------------------------------------------------------

local function read_all(dir)
   return records.read({ dir }, function(file, line, why)
      error(("%s:%d: %s"):format(file, line, why))
   end)
end

local function results_of(record)
   local results = {}
   for _, run in ipairs(record.runs or {}) do
      for _, m in ipairs(metrics.LIST) do
         if m.kernel == run.kernel then
            local value = run.state == "ok" and metrics.measured(m, run.result)
            results[m.name] = value and { value = value } or { unknown = run.reason or "no number" }
         end
      end
   end
   return results
end

local function real(dir)
   -- Forced: what a busy machine teaches is shown, too.
   local learned, remarks = choose.from(learn.from(read_all(dir .. "/learn")), nil, true)
   print(table.concat(remarks, "\n"))
   assert(learned, "nothing learned")
   local seconds, by_node = {}, {}
   for record in read_all(dir .. "/second") do
      seconds[record.node] = seconds[record.node] or {}
      table.insert(seconds[record.node], results_of(record))
   end
   local at = {}
   for record in read_all(dir .. "/first") do
      local name = record.node
      at[name] = (at[name] or 0) + 1
      local second = seconds[name][at[name]]
      local limits = verdict.limits(policy.default(), record.class, learned)
      local quota = tonumber(name:match("^q(%d+)")) or 100
      local row = by_node[quota] or { checks = 0, drained = 0, failed_once = 0, unknown = 0, triad = {}, gflops = {} }
      by_node[quota] = row
      local results = results_of(record)
      row.checks = row.checks + 1
      row.unknown = row.unknown + (verdict.rate(results, limits).status == "unknown" and 1 or 0)
      row.failed_once = row.failed_once + (verdict.rate(results, limits).status == "fail" and 1 or 0)
      row.drained = row.drained + (drained(results, function(metric) return second[metric] end, limits) and 1 or 0)
      row.triad[#row.triad + 1] = results.triad_gbs.value
      row.gflops[#row.gflops + 1] = results.gflops.value
   end
   local rows = { { "QUOTA_%", "CHECKS", "UNKNOWN", "FAILED_ONCE", "DRAINED", "DRAINED_%", "TRIAD_GB/s",
      "DGEMM_GF/s" } }
   local out = {}
   for _, quota in ipairs({ 100, 95, 90, 85, 80, 70, 50 }) do
      local row = by_node[quota]
      if row then
         table.sort(row.triad)
         table.sort(row.gflops)
         rows[#rows + 1] = { quota, row.checks, row.unknown, row.failed_once, row.drained,
            ("%.0f"):format(100 * row.drained / row.checks), ("%.1f"):format(row.triad[#row.triad // 2 + 1] or 0),
            ("%.1f"):format(row.gflops[#row.gflops // 2 + 1] or 0) }
         out[#out + 1] = { quota_pct = quota, checks = row.checks, drained = row.drained,
            unknown = row.unknown }
         for i, cell in ipairs(rows[#rows]) do
            rows[#rows][i] = tostring(cell)
         end
      end
   end
   print("class baseline, learned from untouched nodes in the same run:")
   local spreads = {}
   for class, c in pairs(learned.classes) do
      for _, name in ipairs(choose.sorted(c.metrics)) do
         local b = c.metrics[name]
         print(("  %s %s: median %.2f, spread %.1f %%, run noise %.1f %%, tolerance %.1f %%, %d nodes, %d checks")
            :format(class, name, b.median, b.mad_pct, b.run_pct, b.tolerance_pct, b.nodes, b.n))
         spreads[name] = { median = b.median, run_pct = b.run_pct, tolerance_pct = b.tolerance_pct }
      end
   end
   local load = (files.read(dir .. "/load") or "?"):gsub("\n", "; ")
   print("load at begin; at end; runs: " .. load .. "\n")
   print(output.table(rows))
   merge_into_file({ real = out, real_load = load, real_baseline = spreads })
end

if arg[1] == "real" then
   real(arg[2])
elseif arg[1] == "sim" then
   require("detect_sim")(drained, merge_into_file, tonumber(arg[2] or 1000000))
else
   io.stderr:write("usage: detect.lua real DIR | sim [N]\n")
   os.exit(2)
end
