-- node/baseline_file and verdict/baseline: the class baseline, torn, old or foreign.
local memory = require("tree_in_memory")
local oracle = require("oracle")
local baseline = require("syscheck.verdict.baseline")
local baseline_file = require("syscheck.node.baseline_file")
local metrics = require("syscheck.catalogue.metrics")

local function seeds()
   return {
      '{"v":2,"classes":{"epyc-9654-2s192c-768g":{"nodes":9,"expect":{"dimms":24,"memory_gib":768},"config":{"bios":"2.1"},'
         .. '"metrics":{"triad_gbs":{"median":700.5,"mad_pct":0.5,"tolerance_pct":10,"nodes":9,"n":90,"reference":701},'
         .. '"gflops":{"median":1,"mad_pct":0,"tolerance_pct":100,"nodes":1,"n":1}},"forced":true}}}',
      '{"v":1,"classes":{"xeon-1s8c-32g":{"triad_gbs":{"median":50,"mad_pct":1}}}}',
      '{"v":2,"classes":{"epyc-9654-2s190c-?g":{"metrics":{},"expect":{},"config":{}}}}', '{"v":3}', "[]", '{"v":2,"classes":[1]}',
   }
end

memory.install()
-- What goes into a sentence may be the file's own words.
local CLASSES = { "epyc-9654-2s192c-768g", "epyc-9654-2s191c-704g", "xeon-1s8c-32g", "unknown-0s0c-?g" }

local function run(input)
   memory.use("@@ /b\n" .. input)
   local learned, err = baseline_file.read("/b")
   if not learned then
      oracle.is("string", err, "the error")
      return
   end
   for _, class in ipairs(CLASSES) do
      local by, close = baseline.class_for(learned, class)
      if by then
         assert(learned.classes[by] and type(close) == "boolean", "a class that is not there")
         for _, m in ipairs(metrics.LIST) do
            local b = learned.classes[by].metrics[m.name]
            if b then
               oracle.number(baseline.limit(b, m, 0.1), "the limit", 0, 1e18)
            end
         end
         for part, value in pairs(baseline.expected(learned, by)) do
            oracle.number(value, part, 0, 1e15)
         end
      end
   end
end

return { run = run, seeds = seeds, max = 3000 }
