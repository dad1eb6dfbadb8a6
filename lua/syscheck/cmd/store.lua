--- syscheck store: what it holds; removing what is old.
local json = require("cjson").new()
local printable = require("syscheck.lib.printable")
local info = require("syscheck.store.info")
local progress = require("syscheck.lib.progress")
local prune = require("syscheck.store.prune")
local report = require("syscheck.cmd.common.report")
local spool = require("syscheck.cmd.common.spool")
local store = require("syscheck.store.store")
local time = require("syscheck.lib.time")

local command = {}

-- "400d" -> seconds
local function age(text)
   local seconds = #text <= 7 and time.span(text, "hdwy")
   if not seconds or seconds == 0 then
      return nil, ('an age is a number with h, d, w or y, like 400d, not "%s"'):format(printable.safe(text, 32))
   end
   return seconds
end

function command.add_to(parser)
   local c = parser:command("store", "Look after the store."):require_command(true):command_target("action")
   local one = c:command("info", "Print what the store holds.")
   local two = c:command("prune", "Remove records that are older than an age, and runs that have none left.")
   two:option("--older", "Age: 400d, 56w, 2y."):argname("AGE"):convert(age):count(1)
   for _, action in ipairs({ one, two }) do
      store.add_option(action)
      action:flag("--json", "Print one JSON object.")
      action:option("--policy", "Policy file to use."):argname("FILE")
   end
end

local function print_info(i)
   print(("%s %s, version %d, %.1f MB"):format(i.kind, printable.safe(i.store, 200), i.version, (i.bytes or 0) / 1e6))
   print(("%s to %s"):format(time.show(i.oldest_s), time.show(i.newest_s)))
   print(("%d job records of %d runs, %d checks, %d fabric records, %d reports of lost records, %d nodes, %d "
      .. "files"):format(i.jobs, i.runs, i.checks, i.fabric, i.losses, i.nodes, i.files))
end

local ACTIONS = {}

function ACTIONS.info(db, args)
   local i = info.of(db)
   if args.json then
      print(json.encode(i))
   else
      print_info(i)
   end
end

function ACTIONS.prune(db, args)
   local before = math.max(0, os.time() - args.older) -- a time before 1970 has no key
   local meter, now = nil, nil
   local count = prune.before(db, before, function(what, done, total)
      if what ~= now then
         if meter then
            meter.clear()
         end
         meter, now = progress.amount("store prune: " .. what), what
      end
      meter.to(done, total)
   end)
   if meter then
      meter.clear()
   end
   if args.json then
      count.before_s = before
      print(json.encode(count))
   else
      print(("before %s: %d job records, %d checks, %d fabric records, %d runs removed"):format(time.show(before),
         count.jobs, count.checks, count.fabric, count.runs))
   end
end

function command.run(args)
   local db, err = store.open(store.where(args.store, spool.node(args).policy), { write = args.action == "prune" })
   if not db then
      return report.error(report.UNKNOWN, "%s", err)
   end
   ACTIONS[args.action](db, args)
   db:close()
   return 0
end

return command
