--- A user's question about a job of his own, where the store is not for him to read: asked anew by `ask`, which sudo
-- runs as user syscheck where the site allows that (etc/sudoers.d/syscheck). Its answer is this command's.
local interrupts = require("syscheck.lib.interrupts")
local paths = require("syscheck.lib.paths")
local process = require("syscheck.lib.process")
local report = require("syscheck.cmd.common.report")
local uv = require("luv")

local through_ask = {}

local SUDO, USER = "/usr/bin/sudo", "syscheck"
local TIMEOUT_S = 3600 -- as long as a user waits; it ends by his ^C
local COMMANDS = { job = true, why = true }
-- What ask does not take, as it is typed: it runs with more rights than its user.
local REFUSED = { html = "--html", explain = "--explain", policy = "--policy" }

--- Whether a command's questions are ones that users have asked for them.
function through_ask.asks(args)
   return COMMANDS[args.command] == true
end

--- Whether a question is one that ask can answer: not ask's own, not root's, of the store that the policy names.
function through_ask.is_for(args, policy)
   local named = os.getenv("SYSCHECK_STORE") or ""
   if not through_ask.asks(args) or args.only_user or uv.getuid() == 0 or args.store
      or (named ~= "" and named ~= policy.store) then
      return false
   end
   local known, user = pcall(uv.os_get_passwd)
   return not (known and user and user.username == USER) and uv.fs_access(SUDO, "X") == true
      and uv.fs_access(paths.libexec .. "/ask", "X") == true
end

-- Its terminal and language, as sudo passes them on; nothing else of the caller's.
local function environment()
   local plain = (os.getenv("NO_COLOR") or "") ~= ""
   return { "LC_ALL=" .. (os.getenv("LC_ALL") or ""), "LC_CTYPE=" .. (os.getenv("LC_CTYPE") or ""),
      "LANG=" .. (os.getenv("LANG") or ""), "TERM=" .. (plain and "dumb" or os.getenv("TERM") or "dumb") }
end

--- Asks.
-- @return exit code; or nil and why sudo did not run it
function through_ask.run(args)
   for _, key in ipairs({ "html", "explain", "policy" }) do
      if args[key] then
         return report.error(report.USAGE, "%s: only for who may read the store; your own jobs are shown without it",
            REFUSED[key])
      end
   end
   local words = { "-n", "-u", USER, "--", paths.libexec .. "/ask", args.command, args.id.text }
   words[#words + 1] = args.json and "--json" or args.csv and "--csv" or nil
   local ended = interrupts.open()
   -- Its output is ours: a terminal stays one to it.
   local result = process.run(SUDO, words, { timeout_ms = TIMEOUT_S * 1000, in_group = true, stdout = 1,
      env = environment(), give_up = ended.why })
   local code = ended.code()
   ended.close()
   if code then
      return code
   elseif not result then
      return nil, "sudo is not there"
   -- Every error of ask's own is a line of ours; sudo's are in the site's language.
   elseif result.code ~= 0 and not ("\n" .. result.err):find("\nsyscheck: ", 1, true) then
      return nil, "sudo does not let you run it"
   end
   io.stderr:write(result.err)
   return result.signal == 0 and result.code or report.UNKNOWN
end

return through_ask
