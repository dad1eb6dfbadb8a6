--- The command line's way to the records: which directories, and what of them is bad.
local node = require("syscheck.node")
local paths = require("syscheck.paths")
local records = require("syscheck.records")
local render = require("syscheck.render")

local spool = {}

--- Adds the options that name the spool.
function spool.add_options(command)
   command:option("--spool", "Spool directory to read; may be given several times (default: the policy's)."):count("*")
      :argname("DIR")
   command:option("--policy", "Policy file to use."):argname("FILE")
end

--- Opens this host for a command: a policy that is named has to be good.
-- @return node; or nil and one line
function spool.node(args)
   local self = node.open(nil, { policy = args.policy, without_policy = not args.policy })
   if args.policy and self.problems[1] then
      return nil, self.problems[1]
   end
   return self
end

local function complain(file, line, why)
   io.stderr:write(("syscheck: %s%s: %s\n"):format(render.safe(file, 200), line > 0 and ":" .. line or "",
      render.safe(why, 200)))
end

--- Records of the spool that args name, else the policy's.
-- @param want see records.read
-- @return iterator, text that names how many directories were read
function spool.records(args, self, want)
   local dirs = args.spool
   if #dirs == 0 then
      local err
      dirs, err = records.dirs(self.policy.spool or paths.spool)
      if err then
         io.stderr:write("syscheck: ", render.plain(err, 300), "\n")
      end
   end
   return records.read(dirs, complain, want), ("%d spool director%s"):format(#dirs, #dirs == 1 and "y" or "ies")
end

return spool
