--- syscheck config check: is the policy good?
local files = require("syscheck.files")
local paths = require("syscheck.paths")
local policy = require("syscheck.policy")

local config = {}

function config.add_to(parser)
   local group = parser:command("config", "Check the policy file."):summary("Check the policy file.")
      :require_command(true):command_target("action")
   group:command("check", "Say whether the policy can be used, and what is wrong with it.")
      :option("--policy", "Policy file to check."):argname("FILE")
end

function config.run(args)
   local file = args.policy or paths.policy
   local text, err = files.read(file)
   local good
   if text then
      good, err = files.trusted(file)
   end
   if good then
      good, err = policy.parse(text, file)
   end
   if not good then
      io.stderr:write("syscheck: ", err, "\n")
      return 1
   end
   print(file .. ": good")
   return 0
end

return config
