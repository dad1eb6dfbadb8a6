#!/usr/bin/env lua5.4
--- The results of all parsers in one file, and as a table.
--   report.lua OUT RESULT PARSER...
local json = require("cjson.safe").new()

local function main(out, result, ...)
   local parsers, findings, inputs = {}, 0, 0
   print(("%-16s %10s %7s %7s %7s %9s"):format("parser", "inputs", "corpus", "steps", "seconds", "findings"))
   for _, name in ipairs({ ... }) do
      local file = io.open(("%s/%s.json"):format(out, (name:gsub("/", "-"))))
      local one = file and json.decode(file:read("a"))
      if not one then
         -- It ended before it could say anything: that is one, too.
         one = { parser = name:match("[^/]+$"), inputs = 0, corpus = 0, edges = 0, wall_s = 0, findings = 1 }
      end
      parsers[#parsers + 1] = one
      findings, inputs = findings + one.findings, inputs + one.inputs
      print(("%-16s %10d %7d %7d %7d %9d"):format(name, one.inputs, one.corpus, one.edges, one.wall_s, one.findings))
   end
   local file = assert(io.open(result, "w"))
   file:write(json.encode({ time = os.date("!%Y-%m-%dT%H:%M:%SZ"), inputs = inputs, findings = findings,
      parsers = parsers }), "\n")
   file:close()
   print(("fuzz: %d parsers, %d inputs, %d findings; %s"):format(#parsers, inputs, findings, result))
   return findings == 0 and 0 or 1
end

os.exit(main(table.unpack(arg)))
