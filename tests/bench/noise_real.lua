-- What injected noise really costs beside what is predicted (make bench-noise-scale): two ranks of this machine, a CPU
-- each, fixed work and an allreduce, as `syscheck noise --verify` does it.
local delays = require("syscheck.catalogue.delays")
local json = require("cjson")
local predict = require("syscheck.questions.noise.predict")
local random = require("syscheck.lib.random")

local real = {}

local REPEATS = tonumber(os.getenv("REPEATS")) or 5
-- Of the time that the hypervisor gave to others while it was measured: what it takes then it does not take later.
local MOST_STEAL, TRIES = 1, 8
local SECONDS = { [100] = 2, [1000] = 2, [10000] = 2, [100000] = 4 }

local function decoded(path)
   local out = {}
   for line in io.lines(path) do
      local ok, one = pcall(json.decode, line)
      out[#out + 1] = ok and one or nil
   end
   return out
end

-- Of each CPU one that is short and often and one that is long and rare.
local function sources(draw)
   return ("%d %d %d %d"):format(2000 + draw(15000), 50 + draw(500), 50000 + draw(100000), 1000 + draw(4000))
end

local function predicted(dir, work)
   local nodes = {}
   for cpu = 0, 1 do
      local checks = {}
      for k = 1, 2 do
         local r = decoded(("%s/sample.%d.%d"):format(dir, cpu, k))[1]
         checks[k] = { time = k, of = assert(delays.of(r), "no sample") }
      end
      nodes[cpu + 1] = { name = ("cpu%d"):format(cpu), checks = checks }
   end
   return predict.own(predict.sample(nodes, work)).us
end

-- @return us that a step lost, its standard error, us that it takes undisturbed, and us of what it lost that the
-- allreduce alone has: its mean less its usual time
local function measured(dir)
   local base, scatter, step, se = 0, 0, nil, nil
   for _, line in ipairs(decoded(dir .. "/work")) do
      if line.event == "work" then
         assert(not line.error, line.error)
         base, step, se = math.max(base, line.work_us + line.call_us), line.step_us, line.step_se_us
         scatter = math.max(scatter, (line.call_mean_us or line.call_us) - line.call_us)
      end
   end
   return step - base, se, base, scatter
end

local function once(dir, work, draw)
   assert(os.execute("mkdir " .. dir))
   assert(os.execute(("tests/bench/noise_real.sh %s %d %d '%s' '%s'"):format(dir, work, SECONDS[work], sources(draw),
      sources(draw))))
   local us, se, base, scatter = measured(dir)
   local steal = tonumber(io.open(dir .. "/steal"):read("l"))
   local one = { work_us = work, us = predicted(dir, work), true_us = us, se_us = se, base_us = base,
      scatter_us = scatter, steal_pct = steal }
   one.off_pct = 100 * (one.us / one.true_us - 1)
   return one
end

--- Whether the ranks can be started here.
function real.has()
   return os.execute("command -v mpirun >/dev/null && [ -x build/kernels/fabric ] && [ \"$(nproc)\" -ge 2 ]")
end

--- @param dir for files
-- @return list of { work_us, us, true_us, se_us, base_us, off_pct, scatter_us, steal_pct, kept = true: the machine was
-- ours }
function real.run(dir, seed)
   local out, draw = {}, random.new(seed)
   for i = 1, REPEATS do
      for _, work in ipairs(delays.WORKS) do
         for try = 1, TRIES do
            local one = once(("%s/real.%d.%d.%d"):format(dir, i, work, try), work, draw)
            one.kept = one.steal_pct <= MOST_STEAL
            out[#out + 1] = one
            print(("real         %6g ms     2 nodes: %10.1f us, true %10.1f +- %.1f (%+.1f %%; allreduce: %.1f)%s")
               :format(work / 1000, one.us, one.true_us, one.se_us, one.off_pct, one.scatter_us, one.kept and ""
               or (", left out: %.0f %% stolen"):format(one.steal_pct)))
            if one.kept then
               break
            end
         end
      end
   end
   return out
end

return real
