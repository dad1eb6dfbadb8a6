-- A lack of parts is confirmed by a second reading.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local check = require("syscheck.measure.check")
local counters = require("syscheck.hardware.snapshot")
local nodes = require("syscheck.node.node")
local policy = require("syscheck.policy.policy")
local prepared = require("prepared")
local tree = require("tree")

local GIB = 1048576 -- KiB

TestConfirm = { setUp = prepared.setUp, tearDown = prepared.tearDown }

-- A check at level passive of a node whose first reading was `first` GiB.
local function passive(first, now)
   tree.system(prepared.root, now * GIB)
   local text = 'return { expect = { ["*"] = { memory_gib = 768, action = "fail" } } }'
   local node = { policy = assert(policy.parse(text, "p")), problems = {}, root = prepared.root,
      read_state = function() end }
   return check.run("passive", node, { class = "c", memory_gib = first }, counters.snapshot(prepared.root))
end

function TestConfirm:test_a_lack_that_a_second_reading_shows_too()
   local result = passive(736, 724)
   lu.assertEquals({ result.status, result.confirmed, result.reason },
      { "fail", true, "memory 736 GiB, expected 768 GiB" })
end

function TestConfirm:test_a_lack_that_a_second_reading_does_not_show()
   local result = passive(736, 755)
   lu.assertEquals({ result.status, result.confirmed, result.reason }, { "warn", false })
   lu.assertStrContains(result.metrics[1].text, "not confirmed by a second run: 768 GiB")
end

function TestConfirm:test_level_none_looks_at_nothing()
   local node = { policy = assert(policy.parse('return { expect = { ["*"] = { memory_gib = 768 } } }', "p")),
      problems = {}, root = prepared.root, read_state = function() end }
   local result = check.run("none", node, { class = "c", memory_gib = 1 }, counters.snapshot(prepared.root))
   lu.assertEquals(result.metrics, {})
end

function TestConfirm:test_a_directory_is_no_part_of_the_node()
   tree.system(prepared.root, 768 * GIB)
   local text = 'return { expect = { ["*"] = { memory_gib = 768 } }, io_paths = { "/nowhere" }, kernels = { '
      .. "stream = { full = 0 }, dgemm = { full = 0 }, noise = { full = 0 }, numa = { full = 0 }, "
      .. "scaling = { full = 0 } } }"
   local node = setmetatable({ name = "n1", policy = assert(policy.parse(text, "p")), problems = {},
      root = prepared.root, state = prepared.root, run_dir = prepared.root }, nodes)
   local begun = {}
   node.watch = function(...)
      begun[#begun + 1] = { ... }
   end
   local result = check.run("full", node, { class = "c", memory_gib = 768 }, counters.snapshot(prepared.root))
   lu.assertEquals({ result.runs[1].path, result.status, result.node_status }, { "/nowhere", "unknown", "pass" })
   lu.assertEquals(begun, { { "io", 1, 1, 3 } })
end

-- None of them is installed here: each begins, and is unknown.
function TestConfirm:test_who_watches_sees_what_begins_and_how_much_is_left()
   tree.system(prepared.root, 768 * GIB)
   local text = 'return { io_paths = { "/nowhere", "/there" }, kernels = { noise = { full = 0 }, numa = { full = 0 }, '
      .. "scaling = { full = 0 } } }"
   local begun = {}
   local node = setmetatable({ name = "n1", policy = assert(policy.parse(text, "p")), problems = {},
      root = prepared.root, state = prepared.root, run_dir = prepared.root, watch = function(...)
         begun[#begun + 1] = { ... }
      end }, nodes)
   local result = check.run("full", node, { class = "c" }, counters.snapshot(prepared.root))
   lu.assertEquals(begun, { { "stream", 1, 4, 9 }, { "dgemm", 2, 4, 7 }, { "io", 3, 4, 6 }, { "io", 4, 4, 3 } })
   lu.assertEquals({ result.planned, result.begun }, {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
