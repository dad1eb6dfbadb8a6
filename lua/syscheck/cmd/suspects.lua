--- syscheck suspects: nodes over-represented in slow jobs, and the condition that goes with it.
local printable = require("syscheck.lib.printable")
local causes = require("syscheck.questions.why.causes")
local data = require("syscheck.questions.why.read")
local output = require("syscheck.lib.output")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local suspects = require("syscheck.questions.suspects.logic")
local suspects_data = require("syscheck.questions.suspects.read")
local text = require("syscheck.questions.why.words")
local time = require("syscheck.lib.time")
local why = require("syscheck.questions.why.logic")

local command = {}

local LOOKED = 3 -- slow runs of a suspect that are looked at for its condition: the newest

function command.add_to(parser)
   local one = parser:command("suspects", "List nodes that take part in more slow jobs than chance explains, and the "
      .. "condition that goes with it."):summary("List nodes over-represented in slow jobs.")
   question.add_since(one, "30d", "Jobs that began")
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

local RUN = [[SELECT r.id, r.begin_s, r.end_s, r.seen, r.nodes FROM run r WHERE r.id = ?]]

-- The condition of a suspect that most of its slow runs show.
local function condition_of(db, one)
   local by_group, best = {}, nil
   one.looked = 0
   for i = 1, math.min(LOOKED, #one.slow) do
      local t = db:row(RUN, one.slow[i].key)
      local input = data.read(db, { key = t[1], begin_s = t[2], end_s = t[3], seen = t[4], nodes = t[5] })
      one.looked = one.looked + 1
      for _, c in ipairs(why.analyse(input).conditions) do
         if c.node == one.node and c.out_of_line then
            local b = by_group[c.group] or { group = c.group, runs = 0, first = c, nodes = #input.rows }
            by_group[c.group] = b
            b.runs = b.runs + 1
            if not best or b.runs > best.runs or (b.runs == best.runs and c.p < best.first.p) then
               best = b
            end
         end
      end
   end
   one.condition = best
end

local HEAD = { "NODE", "SLOW_RUNS", "OF", "EXPECTED", "TIMES", "P", "CAUSE", "IN", "WHAT" }

local function print_table(list, told, name, from)
   print(("%d of %d runs were slow since %s: more than %.0f %% over the median of at least %d like runs (same cluster, "
      .. "user, name, node count; %d kind%s) and beyond their spread"):format(told.slow, told.compared,
      time.show(from), 100 * (suspects.SLOW - 1), suspects.MIN_RUNS, told.kinds, told.kinds == 1 and "" or "s"))
   if told.looked < told.slow then
      print(("the newest %d of them are looked at"):format(told.looked))
   end
   print()
   if #list == 0 then
      print("no node is in more of them than chance explains.")
      return
   end
   local rows = { HEAD }
   for i, one in ipairs(list) do
      local c = one.condition
      rows[i + 1] = { output.cell(name(one.node), "bad"), ("%d"):format(#one.slow), ("%d"):format(one.runs),
         ("%.1f"):format(one.expected), one.times and text.times(one.times) or "-", text.p(one.p_corrected),
         c and causes.GROUPS[c.group] or "-", c and ("%d/%d"):format(c.runs, one.looked) or "-",
         c and text.evidence(c.first.evidence[1]) or "nothing that was recorded" }
   end
   print(output.table(rows, output.has_color()))
   print()
   print(("P: corrected for %d nodes; IN: of the newest slow runs; a slow run counts for the worst of its nodes "
      .. "only"):format(told.nodes))
end

local function print_json(list, told, raw_name, from)
   local out = output.list()
   for i, one in ipairs(list) do
      local c, runs = one.condition, output.list()
      for k = 1, math.min(20, #one.slow) do
         runs[k] = { job = one.slow[k].job_id, ratio = one.slow[k].ratio, begin = time.show(one.slow[k].begin_s) }
      end
      out[i] = { node = raw_name(one.node), slow = #one.slow, runs = one.runs, expected = one.expected,
         times = one.times, p = one.p, p_corrected = one.p_corrected, slow_runs = runs,
         condition = c and { cause = c.group,
            text = text.evidence(c.first.evidence[1]), name = c.first.evidence[1].name, runs = c.runs,
            looked = one.looked } or nil }
   end
   print(output.json({ v = 1, since = time.show(from), runs = told.compared, slow = told.slow, kinds = told.kinds,
      nodes = told.nodes, suspects = out }))
end

local CSV = { "node", "slow", "runs", "expected", "times", "p", "p_corrected", "cause", "in", "looked", "what" }

local function print_csv(list, raw_name)
   io.stdout:write(output.csv(CSV, #CSV))
   for _, one in ipairs(list) do
      local c = one.condition
      io.stdout:write(output.csv({ raw_name(one.node), #one.slow, one.runs, one.expected, one.times, one.p,
         one.p_corrected, c and c.group, c and c.runs, one.looked, c and text.evidence(c.first.evidence[1]) }, #CSV))
   end
end

function command.run(args)
   local policy, code = question.policy(args)
   return policy and question.run(args, policy, function(db)
      local slow, exposure, told = suspects_data.read(db, args.since)
      if told.runs == 0 then
         return report.error(report.NOT_FOUND, "no job began since %s", time.show(args.since))
      end
      told.nodes = 0
      for _ in pairs(exposure) do
         told.nodes = told.nodes + 1
      end
      local list = suspects.find(slow, exposure)
      for _, one in ipairs(list) do
         condition_of(db, one)
      end
      local function raw_name(node)
         local t = db:row("SELECT n.name FROM node n WHERE n.id = ?", node)
         return t and t[1] or ("%d"):format(node)
      end
      local format = output.format(args)
      if format == "json" then
         print_json(list, told, raw_name, args.since)
      elseif format == "csv" then
         print_csv(list, raw_name)
      else
         print_table(list, told, function(node)
            return printable.safe(raw_name(node))
         end, args.since)
      end
      return 0
   end) or code
end

return command
