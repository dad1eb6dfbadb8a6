-- Lines that are odd or damaged in every way: each is a record or bad for a reason that names
-- the fault, and what is read of it is what a database can take.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson").new()
local fields = require("syscheck.catalogue.fields")
local record = require("syscheck.store.record")

local ROUNDS = tonumber(os.getenv("ROUNDS") or 20000)
local ID = ("0123456789abcdef"):rep(2)

local lines = {}
do
   local gen = assert(io.popen("lua5.4 tests/bench/store_gen.lua 0 12 8 7"))
   for line in gen:lines() do
      lines[#lines + 1] = line
   end
   gen:close()
   assert(#lines == 24)
   local base = { v = 1, id = ID, cluster = "c", node = "n1", time = "2026-11-20T08:00:00Z",
      job = { id = 7, user = "bob", name = "\u{fc}\\ \"{}", restart = 2, array_job_id = 4, array_task_id = 5,
         nodes = 3 },
      config_id = "1234abcd", config = { kernel = "6.1" }, level = "quick", status = "fail", action = "drain",
      text = "triad 5 GB/s", reason = "because", asked = "full", trigger = "prolog" }
   local function add(kind, more)
      local r = { kind = kind }
      for _, t in ipairs({ base, more }) do
         for k, v in pairs(t) do
            r[k] = v
         end
      end
      lines[#lines + 1] = json.encode(r)
   end
   add("check", { metrics = { { name = "triad_gbs", status = "pass", value = 45.9 },
      { name = "io", status = "unrated" }, { name = "gflops", status = "pass", value = 168.2 } } })
   add("check", { metrics = { { name = "triad_gbs", status = "fail", value = 5, limit = 40 } }, drain = { done = true },
      note = "so it is" })
   add("check", { status = "pass", note = "measured 20 min ago" })
   add("check", { metrics = {}, problems = { "policy: x" }, corrupt = true })
   add("job", { elapsed_s = 5, delta = { disk = { busy_ms = 1, read_bytes = 2 ^ 50 }, cpu = { steal_ms = 0 } },
      throttle_events = 3, ["end"] = { limits = { clock_mhz = 3700.5 }, temperature = { max_c = -3 } },
      others = { 5, 6 }, errors = { dimms = {} }, cgroup = { cpu_us = 4, v = 2 } })
   add("loss", { lost_records = 4, lost_bytes = 100, reason = "disk full" })
end

-- Place of a column in row.values.
local function place(list, base, name)
   for i, field in ipairs(list) do
      if field.name == name then
         return base + i
      end
   end
   error(name)
end
local TRIAD = place(fields.CHECK, record.CHECK_BASE, "triad_gbs")
local DISK_BUSY = place(fields.JOB, record.JOB_BASE, "disk_busy_ms")
local READ_BYTES = place(fields.JOB, record.JOB_BASE, "disk_read_bytes")

local function assert_text(text, line)
   lu.assertNotNil(utf8.len(text), line)
   lu.assertNil(text:find("\0", 1, true), line)
end

-- Whatever was in the line, a database takes the row.
local function assert_fit(row, line)
   lu.assertStrMatches(row.id, "%x+", nil, nil, line)
   lu.assertEquals(#row.id, 32, line)
   lu.assertEquals(math.type(row.key), "integer", line)
   for _, part in ipairs({ row, row.job or {} }) do
      for name, value in pairs(part) do
         if type(value) == "string" then
            assert_text(value, line)
         elseif name == "drain" then
            lu.assertEquals(type(value), "table", line)
         elseif name ~= "job" and name ~= "values" and name ~= "settings" then
            lu.assertEquals(type(value), "number", line)
            lu.assertTrue(value >= 0, line)
            lu.assertTrue(value < math.huge, line)
         end
      end
   end
   for _, value in pairs(row.values or {}) do
      lu.assertEquals(math.type(value), "float", line)
      lu.assertTrue(value >= -300, line)
      lu.assertTrue(value <= 1e18, line)
   end
   if row.settings then
      assert_text(record.settings(row) or "", line)
   end
end

-- @return whether the line is a record
local function holds(line)
   local row, why = record.read(line)
   if row then
      assert_fit(row, line)
   else
      lu.assertEquals(type(why), "string", line)
      lu.assertNotEquals(why, "not a record", line) -- which is what no check foresaw
   end
   return row ~= nil
end

-- What a line holds of a check or job that is otherwise whole.
local function check(more)
   return ('{"v":1,"kind":"check","id":"%s","node":"n1","time":"2026-11-20T08:00:00Z",%s}'):format(ID, more)
end

local function job(more)
   return ('{"v":1,"kind":"job","id":"%s","node":"n1","time":"2026-11-20T08:00:00Z","job":{"id":1,"restart":0},%s}')
      :format(ID, more)
end

TestDamage = {}

function TestDamage:test_good_lines()
   for _, line in ipairs(lines) do
      lu.assertTrue(holds(line), line)
   end
end

function TestDamage:test_no_json_object()
   for _, text in ipairs({ "", "{", "[]", "null", "1", '"kind"', '{"kind":"job"}{}', "\0", ("["):rep(3000),
      ('{"kind":"job","x":%s1%s}'):format(("["):rep(1001), ("]"):rep(1001)) }) do
      lu.assertFalse(holds(text), text)
   end
   for _, text in ipairs({ "{}", "[]", '{"kind":"job"}', '{"kind":5}' }) do
      lu.assertStrMatches(select(2, record.read(text)), "version missing, this syscheck reads %d+", nil, nil, text)
   end
end

-- Twice the same key: the last counts, whole.
function TestDamage:test_a_key_that_comes_twice()
   for _, line in ipairs(lines) do
      for _, more in ipairs({ '"kind":"job"', '"kind":"check"', '"job":{"id":9}', '"job":{"id":9,"id":10,"id":"x"}',
         '"delta":{}', '"delta":{"disk":{"busy_ms":9},"disk":{}}', '"metrics":[]',
         '"metrics":[{"name":"triad_gbs","name":"x","status":"pass","status":"pass","value":1,"value":2}]',
         '"id":"x"', '"v":2', '"end":null', '"check":{}', '"elapsed_s":-1' }) do
         holds(line:sub(1, -2) .. "," .. more .. "}")
         holds("{" .. more .. "," .. line:sub(2))
      end
      local row = record.read(line:sub(1, -2) .. ',"job":{"id":9,"id":10}}')
      lu.assertTrue(row.kind == "loss" or row.job.id == 10, line)
      lu.assertFalse(holds(line:sub(1, -2) .. ',"v":2}'))
      lu.assertTrue(holds('{"v":2,' .. line:sub(2)))
   end
   local row = record.read(job('"delta":{"disk":{"busy_ms":9},"disk":{"read_bytes":7}}'))
   lu.assertNil(row.values[DISK_BUSY])
   lu.assertEquals(row.values[READ_BYTES], 7)
end

-- Also where the second has no value.
function TestDamage:test_a_metric_that_comes_twice()
   for second, want in pairs({ [""] = false, [',"value":4'] = 4, [',"value":null'] = false }) do
      local row = record.read(check('"metrics":[{"name":"triad_gbs","status":"pass","value":5},'
         .. '{"name":"triad_gbs","status":"pass"' .. second .. "}]"))
      lu.assertEquals(row.values[TRIAD] or false, want, second)
   end
   lu.assertFalse(holds(check('"metrics":[{"name":"triad_gbs","status":"pass","value":5},'
      .. '{"name":"triad_gbs","status":"pass","value":-1}]')))
end

function TestDamage:test_no_negative_zero()
   for _, zero in ipairs({ "-0", "-0.0", "-0e5", "0" }) do
      for _, line in ipairs({ check('"metrics":[{"name":"triad_gbs","status":"pass","value":%s}]'),
         job('"elapsed_s":%s'), job('"throttle_events":%s') }) do
         local row = record.read((line:format(zero)))
         lu.assertNotNil(row, line)
         for _, value in pairs(row.values) do
            lu.assertEquals(("%.1f"):format(value), "0.0", line)
         end
         lu.assertEquals(("%.1f"):format(row.elapsed_s or 0), "0.0", line)
      end
   end
end

function TestDamage:test_depth()
   for _, length in ipairs({ 1, 200000 }) do
      local line = lines[1]:sub(1, -2) .. (',"x":"%s","y":'):format(("x"):rep(length))
      lu.assertTrue(holds(line .. ("["):rep(999) .. ("]"):rep(999) .. "}"))
      for depth = 1000, 1025 do
         lu.assertFalse(holds(line .. ("["):rep(depth) .. ("]"):rep(depth) .. "}"))
      end
   end
end

function TestDamage:test_settings()
   local line = check('"config_id":"ofabadline","config":{"kernel":"6.2"}'):sub(1, -2)
   lu.assertFalse(holds(line .. ',"status":5}'))
   for _ = 1, 2 do -- a batch may fail: the next reading of a line has them, too
      lu.assertEquals(record.settings(record.read(line .. "}")), '{"kernel":"6.2"}')
   end
end

-- One value must not pass for another.
function TestDamage:test_values_that_come_again()
   local values = { "a", "ab", "a", "", "a", "a\\u0000", "a\\u0000b", "a" }
   for _, n in ipairs({ 63, 64, 65, 64, 63, 200, 256, 63 }) do
      values[#values + 1] = ("x"):rep(n)
      values[#values + 1] = ("x"):rep(n)
      values[#values + 1] = ("x"):rep(n - 1) .. "y"
   end
   for _, value in ipairs(values) do
      lu.assertEquals(record.read(check(('"class":"%s"'):format(value))).class,
         (value:gsub("\\u0000", "\u{fffd}")))
      collectgarbage()
   end
   for _ = 1, 2 do
      lu.assertFalse(holds(check(('"class":"%s"'):format(("x"):rep(257)))))
      -- Found good as a user's text, it is still too long for a class.
      lu.assertTrue(holds(check(('"status":"fail","text":"%s"'):format(("x"):rep(257)))))
   end
end

-- Keys of ours that a line may have, too.
function TestDamage:test_values_of_the_line_itself()
   for _, line in ipairs(lines) do
      for _, more in ipairs({ '"values":5', '"values":[7,7,7]', '"values":["x"],"problems":["so"]' }) do
         local row = record.read(line:sub(1, -2) .. "," .. more .. "}")
         lu.assertTrue(row.kind == "loss" or (type(row.values) == "table" and row.values[1] == nil), more)
      end
   end
end

local VALUES = { "null", "true", "false", "-1", "0", "1.5", "1e19", "1e999", "-0", "18446744073709551616",
   "9007199254740993", ("9"):rep(400), "01", "1.", "+1", "nan", '""', '"x"', '"\\ud800"', '"\\u0000"', '"\xff"',
   '"\u{fc}"', '"2026-11-20T08:00:00Z"', "{}", "[]", "[1]", '{"id":1}', '{"disk":{"busy_ms":"x"}}' }

function TestDamage:test_values_of_every_kind_at_every_key()
   for _, line in ipairs(lines) do
      for from, to in line:gmatch('"[%w_]+":()[^,{}%[%]]*()') do
         for _, value in ipairs(VALUES) do
            holds(line:sub(1, from - 1) .. value .. line:sub(to))
         end
      end
   end
end

function TestDamage:test_random_damage()
   local seed = os.time()
   math.randomseed(seed)
   local good = 0
   for _ = 1, ROUNDS do
      local line = lines[math.random(#lines)]
      for _ = 1, math.random(3) do
         local at, what = math.random(#line), math.random(5)
         local other = math.random(#line)
         line = what == 1 and line:sub(1, at - 1) .. string.char(math.random(0, 255)) .. line:sub(at + 1)
            or what == 2 and line:sub(1, at - 1) .. line:sub(at + math.random(8))
            or what == 3 and line:sub(1, at) .. line:sub(other, other + math.random(60)) .. line:sub(at + 1)
            or what == 4 and line:sub(1, at)
            or line:gsub("%d+", function(n) return math.random(40) == 1 and VALUES[math.random(#VALUES)] or n end)
         line = line == "" and "{" or line
      end
      good = good + (holds(line) and 1 or 0)
   end
   lu.assertTrue(good > ROUNDS / 50, ("seed %d: only %d of them were records"):format(seed, good))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
