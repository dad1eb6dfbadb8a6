-- How right predictions of noise at scale are (make bench-noise-scale):
--   noise_scale.lua DIR OUT SEED...: DIR for traces, OUT the JSON; NODES of a world
-- Truth is a chain of quanta, each begun when the slowest node is done with the one before, walked detour by detour in
-- whole traces (noise_world/brute); its first quantum begins at any time, and is taken out.
package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local json = require("cjson")
local chain = require("syscheck.questions.noise.chain")
local curve = require("syscheck.questions.noise.curve")
local delays = require("syscheck.catalogue.delays")
local noise = require("syscheck.questions.noise.logic")
local noise_real = require("noise_real")
local predict = require("syscheck.questions.noise.predict")
local statistics = require("syscheck.lib.statistics")
local uv = require("luv")

local DIR, OUT = arg[1], arg[2]
local SEEDS = table.move(arg, 3, #arg, 1, {})
local NODES = tonumber(os.getenv("NODES")) or 64
local BIN = "build/tests/bench/"
-- A stall of once a second is in one half of a second or not, which no method knows: halves are of four.
local SECONDS, SPLIT_SECONDS, CORES, RECORDED = 1, 4, 4, 16

-- Arguments are this file's own words, numbers and the temporary directory.
local function lines_of(...)
   local out = {}
   local pipe = assert(io.popen(string.format(...)))
   for line in pipe:lines() do
      out[#out + 1] = line
   end
   assert(pipe:close(), string.format(...))
   return out
end

local function nodes_of(dir, seconds, cores)
   local nodes = {}
   for _, line in ipairs(lines_of("%snoise_trace %g %d %s/*.trace", BIN, seconds, cores, dir)) do
      local r = json.decode(line)
      nodes[#nodes + 1] = { name = r.node, checks = { { time = 0, of = assert(delays.of(r), r.node) } } }
   end
   return nodes
end

-- us of a quantum in a long chain, and its standard error.
local function truth(dir, g_ms, n, more)
   local quanta = math.max(8, math.min(512, 20000 // n))
   local r = json.decode(lines_of("%snoise_world/brute %g %d %s --chain %d --se 0.004 --draws 3e8 %s", BIN, g_ms, n,
      dir, quanta, more or "")[1])
   return (quanta * r.delay_us - r.single_us) / (quanta - 1), r.se_us * quanta / (quanta - 1)
end

local function off_pct(predicted, true_us)
   return 100 * (predicted / true_us - 1)
end

-- Median and most of absolute values.
local function summary(list)
   local values = {}
   for i, one in ipairs(list) do
      values[i] = math.abs(one)
   end
   table.sort(values)
   return statistics.median(values) or json.null, values[#values] or json.null
end

local out = { seeds = SEEDS, cases = {} }

-- @param own { dir, more } of the traces that nodes were sampled from, where the truth is of others: how far theirs is
-- from it
local function compare(what, nodes, dir, sizes, more, own)
   local errs, apart = {}, {}
   for _, work in ipairs(delays.WORKS) do
      local sample = predict.sample(nodes, work)
      for _, row in ipairs(sample and predict.drawn(sample, sizes) or {}) do
         local true_us, se = 0, nil
         if not row.at_least then
            true_us, se = truth(dir, work / 1000, row.nodes, more)
         end
         if true_us > 0 and se < 0.1 * true_us then
            local one = { what = what, work_us = work, nodes = row.nodes, us = row.us, true_us = true_us, se_us = se,
               off_pct = off_pct(row.us, true_us), low_us = row.low or row.us, high_us = row.high or row.us,
               at_any_time_us = curve.slowest(chain.after(sample.f, work, math.huge), row.nodes) }
            out.cases[#out.cases + 1] = one
            errs[#errs + 1] = one.off_pct
            one.own_us = own and truth(own.dir, work / 1000, row.nodes, own.more)
            apart[#apart + 1] = own and off_pct(one.own_us, true_us)
            print(("%-12s %6g ms %5d nodes: %.1f us (%.1f to %.1f), true %.1f +- %.1f (%+.1f %%; at any time: %.1f)")
               :format(what, work / 1000, row.nodes, row.us, one.low_us, one.high_us, true_us, se, one.off_pct,
                  one.at_any_time_us))
         end
      end
   end
   return errs, apart
end

-- Of how many of the other halves the interval holds the truth. It is one over fleets like this, and these are the same
-- nodes at another time, where both halves vary: of normal values that differ by time alone three in four.
local function held_pct()
   local held, all = 0, 0
   for _, one in ipairs(out.cases) do
      if one.own_us then
         all = all + 1
         held = held + (one.low_us <= one.true_us and one.true_us <= one.high_us and 1 or 0)
      end
   end
   return all > 0 and 100 * held / all or json.null
end

-- 1. One detour of length L every P, begins at any time: F is known, so the integral is.
local function closed_form()
   local worst = 0
   for _, case in ipairs({ { 2000, 10000, 100 }, { 2000, 10000, 1000 }, { 20, 4000, 1000 }, { 50000, 1e6, 10000 } }) do
      local L, P, g = table.unpack(case)
      local one = { above = { 1, (g + L) / P, g / P, 0 }, us = { 0, 0, L, L } }
      local sum = curve.new(curve.grid({ one }))
      curve.add(sum, one)
      local f = curve.mean(sum)
      for n = 1, 65536, 101 do
         local e = L - P / (n + 1) * ((1 - g / P) ^ (n + 1) - (1 - (g + L) / P) ^ (n + 1))
         worst = math.max(worst, math.abs(curve.slowest(f, n) / e - 1))
      end
   end
   return worst
end

-- 2, 3. A world of another hand, and this machine.
local function half_of(dir, seconds)
   local half = dir .. "-half"
   lines_of("mkdir %s", half)
   for _, path in ipairs(lines_of("ls %s/*.trace", dir)) do
      lines_of("awk '$2 + $3 < %g' %s > %s/%s", seconds / 2, path, half, path:match("[^/]+$"))
   end
   return half
end

local SIZES, SMALL = { 1, 16, 256, 4096 }, { 1, 4, 16, 64 }
local brute, split, apart = {}, {}, {}

local function add_whole(what, dir, seconds, cores)
   local errs = compare(what, nodes_of(dir, seconds, cores), dir, SIZES, ("--seconds %g"):format(seconds))
   table.move(errs, 1, #errs, #brute + 1, brute)
end

local function add_halves(what, dir, seconds, cores)
   local half = half_of(dir, seconds)
   local errs, by_itself = compare(what .. "/2", nodes_of(half, seconds / 2, cores), dir, SMALL,
      ("--half 2 --seconds %g"):format(seconds), { dir = half, more = ("--seconds %g"):format(seconds / 2) })
   table.move(errs, 1, #errs, #split + 1, split)
   table.move(by_itself, 1, #by_itself, #apart + 1, apart)
end

local function world(seed, seconds)
   local dir = ("%s/w%s-%g"):format(DIR, seed, seconds)
   lines_of("%snoise_world/world %s %s %d --seconds %g --cores %d", BIN, seed, dir, NODES, seconds, CORES)
   return dir
end

local function worlds(dirs)
   for i, seed in ipairs(SEEDS) do
      add_whole("seed " .. seed, dirs[i], SECONDS, CORES)
      local dir = world(seed, SPLIT_SECONDS)
      add_halves("seed " .. seed, dir, SPLIT_SECONDS, CORES)
      lines_of("rm -r %s %s-half", dir, dir)
   end
end

local function recorded()
   local dir = DIR .. "/recorded"
   lines_of("mkdir %s", dir)
   local threads
   for i = 1, RECORDED do
      local r = json.decode(lines_of("build/prefix/libexec/syscheck/noise --seconds %g --trace %s/raw",
         1.3 * SPLIT_SECONDS, dir)[1])
      -- A fifth of its time is for what it makes of them.
      assert(r.trace_complete and r.delays[1].window_s >= SPLIT_SECONDS, "a recorded trace was cut short")
      threads = r.threads
      -- From the first detour on; CPUs as cores; one that begins with another's end is not rounded into it.
      lines_of("awk 'NR == FNR { if (f == \"\" || $2 < f) f = $2; next } { if (!($1 in c)) c[$1] = n++; "
         .. "if ($2 - f + $3 < %g) printf \"%%d %%.9f %%.9f\\n\", c[$1], $2 - f, $3 - 2e-9 }' %s/raw %s/raw > "
         .. "%s/n%03d.trace", SPLIT_SECONDS, dir, dir, dir, i)
      lines_of("rm %s/raw", dir)
   end
   add_whole("recorded", dir, SPLIT_SECONDS, threads)
   add_halves("recorded", dir, SPLIT_SECONDS, threads)
end

-- 4. What LogGOPSim's chain of dissemination barriers lost with the same traces (L = o = g = G = 0).
local function loggopsim()
   local base, errs = "tests/bench/noise_world/loggopsim/", {}
   local samples = {}
   for line in io.lines(base .. "chain.jsonl") do
      local r = json.decode(line)
      if not samples[r.trace] then
         local dir = ("%s/%s"):format(DIR, r.trace)
         lines_of("mkdir %s", dir)
         lines_of("zcat %s%s.trace.gz > %s/n0.trace", base, r.trace, dir)
         samples[r.trace] = nodes_of(dir, 20, 1)
      end
      local work = r.g_ms * 1000
      local sample = predict.sample(samples[r.trace], work)
      local us = sample and chain.slowest(sample.f, r.n, sample)
      -- Slowdowns of 5 % at most: beyond, its noise hits the barriers' messages, too.
      if us and r.delay_us < 0.05 * work then
         -- In points of the slowdown, and as a part of it.
         errs[#errs + 1] = off_pct(1 + us / work, 1 + r.delay_us / work)
         print(("LogGOPSim %-12s %g ms %5d nodes: %.1f us, it says %.1f +- %.1f (%+.1f %%)"):format(r.trace, r.g_ms,
            r.n, us, r.delay_us, r.se_us, off_pct(us, r.delay_us)))
      end
   end
   return errs
end

-- 5. CPU seconds of an answer for 10,000 nodes that are in memory, each with a record of its own, decoded one by one as
-- a store's are: those of a world, times up to 0.1 % more or less. Beside them a loop's, to compare machines.
local SCALED = { us = true, largest_us = true, period_ms = true, duration_us = true }

local function scaled(value, name, by)
   if type(value) ~= "table" then
      return SCALED[name] and value * by or value
   end
   local own = {}
   for key, each in pairs(value) do
      own[key] = scaled(each, type(key) == "string" and key or name, by)
   end
   return own
end

local function cpu_s(call)
   local began = uv.getrusage()
   call()
   local ended = uv.getrusage()
   return ended.utime.sec - began.utime.sec + (ended.utime.usec - began.utime.usec) / 1e6
end

local function fleet(nodes)
   local many = {}
   for i = 1, 10000 do
      local checks = scaled(nodes[(i - 1) % #nodes + 1].checks, nil, 1 + 0.002 * (i * 0.618 % 1 - 0.5))
      many[i] = { name = ("n%05d"):format(i), checks = json.decode(json.encode(checks)) }
   end
   collectgarbage("incremental", 400, 400) -- as the command has it
   collectgarbage()
   return cpu_s(function()
      noise.of(many, {}, { add_without = function() end })
   end), cpu_s(function()
      local sum = 0
      for i = 1, 5e7 do
         sum = sum + i % 7
      end
   end)
end

-- 6. Two ranks of this machine. `real_all`: also when others of its host had its CPUs.
local function real()
   if not noise_real.has() then
      print("real: left out: it takes mpirun, the fabric kernel and two CPUs")
      return
   end
   local all, kept, by_work = {}, {}, {}
   out.real = noise_real.run(DIR, math.tointeger(tonumber(SEEDS[1])))
   for _, one in ipairs(out.real) do
      all[#all + 1] = one.off_pct
      if one.kept then
         kept[#kept + 1] = one.off_pct
         local name = ("%d"):format(one.work_us)
         by_work[name] = by_work[name] or {}
         table.insert(by_work[name], one.off_pct)
      end
   end
   out.real_err_pct, out.real_err_max_pct = summary(kept)
   out.real_all_err_pct, out.real_all_err_max_pct = summary(all)
   out.real_by_work_us = {}
   for name, list in pairs(by_work) do
      local median, most = summary(list)
      out.real_by_work_us[name] = { err_pct = median, err_max_pct = most, n = #list }
   end
end

if os.getenv("ONLY") ~= "real" then
   local dirs = {}
   for i, seed in ipairs(SEEDS) do
      dirs[i] = world(seed, SECONDS)
   end
   -- First, as the command is: what ran before leaves memory in pieces.
   out.fleet_10000_cpu_s, out.loop_5e7_cpu_s = fleet(nodes_of(dirs[1], SECONDS, CORES))
   out.closed_form_err = closed_form()
   worlds(dirs)
   recorded()
   out.brute_err_pct, out.brute_err_max_pct = summary(brute)
   out.split_err_pct, out.split_err_max_pct = summary(split)
   out.halves_apart_pct, out.halves_apart_max_pct = summary(apart)
   out.split_in_interval_pct = held_pct()
   out.loggopsim_err_pct, out.loggopsim_err_max_pct = summary(loggopsim())
end
real()
local file = assert(io.open(OUT, "w"))
file:write(json.encode(out), "\n")
file:close()
for _, name in ipairs({ "closed_form_err", "brute_err_pct", "brute_err_max_pct", "split_err_pct", "split_err_max_pct",
   "halves_apart_pct", "halves_apart_max_pct", "split_in_interval_pct", "loggopsim_err_pct", "loggopsim_err_max_pct",
   "fleet_10000_cpu_s", "loop_5e7_cpu_s", "real_err_pct", "real_err_max_pct", "real_all_err_pct",
   "real_all_err_max_pct" }) do
   if type(out[name]) == "number" then
      print(("%s %.3g"):format(name, out[name]))
   end
end
