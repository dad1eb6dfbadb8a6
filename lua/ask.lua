#!@LUA@ -E
-- ask: a user's question about a job of his own, for a store that only a group may read. sudo
-- runs this as a member of that group (etc/sudoers.d/syscheck); nobody else has a use for it.
-- It takes a job ID and nothing that says where to read or what to load; who asks is what
-- sudo says, and the store is the one of the policy.
local function absolute(list)
   return ((";" .. list):gsub(";[^/;][^;]*", ""):sub(2))
end
package.path = "@DATADIR@/lua/?.lua;@LIBDIR@/lua/?.lua;" .. absolute(package.path)
package.cpath = "@LIBDIR@/lua/?.so;" .. absolute(package.cpath)
pcall(function()
   require("syscheck.lib.compiled").use("@LIBDIR@/modules.luac")
end)
local asker = require("syscheck.questions.asker")
local report = require("syscheck.cmd.common.report")
local process = require("syscheck.lib.process")

local ID_MS = 10000

-- The name that this uid has now: the store knows users by name. Without + a user whose name is
-- that number comes first.
local function name_of(uid)
   local run = process.run("id", { "-nu", "--", "+" .. uid }, { timeout_ms = ID_MS })
   return run and run.code == 0 and run.out:match("^([^\n]+)\n$") or nil
end

local function main()
   local args, err = asker.parse(arg)
   local uid
   if args then
      uid, err = asker.uid(os.getenv)
   end
   if not uid then
      return report.error(report.USAGE, "ask: %s", err)
   end
   args.only_user = name_of(uid)
   if not args.only_user then
      return report.error(report.UNKNOWN, "ask: user ID %s has no name here", uid)
   end
   return require("syscheck.cmd." .. args.command).run(args)
end

local code = report.run(main)
io.stdout:flush()
os.exit(code)
