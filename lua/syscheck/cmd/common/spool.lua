--- The command line's way to the records: which directories, and what of them is bad.
local node = require("syscheck.node.node")
local paths = require("syscheck.lib.paths")
local printable = require("syscheck.lib.printable")
local records = require("syscheck.spool.records")
local report = require("syscheck.cmd.common.report")
local segments = require("syscheck.spool.segments")

local spool = {}

--- Adds the options that name the spool.
function spool.add_options(command)
   command:option("--spool", "Spool directory to read, or one with the nodes' below it, as ship makes; may be given "
      .. "several times (default: the policy's spool, or where that is empty, its ship directory)."):count("*")
      :argname("DIR")
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

-- Spool directories of a path: itself, what %n stands for, or those of nodes right below it.
local function dirs_of(path)
   local found, err = records.dirs(path)
   if found[1] == path and not segments.any(path) then
      local below = records.dirs(path .. "/%n")
      found = #below > 0 and below or found
   end
   return found, err
end

-- Where records are when nobody says it: `syscheck ship` moves them away.
local function default_of(policy)
   local path, ship = policy.spool or paths.spool, policy.ship
   for _, dir in ipairs(dirs_of(path)) do
      if segments.any(dir) then
         return path
      end
   end
   return type(ship) == "string" and ship:sub(1, 1) == "/" and #records.dirs(ship .. "/%n") > 0 and ship or path
end

--- Records of the spool that args name, else the policy's.
-- @param want see records.read
-- @return iterator, text that names the directory, or how many were read; bytes of all files
function spool.records(args, host, want)
   local dirs = {}
   local given = #args.spool > 0 and args.spool or { default_of(host.policy) }
   for _, path in ipairs(given) do
      local found, err = dirs_of(path)
      if err then
         report.error(report.FAILED, "%s", err)
      end
      table.move(found, 1, #found, #dirs + 1, dirs)
   end
   local bytes = 0
   for _, dir in ipairs(dirs) do
      bytes = bytes + segments.total(dir, segments.names(dir))
   end
   local where = #given == 1 and #dirs <= 1 and printable.safe(dirs[1] or given[1], 200)
      or ("%d spool directories%s"):format(#dirs, #given == 1 and " of " .. printable.safe(given[1], 200) or "")
   return records.read(dirs, complain, want), where, bytes
end

return spool
