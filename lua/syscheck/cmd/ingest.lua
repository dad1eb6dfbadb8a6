--- syscheck ingest: records of spools into the store.
local json = require("cjson").new()
local clusters = require("syscheck.store.clusters")
local group = require("syscheck.cmd.common.group")
local uv = require("luv")
local printable = require("syscheck.lib.printable")
local ingest = require("syscheck.store.ingest")
local notify = require("syscheck.cmd.common.notify")
local paths = require("syscheck.lib.paths")
local progress = require("syscheck.lib.progress")
local proposed = require("syscheck.cmd.common.proposed")
local records = require("syscheck.spool.records")
local report = require("syscheck.cmd.common.report")
local spool = require("syscheck.cmd.common.spool")
local spoolfile = require("syscheck.store.spoolfile")
local store = require("syscheck.store.store")
local topology = require("syscheck.cmd.common.topology")

local command = {}

local SHOWN_BAD = 10 -- lines shown on stderr; the side file has all

function command.add_to(parser)
   local c = parser:command("ingest", "Read records from spool files into the store. One that is read twice is stored "
      .. "once.")
      :summary("Read records from spool files into the store.")
   c:argument("path", "File, spool directory, or directory of spool directories (default: the policy's)."):args("*")
   store.add_option(c)
   c:option("--bad", "File that lines which are no records are added to (default: bad.jsonl beside the store).")
      :argname("FILE")
   c:option("--group", "Group that may read an SQLite store (default: the policy's store_group)."):argname("GROUP")
   topology.add_options(c)
   c:flag("--remove", "Delete closed segments once all of their records are stored.")
   c:flag("--json", "Print the summary as one JSON object.")
   c:option("--policy", "Policy file to use."):argname("FILE")
end

-- @return list of files
local function files_of(args, policy)
   local list = {}
   local roots = args.path
   if #roots == 0 then
      roots = type(policy.ship) == "string" and { policy.ship } or records.dirs(policy.spool or paths.spool)
   end
   for _, root in ipairs(roots) do
      local some, err = spoolfile.list(root)
      if not some then
         report.stop(report.FAILED, "%s", err)
      end
      table.move(some, 1, #some, #list + 1, list)
   end
   return list
end

-- @return id of a group; nil where none is wanted
local function group_id(name)
   local id, err
   if name then
      id, err = group(name)
      if not id then
         report.stop(report.USAGE, "%s: %s", err, printable.safe(name))
      end
   end
   return id
end

local function bad_file(args, db)
   return args.bad or (db.path and db.path:match("^(.*)/") or paths.store:match("^(.*)/")) .. "/bad.jsonl"
end

-- Says it when a class newly has enough for a baseline. What fails here fails no ingest.
local function propose(db, host, work)
   local done, proposal, err = pcall(proposed.after_ingest, db, host, work.measured)
   if not done or err then
      report.error(report.FAILED, "no baseline is proposed: %s", tostring(err or proposal))
   end
   return done and proposal or nil
end

local function summary(count, args, seconds, proposal)
   if args.json then
      count.seconds, count.proposal = seconds, proposal
      print(json.encode(count))
   else
      print(("%d files, %d records: %d new, %d known; %d bad lines%s%s; %.1f s"):format(count.files, count.records,
         count.new, count.records - count.new, count.bad,
         args.remove and ("; %d files removed"):format(count.removed) or "",
         args.topology and ("; %d leaves changed"):format(count.leaves) or "", seconds))
      if proposal then
         print(printable.plain(proposal.text, 1000))
      end
   end
end

local function size_of(path)
   local stat = uv.fs_stat(path)
   return stat and stat.size or 0
end

local function run_all(db, list, args, host)
   local complain = function(text, ...)
      report.error(0, "notify: " .. text, ...)
   end
   local open = notify.open(db, host.policy, complain)
   local shown, trouble = 0, false
   local meter, read, total = progress.amount("ingest"), 0, 0
   for _, path in ipairs(list) do
      total = total + size_of(path)
   end
   local bad = bad_file(args, db)
   local work = ingest.new(db, {
      bad = bad,
      remove = args.remove,
      notices = open,
      on_bad = function(path, line, why)
         shown = shown + 1
         if shown <= SHOWN_BAD then
            meter.clear()
            report.error(report.FAILED, "%s:%d: %s", printable.safe(path, 200), line, why)
         end
      end,
      on_progress = function(offset)
         meter.to(read + offset, total)
      end,
   })
   local started = uv.hrtime()
   -- The garbage of a usual batch is collected when it is written; before that only of an odd one.
   collectgarbage("incremental", 1000, 400)
   for _, path in ipairs(list) do
      local size = size_of(path) -- before it may be removed
      if open then
         open:at(os.time())
      end
      local ok, err = work:file(path)
      read = read + size
      meter.to(read, total)
      if not ok then
         trouble = true
         meter.clear()
         report.error(report.FAILED, "%s", err)
      end
   end
   work:flush()
   meter.clear()
   clusters.unite(db)
   local err
   work.count.leaves, err = topology.write(db, args, host)
   if err then
      trouble = true
      report.error(report.FAILED, "%s", err)
   end
   if not args.remove and work.count.files > 0 then
      db:settle()
   end
   if open then
      notify.tell(open, host.policy, complain)
   end
   -- Behind the drains: looking for one may take longer than these should wait.
   local proposal = propose(db, host, work)
   if open and proposal then
      notify.add(open, complain, proposed.event(proposal, os.time()))
      notify.tell(open, host.policy, complain)
   end
   if shown > SHOWN_BAD then
      report.error(report.FAILED, "%d more bad lines, see %s", shown - SHOWN_BAD, bad)
   end
   summary(work.count, args, (uv.hrtime() - started) / 1e9, proposal)
   return trouble and report.FAILED or 0
end

function command.run(args)
   local host = spool.node(args)
   local policy = host.policy
   local gid, list = group_id(args.group or policy.store_group), files_of(args, policy)
   local db, err = store.open(store.where(args.store, policy), { write = true, create = true, group = gid,
      lazy = not args.remove })
   if not db then
      return report.error(report.UNKNOWN, "%s", err)
   end
   local done, code = pcall(run_all, db, list, args, host)
   db:close()
   if not done then
      error(type(code) == "table" and code.file_error and { text = code.file_error } or code, 0)
   end
   return code
end

return command
