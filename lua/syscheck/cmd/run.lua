--- syscheck run: checks this machine now, with or without Slurm. Drains nothing.
local json = require("cjson").new()
local check = require("syscheck.measure.check")
local counters = require("syscheck.hardware.snapshot")
local html_file = require("syscheck.cmd.common.html_file")
local inventory = require("syscheck.hardware.inventory")
local level = require("syscheck.policy.level")
local metrics = require("syscheck.catalogue.metrics")
local node = require("syscheck.node.node")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local records = require("syscheck.spool.records")
local run_page = require("syscheck.cmd.common.run_page")
local show = require("syscheck.verdict.show")

local run = {}

local OPS = { ["<"] = "min", [">"] = "max", ["="] = "want" }
local EXIT = { pass = 0, warn = 0, unrated = 0, fail = 1, unknown = 3 }

json.encode_invalid_numbers("null")

function run.add_to(parser)
   local command = parser:command("run", "Check this machine now; drains nothing."):summary("Check this machine now.")
   command:option("--level", "none, passive, quick or full."):default("quick"):argname("LEVEL"):convert(function(value)
      local lvl, err = level.parse(value)
      return lvl, err and "--level: " .. err
   end)
   command:mutex(command:flag("--json", "Print the check as one JSON object."), html_file.option(command))
   command:option("--policy", "Policy file to use."):argname("FILE")
end

local function as_table(host, hardware, result)
   local rows = { { "CHECK", "VALUE", "UNIT", "LIMIT", "STATUS" } }
   for _, r in ipairs(result.metrics) do
      local m = metrics.BY_NAME[r.name]
      rows[#rows + 1] = {
         m.label,
         r.value and metrics.show(m, r.value) or "-",
         m.unit ~= "" and m.unit or m.expected and "-" or "events",
         r.limit and ("%s %s"):format(OPS[r.op], metrics.show(m, r.limit)) or "-",
         r.status,
      }
   end
   local notes = {}
   for _, path_run in ipairs(result.runs) do
      if path_run.path then
         rows[#rows + 1], notes[#notes + 1] = show.path(path_run)
      end
   end
   local lines = {
      ("%s  %s  level %s: %s"):format(printable.safe(host.name), hardware.class, result.level, result.status),
      "",
      #rows > 1 and output.table(rows) or "nothing to rate: this level reads counters, and this machine has none",
   }
   for _, r in ipairs(result.metrics) do
      if r.status == "fail" or r.status == "warn" or r.status == "unknown" then
         lines[#lines + 1] = ("%s: %s"):format(r.status, printable.safe(r.text, 300))
      end
   end
   table.move(notes, 1, #notes, #lines + 1, lines)
   for _, problem in ipairs(host.problems) do
      lines[#lines + 1] = "problem: " .. printable.plain(problem, 300)
   end
   return table.concat(lines, "\n")
end

function run.run(args)
   local host = node.open(os.getenv("SLURMD_NODENAME"), { policy = args.policy, without_policy = not args.policy })
   local from = counters.snapshot("")
   local hardware = inventory.read("")
   local trace = args.html and run_page.begin(host)
   local result = check.run(args.level, host, hardware, from)
   if args.json or args.html then
      local record = records.check("run", host, hardware, result)
      record.runs = #result.runs > 0 and result.runs or nil -- each core's values, too
      record.action, record.duration_s = "none", result.duration_s
      if args.html then
         local code = run_page.finish(args.html, trace, record)
         return code == 0 and EXIT[result.status] or code
      end
      print(json.encode(record))
   else
      print(as_table(host, hardware, result))
   end
   return EXIT[result.status]
end

return run
