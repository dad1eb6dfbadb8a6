--- syscheck compare: two sets of `run --json` against each other, as before and after a change of the BIOS.
local json = require("cjson.safe").new()
local compare = require("syscheck.verdict.compare")
local files = require("syscheck.lib.files")
local metrics = require("syscheck.catalogue.metrics")
local node = require("syscheck.node.node")
local output = require("syscheck.lib.output")
local page = require("syscheck.cmd.common.page")
local printable = require("syscheck.lib.printable")
local records = require("syscheck.spool.records")
local report = require("syscheck.cmd.common.report")
local show = require("syscheck.verdict.detail.values").show
local terminal = require("syscheck.lib.terminal")

local command = {}

json.decode_invalid_numbers(false)

local MAX_BYTES = 33554432 -- a run of a node of 192 cores is 0.1 MB
local WORSE, COULD_NOT = 1, 3
local STYLES = { better = "good", worse = "bad", ["cannot tell"] = "warn" }

function command.add_to(parser)
   local one = parser:command("compare", "Compare two sets of syscheck run --json, as before and after a change of the "
      .. "BIOS: what differs beyond the noise. Exit status 1: something is worse.")
      :summary("Compare runs before and after a change.")
   one:argument("a", "File of run --json, one object a line; several runs tell the noise."):args(1)
   one:argument("b", "The same, after the change."):args(1)
   one:option("--policy", "Policy file to use (its baseline knows how runs of a node differ)."):argname("FILE")
   output.add_options(one)
end

local function stop(text, ...)
   report.stop(COULD_NOT, "compare: " .. text, ...)
end

-- Objects of a text: one a line, else all of it is one (jq's form), or a list of them.
-- @return list of { object or nil, line }
local function objects(text)
   local list, good = {}, false
   local number = 0
   for line in (text .. "\n"):gmatch("([^\n]*)\n") do
      number = number + 1
      -- Jobs' records have nothing to compare, and decoding takes the time.
      if line:find("%S") and not line:find('"kind":"job"', 1, true) then
         local object = json.decode(line)
         list[#list + 1] = { object, line = number }
         good = good or type(object) == "table"
      end
   end
   local whole = not good and json.decode(text)
   if type(whole) ~= "table" then
      return list
   end
   list = {}
   for i, object in ipairs(#whole > 0 and whole or { whole }) do
      list[i] = { object, line = 0 }
   end
   return list
end

local function why_not(object)
   if type(object) ~= "table" then
      return "not JSON, or cut off"
   elseif object.kind ~= "check" or type(object.node) ~= "string" or type(object.class) ~= "string"
      or type(object.time) ~= "string" then
      return "not of syscheck run --json, nor a check's record"
   elseif object.v ~= records.VERSION then
      return ("version %s, this syscheck reads %d"):format(printable.safe(object.v, 20), records.VERSION)
   elseif not compare.has_values(object) then
      return "has no measured values (levels quick and full measure)"
   end
end

-- Check records of a file; ends the command where there are none.
local function read(path)
   local shown = printable.safe(path, 200)
   local text, err = files.read(path, MAX_BYTES + 1)
   if not text then
      stop("%s", err:find(path, 1, true) and printable.safe(err, 300) or ("%s: %s"):format(shown, err))
   elseif #text > MAX_BYTES then
      stop("%s: more than %d MiB", shown, MAX_BYTES >> 20)
   end
   local found, wrong = {}, {}
   for _, one in ipairs(objects(text)) do
      local why = why_not(one[1])
      if why then
         wrong[#wrong + 1] = ("%s%s: %s"):format(shown, one.line > 0 and ":" .. one.line or "", why)
      else
         found[#found + 1] = one[1]
      end
   end
   if not found[1] then
      stop("%s", wrong[1] or shown .. ": nothing to compare in it")
   elseif wrong[1] then
      report.error(0, "compare: %s%s; left out", wrong[1], wrong[2] and (" (and %d more)"):format(#wrong - 1) or "")
   end
   return found
end

-- How runs of a node differ, where the baseline in use is of both sides' class.
local function run_pct_of(host, a, b)
   local class = a[1].class
   for _, list in ipairs({ a, b }) do
      for _, record in ipairs(list) do
         class = record.class == class and class or nil
      end
   end
   local known = class and host.baseline and host.baseline.classes[class]
   return function(key)
      local m = known and known.metrics[key]
      return m and m.run_pct
   end
end

local function shown(row, value)
   return row.metric and metrics.show(row.metric, value) or show(value)
end

local function percent(value, format)
   value = value and (math.abs(value) < 0.05 and 0 or value)
   return value and (math.abs(value) < 999.5 and format or format:gsub("%.1f", ".0f")):format(value) or "-"
end

local function as_rows(answer)
   local rows, narrow = { { "METRIC", "A", "B", "UNIT", "CHANGE_%", "NOISE_%", "VERDICT" } }, {}
   for _, one in ipairs(answer.rows) do
      local limit = percent(one.noise_pct, "%.1f") .. (one.noise_from == "assumed" and "*" or "")
      rows[#rows + 1] = { printable.safe(one.label, 60), shown(one, one.a), shown(one, one.b), one.unit,
         percent(one.change_pct, "%+.1f"), limit, output.cell(one.verdict, STYLES[one.verdict]) }
   end
   for i, row in ipairs(rows) do
      narrow[i] = { row[1], row[5], row[6], row[7] }
   end
   return { rows = rows, narrow = narrow, cut = 1 }
end

local function of_side(name, path, list)
   local first, last = list[1], list[#list]
   return ("%s  %s: %d run%s, %s, %s, %s%s"):format(name, printable.safe(path, 100), #list, #list == 1 and "" or "s",
      printable.safe(first.node), printable.safe(first.class), printable.safe(first.time),
      last.time ~= first.time and " to " .. printable.safe(last.time) or "")
end

local function listed(keys)
   local words = {}
   for i, key in ipairs(keys) do
      words[i] = printable.safe(key, 100)
   end
   return table.concat(words, ", ")
end

local function as_table(answer, args, a, b)
   local form = page.form()
   local lines = {}
   local function say(text, style)
      lines[#lines + 1] = page.text(text, style, form, 0)
   end
   say(of_side("A", args.a, a))
   say(of_side("B", args.b, b))
   lines[#lines + 1] = ""
   lines[#lines + 1] = page.table(as_rows(answer), form, 0)
   lines[#lines + 1] = ""
   for _, one in ipairs(answer.wrong) do
      say(("WRONG RESULT in %s: %s"):format(one.side:upper(), printable.safe(one.kernel)), "warn")
   end
   for _, one in ipairs(answer.changed) do
      say(("changed: %s %s -> %s"):format(printable.safe(one.what), printable.safe(one.a or "-", 100),
         printable.safe(one.b or "-", 100)))
   end
   for _, side in ipairs({ "a", "b" }) do
      local only = answer["only_" .. side]
      if only[1] then
         say(("only in %s: %s"):format(side:upper(), listed(only)))
      end
   end
   for _, text in ipairs(answer.remarks) do
      say("note: " .. text, "warn")
   end
   if answer.assumed then
      say("*: assumed, as one run tells nothing of the noise; better are three: "
         .. "for i in 1 2 3; do syscheck run --json; done > A.json")
   end
   say(("%d better, %d worse, of %d"):format(answer.better, answer.worse, #answer.rows))
   return table.concat(lines, "\n") .. "\n"
end

local FIELDS = { "name", "label", "unit", "a", "b", "runs_a", "runs_b", "disturbed_a", "disturbed_b", "change",
   "change_pct", "noise", "noise_pct", "noise_from", "verdict", "why" }

local function of_row(one)
   local out = {}
   for _, field in ipairs(FIELDS) do
      out[field] = one[field]
   end
   return out
end

local function side(path, list)
   return { file = path, runs = #list, node = list[1].node, class = list[1].class, first = list[1].time,
      last = list[#list].time }
end

local function as_json(answer, args, a, b)
   return output.json({ a = side(args.a, a), b = side(args.b, b), rows = output.each(answer.rows, of_row),
      changed = output.list(answer.changed), only_a = output.list(answer.only_a), only_b = output.list(answer.only_b),
      wrong = output.list(answer.wrong), remarks = output.list(answer.remarks), better = answer.better,
      worse = answer.worse })
end

local function as_csv(answer)
   local rows = {}
   for i, one in ipairs(answer.rows) do
      rows[i] = {}
      for j, field in ipairs(FIELDS) do
         rows[i][j] = one[field]
      end
   end
   return output.csv(FIELDS, rows)
end

function command.run(args)
   local a, b = read(args.a), read(args.b)
   local host = node.open(nil, { policy = args.policy, without_policy = not args.policy })
   local answer = compare.of(a, b, run_pct_of(host, a, b))
   if not answer.rows[1] then
      stop("%s and %s have no value in common", printable.safe(args.a, 200), printable.safe(args.b, 200))
   end
   local format = output.format(args)
   if format == "json" then
      print(as_json(answer, args, a, b))
   elseif format == "csv" then
      io.stdout:write(as_csv(answer))
   else
      terminal.print(as_table(answer, args, a, b))
   end
   for _, one in ipairs(answer.wrong) do
      if one.side == "b" then
         return WORSE
      end
   end
   return answer.worse > 0 and WORSE or 0
end

return command
