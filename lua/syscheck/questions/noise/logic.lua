--- Noise of a class or of certain nodes: what jobs lose, by whom, what would be without. Pure: `with` reads.
local catalogue = require("syscheck.catalogue.delays")
local chain = require("syscheck.questions.noise.chain")
local curve = require("syscheck.questions.noise.curve")
local predict = require("syscheck.questions.noise.predict")
local random = require("syscheck.lib.random")
local simulate = require("syscheck.questions.noise.simulate")
local sources = require("syscheck.questions.noise.sources")
local without = require("syscheck.questions.noise.without")

local noise = {}

local SIZES = { 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536 } -- of jobs, where none is asked for
local HEAD_US = 1000 -- of the first line: of jobs that synchronise as often
local HEAD_LEAST, HEAD_MOST = 16, 1024 -- nodes: as many as there are, but
local ASKED = 6 -- sources that are left out one after the other: those that take most
local WORST, LEAST_PART = 3, 0.02 -- nodes; of the loss: what one has to cost to be worth a line
local SPARED_NODES = 1000 -- enough to say what setting cores apart gains

-- Time of an allreduce among n nodes in us: as measured, by its steps; 0 where none was measured.
local function communication_us(answer, n)
   local a = answer.allreduce
   return a and n > 1 and a.us / a.steps * math.ceil(math.log(n, 2) - 1e-9) or 0
end

-- Part of a quantum and what follows it that is lost.
local function percent(answer, us, work, n)
   return us and 100 * us / (work + communication_us(answer, n))
end

local function add_percents(answer, row, work)
   for name, from in pairs({ pct = "us", low_pct = "low", high_pct = "high", most_pct = "most_us" }) do
      row[name] = percent(answer, row[from], work, row.nodes)
   end
end

local function head_of(answer, sizes)
   local best
   for _, n in ipairs(sizes) do
      if not best or n <= math.min(math.max(HEAD_LEAST, answer.nodes), HEAD_MOST) then
         best = n
      end
   end
   return answer.asked_sizes and sizes[#sizes] or best
end

-- Slowest of the job of the first line, from another F of its nodes: by how much less that is for nodes drawn from
-- these. The job may be of certain nodes, or have a source in phase.
local function head_us(answer, f, sample)
   local h = answer.head
   h.drawn_us = h.drawn_us or chain.slowest(sample.f, h.nodes, sample)
   local us = chain.slowest(f, h.nodes, sample)
   return h.drawn_us > 0 and h.us * us / h.drawn_us or us
end

local function name_set(list)
   local set = {}
   for _, one in ipairs(list) do
      set[one.name] = true
   end
   return set
end

local function by_cost(a, b)
   local x, y = a.costs_pct or -1, b.costs_pct or -1
   if x ~= y then
      return x > y
   end
   return a.lost_pct > b.lost_pct or a.lost_pct == b.lost_pct and a.period_ms < b.period_ms
end

-- What each source costs a job of the first line, and what would be left without it.
local function ask_sources(answer, sample, with)
   local n = answer.head.nodes
   for i, source in ipairs(answer.sources) do
      if i > ASKED then
         break
      end
      without.ask(source, with.add_without)
      local f, had = without.source(sample, source)
      if had then
         -- The one in phase has an F of its own, and nothing of the others is.
         local left = source == answer.phase and chain.slowest(f, n, sample) or head_us(answer, f, sample)
         source.without_pct = percent(answer, left, sample.work, n)
         source.costs_pct = percent(answer, math.max(0, answer.head.us - left), sample.work, n)
      end
   end
end

local function ask_nodes(answer, sample)
   local n = answer.head.nodes
   if #sample.nodes < 2 then
      return
   end
   local worst = {}
   for _, one in ipairs(without.worst(sample, n, math.min(WORST, (#sample.nodes - 1) // 2))) do
      local left = without.nodes(sample, { [one.name] = true })
      one.costs_pct = percent(answer, math.max(0, answer.head.us - head_us(answer, left, sample)), sample.work, n)
      worst[#worst + 1] = one.costs_pct >= LEAST_PART * answer.head.pct and one or nil
   end
   local f = worst[1] and without.nodes(sample, name_set(worst))
   answer.worst = worst
   answer.without_worst_pct = f and percent(answer, head_us(answer, f, sample), sample.work, n) or nil
end

-- Without the noisiest cores of each node: of as many nodes as that takes.
local function ask_cores(answer, sample, nodes, with)
   local some = {}
   local order = random.shuffle(table.move(nodes, 1, #nodes, 1, {}), random.new(#nodes))
   for i = 1, math.min(SPARED_NODES, #order) do
      with.add_without(order[i])
      local of = order[i].checks[1].of
      if predict.of_work(of.spared, sample.work) and predict.of_work(of.delays, sample.work) then
         some[#some + 1] = { name = order[i].name, of = of }
      end
   end
   if #some == 0 then
      return
   end
   local list = {}
   for i, one in ipairs(some) do
      list[2 * i - 1] = predict.of_work(one.of.delays, sample.work)
      list[2 * i] = predict.of_work(one.of.spared, sample.work)
   end
   local grid = curve.grid(list)
   local all, spared = curve.new(grid), curve.new(grid)
   for i = 1, #some do
      curve.add(all, list[2 * i - 1])
      curve.add(spared, list[2 * i])
   end
   local before, after = head_us(answer, curve.mean(all), sample), head_us(answer, curve.mean(spared), sample)
   -- Fewer cores are no noisier: what says so has too few samples.
   answer.spared = after < before and { cores = some[1].of.spared_cores, of = some[1].of.cores,
      pct = answer.head.pct * after / before } or nil
end

-- The source that takes most of those in phase: one is counted once, others as if they were not.
-- @return it, nil: none, or not known what would be without it; { work = of without.phase }
local function phase_of(answer, samples, with)
   local by_work = {}
   for i, source in ipairs(answer.sources) do
      if source.in_phase and i <= ASKED then
         without.ask(source, with.add_without)
         for _, sample in ipairs(samples) do
            by_work[sample.work] = without.phase(sample, source)
         end
         return next(by_work) and source, by_work
      end
   end
   return nil, by_work
end

local function simulated(sample, row, kind, answer)
   local latency = answer.allreduce and answer.allreduce.us / answer.allreduce.steps or 0
   local us = row.nodes <= simulate.MOST and simulate.delay(sample, row.nodes, kind, latency, answer.own)
   if us then
      local rounds = kind == "halo" and latency or communication_us(answer, row.nodes)
      return 100 * us / (sample.work + rounds)
   end
end

--- The answer.
-- @param nodes of read.nodes
-- @param options { own = true: a job on these nodes, not one whose nodes are drawn; sizes, simulate = kind, allreduce }
-- @param with { add_without = function(node), say = function(done, total) of what is simulated, or nil }
-- @return { nodes, checks, sampled_s, own, works = list of { work_us, rows = of predict.drawn with pct, low_pct,
--   high_pct, most_pct, simulated_pct; samples, absorbed_pct }, head = { nodes, work_us, ... }, sources, complete,
--   worst, without_worst_pct, spared, allreduce, from_s, to_s = times of the checks }; nil where no node has any delays
function noise.of(nodes, options, with)
   local answer = { nodes = #nodes, checks = 0, sampled_s = 0, own = options.own, allreduce = options.allreduce,
      works = {}, asked_sizes = options.sizes, simulated = options.simulate }
   local oldest, newest = math.huge, 0
   for _, node in ipairs(nodes) do
      for _, check in ipairs(node.checks) do
         answer.checks = answer.checks + 1
         answer.sampled_s = answer.sampled_s + check.of.delays[1].window_s
         oldest, newest = math.min(oldest, check.time), math.max(newest, check.time)
      end
   end
   answer.from_s, answer.to_s = oldest, newest
   local samples = predict.samples(nodes, catalogue.WORKS)
   if #samples == 0 then
      return nil
   end
   answer.sources, answer.complete = sources.of(nodes)
   local sizes = options.sizes or SIZES
   local phases, head = {}, nil
   if not options.own then
      answer.phase, phases = phase_of(answer, samples, with)
   end
   for i, sample in ipairs(samples) do
      local rows = options.own and { predict.own(sample) }
         or predict.drawn(sample, sizes, phases[sample.work])
      for k, row in ipairs(rows) do
         if options.simulate and with.say then
            with.say((i - 1) * #rows + k - 1, #samples * #rows)
         end
         add_percents(answer, row, sample.work)
         row.simulated_pct = options.simulate and simulated(sample, row, options.simulate, answer) or nil
      end
      answer.works[#answer.works + 1] = { work_us = sample.work, rows = rows, samples = sample.samples,
         absorbed_pct = percent(answer, sample.mean_us, sample.work, rows[1].nodes) }
      if sample.work == HEAD_US or not head then
         head = { sample = sample, rows = rows }
      end
   end
   local n = options.own and #head.sample.nodes or head_of(answer, sizes)
   for _, row in ipairs(head.rows) do
      if row.nodes == n then
         answer.head = { nodes = n, work_us = head.sample.work, us = row.us, pct = row.pct, low_pct = row.low_pct,
            high_pct = row.high_pct, at_least = row.at_least, most_pct = row.most_pct }
      end
   end
   ask_sources(answer, head.sample, with)
   table.sort(answer.sources, by_cost)
   ask_nodes(answer, head.sample)
   ask_cores(answer, head.sample, nodes, with)
   return answer
end

return noise
