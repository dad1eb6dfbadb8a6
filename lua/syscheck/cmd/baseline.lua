--- syscheck baseline learn | show: what healthy nodes of each class measure.
local json = require("cjson").new()
local baseline = require("syscheck.baseline")
local files = require("syscheck.files")
local metrics = require("syscheck.metrics")
local paths = require("syscheck.paths")
local render = require("syscheck.render")
local spool = require("syscheck.spool")

local command = {}

function command.add_to(parser)
   local group = parser:command("baseline", "Learn or show what healthy nodes of each hardware class measure.")
      :summary("Learn or show the class baselines."):require_command(true):command_target("action")
   local learn = group:command("learn", "Compute the baseline from check records and write it.")
   spool.add_options(learn)
   learn:option("--output", "File to write (default: the policy's baseline)."):argname("FILE")
   learn:flag("--force", ("Learn from fewer than %d nodes or %d checks of a class.")
      :format(baseline.MIN_NODES, baseline.MIN_CHECKS))
   local show = group:command("show", "Print the baseline.")
   show:option("--policy", "Policy file to use."):argname("FILE")
end

local function sorted(t)
   local keys = {}
   for k in pairs(t) do
      keys[#keys + 1] = k
   end
   table.sort(keys)
   return keys
end

local function print_table(b)
   local rows = { { "CLASS", "METRIC", "MEDIAN", "SPREAD_%", "NODES", "CHECKS" } }
   for _, class in ipairs(sorted(b.classes)) do
      for _, name in ipairs(sorted(b.classes[class])) do
         local m, c = metrics.BY_NAME[name], b.classes[class][name]
         rows[#rows + 1] = { render.safe(class), name, m and metrics.show(m, c.median) or ("%g"):format(c.median),
            ("%.1f"):format(c.mad_pct), ("%d"):format(c.nodes or 0), ("%d"):format(c.n or 0) }
      end
   end
   print(render.table(rows))
end

local function learn(args, self)
   local output = args.output or self:expand(self.policy.baseline or paths.baseline)
   local records, where = spool.records(args, self)
   local learned = baseline.learn(records)
   if not next(learned.classes) then
      io.stderr:write("syscheck: baseline: no check with measured values in ", where, "\n")
      return 1
   end
   local few = 0
   for _, class in ipairs(sorted(learned.classes)) do
      for _, name in ipairs(sorted(learned.classes[class])) do
         local c = learned.classes[class][name]
         if c.nodes < baseline.MIN_NODES or c.n < baseline.MIN_CHECKS then
            few = few + 1
            io.stderr:write(("syscheck: baseline: class %s, %s: %d nodes, %d checks; want %d and %d%s\n"):format(
               render.safe(class), name, c.nodes, c.n, baseline.MIN_NODES, baseline.MIN_CHECKS,
               args.force and " (forced)" or " (or --force)"))
         end
      end
   end
   if few > 0 and not args.force then
      return 1
   end
   local ok, err = files.write(output, json.encode(learned) .. "\n")
   if not ok then
      io.stderr:write(("syscheck: baseline: %s: %s\n"):format(output, err))
      return 1
   end
   print_table(learned)
   print("written to " .. output)
   return 0
end

function command.run(args)
   local self, err = spool.node(args)
   if not self then
      io.stderr:write("syscheck: ", err, "\n")
      return 2
   end
   if args.action == "learn" then
      return learn(args, self)
   end
   local b, absent
   b, err, absent = baseline.read(self:expand(self.policy.baseline or paths.baseline))
   if not b then
      io.stderr:write(("syscheck: baseline: %s%s\n"):format(err,
         absent and "; syscheck baseline learn makes one" or ""))
      return 1
   end
   print_table(b)
   return 0
end

return command
