--- A prepared node for a test: files below a root of its own, and what syscheck reads there.
-- A test class with { setUp = prepared.setUp, tearDown = prepared.tearDown } has a new root for each test.
local counters = require("syscheck.hardware.snapshot")
local deltas = require("syscheck.counters.deltas")
local gauges = require("syscheck.counters.gauges")
local inventory = require("syscheck.hardware.inventory")
local json = require("cjson")
local machine = require("syscheck.hardware.machine")
local tree = require("tree")

local prepared = { root = nil }

function prepared.setUp()
   prepared.root = tree.new()
end

function prepared.tearDown()
   tree.remove(prepared.root)
end

--- Writes one file; text is written as it is.
function prepared.put(path, text)
   tree.put(prepared.root, path, text)
end

--- Adds the files of a machine in tests/fixtures/machines.
function prepared.use(name)
   tree.machine(prepared.root, name)
end

--- A snapshot that went through JSON, as a begin snapshot does.
-- @param seconds its uptime_s
function prepared.take(seconds)
   local snapshot = json.decode(json.encode(counters.snapshot(prepared.root)))
   snapshot.uptime_s = seconds
   return snapshot
end

--- The totals of such a snapshot: { source = { name = number } }
function prepared.totals()
   local out = {}
   for name, source in pairs(prepared.take(0).sources) do
      out[name] = deltas.total(source)
   end
   return out
end

function prepared.gauges()
   return gauges.read(machine.at(prepared.root), inventory.read(prepared.root))
end

return prepared
