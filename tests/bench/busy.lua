-- What checks find while others use the node; see busy.sh.
--   lua5.4 tests/bench/busy.lua DIR SCENARIO...   a table, and `busy` in build/bench/detect.json
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local files = require("syscheck.lib.files")
local output = require("syscheck.lib.output")

local JSON = "build/bench/detect.json"

local function records(path)
   local list = {}
   for line in (files.read(path, 1 << 28) or ""):gmatch("[^\n]+") do
      list[#list + 1] = json.decode(line)
   end
   return list
end

local function report(dir, scenarios)
   local rows, out = { { "OTHERS", "RATES_OF", "CHECKS", "PASS", "BUSY", "FAIL", "UNKNOWN", "BEYOND" } }, {}
   for _, scenario in ipairs(scenarios) do
      for _, factor in ipairs({ "1", "0.7", "0.5" }) do
         local n = { pass = 0, busy = 0, fail = 0, unknown = 0, beyond = 0 }
         local list = records(("%s/records/%s-%s.jsonl"):format(dir, scenario, factor))
         for _, r in ipairs(list) do
            local beyond, not_rated = false, false
            for _, m in ipairs(r.metrics or {}) do
               beyond = beyond or (m.value and m.limit and m.op == "<" and m.value < m.limit) or false
               not_rated = not_rated or m.busy or false
            end
            local what = r.status == "fail" and "fail" or not_rated and "busy" or r.status == "unknown" and "unknown"
               or "pass"
            n[what] = n[what] + 1
            n.beyond = n.beyond + (beyond and 1 or 0)
         end
         rows[#rows + 1] = { scenario, factor, ("%d"):format(#list), ("%d"):format(n.pass), ("%d"):format(n.busy),
            ("%d"):format(n.fail), ("%d"):format(n.unknown), ("%d"):format(n.beyond) }
         n.scenario, n.factor, n.checks = scenario, tonumber(factor), #list
         out[#out + 1] = n
      end
   end
   print(output.table(rows))
   local good, all = pcall(json.decode, files.read(JSON, 16777216) or "{}")
   all = good and all or {}
   all.busy = out
   assert(files.write(JSON, json.encode(all) .. "\n"))
end

report(arg[1], table.move(arg, 2, #arg, 1, {}))
