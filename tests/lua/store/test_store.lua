-- What the store reads of a line, which run a record belongs to, how a store is named.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson").new()
local cache = require("syscheck.store.cache")
local fields = require("syscheck.catalogue.fields")
local record = require("syscheck.store.record")
local runs = require("syscheck.store.runs")
local sql = require("syscheck.store.sql")
local url = require("syscheck.store.url")

TestRecord = {}

local function line(more)
   local base = { v = 1, kind = "job", id = ("0123456789abcdef"):rep(2), cluster = "c", node = "n1",
      time = "2026-11-20T08:00:00Z", job = { id = 7 } }
   for k, v in pairs(more or {}) do
      base[k] = v
   end
   return json.encode(base)
end

function TestRecord:test_every_field_has_its_place()
   for i, field in ipairs(fields.JOB) do
      local r = {}
      local at = r
      for j = 1, #field.path - 1 do
         at[field.path[j]] = {}
         at = at[field.path[j]]
      end
      at[field.path[#field.path]] = 1000 + i
      local row = assert(record.read(line(r)))
      for k = 1, #fields.JOB do
         lu.assertEquals(row.values[record.JOB_BASE + k], k == i and 1000 + i or nil, field.name)
      end
   end
end

function TestRecord:test_key_is_time_and_id()
   local row = record.read(line())
   lu.assertEquals(row.time_s, 1795161600)
   lu.assertEquals(row.key >> 30, 1795161600)
   lu.assertEquals(row.key & 0x3fffffff, 0x01234567 >> 2)
end

function TestRecord:test_why_a_level_was_not_what_was_asked()
   local row = assert(record.read(line({ kind = "check", level = "passive", asked = "full", status = "pass",
      note = "another job is on the node" })))
   lu.assertEquals(json.decode(row.detail), { note = "another job is on the node" })
   lu.assertNil(assert(record.read(line({ kind = "check", status = "pass" }))).detail)
end

function TestRecord:test_null_is_absent()
   local row = assert(record.read((line({ elapsed_s = 5 }):gsub('"elapsed_s":5', '"elapsed_s":null,"delta":null'))))
   lu.assertNil(row.elapsed_s)
   lu.assertNil(row.begin_s)
end

function TestRecord:test_text_no_database_takes()
   local row = assert(record.read((line({ job = { id = 7, name = "A" } }):gsub('"A"', '"a\xff\xfeb\\u0000\xe2\x82"'))))
   lu.assertEquals(row.job.name, "a\u{fffd}\u{fffd}b\u{fffd}\u{fffd}\u{fffd}")
   row = assert(record.read(line({ job = { id = 7, name = ("\u{20ac}"):rep(400) } })))
   lu.assertEquals(#row.job.name, 1023)
   lu.assertEquals(utf8.len(row.job.name), 341)
end

-- Whatever is cut off a line, what is left is a record or a reason: never an error.
function TestRecord:test_detail_is_bounded()
   local row = assert(record.read(line({ problems = { ("x"):rep(900000) } })))
   lu.assertStrMatches(row.detail, '{"problems":%["details of %d+ bytes are not kept"%]}')
   row = assert(record.read(line({ kind = "check", metrics = { { name = "a", text = ("x"):rep(900000) } } })))
   lu.assertStrContains(row.detail, "not kept")
   lu.assertStrContains(record.read(line({ problems = { ("x"):rep(5000) } })).detail, ("x"):rep(5000))
end

function TestRecord:test_torn_anywhere()
   local whole = line({ delta = { disk = { busy_ms = 5 } }, config = { kernel = "a{b" }, config_id = "01234567",
      ["end"] = { limits = { clock_mhz = 5 } }, begin = { time = "x" } })
   for i = 1, #whole - 1 do
      local row, why = record.read(whole:sub(1, i))
      lu.assertNil(row)
      lu.assertEquals(why, "not a JSON object")
   end
   for i = 1, #whole do
      local row, why = record.read(whole:sub(1, i - 1) .. "\0" .. whole:sub(i + 1))
      lu.assertTrue(row ~= nil or type(why) == "string")
      lu.assertNotEquals(why, "not a record")
   end
end

TestRuns = {}

local function run(restart, begin_s, end_s)
   return { restart = restart, begin_s = begin_s, end_s = end_s }
end

function TestRuns:test_find()
   local first, second = run(0, 0, 100), run(1, 200, 300)
   local list = { first, second }
   lu.assertIs(runs.find(list, run(1, 0, 100)), second)
   lu.assertIs(runs.find(list, run(nil, 90, 95)), first)
   lu.assertIs(runs.find(list, run(nil, 250, 900)), second)
   lu.assertIs(runs.find(list, run(nil, 50, 900)), second)
   lu.assertNil(runs.find(list, run(2, 0, 900)))
   lu.assertNil(runs.find(list, run(nil, 400, 500)))
   lu.assertIs(runs.find(list, run(nil, 115, 115)), first)
end

-- Slurm's numbers began anew: another user's job is no run of this one, nor is one of last year.
function TestRuns:test_numbers_that_come_again()
   local old = run(0, 0, 100)
   old.user = 7
   local job = run(0, 50, 120)
   job.user, job.user_id = "bob", 8
   lu.assertNil(runs.find({ old }, job))
   job.user, job.user_id = "alice", 7
   lu.assertIs(runs.find({ old }, job), old)
   lu.assertIs(runs.find({ old }, run(0, 40 * 86400, 40 * 86400)), old)
   lu.assertNil(runs.find({ old }, run(0, 300 * 86400, 301 * 86400)))
end

function TestRuns:test_join()
   local a, b, c = run(nil, 0, 0), run(nil, 600, 600), run(nil, 5000, 5000)
   local found, parts = runs.find({ a, b, c }, run(nil, 0, 3600))
   lu.assertIs(found, a)
   lu.assertEquals(parts, { b })
   lu.assertTrue(runs.widen(a, { begin_s = -5, end_s = 10, restart = 3 }, { "restart" }))
   lu.assertEquals(a, run(3, -5, 10))
   lu.assertFalse(runs.widen(a, { begin_s = 0, end_s = 1, restart = 4 }, { "restart" }))
end

TestSql = {}

function TestSql:test_names()
   lu.assertEquals(sql.quote_names("SELECT key, r.user, check_key FROM run r WHERE name = 'user key' AND USER = 1",
      '"'),
      "SELECT \"key\", r.\"user\", check_key FROM run r WHERE \"name\" = 'user key' AND USER = 1")
end

function TestSql:test_nulls()
   for given, want in pairs({
      ["SELECT a, b.c AS d FROM t WHERE x = ?"] =
         "SELECT a, b.c AS d, CONCAT(( a) IS NULL, ( b.c ) IS NULL) FROM t WHERE x = ?",
      ["SELECT DISTINCT MAX(a, b) FROM t"] = "SELECT DISTINCT MAX(a, b), CONCAT(( MAX(a, b) ) IS NULL) FROM t",
      ["SELECT (SELECT x FROM y) FROM t"] = "SELECT (SELECT x FROM y), CONCAT(( (SELECT x FROM y) ) IS NULL) FROM t",
      ["SELECT 1"] = "SELECT 1, CONCAT(( 1) IS NULL) ",
      ["DELETE FROM t WHERE a IN (SELECT b FROM c)"] = "DELETE FROM t WHERE a IN (SELECT b FROM c)",
   }) do
      lu.assertEquals(sql.with_nulls(given), want)
   end
   lu.assertError(sql.with_nulls, "SELECT * FROM t")
   lu.assertError(sql.with_nulls, "SELECT ? FROM t")
end

TestUrl = {}

function TestUrl:test_urls()
   lu.assertEquals(url.parse("/a/b.db").path, "/a/b.db")
   lu.assertEquals(url.parse("sqlite:///a/b.db").path, "/a/b.db")
   local u = url.parse("mariadb://me%40here@db.example:3307/syscheck?socket=/run/s")
   lu.assertEquals({ u.driver.kind, u.user, u.host, u.port, u.name, u.options.socket },
      { "mariadb", "me@here", "db.example", 3307, "syscheck", "/run/s" })
   u = url.parse("postgresql:///syscheck?host=/run/postgresql")
   lu.assertEquals({ u.driver.kind, u.host, u.name }, { "postgresql", nil, "syscheck" })
   for _, bad in ipairs({ "", "x", "x.db", "http://a/b", "postgresql://h", "postgresql://u:p@h/d",
      "mariadb://u@h/d?password=p", "sqlite://h/x", "sqlite:///", "/a\nb" }) do
      local got, err = url.parse(bad)
      lu.assertNil(got, bad)
      lu.assertFalse(err:find("\n") ~= nil)
   end
end

TestCache = {}

function TestCache:test_bound()
   local c = cache.new(10)
   for i = 1, 100 do
      c:put(i, i)
      lu.assertEquals(c:get(1), 1) -- what is used stays
   end
   local n = 0
   for i = 1, 100 do
      n = n + (c:get(i) and 1 or 0)
   end
   lu.assertTrue(n >= 10)
   lu.assertTrue(n <= 20)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
