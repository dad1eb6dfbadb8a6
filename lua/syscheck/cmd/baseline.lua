--- syscheck baseline learn | propose | show | diff | apply: what healthy nodes of each class measure.
local json = require("cjson").new()
local baseline = require("syscheck.verdict.baseline")
local baseline_file = require("syscheck.node.baseline_file")
local choose = require("syscheck.verdict.adoption")
local cpus = require("syscheck.verdict.cpus")
local files = require("syscheck.lib.files")
local metrics = require("syscheck.catalogue.metrics")
local output = require("syscheck.lib.output")
local paths = require("syscheck.lib.paths")
local printable = require("syscheck.lib.printable")
local proposal = require("syscheck.verdict.proposal")
local proposed = require("syscheck.cmd.common.proposed")
local report = require("syscheck.cmd.common.report")
local sorted = require("syscheck.lib.sorted")
local source = require("syscheck.cmd.common.lessons")
local spool = require("syscheck.cmd.common.spool")
local time = require("syscheck.lib.time")

local command = {}

function command.add_to(parser)
   local group = parser:command("baseline", "Learn, propose, show, compare or apply what healthy nodes of each class "
      .. "measure."):summary("Learn, propose, show, compare or apply the class baselines."):require_command(true)
      :command_target("action")
   local one = group:command("learn", "Compute the baseline from check records and write it.")
   source.add_options(one)
   one:option("--output", "File to write (default: the policy's baseline)."):argname("FILE")
   one:flag("--force", ("Learn from fewer than %d checks of a class, from a class of two populations, from few nodes "
      .. "that differ or may have lost parts, and medians more than %d %% worse than before."):format(
      baseline.MIN_CHECKS, 100 * baseline.MAX_DIP))
   one = group:command("propose", "Say which classes have enough for a baseline and what would change, and write it "
      .. "to a file that apply takes.")
   source.add_options(one)
   one:option("--output", ("File to write (default: %s beside the store, or beside the baseline)."):format(
      proposed.FILE)):argname("FILE")
   one = group:command("show", "Print the baseline.")
   one:option("--policy", "Policy file to use."):argname("FILE")
   one = group:command("diff", "Compare two baseline files.")
   one:argument("old", "Baseline file."):args(1)
   one:argument("new", "Baseline file."):args(1)
   one = group:command("apply", "Put a learned baseline in the place of the policy's.")
   one:argument("file", "Baseline file."):args(1)
   one:flag("--force", ("Also one whose medians are more than %d %% worse."):format(100 * baseline.MAX_DIP))
   one:option("--policy", "Policy file to use."):argname("FILE")
end

local complain = report.of("baseline")

local function stop(text, ...)
   report.stop(report.FAILED, "baseline: " .. text, ...)
end

local function shown(name, value)
   local m = metrics.BY_NAME[name]
   return m and metrics.show(m, value) or ("%g"):format(value)
end

local function percent(value)
   return value and ("%.1f"):format(value) or "-"
end

local function fact(value)
   return type(value) == "number" and ("%g"):format(value) or printable.safe(value == nil and "-" or value)
end

-- "dimms 24, memory_gib 768; kernel 6.1.0-18"
local function facts(c)
   local list = { c.cpus and cpus.words(c.cpus) or nil }
   for _, part in ipairs({ c.expect, c.config }) do
      local words = {}
      for _, key in ipairs(sorted(part)) do
         words[#words + 1] = ("%s %s"):format(key, fact(part[key]))
      end
      list[#list + 1] = #words > 0 and table.concat(words, ", ") or nil
   end
   return table.concat(list, "; ")
end

-- @param rows of output.table
local function print_rows(rows, notes)
   print(output.table(rows))
   if #notes > 0 then
      print("\n" .. table.concat(notes, "\n"))
   end
end

local function print_table(b)
   local rows = { { "CLASS", "METRIC", "MEDIAN", "SPREAD_%", "NODES", "CHECKS", "RUN_%", "TOLERANCE_%", "DROPPED" } }
   local notes = {}
   for _, class in ipairs(sorted(b.classes)) do
      local c = b.classes[class]
      for _, name in ipairs(sorted(c.metrics)) do
         local m = c.metrics[name]
         rows[#rows + 1] = { printable.safe(class), name, shown(name, m.median), percent(m.mad_pct),
            ("%d"):format(m.nodes or 0), ("%d"):format(m.n or 0), percent(m.run_pct), percent(m.tolerance_pct),
            ("%d"):format(m.dropped or 0) }
      end
      local text = facts(c)
      notes[#notes + 1] = (text ~= "" or c.forced) and ("%s: %s%s"):format(printable.safe(class),
         c.forced and "FORCED; " or "", text) or nil
   end
   print_rows(rows, notes)
end

local function used_file(host)
   return host:expand(host.policy.baseline or paths.baseline)
end

-- The baseline in use; nil where there is none, and with --force where it cannot be read.
local function in_use(path, force)
   local old, err, absent = baseline_file.read(path)
   if not old and not absent and not force then
      stop("%s; nothing to compare with (or --force)", err)
   end
   return old
end

local function write(path, b)
   -- What was learned has to be what can be read.
   local good, err = baseline.accept(b)
   if good then
      good, err = files.write(path, json.encode(b) .. "\n")
   end
   if not good then
      stop("%s: %s", path, err)
   end
end

-- What the records of args' place teach; the command ends where they teach nothing.
-- @return as of learn.of, text that names the place, store or nil
local function learned_of(args, host)
   if args.store and #args.spool > 0 then
      report.stop(report.USAGE, "--spool and --store exclude each other")
   elseif args.since and not args.store then
      report.stop(report.USAGE, "--since is of --store")
   end
   local db = args.store and source.open(args, host, "baseline: ") or nil
   local learned, left, where = source.learn(args, host, db, complain)
   for _, class in ipairs(sorted(left)) do
      if left[class].busy > 0 then
         complain("class %s: %d of %d checks left out, or a part of them: others used the node meanwhile", class,
            left[class].busy, left[class].checks)
      end
   end
   if not next(learned.classes) then
      stop("no check with measured values in %s (levels quick and full measure)", where)
   end
   return learned, where, db
end

local function chosen_of(learned, old, force)
   local chosen, remarks = choose.from(learned, old, force)
   for _, text in ipairs(remarks) do
      complain("%s", text)
   end
   if chosen then
      chosen.time = time.show(os.time())
   end
   return chosen
end

local function run_learn(args, host)
   local used = used_file(host)
   local target = args.output or used
   local old = in_use(used, args.force)
   local learned, where = learned_of(args, host)
   local chosen = chosen_of(learned, old, args.force)
   if not chosen then
      return complain("nothing is written")
   end
   write(target, chosen)
   print_table(chosen)
   print(("learned from %s, written to %s"):format(where, target))
   return 0
end

local function run_show(_, host)
   local path = used_file(host)
   local b, err, absent = baseline_file.read(path)
   if not b then
      return complain("%s%s", err, absent and "; syscheck baseline learn makes one" or "")
   end
   local trusted, why = files.trusted(path)
   if not trusted then
      complain("%s: no node believes it", why)
   end
   print_table(b)
   return 0
end

local function change(name, a, b)
   if not a or not b then
      return { a and shown(name, a.median) or "-", b and shown(name, b.median) or "-", a and "gone" or "new" }
   end
   return { shown(name, a.median), shown(name, b.median), ("%+.1f"):format(100 * (b.median / a.median - 1)) }
end

-- Keys of either table, sorted.
local function keys_of(a, b)
   local keys = {}
   for key in pairs(a) do keys[key] = true end
   for key in pairs(b) do keys[key] = true end
   return sorted(keys)
end

local function print_diff(old, new)
   local rows, notes = { { "CLASS", "METRIC", "OLD", "NEW", "CHANGE_%", "TOLERANCE_%" } }, {}
   local none = { metrics = {}, expect = {}, config = {} }
   for _, class in ipairs(keys_of(old.classes, new.classes)) do
      local a, b = old.classes[class] or none, new.classes[class] or none
      for _, m in ipairs(metrics.LIST) do
         local before, after = a.metrics[m.name], b.metrics[m.name]
         if before or after then
            local cells = change(m.name, before, after)
            rows[#rows + 1] = { printable.safe(class), m.name, cells[1], cells[2], cells[3],
               ("%s -> %s"):format(percent(before and before.tolerance_pct), percent(after and after.tolerance_pct)) }
         end
      end
      if a ~= none and b ~= none and not cpus.alike(a, b) then
         notes[#notes + 1] = ("%s: %s -> %s: not comparable"):format(printable.safe(class),
            cpus.words(cpus.of_class(a)), cpus.words(cpus.of_class(b)))
      end
      for _, part in ipairs({ "expect", "config" }) do
         for _, key in ipairs(keys_of(a[part], b[part])) do
            local before, after = a[part][key], b[part][key]
            if before ~= after then
               notes[#notes + 1] = ("%s: %s %s -> %s"):format(printable.safe(class), printable.safe(key),
                  fact(before), fact(after))
            end
         end
      end
   end
   print_rows(rows, notes)
end

local function run_propose(args, host)
   local used = used_file(host)
   local old = in_use(used, true)
   local learned, where, db = learned_of(args, host)
   local counts = proposal.counts(learned)
   local chosen = chosen_of(learned, old, false)
   local rows = { { "CLASS", "NODES", "CHECKS", "STANDING" } }
   for _, count in ipairs(counts) do
      rows[#rows + 1] = { printable.safe(count.class), ("%d"):format(count.nodes), ("%d"):format(count.checks),
         proposal.standing(count, chosen, old) }
   end
   print(output.table(rows))
   if not chosen then
      return complain("nothing is proposed")
   end
   local file = args.output or db and proposed.path(db) or proposed.beside(used)
   write(file, chosen)
   print("")
   print_diff(old or { classes = {} }, chosen)
   print(("\nfrom %s, written to %s; to use it: syscheck baseline apply %s"):format(where, file, file))
   return 0
end

local function read(path)
   local b, err = baseline_file.read(path)
   return b or stop("%s", err)
end

local function run_diff(args)
   print_diff(read(args.old), read(args.new))
   return 0
end

local function run_apply(args, host)
   local used = used_file(host)
   local new, err = baseline_file.read(args.file)
   local trusted, why = files.trusted(args.file)
   if not new or not trusted then
      return complain("%s", err or why)
   end
   if new.v ~= baseline.VERSION then
      return complain("%s: version %d; learn it anew", args.file, new.v)
   end
   local old = in_use(used, args.force)
   local dips = old and choose.dips(old, new) or {}
   for _, d in ipairs(dips) do
      complain("class %s, %s: %s%s", d.class, d.name, d.text, args.force and " (forced)" or " (or --force)")
   end
   if #dips > 0 and not args.force then
      return complain("nothing is written")
   end
   choose.set_references(old, new, args.force)
   write(used, new)
   print_diff(old or { classes = {} }, new)
   print("written to " .. used)
   return 0
end

local ACTIONS = { learn = run_learn, propose = run_propose, show = run_show, diff = run_diff, apply = run_apply }

function command.run(args)
   return ACTIONS[args.action](args, spool.node(args))
end

return command
