-- Pictures: what is drawn of what is given, and that nothing is where there is none.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local bars = require("syscheck.html.bars")
local canvas = require("syscheck.html.canvas")
local chart = require("syscheck.html.chart")
local distribution = require("syscheck.html.distribution")
local element = require("syscheck.html.element")
local heat = require("syscheck.html.heat")
local history = require("syscheck.html.history")
local matrix = require("syscheck.html.matrix")
local strip = require("syscheck.html.strip")

local NASTY = '"><script>x</script>'

local function text_of(markup)
   local text = element.text_of(markup)
   lu.assertNil(text:find("<script", 1, true))
   lu.assertNil(text:find("nan", 1, true))
   lu.assertNil(text:find("inf", 1, true))
   return text
end

local function count(text, what)
   return select(2, text:gsub(what, ""))
end

-- d of the paths of a class.
local function path_of(text, class)
   return text:match('<path class="' .. class .. '" d="([^"]*)"') or ""
end

local function show(value)
   return ("%g"):format(value)
end

TestPictures = {}

function TestPictures:test_a_canvas()
   local c = canvas.new(100, 50, NASTY)
   c:text(1, 2, NASTY, "e", "q", NASTY):line(0, 0, 10.04, 5, "a"):path("", "none")
   for _, shape in ipairs({ "circle", "triangle", "diamond", "square", "cross" }) do
      c:mark(shape, 10, 10, 4, shape, "says")
   end
   local text = text_of(c:done("w"))
   lu.assertStrContains(text, 'viewBox="0 0 100 50"')
   lu.assertStrContains(text, 'd="M0 0L10 5"')
   lu.assertEquals(count(text, "<title>says</title>"), 5)
   lu.assertEquals(count(text, 'class="none"'), 0)
end

local function values_of(n, out)
   local values = {}
   for i = 1, n do
      values[i] = { name = "n" .. i, value = i == out and 50 or 100 + i % 5, out = i == out and "worse" or nil }
   end
   return values
end

function TestPictures:test_a_distribution_has_a_dot_for_each_node()
   local text = text_of(distribution({ label = "triad", unit = "GB/s", show = show, values = values_of(64, 7) }))
   lu.assertEquals(count(path_of(text, "d"), "M"), 63)
   lu.assertStrContains(text, "<title>n7: 50</title>")
   lu.assertStrContains(text, ">n7</text>")
   lu.assertStrContains(text, "triad, GB/s")
   -- Of many, bars; who is out is still named.
   text = text_of(distribution({ label = "x", show = show, values = values_of(1000, 7) }))
   lu.assertEquals(path_of(text, "d"), "")
   lu.assertTrue(count(path_of(text, "f"), "M") <= 71)
   lu.assertTrue(#text < 4000)
   -- The node that the page is about.
   text = text_of(distribution({ label = "x", show = show, values = values_of(9), marked = "n3" }))
   lu.assertStrContains(text, '<path class="own"')
   -- Many that are out are counted.
   local values = values_of(30)
   for i = 1, 10 do
      values[i] = { name = NASTY .. i, value = i, out = i < 6 and "worse" or "better" }
   end
   text = text_of(distribution({ label = NASTY, unit = NASTY, show = show, values = values, limit = 80 }))
   lu.assertStrContains(text, "10 are out")
   for _, odd in ipairs({ { 5 }, { 0, 0 }, { -3, -3, -3 }, { 1e14, 1e-300 } }) do
      for i, value in ipairs(odd) do
         odd[i] = { name = "n" .. i, value = value }
      end
      text_of(distribution({ label = "x", show = show, values = odd, per = 1e6 }))
   end
end

function TestPictures:test_a_healthy_scatter_is_no_mountain_range()
   local text = text_of(distribution({ label = "x", show = show, values = { { name = "a", value = 100 },
      { name = "b", value = 100.5 }, { name = "c", value = 101 } } }))
   local first, last = path_of(text, "d"):match("^M([%d.]+) .*M([%d.]+) [%d.]+h0$")
   lu.assertTrue(tonumber(last) - tonumber(first) < 50)
end

function TestPictures:test_steps_of_the_map()
   for distance, class in pairs({ [0] = "h0", [0.2] = "h0", [-0.2] = "h0", [0.3] = "w1", [0.6] = "w2", [1] = "w3",
      [9] = "w3", [-0.3] = "b1", [-0.6] = "b2", [-1] = "b3", [-9] = "b3", [math.huge] = "w3", [-math.huge] = "b3" }) do
      lu.assertEquals(heat.class(distance), class, distance)
   end
end

function TestPictures:test_a_map_has_a_cell_for_each_node_and_metric()
   local nodes = {}
   for i = 1, 250 do
      nodes[i] = { name = "n" .. i, title = NASTY, levels = { i == 3 and 2 or 0, i == 4 and -3 or nil } }
   end
   local text = text_of(heat.draw({ label = "x", metrics = { "a", NASTY }, nodes = nodes }))
   lu.assertEquals(count(path_of(text, "h0"), "M"), 249)
   lu.assertEquals(count(path_of(text, "none"), "M"), 249)
   lu.assertEquals({ count(path_of(text, "w3"), "M"), count(path_of(text, "o"), "M") }, { 1, 1 })
   lu.assertEquals({ count(path_of(text, "b3"), "M"), count(path_of(text, "ring"), "M") }, { 1, 1 })
   -- Three bands, each with the metrics' names.
   lu.assertEquals(count(text, ">a</text>"), 3)
   lu.assertEquals(count(text, "<rect "), 250)
   text_of(heat.draw({ label = "x", metrics = {}, nodes = {} }))
   text_of(heat.draw({ label = "x", metrics = { "a" }, nodes = { { name = NASTY, title = "", levels = {} } } }))
end

function TestPictures:test_a_matrix()
   local text = text_of(matrix({ label = "x", title = NASTY, rows = { "0", "1" }, columns = { "0", "1" }, show = show,
      cells = { { 100, 200 }, { false, 101 } }, unit = "ns" }))
   lu.assertStrContains(text, "<title>0 to 1: 200 ns</title>")
   lu.assertEquals({ count(text, 'class="s1"'), count(text, 'class="s5"'), count(text, 'class="none"') }, { 2, 1, 1 })
   -- Of bandwidths the small ones are the bad ones; all alike is no pattern.
   text = text_of(matrix({ label = "x", title = "x", rows = { "0" }, columns = { "0", "1" }, show = show,
      cells = { { 100, 50 } }, unit = "GB/s", higher = true }))
   lu.assertStrContains(text, '<path class="s1" d="M58')
   text = text_of(matrix({ label = "x", title = "x", rows = { "0" }, columns = { "0", "1" }, show = show,
      cells = { { 100, 101 } }, unit = "ns" }))
   lu.assertEquals(count(text, 'class="s1"'), 2)
   local cells, names = {}, {}
   for i = 1, 64 do
      cells[i], names[i] = {}, ("%d"):format(i)
      for k = 1, 64 do
         cells[i][k] = 100 + i * k
      end
   end
   lu.assertNil(text_of(matrix({ label = "x", title = "x", rows = names, columns = names, cells = cells, show = show,
      unit = "ns" })):find(">101</text>"))
end

function TestPictures:test_a_chart()
   local c = chart.new({ label = "x", x = { low = 1, high = 8, kind = "log2", show = show }, y = { low = 0,
      high = 10 } })
   c:line({ { 1, 0 }, { 8, 10 } }):dots({ { 2, 5 } }):stems({ { 4, 5 } }):band(2, 3, NASTY):horizontal(5, "usual")
   c:vertical(4, "knee"):marks({ { 4, 5, NASTY } }, "circle", "own")
   local text = text_of(c:done())
   lu.assertStrContains(text, 'd="M60 202L750 30"')
   lu.assertStrContains(text, "knee")
   -- No text covers another: of many at one place some are left out.
   c = chart.new({ label = "x", x = { low = 0, high = 1 }, y = { low = 0, high = 1 } })
   for i = 1, 40 do
      c:note(0.5, 0.5, "a note that is long " .. i)
   end
   text = text_of(c:done())
   lu.assertTrue(count(text, "a note") >= 2 and count(text, "a note") < 10)
   for _, kind in ipairs({ "linear", "exact", "log", "log2", "time" }) do
      c = chart.new({ label = "x", x = { low = 0, high = 0, kind = kind == "log2" and "log" or kind, show = show },
         y = { low = 0, high = 0 } })
      text_of(c:marks({ { 0, 0 } }, "cross", "bad"):done())
   end
end

function TestPictures:test_strips_of_one_class_are_one_path()
   local spans = {}
   for i = 1, 50 do
      spans[i] = { from = i * 100, to = i * 100 + 50, class = i % 2 == 0 and "pass" or "bad", share = 0.5 }
   end
   local text = text_of(strip({ label = "x", from = 0, to = 6000, lanes = { { name = NASTY, title = NASTY,
      spans = spans,
      marks = { { at = 10, shape = "cross", class = "cross", title = NASTY } } } } }))
   lu.assertEquals({ count(text, 'class="pass"'), count(text, 'class="bad"') }, { 1, 1 })
   lu.assertEquals(count(path_of(text, "pass"), "M"), 25)
   text_of(strip({ label = "x", from = 0, to = 0, lanes = {} }))
end

function TestPictures:test_a_history_draws_no_more_than_can_be_seen()
   local points, events, jobs = {}, {}, {}
   for i = 1, 20000 do
      points[i] = { i, i == 777 and 1 or 100 }
      events[i] = { at = i, kind = { shape = "cross", class = "cross", text = "e" }, title = "x" }
      jobs[i] = { from = i, to = i + 1, title = NASTY }
   end
   local text = text_of(history({ label = "x", from = 0, to = 20000, panels = { { label = NASTY, unit = "u",
      show = show,
      points = points } }, events = events, jobs = jobs }))
   lu.assertTrue(#text < 200000)
   -- The one dip is among what is drawn.
   lu.assertStrContains(text, ">1</text>")
   local lowest = 0
   for y in path_of(text, "d1"):gmatch(" ([%d.]+)h0") do
      lowest = math.max(lowest, tonumber(y))
   end
   lu.assertEquals(lowest, 76)
   text_of(history({ label = "x", from = 5, to = 5, panels = { { label = "a", unit = "", show = show,
      points = { { 5, 0 } } } }, events = {}, jobs = {} }))
end

function TestPictures:test_bars()
   local text = text_of(bars({ label = "x", rows = { { label = NASTY, share = 1, text = NASTY, title = NASTY,
      marks = { { share = 0.5, shape = 2, title = NASTY } } }, { label = "b", share = 0, text = "0" } },
      marks = { "one", "two" } }))
   lu.assertEquals(count(text, 'class="band"'), 2)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
