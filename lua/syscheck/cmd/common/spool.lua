--- The command line's way to the records: which directories, and what of them is bad.
local uv = require("luv")
local node = require("syscheck.node.node")
local paths = require("syscheck.lib.paths")
local printable = require("syscheck.lib.printable")
local records = require("syscheck.spool.records")
local report = require("syscheck.cmd.common.report")
local segments = require("syscheck.spool.segments")

local spool = {}

--- Adds the options that name the spool.
function spool.add_options(command)
   command:option("--spool", "Spool directory to read, %n in it for one of each node; may be given several times "
      .. "(default: the policy's)."):count("*"):argname("DIR")
   command:option("--policy", "Policy file to use."):argname("FILE")
end

--- Opens this host for a command, which ends where a policy is named that is not good.
-- @param prefix of that error, or nil
-- @return node
function spool.node(args, prefix)
   local host = node.open(nil, { policy = args.policy, without_policy = not args.policy })
   if args.policy and host.problems[1] then
      report.stop(report.USAGE, "%s%s", prefix or "", host.problems[1])
   end
   return host
end

local function complain(file, line, why)
   report.error(report.FAILED, "%s%s: %s", printable.safe(file, 200), line > 0 and ":" .. line or "",
      printable.safe(why, 200))
end

--- Records of the spool that args name, else the policy's.
-- @param want see records.read
-- @return iterator, text that names the directory, or how many were read; bytes of all files
function spool.records(args, host, want)
   local dirs = {}
   local given = #args.spool > 0 and args.spool or { host.policy.spool or paths.spool }
   for _, path in ipairs(given) do
      local found, err = records.dirs(path)
      if err then
         report.error(report.FAILED, "%s", err)
      end
      table.move(found, 1, #found, #dirs + 1, dirs)
      -- The directory above those of the nodes.
      if found[1] == path and not uv.fs_stat(path .. "/" .. records.FILE) and #records.dirs(path .. "/%n") > 0 then
         complain(path, 0, ("the nodes' records are below it: --spool '%s/%%n'"):format(path))
      end
   end
   local bytes = 0
   for _, dir in ipairs(dirs) do
      bytes = bytes + segments.total(dir, segments.names(dir))
   end
   local where = #given == 1 and #dirs <= 1 and printable.safe(dirs[1] or given[1], 200)
      or ("%d spool directories"):format(#dirs)
   return records.read(dirs, complain, want), where, bytes
end

return spool
