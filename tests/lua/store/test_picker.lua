-- The picker (lua/pick.cc) reads lines as lua-cjson and record.lua do, or leaves them to those.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson").new()
local NAME = "syscheck.store.record"
local without = require(NAME)
package.loaded[NAME] = nil
local with = require(NAME)

local PICKER = os.getenv("PICKER") or "build/lua/syscheck_pick.so"
local ROUNDS = tonumber(os.getenv("ROUNDS") or 20000)

local lines = {}
do
   local gen = assert(io.popen("lua5.4 tests/bench/store_gen.lua 0 12 8 7"))
   for line in gen:lines() do
      lines[#lines + 1] = line
   end
   gen:close()
   assert(#lines == 24)
   local base = { v = 1, id = ("0123456789abcdef"):rep(2), cluster = "c", node = "n1",
      time = "2026-11-20T08:00:00Z", job = { id = 7, user = "bob", name = "\u{fc}\\ \"{}", restart = 2,
         array_job_id = 4, array_task_id = 5, nodes = 3 },
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

local function read(record, line)
   local row, why = record.read(line)
   if row then
      row.settings = nil -- left out once its configuration is known
   end
   return row, why
end

local function same(line)
   local want, why = read(without, line)
   local got, why_got = read(with, line)
   -- The line itself is in the message: it is random.
   if why ~= why_got then
      lu.fail(("%s, without the picker: %s\n%s"):format(tostring(why_got), tostring(why), line))
   elseif want then
      lu.assertEquals(got, want, line)
   end
   return want ~= nil
end

TestPicker = {}

function TestPicker:setUp()
   lu.assertTrue(with.use_picker(PICKER))
end

function TestPicker:test_good_lines_are_picked()
   for i = 1, 24 do
      with.read(lines[i])
      lu.assertNil(with.read(lines[i]).settings, lines[i])
      lu.assertNotNil(without.read(lines[i]).settings)
   end
end

function TestPicker:test_it_does_without()
   lu.assertFalse(with.use_picker("/nowhere/syscheck_pick.so"))
   lu.assertNotNil(with.read(lines[1]))
   lu.assertFalse(with.use_picker(nil))
   lu.assertNotNil(with.read(lines[1]))
end

function TestPicker:test_what_is_odd()
   for _, line in ipairs(lines) do
      lu.assertTrue(same(line), line)
   end
   for _, text in ipairs({ "", "{", "{}", "[]", "null", "1", '"kind"', '{"kind":"job"}', '{"kind":5}',
      '{"kind":"job"}{}', "\0", ("["):rep(3000),
      ('{"kind":"job","x":%s1%s}'):format(("["):rep(1001), ("]"):rep(1001)) }) do
      same(text)
   end
   -- Twice the same key: the last counts, whole.
   for _, line in ipairs(lines) do
      for _, more in ipairs({ '"kind":"job"', '"kind":"check"', '"job":{"id":9}', '"job":{"id":9,"id":10,"id":"x"}',
         '"delta":{}', '"delta":{"disk":{"busy_ms":9},"disk":{}}', '"metrics":[]',
         '"metrics":[{"name":"triad_gbs","name":"x","status":"pass","status":"pass","value":1,"value":2}]',
         '"id":"x"', '"v":2', '"end":null', '"check":{}', '"elapsed_s":-1' }) do
         same(line:sub(1, -2) .. "," .. more .. "}")
         same("{" .. more .. "," .. line:sub(2))
      end
   end
end

function TestPicker:test_a_metric_that_comes_twice()
   for _, second in ipairs({ "", ',"value":4', ',"value":null', ',"value":-1' }) do
      local line = json.encode({ v = 1, kind = "check", id = ("0123456789abcdef"):rep(2), node = "n1",
         time = "2026-11-20T08:00:00Z" })
      same(line:sub(1, -2) .. ',"metrics":[{"name":"triad_gbs","status":"pass","value":5},'
         .. '{"name":"triad_gbs","status":"pass"' .. second .. "}]}")
   end
end

function TestPicker:test_no_negative_zero()
   local base = ('"v":1,"id":"%s","node":"n1","time":"2026-11-20T08:00:00Z"'):format(("0123456789abcdef"):rep(2))
   for _, zero in ipairs({ "-0", "-0.0", "-0e5", "0" }) do
      for _, line in ipairs({ ('{"kind":"check",%s,"metrics":[{"name":"triad_gbs","status":"pass","value":%s}]}'),
         ('{"kind":"job",%s,"job":{"id":1,"restart":0},"elapsed_s":%s}'),
         ('{"kind":"job",%s,"job":{"id":1},"throttle_events":%s}') }) do
         line = line:format(base, zero)
         lu.assertTrue(same(line))
         for _, record in ipairs({ with, without }) do
            local row = record.read(line)
            for _, value in pairs(row.values) do
               lu.assertEquals(("%.1f"):format(value), "0.0", line)
            end
            lu.assertEquals(("%.1f"):format(row.elapsed_s or 0), "0.0", line)
         end
      end
   end
end

function TestPicker:test_depth()
   -- Also behind a line for which the parser has to grow.
   for _, length in ipairs({ 1, 200000 }) do
      local line = lines[1]:sub(1, -2) .. (',"x":"%s","y":'):format(("x"):rep(length))
      lu.assertTrue(same(line .. ("["):rep(999) .. ("]"):rep(999) .. "}"))
      for depth = 1000, 1025 do
         lu.assertFalse(same(line .. ("["):rep(depth) .. ("]"):rep(depth) .. "}"))
      end
   end
end

function TestPicker:test_settings_of_a_bad_line_are_not_known()
   local line = json.encode({ v = 1, kind = "check", id = ("0123456789abcdef"):rep(2), node = "n1",
      time = "2026-11-20T08:00:00Z", config_id = "ofabadline", config = { kernel = "6.2" } })
   lu.assertNil(with.read(line:sub(1, -2) .. ',"status":5}'))
   lu.assertNotNil(with.read(line).settings)
   lu.assertNil(with.read(line).settings)
end

-- One value must not pass for another, nor be gone with its line.
function TestPicker:test_values_that_come_again()
   local base = '{"v":1,"kind":"check","id":"%s","node":"n1","time":"2026-11-20T08:00:00Z","class":"%s"}'
   local values = { "a", "ab", "a", "", "a", "a\\u0000", "a\\u0000b", "a" }
   for _, n in ipairs({ 63, 64, 65, 64, 63, 200, 63 }) do
      values[#values + 1] = ("x"):rep(n)
      values[#values + 1] = ("x"):rep(n)
      values[#values + 1] = ("x"):rep(n - 1) .. "y"
   end
   for i, value in ipairs(values) do
      lu.assertTrue(same(base:format(("%032x"):format(i), value)))
      collectgarbage()
   end
end

function TestPicker:test_a_line_in_a_text()
   local text = table.concat(lines, "\n")
   local from = 1
   for _, line in ipairs(lines) do
      local to = from + #line - 1
      local row = with.read(text, from, to)
      row.settings = nil
      lu.assertEquals(row, (read(without, line)))
      lu.assertNil(with.read(text, from, to - 1))
      lu.assertNil(with.read(text, from + 1, to))
      from = to + 2
   end
   lu.assertNil(with.read(text, 1, 0))
end

function TestPicker:test_values_of_the_line_itself()
   for _, line in ipairs(lines) do
      for _, more in ipairs({ '"values":5', '"values":[7,7,7]', '"values":["x"],"problems":["so"]' }) do
         lu.assertTrue(same(line:sub(1, -2) .. "," .. more .. "}"))
         local row = without.read(line:sub(1, -2) .. "," .. more .. "}")
         lu.assertTrue(row.kind == "loss" or (type(row.values) == "table" and row.values[1] == nil), more)
      end
   end
end

local VALUES = { "null", "true", "false", "-1", "0", "1.5", "1e19", "1e999", "-0", "18446744073709551616",
   "9007199254740993", ("9"):rep(400), "01", "1.", "+1", "nan", '""', '"x"', '"\\ud800"', '"\\u0000"', '"\xff"',
   '"\u{fc}"', '"2026-11-20T08:00:00Z"', "{}", "[]", "[1]", '{"id":1}', '{"disk":{"busy_ms":"x"}}' }

function TestPicker:test_values_of_every_kind_at_every_key()
   for _, line in ipairs(lines) do
      for from, to in line:gmatch('"[%w_]+":()[^,{}%[%]]*()') do
         for _, value in ipairs(VALUES) do
            same(line:sub(1, from - 1) .. value .. line:sub(to))
         end
      end
   end
end

function TestPicker:test_damage()
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
      good = good + (same(line) and 1 or 0)
   end
   lu.assertTrue(good > ROUNDS / 50, ("seed %d: only %d of them were records"):format(seed, good))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
