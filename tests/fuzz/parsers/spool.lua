-- spool/records, spool/segments, store/spoolfile, lib/lines: files of a spool and their lines.
local memory = require("tree_in_memory")
local oracle = require("oracle")
local records = require("syscheck.spool.records")
local segments = require("syscheck.spool.segments")
local spoolfile = require("syscheck.store.spoolfile")

local LINE = '{"v":1,"kind":"job","id":"0123456789abcdef0123456789abcdef","node":"n1"}\n'
local NAME = "records-20261121T080000Z-0123456789abcdef"

local function seeds()
   return {
      "@@ /s/records.jsonl\n" .. LINE .. "\n" .. LINE .. "torn",
      ("@@ /s/%s.jsonl\n%s@@ /s/%s.shipped.jsonl\n%s@@ /s/lost-0123456789abcdef-5-700-full\n"):format(NAME, LINE, NAME, LINE),
      "@@ /s/n1/records.jsonl\n" .. LINE .. "@@ /s/n2/records-x.jsonl\n{\"v\":2}\n@@ /s/.x/records.jsonl\nx\n",
      ("@@ /s/.%s.jsonl.0123\nx\n@@ /s/lost-0123456789abcdef-99999999999999999999-9223372036854775808-max\n"):format(NAME),
   }
end

memory.install()

local function run(input)
   memory.use(input)
   local list = segments.list("/s")
   for _, one in ipairs(list.lost) do
      assert(math.type(one.records) == "integer" and math.type(one.bytes) == "integer", "a loss' numbers")
      assert(one.records >= 0 and one.bytes >= 0, "a loss below zero")
      assert(#segments.lost_name(one.id, one.records + 1, one.bytes + 1, one.reason) < 255, "a loss' name")
   end
   for _, name in ipairs(list.closed) do
      assert(#segments.id_of(name) == 16 and segments.shipped_name(name) ~= name, "a segment's name")
   end
   segments.total("/s", list.closed)
   local dirs = records.dirs("/s/%n")
   local bad = 0
   for record in records.read({ "/s", table.unpack(dirs) }, function(file, line, why)
      bad = bad + 1
      assert(type(file) == "string" and math.type(line) == "integer", "a bad line's place")
      -- A file's name in it is shown as any other.
      local at = why:find(file, 1, true)
      oracle.line(at and why:sub(1, at - 1) .. why:sub(at + #file) or why, 500)
   end) do
      assert(record.v == 1 and type(record.kind) == "string" and type(record.node) == "string", "no record")
   end
   local paths = spoolfile.list("/s")
   for _, path in ipairs(paths or {}) do
      local file = spoolfile.open(path)
      if file then
         local at, count = 0, 0
         while true do
            local line, torn = spoolfile.next(file)
            if line == nil then
               break
            end
            count = count + 1
            assert(line == false or not line:find("\n", 1, true), "a line of several")
            assert(file.at > at and file.line == count and file.at <= file.size, "where reading goes on")
            assert(not torn or file.closed, "a torn line of an open file")
            at = file.at
         end
         spoolfile.close(file)
      end
   end
end

return { run = run, seeds = seeds, max = 3000 }
