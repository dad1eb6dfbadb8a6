--- syscheck ship: moves the node's records to where the fleet's are collected.
--
-- What touches the destination is a child process, which inherits the lock: a destination
-- that hangs (a hard NFS mount whose server is away) holds that one process, and not a
-- new one every time.
local json = require("cjson.safe").new()
local uv = require("luv")
local lines = require("syscheck.lib.lines")
local paths = require("syscheck.lib.paths")
local messages = require("syscheck.spool.messages")
local progress = require("syscheck.lib.progress")
local schema = require("syscheck.policy.schema")
local segments = require("syscheck.spool.segments")
local printable = require("syscheck.lib.printable")
local process = require("syscheck.lib.process")
local records = require("syscheck.spool.records")
local report = require("syscheck.cmd.common.report")
local ship = require("syscheck.spool.ship")
local hostlist = require("syscheck.lib.hostlist")
local spool = require("syscheck.cmd.common.spool")

local command = {}

local LOCK = ".ship.lock"
local LOOK_MS = 500

function command.add_to(parser)
   local c = parser:command("ship", "Move the node's closed records to a shared directory or to syslog. Exit status: "
      .. "0 all of it is there, 1 not all, nothing lost.")
      :summary("Move the node's records to where the fleet's are collected.")
   c:option("--to", "A directory that exists, or syslog[:FACILITY] (default: ship of the policy)."):argname("DEST")
      :convert(function(value)
         local wrong = schema.destination(value)
         if wrong then
            return nil, ('--to must be %s, not "%s"'):format(wrong, printable.safe(value, 100))
         end
         return value
      end)
   c:option("--spool", "Spool directory to ship (default: the policy's)."):argname("DIR")
   c:option("--node", "Name of the node's directory (default: $SLURMD_NODENAME, the host's name).")
      :argname("NAME"):convert(function(value)
         return hostlist.name(value), "--node: not a node's name"
      end)
   c:option("--timeout", "Seconds after which a destination that hangs is given up (default: the policy's).")
      :argname("S"):convert(function(value)
         local n = tonumber(value)
         return n and n >= 1 and n <= 86400 and n or nil, "--timeout: a number of seconds from 1 to 86400"
      end)
   c:flag("--join", "Read a log that syslog wrote, print the records in it.")
   c:option("--policy", "Policy file to use."):argname("FILE")
   c:option("--worker"):hidden(true)
end

local complain = report.of("ship")

local function amount(n, bytes)
   return ("%d segment%s (%.1f kB)"):format(n, n == 1 and "" or "s", bytes / 1e3)
end

local function join()
   local of = lines.of(0)
   local list, lacking = messages.join(function()
      return (of())
   end)
   for line in list do
      io.stdout:write(line, "\n")
   end
   local n = lacking()
   return n > 0 and complain("records of which a part is not in this log: %d", n) or 0
end

-- @return list of { spool, node }; or nil, why
local function spools(args, host)
   local node = args.node or hostlist.name(os.getenv("SLURMD_NODENAME")) or host.name
   if args.spool then
      return { { spool = args.spool, node = node } }
   end
   local path = host.policy.spool or paths.spool
   local dirs, err, names = records.dirs(path)
   if err then
      return nil, err
   end
   local out = {}
   for i, dir in ipairs(dirs) do
      out[i] = { spool = dir, node = names and hostlist.name(names[i]) or node }
   end
   return out
end

-- Ships one spool, in a child.
local function run_one(o, timeout_s)
   local stat, err = uv.fs_stat(o.spool)
   if not stat or stat.type ~= "directory" then
      return complain("%s", err or o.spool .. ": not a directory")
   end
   local fd, busy
   fd, err, busy = process.lock_file(o.spool .. "/" .. LOCK, 0)
   if not fd then
      return complain("%s", busy and o.spool .. ": an earlier ship still runs, or hangs at its destination" or err)
   end
   -- The child's own work is seen by what is left to do.
   local meter, all = progress.amount("ship " .. o.node), segments.total(o.spool, segments.list(o.spool).closed)
   local timer = uv.new_timer()
   timer:start(LOOK_MS, LOOK_MS, function()
      meter.to(all - segments.total(o.spool, segments.list(o.spool).closed), all)
   end)
   local worker
   worker, err = process.run("ionice", { "-t", "-c", "3", uv.exepath(), "-E", uv.fs_realpath(arg[0]), "ship",
      "--worker", json.encode(o) }, { timeout_ms = timeout_s * 1000, fd3 = fd })
   uv.fs_close(fd)
   timer:close()
   meter.clear()
   if not worker then
      return complain("%s", err)
   elseif worker.timed_out then
      return complain("%s: no answer within %g s%s; nothing is lost", o.to, timeout_s,
         worker.stuck and ", and the process that hangs there cannot be ended" or ""), true
   end
   local out = worker.code == 0 and json.decode(worker.out)
   if type(out) ~= "table" then
      return complain("ended early: %s", worker.err:gsub("%s+", " "):sub(1, 300))
   end
   if out.segments > 0 then
      print(("%s: %s to %s"):format(printable.safe(o.node), amount(out.segments, out.bytes), printable.safe(o.to, 200)))
   end
   if out.damaged > 0 then
      complain("%s: %d damaged line%s, not sent", o.spool, out.damaged, out.damaged == 1 and "" or "s")
   end
   if out.err then
      return complain("%s; nothing is lost, %s wait%s in %s", out.err, amount(out.waiting, out.waiting_bytes),
         out.waiting == 1 and "s" or "", o.spool)
   end
   return 0
end

function command.run(args)
   if args.worker then
      print(json.encode(ship.run(json.decode(args.worker))))
      return 0
   elseif args.join then
      return join()
   end
   local host = spool.node(args, "ship: ")
   local to = args.to or host.policy.ship
   if not to then
      return report.error(report.USAGE, "ship: nothing says where to: --to DEST, or ship in the policy")
   end
   local list, err = spools(args, host)
   if not list then
      return complain("%s", err)
   end
   uv.os_setpriority(0, 19) -- a job may be running here
   local code = 0
   for _, one in ipairs(list) do
      one.to, one.keep_mb = to, host.policy.ship_keep_mb
      local failed, hangs = run_one(one, args.timeout or host.policy.ship_timeout)
      code = math.max(code, failed)
      if hangs then
         break
      end
   end
   return code
end

return command
