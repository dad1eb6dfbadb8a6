--- syscheck run: checks this machine now, with or without Slurm. Drains nothing.
local json = require("cjson").new()
local check = require("syscheck.measure.check")
local counters = require("syscheck.hardware.snapshot")
local detail = require("syscheck.verdict.detail")
local html_file = require("syscheck.cmd.common.html_file")
local interrupts = require("syscheck.lib.interrupts")
local inventory = require("syscheck.hardware.inventory")
local level = require("syscheck.policy.level")
local metrics = require("syscheck.catalogue.metrics")
local node = require("syscheck.node.node")
local output = require("syscheck.lib.output")
local page = require("syscheck.cmd.common.page")
local printable = require("syscheck.lib.printable")
local progress = require("syscheck.lib.progress")
local records = require("syscheck.spool.records")
local report = require("syscheck.cmd.common.report")
local run_page = require("syscheck.cmd.common.run_page")
local show = require("syscheck.verdict.show")
local terminal = require("syscheck.lib.terminal")

local run = {}

local OPS = { ["<"] = "min", [">"] = "max", ["="] = "want" }
local EXIT = { pass = 0, warn = 0, unrated = 0, fail = 1, unknown = 3 }

json.encode_invalid_numbers("null")

function run.add_to(parser)
   local command = parser:command("run", "Check this machine now; drains nothing."):summary("Check this machine now.")
   command:option("--level", "none, passive, quick or full."):default("quick"):argname("LEVEL"):convert(function(value)
      local lvl, err = level.parse(value)
      return lvl, not lvl and "--level: " .. err or nil
   end)
   command:mutex(command:flag("--json", "Print the check as one JSON object."), html_file.option(command))
   command:option("--policy", "Policy file to use."):argname("FILE")
end

local STYLES = { pass = "good", fail = "bad", warn = "warn", unknown = "warn" }

-- For a narrow terminal: the limit that was broken is in a sentence below.
local function without_limit(rows)
   local out = {}
   for r, row in ipairs(rows) do
      out[r] = { row[1], r == 1 and row[2] or ("%s %s"):format(row[2], row[3]), row[5] }
   end
   return out
end

-- What was rated, first of all; and sentences on what is not good.
local function summary(host, hardware, result, form)
   local rows = { { "CHECK", "VALUE", "UNIT", "LIMIT", "STATUS" } }
   for _, r in ipairs(result.metrics) do
      local m = metrics.of(r.name)
      rows[#rows + 1] = {
         m.label,
         r.value and metrics.show(m, r.value) or "-",
         m.unit ~= "" and m.unit or (m.expected or m.own) and "-" or "events",
         r.limit and ("%s %s"):format(OPS[r.op], metrics.show(m, r.limit)) or "-",
         output.cell(r.status, STYLES[r.status]),
      }
   end
   local notes = {}
   for _, path_run in ipairs(result.runs) do
      if path_run.path then
         local row, note = show.path(path_run)
         row[5] = output.cell(row[5], STYLES[row[5]])
         rows[#rows + 1] = row
         -- What was measured is in the section on directories.
         notes[#notes + 1] = path_run.state ~= "ok" and note or nil
      end
   end
   local lines = {
      page.text(("%s  %s  level %s: %s"):format(printable.safe(host.name), hardware.class, result.level, result.status),
         "strong", form, 0),
      "",
      #rows > 1 and page.table({ rows = rows, narrow = without_limit(rows), cut = 1 }, form, 0)
         or page.text("nothing to rate: this level reads counters, and this machine has none", nil, form, 0),
   }
   local function say(text)
      lines[#lines + 1] = page.text(text, nil, form, 0)
   end
   for _, r in ipairs(result.metrics) do
      if r.status == "fail" or r.status == "warn" or r.status == "unknown" then
         say(("%s: %s"):format(r.status, printable.safe(r.text, 300)))
      end
   end
   for _, note in ipairs(notes) do
      say(note)
   end
   for _, problem in ipairs(host.problems) do
      say("problem: " .. printable.plain(problem, 300))
   end
   return table.concat(lines, "\n")
end

local function as_text(host, hardware, result)
   local form = page.form()
   local sections = detail.sections(result.runs)
   return summary(host, hardware, result, form) .. "\n"
      .. (sections[1] and "\n" .. page.sections(sections, form) .. "\n" or "")
end

-- "stream  2 of 5   about 9 s left", while kernels run.
local function watch(line, interrupted)
   return function(kernel, at, of, seconds)
      if interrupted.why() then
         return
      end
      local until_s = node.now_s() + seconds
      line.show(function()
         return ("%-7s  %d of %d   about %.0f s left"):format(kernel, at, of, math.max(1, until_s - node.now_s()))
      end)
   end
end

function run.run(args)
   local interrupted = interrupts.open()
   local host = node.open(os.getenv("SLURMD_NODENAME"), { policy = args.policy, without_policy = not args.policy })
   local from = counters.snapshot("")
   local hardware = inventory.read("")
   local line, trace = not args.json and progress.open(), args.html and run_page.begin()
   host.give_up, host.watch = interrupted.why, line and watch(line, interrupted)
   -- Who disturbs: of one node, by hand, it is worth the time.
   host.more_args = function(name, attempt)
      return name == "noise" and { "--attribute", table.unpack(run_page.args(trace, attempt)) } or nil
   end
   local result = check.run(args.level, host, hardware, from)
   if line then
      line.clear()
   end
   local code = interrupted.code()
   interrupted.close()
   if code then
      run_page.forget(trace)
      return report.error(code, "interrupted")
   elseif args.json or args.html then
      local record = records.check("run", host, hardware, result)
      record.runs = #result.runs > 0 and result.runs or nil -- each core's values, too
      record.action, record.duration_s = "none", result.duration_s
      for _, one in ipairs(result.runs) do
         one.loss = nil -- of the verdict only; others.loss_pct is the same
      end
      if args.html then
         code = run_page.finish(args.html, trace, record)
         return code == 0 and EXIT[result.status] or code
      end
      print(json.encode(record))
   else
      terminal.print(as_text(host, hardware, result))
   end
   return EXIT[result.status]
end

return run
