-- What a node keeps of its last check: written when it has changed, and whatever an earlier version or a damage left.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local json = require("cjson.safe")
local last = require("syscheck.node.last")

TestLast = {}

-- A node with this file; counts what is written. A failing one writes nothing.
local function node_of(text, fails)
   return {
      writes = 0,
      read_state = function()
         return text and json.decode(text)
      end,
      save_state = function(self, _, value)
         self.writes = self.writes + 1
         text = not fails and json.encode(value) or text
         return not fails
      end,
   }
end

local function snapshot(more)
   local one = { boot_id = "b", class = "c", uptime_s = 5, sources = { throttle = { ["core_count:0"] = 7 },
      cpu = { iowait_ms = 1 } } }
   for key, value in pairs(more or {}) do
      one[key] = value
   end
   return one
end

local function keeps(node, one)
   return last.keep(node, last.read(node), one)
end

function TestLast:test_the_same_is_written_once()
   local node = node_of()
   lu.assertTrue(keeps(node, snapshot()))
   lu.assertTrue(keeps(node, snapshot({ uptime_s = 6 })))
   lu.assertEquals(node.writes, 1)
   lu.assertEquals(last.read(node), { boot_id = "b", class = "c", sources = { throttle = { ["core_count:0"] = 7 } } })
end

function TestLast:test_what_changed_is_written()
   for name, change in pairs({
      boot = { boot_id = "other" },
      class = { class = "other" },
      count = { sources = { throttle = { ["core_count:0"] = 8 } } },
      ["a CPU more"] = { sources = { throttle = { ["core_count:0"] = 7, ["core_count:1"] = 0 } } },
      ["a CPU less"] = { sources = { throttle = {} } },
      ["no counters"] = { sources = {} },
   }) do
      local node = node_of()
      keeps(node, snapshot())
      keeps(node, snapshot(change))
      lu.assertEquals(node.writes, 2, name)
      local kept, now = last.read(node), snapshot(change)
      lu.assertEquals({ kept.boot_id, kept.class, kept.sources.throttle or {} },
         { now.boot_id, now.class, now.sources.throttle or {} }, name)
      keeps(node, snapshot(change))
      lu.assertEquals(node.writes, 2, name)
   end
end

function TestLast:test_what_was_left_behind()
   -- A whole snapshot, as earlier versions kept it, will do.
   local node = node_of('{"boot_id":"b","class":"c","time":1,"sources":{"oom":{"kills":1},'
      .. '"throttle":{"core_count:0":7}}}')
   keeps(node, snapshot())
   lu.assertEquals(node.writes, 0)
   for _, damaged in ipairs({ '{"boot_id":"b"}', '{"boot_id":"b","class":"c","sources":7}', "{}", "[]",
      '{"boot_id":"b","class":"c","sources":{"throttle":"x"}}',
      '{"boot_id":"b","class":"c","sources":{"throttle":{"core_count:0":"7"}}}' }) do
      node = node_of(damaged)
      lu.assertTrue(keeps(node, snapshot()), damaged)
      lu.assertEquals(node.writes, 1, damaged)
   end
end

function TestLast:test_a_node_that_cannot_write()
   lu.assertFalse(keeps(node_of(nil, true), snapshot()))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
