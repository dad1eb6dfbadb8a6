#!/usr/bin/env lua5.4
-- make bench: the kernels beside what an admin would run by hand, interleaved in one
-- run. Prints a table; raw numbers to build/bench/kernels.raw.json, the figures to
-- build/bench/kernels.json. Nothing is asserted: the machine is shared, and says so.
--
--   kernels.lua [--isa avx2] [ROUNDS]     rounds of each pair, default 7; avx2: kernels and
--                                         peers as on a CPU without AVX-512
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local process = require("syscheck.lib.process")

local BIN = "build/tests/bench/"
local ISA = arg[1] == "--isa" and arg[2] or "auto"
local ROUNDS = tonumber(arg[arg[1] == "--isa" and 3 or 1] or 7)
local ENV = { "HOME=/root", ISA == "avx2" and "OPENBLAS_CORETYPE=Haswell" or nil }
local LIBEXEC = "build/kernels/"
local cwd = require("luv").cwd() .. "/"

local function die(...)
   io.stderr:write("bench: ", string.format(...), "\n")
   os.exit(1)
end

-- Runs a program; its standard output.
local function run(file, args, timeout_s)
   local path = file:find("/") and not file:find("^/") and cwd .. file or file
   local r, err = process.run(path, args or {}, { timeout_ms = (timeout_s or 60) * 1000, env = ENV })
   if not r or r.code ~= 0 then
      return nil, ("%s: %s"):format(file, err or r.err:match("[^\n]+") or ("exit code " .. r.code))
   end
   return r.out
end

local function kernel(name, ...)
   local out, err = run(LIBEXEC .. name, { ... })
   return out and json.decode(out) or die("%s", err)
end

local function quantile(values, q)
   local v = table.move(values, 1, #values, 1, {})
   table.sort(v)
   local h = (#v - 1) * q + 1
   local low = math.floor(h)
   return v[low] + (h - low) * ((v[low + 1] or v[low]) - v[low])
end

local function median(values)
   return quantile(values, 0.5)
end

-- Run to run, in % of the median: from the 10th to the 90th percentile.
local function spread(values)
   return 100 * (quantile(values, 0.9) - quantile(values, 0.1)) / median(values)
end

local RESAMPLES = 2000

-- How sure the ratio of two spreads is: of pairs drawn again from those that were measured (bootstrap), from the 5th
-- to the 95th percentile.
local function spread_ratio(ours, theirs)
   local ratios = {}
   for i = 1, #ours == #theirs and RESAMPLES or 0 do
      local a, b = {}, {}
      for j = 1, #ours do
         local k = math.random(#ours)
         a[j], b[j] = ours[k], theirs[k]
      end
      ratios[i] = spread(a) / spread(b)
   end
   return spread(ours) / spread(theirs), ratios[1] and quantile(ratios, 0.05), ratios[1] and quantile(ratios, 0.95)
end

-- Of stream and likwid-bench in a round: a spread of 7 values is known to a factor of 2, the ratio of
-- two to one of 3.
local PAIRS = 5

-- The peers of triad ----------------------------------------------------------

-- @param passes over its memory: the more a value has, the less it varies, so both get as many; nil: for 1 s
local function likwid(test, mb, cpus, passes)
   local out, err = run("likwid-bench", { "-t", test, "-W", ("N:%dMB:%d"):format(mb, cpus),
      passes and "-i" or "-s", ("%d"):format(passes or 1) }, 120)
   local rate = out and tonumber(out:match("MByte/s:%s*([%d.]+)"))
   return rate and rate / 1000, err
end

-- Of its triads a = b s + c on doubles, the fastest of two tries each.
local function likwid_best(mb, cpus)
   local best, name = 0, nil
   for line in (run("likwid-bench", { "-a" }) or ""):gmatch("[^\n]+") do
      local test = line:match("^(stream[%w_]*) ")
      if test and not test:find("_sp") and not (ISA == "avx2" and test:find("avx512")) then
         for _ = 1, 2 do
            local rate = likwid(test, mb, cpus)
            if rate and rate > best then
               best, name = rate, test
            end
         end
      end
   end
   return name
end

-- HPCC runs all its tests or none; it is ended when the ones wanted are done.
local HPCC = [[
set -u
cd "$1"
sed 's/^1000 /6000 /; s/^2            Ps/1            Ps/; s/^2            Qs/'"$2"'            Qs/' \
   /usr/share/doc/hpcc/examples/_hpccinf.txt >hpccinf.txt
rm -f hpccoutf.txt
OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
   mpirun --oversubscribe -np "$2" hpcc >mpirun.out 2>&1 &
pid=$!
while kill -0 "$pid" 2>/dev/null && ! grep -qs '^End of StarSTREAM' hpccoutf.txt; do sleep 0.2; done
kill "$pid" 2>/dev/null
wait "$pid" 2>/dev/null
sed -n 's/^Average Triad GB\/s *//p' hpccoutf.txt
]]

local function hpcc(dir, cpus)
   local out = run("bash", { "-c", HPCC, "hpcc", dir, ("%d"):format(cpus) }, 180)
   local rate = tonumber(out and out:match("%S+"))
   if rate then
      return rate * cpus
   end
   local f = io.open(dir .. "/mpirun.out")
   die("hpcc gave no result: %s", f and f:read("a"):sub(1, 500) or "?")
end

-- Rounds ------------------------------------------------------------------------

local raw, figures, rows = {}, {}, {}

local function take(name, value)
   raw[name] = raw[name] or {}
   table.insert(raw[name], value)
end

local function show(name, unit, peer)
   local v = raw[name]
   rows[#rows + 1] = ("  %-46s %9.4g %-8s %5.1f %%%s"):format(name, median(v), unit, spread(v),
      peer and (" %6.3f"):format(median(v) / median(raw[peer])) or "")
end

local function triad()
   local cpus = kernel("stream", "--seconds", "0.5").threads
   local mb = math.floor(3 * kernel("stream").array_mb)
   local test = likwid_best(mb, cpus) or die("likwid-bench has no kernel that runs here")
   local dir = run("mktemp", { "-d" }):match("%S+")
   local peer = "likwid-bench " .. test
   for _ = 1, ROUNDS do
      for _ = 1, PAIRS do
         local r = kernel("stream", "--isa", ISA)
         take("stream triad", r.triad_gbs)
         take(peer, likwid(test, math.floor(3 * r.array_mb), cpus, r.passes) or die("likwid-bench failed"))
      end
      take("hpcc StarSTREAM triad", hpcc(dir, cpus))
   end
   run("rm", { "-r", dir })
   local best = median(raw[peer]) >= median(raw["hpcc StarSTREAM triad"]) and peer or "hpcc StarSTREAM triad"
   figures.triad_vs_peer = median(raw["stream triad"]) / median(raw[best])
   if ROUNDS > 1 then -- of one: 0 / 0
      figures.triad_spread_vs_peer, figures.triad_spread_vs_peer_low, figures.triad_spread_vs_peer_high =
         spread_ratio(raw["stream triad"], raw[best])
   end
   show("stream triad", "GB/s", best)
   show(peer, "GB/s", best)
   show("hpcc StarSTREAM triad", "GB/s", best)
end

local function dgemm()
   local peers = { { "openblas 3072, serial on each core", "3072", "serial" },
      { "openblas 4096, its own threads", "4096", "threads" } }
   local cpus
   for _ = 1, ROUNDS do
      local r = kernel("dgemm", "--seconds", "1")
      cpus = r.threads
      take("dgemm, 1 s", r.gflops)
      take("clock under load", r.clock_mhz)
      for _, peer in ipairs(peers) do
         take(peer[1], tonumber((run(BIN .. "openblas", { peer[2], "1", peer[3] }))) or die("openblas failed"))
      end
      local rate, mhz = run(BIN .. "peak", { "0.3", ISA }):match("(%S+) (%S+)")
      take("flop per cycle and core", rate * 1000 / mhz)
   end
   local best = median(raw[peers[1][1]]) >= median(raw[peers[2][1]]) and peers[1][1] or peers[2][1]
   figures.dgemm_vs_openblas = median(raw["dgemm, 1 s"]) / median(raw[best])
   local name = "peak: flop per cycle x cores x clock"
   raw[name] = { median(raw["flop per cycle and core"]) * cpus * median(raw["clock under load"]) / 1000 }
   show("dgemm, 1 s", "GFLOP/s", best)
   show(peers[1][1], "GFLOP/s", best)
   show(peers[2][1], "GFLOP/s", best)
   show(name, "GFLOP/s", best)
   show("clock under load", "MHz")
end

local function bitflip()
   local found, trials = (run(BIN .. "bitflip", { "10000" }, 300) or ""):match("(%d+) (%d+)")
   figures.bitflip_found_pct = 100 * found / trials
   rows[#rows + 1] = ("  single flipped bits found: %s of %s"):format(found, trials)
end

-- A part in a file of its own: lines for the table, then its figures as one JSON object.
local function part(...)
   local out, err = run("bash", { "-c", 'cd "$0" && exec "$@"', cwd, ... }, 600)
   local text, last = (out or die("%s", err)):match("^(.-)([^\n]*)\n$")
   return json.decode(last), text
end

local NOISE = { "noise_min_loop_ns", "noise_found_pct", "noise_hidden_pct", "noise_period_err_pct",
   "noise_length_err_pct" }

local function noise()
   for _ = 1, ROUNDS do
      local r = part("lua5.4", "tests/bench/noise.lua")
      for _, name in ipairs(NOISE) do
         take(name, r[name])
      end
   end
   for _, name in ipairs(NOISE) do
      figures[name] = median(raw[name])
      rows[#rows + 1] = ("  %-46s %9.4g %-8s %s to %s"):format(name:gsub("_", " "), figures[name],
         name:match("ns$") and "ns" or "%", ("%.4g"):format(quantile(raw[name], 0)),
         ("%.4g"):format(quantile(raw[name], 1)))
   end
end

local function passive()
   local r = part("tests/bench/passive.sh")
   figures.passive_cpu_ms = r.passive_cpu_ms
   raw.passive = r
   rows[#rows + 1] = ("  %-46s %9.4g %-8s %g to %g, %.3f of bash's %g"):format("passive check, 256 CPUs, CPU time",
      r.passive_cpu_ms, "ms", r.passive_min_ms, r.passive_max_ms, r.ratio, r.shell_cpu_ms)
end

local function overhead()
   local r, text = part("tests/bench/overhead.sh")
   figures.quick_overhead_s = r.quick_overhead_s
   rows[#rows + 1] = "  " .. text:gsub("\n$", ""):gsub("\n", "\n  ")
end

local function write(path, value)
   local f = assert(io.open(path, "w"))
   f:write(json.encode(value), "\n")
   f:close()
end

local function first_line(path)
   local f = io.open(path)
   local line = f and f:read("l") or "?"
   if f then
      f:close()
   end
   return line
end

assert(ROUNDS and ROUNDS >= 1 and (ISA == "auto" or ISA == "avx2"), "usage: kernels.lua [--isa avx2] [ROUNDS]")
run("mkdir", { "-p", cwd .. "build/bench" })
local model = (run("sh", { "-c", "grep -m1 'model name' /proc/cpuinfo" }) or "?"):match(":%s*(.-)%s*$") or "?"
local head = ("%s, %s, isa %s, %s CPUs, load %s, %d rounds"):format(os.date("!%Y-%m-%dT%H:%MZ"), model, ISA,
   run("nproc"):match("%d+"), first_line("/proc/loadavg"):match("^%S+ %S+ %S+"), ROUNDS)
triad()
dgemm()
bitflip()
noise()
passive()
overhead()
write("build/bench/kernels.raw.json", { head = head, rounds = raw })
write("build/bench/kernels.json", figures)
print(head)
print(("  %-46s %9s %-8s %7s %s"):format("", "median", "", "spread", "/ best peer"))
print(table.concat(rows, "\n"))
print("  load after: " .. first_line("/proc/loadavg"):match("^%S+ %S+ %S+"))
for _, key in ipairs({ "triad_vs_peer", "triad_spread_vs_peer", "dgemm_vs_openblas", "noise_min_loop_ns",
   "noise_found_pct", "noise_hidden_pct", "noise_period_err_pct", "noise_length_err_pct", "bitflip_found_pct",
   "passive_cpu_ms", "quick_overhead_s" }) do
   local low, high = figures[key .. "_low"], figures[key .. "_high"]
   print(("  %-24s %s%s"):format(key, figures[key] and ("%.4g"):format(figures[key]) or "missing",
      low and (" (%.2f to %.2f)"):format(low, high) or ""))
end
