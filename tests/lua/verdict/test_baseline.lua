-- The class baseline: what a file may say, which class rates a node, what is a finding.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local baseline = require("syscheck.verdict.baseline")
local baseline_file = require("syscheck.node.baseline_file")
local parts = require("syscheck.verdict.parts")
local policy = require("syscheck.policy.policy")
local verdict = require("syscheck.verdict.rating")

local CLASS = "epyc-9654-2s192c-768g"

TestFile = {}

local GOOD = '{"v":2,"classes":{"c":{"metrics":{"triad_gbs":{"median":50,"mad_pct":1,"tolerance_pct":4,"nodes":6,'
   .. '"n":30}},"expect":{"dimms":24},"config":{"kernel":"6.1"}}}}'

function TestFile:test_bad_files()
   local path = os.tmpname()
   local function read(text)
      local f = assert(io.open(path, "w"))
      f:write(text)
      f:close()
      return baseline_file.read(path)
   end
   lu.assertEquals(read(GOOD).classes.c.metrics.triad_gbs.median, 50)
   local v1 = '{"v":1,"classes":{"c":{"triad_gbs":{"median":50,"mad_pct":1}}}}'
   lu.assertEquals(read(v1).classes.c, { metrics = { triad_gbs = { median = 50, mad_pct = 1 } }, expect = {},
      config = {} })
   local bad = { "", "7", "null", "[]", '{"v":1}', '{"v":2,"classes":7}', '{"v":2,"classes":{"c":7}}',
      '{"v":2,"classes":{"a b\\u001b":{}}}', '{"v":2,"classes":{"c":{"metrics":{}}}}', (GOOD:gsub('"v":2', '"v":3')),
      (GOOD:gsub('"v":2', '"v":"2"')), (GOOD:gsub("50", '"50"')), (GOOD:gsub('"dimms":24', '"dimms":-1')),
      (GOOD:gsub('"6.1"', "[]")) }
   for n = 1, #GOOD - 1, 7 do
      bad[#bad + 1] = GOOD:sub(1, n)
   end
   for _, number in ipairs({ "-50", "0", "NaN", "1e999", "1e308", "Infinity" }) do
      bad[#bad + 1] = (GOOD:gsub("50", number))
      bad[#bad + 1] = (v1:gsub("50", number))
   end
   for _, field in ipairs({ "mad_pct", "tolerance_pct", "nodes", "n" }) do
      for _, number in ipairs({ "-1", "NaN", "1e308", "null" }) do
         bad[#bad + 1] = (GOOD:gsub('"' .. field .. '":%d+', ('"%s":%s'):format(field, number)))
      end
   end
   for _, nodes in ipairs({ '"6"', "[]", "null", "-1" }) do
      bad[#bad + 1] = (GOOD:gsub('"metrics"', ('"nodes":%s,"metrics"'):format(nodes)))
   end
   bad[#bad + 1] = ""
   -- Below the minimum, and nobody said so.
   bad[#bad + 1] = (GOOD:gsub('"nodes":6', '"nodes":4'))
   bad[#bad + 1] = (GOOD:gsub('"n":30', '"n":19'))
   for _, text in ipairs(bad) do
      local b, err, absent = read(text)
      lu.assertNil(b, text)
      lu.assertStrContains(err, path)
      lu.assertNotStrContains(err, "\27")
      lu.assertNil(absent, text)
   end
   lu.assertNotNil(read((GOOD:gsub('"nodes":6', '"nodes":4'):gsub('"expect"', '"forced":true,"expect"'))))
   os.remove(path)
   local _, _, absent = baseline_file.read(path)
   lu.assertEquals(absent, "absent")
end

TestClass = {}

local function known(...)
   local learned = { v = 2, classes = {} }
   for i, class in ipairs({ ... }) do
      learned.classes[class] = { nodes = 10 * i, expect = { dimms = 24 }, config = { kernel = "6.1", bios = "A" },
         metrics = { triad_gbs = { median = 100, mad_pct = 1, tolerance_pct = 4 } } }
   end
   return learned
end

function TestClass:test_which_class_rates_a_node()
   local big, bigger, other = CLASS, "epyc-9654-2s192c-1536g", "xeon-8480+-2s112c-512g"
   local cases = {
      -- the node's class, known classes, rated as, may fail
      { big, { big, bigger }, big, true },
      { "epyc-9654-2s192c-736g", { big }, big, true },
      { "epyc-9654-2s192c-736g", { big, bigger }, big, true },
      { "epyc-9654-2s192c-1472g", { big, bigger }, bigger, true },
      { "epyc-9654-2s191c-768g", { big, bigger, other }, big, true },
      { "epyc-9654-2s192c-3072g", { big, bigger }, bigger, true },
      { "epyc-9654-2s192c-?g", { big, bigger }, bigger, true }, -- nobody knows: the larger fleet
      { "epyc-9654-2s192c-384g", { big }, big, false }, -- half is gone, or another machine
      { "epyc-9654-1s96c-384g", { big }, big, false },
      { "epyc-9654p-1s96c-384g", { big } },
      { "xeon-2s192c-768g", { big } },
      { "unknown-0s0c-?g", { "unknown-1s4c-8g" } },
      { "c1", { big } },
   }
   for i, c in ipairs(cases) do
      local name, close = baseline.class_for(known(table.unpack(c[2])), c[1])
      lu.assertEquals({ name, close }, { c[3], c[4] }, "case " .. i)
   end
end

local function rate(node, learned, history, text)
   local p = assert(policy.parse("return {" .. (text or "") .. "}", "p"))
   local limits = verdict.limits(p, node.class, learned)
   local results = { triad_gbs = { value = node.triad or 100 } }
   parts.take(results, node, limits, history)
   local rated, texts = verdict.rate(results, limits), {}
   for _, m in ipairs(rated.metrics) do
      if m.status == "warn" or m.status == "fail" then
         texts[#texts + 1] = m.status .. ": " .. m.text
      end
   end
   return rated, texts
end

function TestClass:test_a_lost_dimm_is_a_finding()
   local node = { class = "epyc-9654-2s192c-736g", memory_gib = 736, dimms = 23, packages = 2, cores = 192,
      config = { kernel = "6.1" } }
   local rated, texts = rate(node, known(CLASS))
   lu.assertEquals(rated.status, "warn")
   lu.assertEquals(texts, { "warn: memory 736 GiB, class majority 768 GiB", "warn: DIMMs 23, class majority 24",
      "warn: class epyc-9654-2s192c-736g not known, rated as " .. CLASS })
   -- And what it measures is compared with what it should be.
   node.triad = 80
   rated, texts = rate(node, known(CLASS))
   lu.assertEquals({ rated.status, texts[1] }, { "fail", "fail: triad 80.0 < 90.0 GB/s (class " .. CLASS
      .. ", median 100.0)" })
   -- The site wants it out of service for the DIMM alone.
   node.triad = 100
   rated = rate(node, known(CLASS), nil, 'expect = { ["*"] = { action = "fail" } }')
   lu.assertEquals(verdict.reason(rated), "memory 736 GiB, class majority 768 GiB")
   -- The policy's word is above the majority's.
   rated, texts = rate(node, known(CLASS), nil, 'expect = { ["*"] = { memory_gib = 736, dimms = 23 } }')
   lu.assertEquals({ rated.status, #texts }, { "warn", 1 })
end

function TestClass:test_another_machine_of_the_model_is_not_drained()
   local rated = rate({ class = "epyc-9654-1s96c-384g", memory_gib = 384, packages = 1, cores = 96, triad = 50,
      config = {} }, known(CLASS))
   lu.assertEquals(rated.status, "warn")
   lu.assertNil(verdict.reason(rated))
end

function TestClass:test_a_node_that_became_another()
   local node = { class = "epyc-9654-2s192c-768g", memory_gib = 768, config = {} }
   local both = known(CLASS, "epyc-9654-2s192c-1536g")
   local _, texts = rate(node, both, { class = "epyc-9654-2s192c-1536g" })
   lu.assertEquals(texts, { "warn: class epyc-9654-2s192c-768g, was epyc-9654-2s192c-1536g at the last check" })
   -- Without a baseline, too.
   _, texts = rate(node, nil, { class = "epyc-9654-2s192c-1536g" })
   lu.assertEquals(#texts, 1)
   for _, history in ipairs({ {}, { class = 7 }, { class = node.class } }) do
      _, texts = rate(node, both, history)
      lu.assertEquals(texts, {})
   end
   _, texts = rate(node, both, { class = "x" }, 'limits = { class = { action = "off" } }')
   lu.assertEquals(texts, {})
end

function TestClass:test_a_class_that_an_update_named_anew()
   local class, before = "epyc-25.17.1-1s2c-24g", "epyc-1s2c-24g"
   lu.assertEquals({ baseline.class_for(known(before), class, before) }, { before, false, false })
   lu.assertEquals({ baseline.class_for(known(before, class), class, before) }, { class, true, true })
   lu.assertEquals({ baseline.class_for(known("epyc-1s2c-32g"), class, before) },
      { "epyc-1s2c-32g", false, false })
   lu.assertNil((baseline.class_for(known(before), class)))
   -- Another generation, which is known by its new name, is none of ours.
   lu.assertNil((baseline.class_for(known("epyc-25.1.1-1s2c-24g"), class, before)))
   local node = { class = class, class_before = before, memory_gib = 24, dimms = 24, triad = 50, config = {} }
   local p = assert(policy.parse('return { mode = "enforce", expect = { epyc = { packages = 2, action = "fail" }, '
      .. '["epyc-1s2c"] = { packages = 1 } } }', "p"))
   local limits = verdict.limits(p, class, known(before), before)
   local results = { triad_gbs = { value = 50 } }
   parts.take(results, node, limits, { class = before })
   local rated, texts = verdict.rate(results, limits), {}
   for _, m in ipairs(rated.metrics) do
      texts[#texts + 1] = m.status == "warn" and m.text or nil
   end
   -- It warns and says why, drains nothing, and is no machine that became another.
   lu.assertEquals({ rated.status, texts }, { "warn", { "triad 50.0 < 90.0 GB/s (class epyc-1s2c-24g, median 100.0)",
      "class epyc-25.17.1-1s2c-24g, in older versions epyc-1s2c-24g, whose baseline only warns: "
      .. "syscheck baseline learn is due" } })
   -- The site's keys by the old name hold.
   lu.assertEquals(limits.packages[1].bound, 1)
end

function TestClass:test_drift()
   local node = { class = CLASS, memory_gib = 768, dimms = 24, config = { kernel = "6.2\27", bios = "A", smt = "on" } }
   local rated, texts = rate(node, known(CLASS))
   lu.assertEquals(rated.status, "warn")
   lu.assertEquals(texts, { "warn: config: kernel 6.2? (class majority 6.1)" })
   node.config.bios = "B"
   rated, texts = rate(node, known(CLASS))
   lu.assertEquals({ rated.status, #rated.metrics }, { "warn", 6 })
   lu.assertEquals(texts, { "warn: config: bios B (class majority A), kernel 6.2? (class majority 6.1)" })
   -- What is not known of the node is no difference.
   node.config = {}
   lu.assertEquals(rate(node, known(CLASS)).status, "pass")
   node.config = { kernel = "7" }
   rated, texts = rate(node, known(CLASS), nil, 'limits = { config = { action = "off" } }')
   lu.assertEquals({ rated.status, texts }, { "pass", {} })
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
