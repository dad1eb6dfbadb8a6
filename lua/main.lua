#!@LUA@ -E
-- syscheck: the command line. One module per subcommand, in syscheck/cmd/.
-- Only absolute places: Lua's own paths end in "./?", and root's current directory may
-- be a user's, with a luv.lua in it. @LIBDIR@/lua: what the distribution does not have.
local function absolute(list)
   return ((";" .. list):gsub(";[^/;][^;]*", ""):sub(2))
end
package.path = "@DATADIR@/lua/?.lua;@LIBDIR@/lua/?.lua;" .. absolute(package.path)
package.cpath = "@LIBDIR@/lua/?.so;" .. absolute(package.cpath)
pcall(function()
   require("syscheck.lib.compiled").use("@LIBDIR@/modules.luac")
end)
local argparse = require("argparse")
local paths = require("syscheck.lib.paths")
local report = require("syscheck.cmd.common.report")

local COMMANDS = { "run", "compare", "fabric", "job", "node", "why", "suspects", "noise", "fleet", "drains", "baseline",
   "config", "doctor", "setup", "ship", "ingest", "export", "store" }

local function main()
   local parser = argparse("syscheck", "Tells whether a node is fit, and what it went through during a job.")
      :epilog("Exit status: 0 done and nothing failed, 1 a check failed or nothing was found, 2 usage, "
         .. "3 unknown (the checker could not tell). See syscheck(1).")
      :require_command(true)
      :command_target("command")
   parser:flag("--version", "Print the version and exit."):action(function()
      print("syscheck " .. paths.version)
      os.exit(0)
   end)
   -- For make install.
   parser:option("--completion"):hidden(true):choices({ "bash", "zsh" }):action(function(_, _, shell)
      io.write(require("syscheck.cmd.common.completion")[shell](parser))
      os.exit(0)
   end)
   local commands = {}
   for _, name in ipairs(COMMANDS) do
      commands[name] = require("syscheck.cmd." .. name)
      commands[name].add_to(parser)
   end
   -- One clear line instead of the usage text, which --help prints.
   function parser.error(at, message)
      -- argparse puts its suggestion on a second line.
      message = message:gsub("\nDid you mean", ", did you mean")
      os.exit(report.error(report.USAGE, "%s (see %s --help)", message, at:_get_fullname()))
   end
   local args = parser:parse()
   return commands[args.command].run(args)
end

local code = report.run(main)
io.stdout:flush()
os.exit(code)
