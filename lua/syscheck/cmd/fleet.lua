--- syscheck fleet: per hardware class, which nodes are slowest, fastest, out of the spread.
local printable = require("syscheck.lib.printable")
local felt = require("syscheck.questions.fleet.felt")
local fleet = require("syscheck.questions.fleet.logic")
local fleet_show = require("syscheck.questions.fleet.show")
local fleet_store = require("syscheck.questions.fleet.read")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local time = require("syscheck.lib.time")

local command = {}

function command.add_to(parser)
   local one = parser:command("fleet", "Compare the nodes of each hardware class by what they measured last: slowest, "
      .. "fastest, spread, who is out."):summary("Compare the nodes of each class.")
   one:option("--class", "Only this class."):argname("NAME")
   one:option("--cluster", "Only this cluster."):argname("NAME")
   question.add_since(one, "30d", "What was measured")
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

local function answer(db, args)
   local nodes, unknown, between, class_near = fleet_store.newest(db, args.since, args.class, args.cluster)
   if #nodes == 0 and #unknown == 0 and #between == 0 then
      return report.error(report.NOT_FOUND, "no node%s%s measured anything since %s%s",
         args.class and (' of class "%s"'):format(printable.safe(args.class)) or "",
         args.cluster and (' of cluster "%s"'):format(printable.safe(args.cluster)) or "", time.show(args.since),
         class_near and (', did you mean "%s"?'):format(printable.safe(class_near)) or "")
   end
   local compared = fleet.compare(nodes)
   felt.add(db, compared)
   compared.since, compared.unknown, compared.fabric = args.since, unknown, between
   if args.html then
      compared.nodes, compared.to = nodes, os.time()
      compared.checks = fleet_store.checks(db, args.since, args.class, args.cluster)
   end
   return question.print(args, fleet_show, compared, function(of)
      return require("syscheck.questions.fleet.page")(of)
   end)
end

function command.run(args)
   return question.run(args, answer)
end

return command
