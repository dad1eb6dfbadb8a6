-- A baseline learned from the store is the one learned from the spool that was ingested.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local choose = require("syscheck.verdict.adoption")
local learn = require("syscheck.verdict.learning")
local lessons = require("syscheck.store.lessons")
local own = require("own_store")
local record = require("syscheck.store.record")

TestLessons = { setUp = own.setUp, tearDown = own.tearDown }

local CLASS, NOW = "epyc-9654-2s192c-768g", 1790000000
local serial = 0

local function line(more)
   serial = serial + 1
   local r = { v = 1, kind = "check", id = ("%08x%024x"):format(serial * 2654435761 % 4294967296, serial), node = "n1",
      cluster = "c", class = CLASS, time = os.date("!%Y-%m-%dT%H:%M:%SZ", NOW + 60 * serial) }
   for key, value in pairs(more or {}) do
      r[key] = value
   end
   return json.encode(r)
end

local function run(kernel, result, more)
   local one = { kernel = kernel, state = "ok", result = result, box_s = 2 }
   for key, value in pairs(more or {}) do
      one[key] = value
   end
   return one
end

local ALL = { list = "0-191", count = 192, of = 192, left_out = "", jobs = true }

-- @param value of triad; rated as `rated`, where that differs
local function check(node, value, more, rated)
   local r = { node = node, cpus = ALL, parts = { dimms = 24, memory_gib = 768 }, config = { kernel = "6.1" },
      config_id = "cafebabe", level = "quick",
      runs = { run("stream", { triad_gbs = value, llc_mb = 1, array_mb = 100 }), run("noise", { noise_pct = 0.4 }) },
      metrics = { { name = "triad_gbs", value = rated or value, status = "unrated" },
         { name = "noise_pct", value = 0.4, status = "unrated" } } }
   for key, of in pairs(more or {}) do
      r[key] = of
   end
   return line(r)
end

-- Both ways of the same lines; what of_store() left out.
local function both(lines)
   local rows, i, old = {}, 0, 0
   for k, text in ipairs(lines) do
      rows[k] = assert(record.read(text))
   end
   own.write(rows)
   local spool, left = learn.from(function()
      i = i + 1
      return lines[i] and json.decode(lines[i])
   end)
   local store, left_store = learn.of(lessons.each(own.db, 0, nil, function() old = old + 1 end))
   lu.assertEquals(store, spool)
   lu.assertEquals(left_store, left)
   lu.assertEquals(old, 0)
   return store, left
end

function TestLessons:test_the_same_of_store_and_spool()
   local lines = {}
   for i = 1, 80 do
      for n = 1, 6 do
         local value = 400 + (n * 7 + i * 3) % 11 / 3
         lines[#lines + 1] = check("n" .. n, value, n == 5 and { cpus = { list = "0-3", count = 4, of = 192,
            left_out = "4-191", jobs = false } } or nil)
      end
   end
   -- A first measurement that was bad and a second that is what was rated; one that others disturbed; a torn kernel.
   lines[#lines + 1] = check("n1", 300, { runs = { run("stream", { triad_gbs = 300 }),
      run("stream", { triad_gbs = 401 }, { attempt = 2 }) } }, 401)
   lines[#lines + 1] = check("n2", 200, { runs = { run("stream", { triad_gbs = 200 }, { others = { loss_pct = 20 } }),
      run("dgemm", { gflops = 5000, n = 100 }) },
      metrics = { { name = "triad_gbs", value = 200, status = "unknown", busy = true },
         { name = "gflops", value = 5000, status = "unrated" } } })
   lines[#lines + 1] = check("n3", 1, { runs = { { kernel = "stream", state = "unknown" } },
      metrics = json.empty_array })
   lines[#lines + 1] = check("n3", 402, { runs = { run("stream", { triad_gbs = 402, llc_mb = 300, array_mb = 100 }) } })
   -- Older records: no CPUs, no time box, noise that was not the system's own.
   lines[#lines + 1] = line({ node = "n4", runs = { { kernel = "stream", state = "ok",
      result = { triad_gbs = 399, cpus = "0-191", threads = 192 } } },
      metrics = { { name = "triad_gbs", value = 399, status = "pass" } } })
   lines[#lines + 1] = line({ node = "n4",
      runs = { run("stream", { triad_gbs = 399 }), run("noise", { noise_pct = 30 }) },
      metrics = { { name = "triad_gbs", value = 399, status = "pass" } } })
   -- Most checks measure nothing: what a node has now they say all the same. One has become another class.
   lines[#lines + 1] = line({ node = "n1", level = "passive", parts = { dimms = 23, memory_gib = 736 },
      config = { kernel = "6.2" }, config_id = "deadbeef" })
   lines[#lines + 1] = line({ node = "n9", level = "passive", parts = { dimms = 24 } })
   lines[#lines + 1] = check("n6", 380, { class = "epyc-9654-2s192c-736g" })
   -- Links, and what is no class at all.
   for n = 1, 6 do
      for _ = 1, 5 do
         lines[#lines + 1] = line({ kind = "fabric", node = "n" .. n, class = "fabric-200g-1hop", status = "pass",
            runs = { run("fabric", { fabric_out_gbs = 24 + n / 10, fabric_lat_us = 2 }) },
            metrics = { { name = "fabric_out_gbs", value = 24 + n / 10, status = "unrated" },
               { name = "fabric_lat_us", value = 2, status = "unrated" } } })
      end
   end
   lines[#lines + 1] = check("n7", 1, { class = "<script>alert(1)</script>" })
   lines[#lines + 1] = check("n7", 1, { class = "'; DROP TABLE node; --1s1c-1g" })
   local learned, left = both(lines)
   lu.assertEquals(learned.classes[CLASS].metrics.triad_gbs.nodes, 5)
   lu.assertEquals(learned.classes[CLASS].expect.dimms, 24)
   lu.assertEquals(left[CLASS].busy, 2)
   lu.assertEquals(learned.classes["fabric-200g-1hop"].metrics.fabric_out_gbs.n, 30)
   lu.assertNotNil(choose.from(learned))
end

function TestLessons:test_nothing_one_class_three_nodes()
   lu.assertEquals(both({}), { v = 2, classes = {} })
   local lines = {}
   for i = 1, 30 do
      lines[i] = check("n" .. i % 3, 400 + i % 5)
   end
   lu.assertFalse(lessons.has(own.db, CLASS, 20))
   local m = choose.from((both(lines))).classes[CLASS].metrics.triad_gbs
   lu.assertEquals({ m.nodes, m.n }, { 3, 30 })
   lu.assertTrue(lessons.has(own.db, CLASS, 20))
   lu.assertFalse(lessons.has(own.db, CLASS, 31))
   lu.assertFalse(lessons.has(own.db, "'; DROP TABLE node; --", 1))
end

-- What is the same in most rows stands once.
function TestLessons:test_a_check_as_usual_has_no_detail()
   local row = assert(record.read(check("n1", 400)))
   lu.assertNil(row.detail)
   lu.assertNotNil(row.measured)
   lu.assertEquals(row.lesson, record.read(check("n2", 333)).lesson)
   lu.assertEquals(json.decode(assert(record.read(check("n1", 300, nil, 400))).detail).taught.values.triad_gbs, 300)
   own.write({ row })
   lu.assertEquals(own.db:row("SELECT COUNT(*) FROM config")[1], 2)
end

-- Rows that an older version has stored do not say what their values depend on.
function TestLessons:test_rows_from_before()
   own.write({ record.read(check("n1", 400)) })
   own.db:exec("UPDATE check_node SET lesson = NULL")
   local old = 0
   local learned = learn.of(lessons.each(own.db, 0, nil, function() old = old + 1 end))
   lu.assertEquals({ next(learned.classes), old }, { nil, 1 })
end

-- n1 of two clusters are two nodes.
function TestLessons:test_clusters()
   local lines = {}
   for i = 1, 20 do
      lines[i] = record.read(check("n1", 400, { cluster = "c" .. i % 2 }))
   end
   own.write(lines)
   local learned = learn.of(lessons.each(own.db, 0, nil, function() end))
   lu.assertEquals(learned.classes[CLASS].nodes, 2)
   lu.assertEquals(learn.of(lessons.each(own.db, NOW + 86400, nil, function() end)).classes, {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
