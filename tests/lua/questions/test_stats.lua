-- Tests of significance against known values.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local stats = require("syscheck.questions.why.stats")

local function near(got, want, relative)
   lu.assertAlmostEquals(got, want, math.abs(want) * (relative or 1e-9))
end

TestStats = {}

function TestStats:test_gamma_and_beta()
   near(stats.ln_gamma(0.5), math.log(math.sqrt(math.pi)))
   near(stats.ln_gamma(10), math.log(362880))
   near(stats.beta(0.5, 2, 3), 11 / 16)
   lu.assertEquals(stats.beta(0, 2, 3), 0)
   lu.assertEquals(stats.beta(1, 2, 3), 1)
end

function TestStats:test_binomial()
   near(stats.binomial(8, 10, 0.5), 56 / 1024)
   near(stats.binomial(1, 3, 1 / 3), 19 / 27)
   near(stats.binomial(2, 4, 0.01), 1 - 0.99 ^ 4 - 4 * 0.01 * 0.99 ^ 3, 1e-7)
   lu.assertEquals(stats.binomial(0, 3, 0.1), 1)
   lu.assertEquals(stats.binomial(4, 3, 0.1), 0)
   -- Far in the tail, and large.
   near(stats.binomial(30, 30, 0.1), 1e-30, 1e-9)
   lu.assertTrue(stats.binomial(600000, 1000000, 0.5) < 1e-300)
end

-- Tables of Student's t; df 1 is Cauchy, df 2 has a closed form.
function TestStats:test_student()
   near(stats.student(2.015048373, 5), 0.05, 1e-6)
   near(stats.student(2.228138852, 10), 0.025, 1e-6)
   near(stats.student(1, 1), 0.25)
   near(stats.student(-1, 1), 0.75)
   near(stats.student(3, 2), 0.5 * (1 - 3 / math.sqrt(11)))
   near(stats.student(0, 4.5), 0.5)
end

function TestStats:test_counts()
   local share, sum = 800 / 3811, 0
   local term = (1 - share) ^ 32
   for i = 0, 32 do
      sum = sum + (i >= 11 and term or 0)
      term = term * (32 - i) / (i + 1) * share / (1 - share)
   end
   near(stats.counts(11, 800, 21, 3011), sum, 1e-9)
   near(stats.counts(3, 1, 0, 1), 1 / 8)
   lu.assertEquals(stats.counts(0, 1, 5, 1), 1)
end

function TestStats:test_exceeds_by_rank_then_by_tail()
   local ten = { 10, 9, 8, 7, 6, 5, 4, 3, 2, 1 }
   lu.assertEquals(stats.tail_size(10), 5)
   near(stats.exceeds(5, ten, 10, 0.5), 7 / 11)
   near(stats.exceeds(0, ten, 10, 0.5), 1)
   near(stats.exceeds(15, ten, 10, 0.5), 6 / 11 * (1 + 10 / 15.5) ^ -6)
   -- R: pf(3, 2, 10, lower.tail = FALSE), 0.0953674: an exponential with an estimated mean.
   near((1 + 3 / 5) ^ -5, 0.0953674316)
   lu.assertEquals(stats.exceeds(1, {}, 0, 0.5), 1)
   near(stats.exceeds(1, { 0 }, 1, 0.5), 1 / 2 / 3)
   -- All the same: no scale but the prior; and never 0.
   near(stats.exceeds(1, { 0, 0, 0, 0 }, 4, 0.5), 3 / 5 * 3 ^ -3)
   lu.assertTrue(stats.exceeds(100, ten, 10, 0.5) > 0)
end

-- Healthy values are called rare as often as they are, if their tail is exponential.
function TestStats:test_exceeds_is_calibrated()
   math.randomseed(4)
   for _, n in ipairs({ 12, 30, 300 }) do
      local hits, tries = 0, 4000
      for _ = 1, tries do
         local list = {}
         for i = 1, n do
            list[i] = -math.log(1 - math.random())
         end
         table.sort(list, function(a, b) return a > b end)
         hits = hits + (stats.exceeds(-math.log(1 - math.random()), list, n, 1) <= 0.01 and 1 or 0)
      end
      lu.assertTrue(hits / tries < 0.02, ("%d values: %g"):format(n, hits / tries))
   end
end

function TestStats:test_together()
   near(stats.together({ 0.01, 0.01 }, 2), 0.01)
   near(stats.together({ 1e-10 }, 4), 4e-10, 1e-6)
   lu.assertEquals(stats.together({}, 3), 0.5 * 2)
   lu.assertTrue(stats.together({ 0.2, 1, 1 }, 3) > 0.2)
   lu.assertTrue(stats.together({ 0 }, 1) >= 0)
end

-- R: wilcox.test(exact = FALSE, correct = FALSE) has W 12 of 12, z 2.1213.
function TestStats:test_smaller()
   near(stats.smaller({ 1, 2, 3 }, { 4, 5, 6, 7 }), 6 / math.sqrt(8))
   near(stats.smaller({ 4, 5, 6, 7 }, { 1, 2, 3 }), -6 / math.sqrt(8))
   near(stats.smaller({ 1, 2 }, { 1, 2 }), 0)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
