--- syscheck config import: NHC's configuration as a policy and programs, printed or written into a new directory.
local uv = require("luv")
local files = require("syscheck.lib.files")
local import = require("syscheck.nhc.import")
local printable = require("syscheck.lib.printable")
local report = require("syscheck.cmd.common.report")

local nhc = {}

local MAX_BYTES = 1048576

-- A directory of our own: nothing in it is overwritten.
local function make(dir)
   local ok, err, code = uv.fs_mkdir(dir, 493) -- 0755
   if ok or code == "EEXIST" and uv.fs_stat(dir).type == "directory" and #files.list(dir) == 0 then
      return true
   end
   return nil, code == "EEXIST" and dir .. ": is there already; a new or an empty directory is wanted" or err
end

-- @return true; or nil and why
local function write(dir, out)
   local ok, err = make(dir)
   for _, sub in ipairs({ "checks.d", "todo" }) do
      if ok then
         ok, err = uv.fs_mkdir(dir .. "/" .. sub, 493)
      end
   end
   if ok then
      ok, err = files.write_new(dir .. "/policy.lua", import.policy(out), 420) -- 0644
   end
   for sub, list in pairs({ ["checks.d"] = out.scripts, todo = out.todo }) do
      for _, one in ipairs(list) do
         if ok then
            ok, err = files.write_new(("%s/%s/%s"):format(dir, sub, one.name), one.text, sub == "todo" and 420 or 493)
         end
      end
   end
   return ok, err
end

-- How many lines became what.
local function summary(counts, out)
   return ("%d lines: %d in the policy, %d in checks.d, %d need a hand, %d not taken; %d blank or comments"):format(
      #out.lines, counts.policy, counts.script, counts.hand, counts["not"], out.comments)
end

--- @param args file, output = directory or nil
function nhc.run(args)
   local text, err = files.regular(args.file, MAX_BYTES + 1)
   local out
   if text and #text > MAX_BYTES then
      text, err = nil, args.file .. ": larger than 1 MiB"
   end
   if text then
      out, err = import.read(text, args.file)
   end
   if not out then
      return report.error(report.FAILED, "%s", printable.plain(err, 300))
   end
   local lines, counts = import.report(out)
   if args.output then
      local ok
      ok, err = write(args.output, out)
      if not ok then
         return report.error(report.FAILED, "%s", printable.plain(err, 300))
      end
      print(table.concat(lines, "\n"))
      print(("%s\n%s/policy.lua, checks.d, todo"):format(summary(counts, out), printable.safe(args.output, 200)))
   else
      io.write(import.policy(out), "\n-- ", table.concat(lines, "\n-- "), "\n-- ", summary(counts, out), "\n")
   end
   return 0
end

return nhc
