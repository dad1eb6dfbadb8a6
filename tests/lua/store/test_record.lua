-- What the store reads of a line.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local fields = require("syscheck.catalogue.fields")
local json = require("cjson").new()
local record = require("syscheck.store.record")

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

function TestRecord:test_what_kernels_say_beside_metrics()
   local r = { kind = "check", metrics = { { name = "gflops", value = 50, status = "pass" } }, runs = {
      { kernel = "dgemm", state = "ok", result = { clock_mhz = 3000, clock_mhz_min = 2900 } },
      { kernel = "noise", state = "ok", result = { components = { { text = "4 ms \xFF", lost_pct = 2 } } } } } }
   local function of(name)
      local row = assert(record.read(line(r)))
      for i, field in ipairs(fields.CHECK) do
         if field.name == name then
            return row.values[record.CHECK_BASE + i], row.detail
         end
      end
   end
   lu.assertEquals(of("clock_min_mhz"), 2900)
   local _, detail = of("clock_mhz")
   lu.assertEquals(json.decode(detail).noise.text, "4 ms \u{FFFD}")
   r.metrics[1].busy = true
   lu.assertNil(of("clock_mhz"))
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

-- The clock was set between begin and end: the job is where its check is.
function TestRecord:test_when_a_job_ran_is_by_one_clock()
   local function span(time, begin, elapsed)
      local row = assert(record.read(line({ time = time, begin = { time = begin }, elapsed_s = elapsed })))
      return { row.job.begin_s - 1795161600, row.job.end_s - 1795161600, row.begin_s and row.begin_s - 1795161600 }
   end
   lu.assertEquals(span("2026-11-20T08:01:00Z", "2026-11-20T08:00:01Z", 59.204), { 1, 60, 1 })
   lu.assertEquals(span("2026-11-20T08:01:02Z", "2026-11-20T08:00:01Z", 59.204), { 3, 62, 3 })
   lu.assertEquals(span("2026-11-22T08:00:02Z", "2026-11-20T08:00:00Z", 2.31), { 0, 2, 172800 })
   lu.assertEquals(span("2026-11-20T07:00:02Z", "2026-11-20T08:00:00Z", 2.31), { 0, 2, -3600 })
   -- A node that rebooted under it; one whose clock is of another age.
   lu.assertEquals(span("2026-11-20T09:00:00Z", "2026-11-20T08:00:00Z", nil), { 0, 3600 })
   lu.assertEquals(span("2026-11-20T08:00:00Z", "2026-11-20T09:00:00Z", nil), { 0, 0 })
   lu.assertEquals(span("2026-11-20T08:01:00Z", "1970-01-01T00:00:07Z", 60), { 0, 60, 0 })
   lu.assertEquals(span("2026-11-20T08:01:00Z", "yesterday", 60), { 0, 60, 0 })
end

-- A clock whose battery is empty begins with the year 2000; the elapsed time is another clock's.
function TestRecord:test_a_job_in_which_the_clock_was_set_back_to_its_beginning()
   local row = assert(record.read(line({ time = "2000-01-01T00:00:05Z", begin = { time = "2026-11-20T08:00:00Z" },
      elapsed_s = 3600 })))
   lu.assertEquals(row.elapsed_s, 3600)
   lu.assertEquals({ row.job.begin_s - 1795161600, row.job.end_s - 1795161600 }, { 0, 3600 })
   lu.assertEquals(select(2, record.read(line({ elapsed_s = 4e9 }))), "elapsed_s is out of range: 4000000000")
end

-- Suspended time is no run time, but it went by.
function TestRecord:test_a_suspended_job()
   local row = assert(record.read(line({ elapsed_s = 60.5, cgroup = { suspended_ms = 20250 } })))
   lu.assertEquals(row.elapsed_s, 40.25)
   lu.assertEquals(row.time_s - row.begin_s, 60)
   lu.assertEquals(row.job.end_s - row.job.begin_s, 60)
   lu.assertEquals(assert(record.read(line({ elapsed_s = 5, cgroup = { suspended_ms = 9000 } }))).elapsed_s, 0)
   lu.assertNil(assert(record.read(line({ cgroup = { suspended_ms = 9000 } }))).elapsed_s)
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

os.exit(lu.LuaUnit.run("-o", "TAP"))
