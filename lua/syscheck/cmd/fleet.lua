--- syscheck fleet: per hardware class, which nodes are slowest, fastest, out of the spread.
local printable = require("syscheck.lib.printable")
local felt = require("syscheck.questions.fleet.felt")
local files = require("syscheck.questions.fleet.files")
local fleet = require("syscheck.questions.fleet.logic")
local fleet_show = require("syscheck.questions.fleet.show")
local fleet_store = require("syscheck.questions.fleet.read")
local over = require("syscheck.questions.fleet.over")
local over_show = require("syscheck.questions.fleet.over_show")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local time = require("syscheck.lib.time")

local command = {}

local DAY_S, LEAST_DAYS, MOST_DAYS = 86400, 8, 800

-- "30d" -> days
local function days(text)
   local seconds = #text <= 7 and time.span(text, "dwy")
   local n = seconds and seconds // DAY_S
   if n and n >= LEAST_DAYS and n <= MOST_DAYS then
      return n
   end
   return nil, ('--over must be a time from %dd to %dd, with d, w or y, not "%s"'):format(LEAST_DAYS, MOST_DAYS,
      printable.safe(text, 32))
end

function command.add_to(parser)
   local one = parser:command("fleet", "Compare the nodes of each hardware class by what they measured last: slowest, "
      .. "fastest, spread, who is out."):summary("Compare the nodes of each class.")
   one:option("--class", "Only this class."):argname("NAME")
   one:option("--cluster", "Only this cluster."):argname("NAME")
   one:option("--partition", "Only nodes of which one of the last 50 jobs ran in this partition."):argname("NAME")
   one:option("--over", "Say instead when what a class measures changed, day by day over so long: 30d, 8w, 1y.")
      :argname("TIME"):convert(days)
   question.add_since(one, "30d", "What was measured")
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

-- ' of class "x"', as far as something was asked for.
local function of_what(args)
   local out = {}
   for _, name in ipairs({ "class", "cluster", "partition" }) do
      out[#out + 1] = args[name] and (' of %s "%s"'):format(name, printable.safe(args[name])) or nil
   end
   return table.concat(out)
end

local function changes(db, args)
   local now = os.time()
   local found, near = over.find(db, now, args.over, args)
   if #found == 0 then
      return report.error(report.NOT_FOUND, "no node%s measured anything in %d days%s", of_what(args), args.over,
         near and (', did you mean "%s"?'):format(printable.safe(near)) or "")
   end
   return question.print(args, over_show, found)
end

local function answer(db, args)
   local nodes, unknown, between, near, named = fleet_store.newest(db, args.since, args)
   local which = files.of(named)
   if #nodes == 0 and #unknown == 0 and #between == 0 and not files.differ(which) then
      return report.error(report.NOT_FOUND, "no node%s measured anything since %s%s", of_what(args),
         time.show(args.since), near and (', did you mean "%s"?'):format(printable.safe(near)) or "")
   end
   local compared = fleet.compare(nodes)
   felt.add(db, compared)
   fleet_store.add_noise(db, compared)
   compared.since, compared.unknown, compared.fabric = args.since, unknown, between
   compared.files = which
   if args.html then
      compared.nodes, compared.to = nodes, os.time()
      compared.checks = fleet_store.checks(db, args.since, args)
   end
   return question.print(args, fleet_show, compared, function(of)
      return require("syscheck.questions.fleet.page")(of)
   end)
end

function command.run(args)
   return question.run(args, args.over and changes or answer)
end

return command
