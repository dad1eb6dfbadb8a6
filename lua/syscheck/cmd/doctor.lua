--- syscheck doctor: what in Slurm's configuration, the installation and this host will
-- bite. Changes nothing.
local json = require("cjson").new()
local doctor = require("syscheck.doctor.rules")
local printable = require("syscheck.lib.printable")
local gather = require("syscheck.doctor.facts")
local report = require("syscheck.cmd.common.report")
local terminal = require("syscheck.lib.terminal")
local hostlist = require("syscheck.lib.hostlist")
local removal = require("syscheck.doctor.facts.removal")

local command = {}

local MAX_LINE = 1000
local INDENT = 6 -- behind the severity
local IN_USE = 4 -- for packages' scripts, which go on at any other code

function command.add_to(parser)
   local c = parser:command("doctor", "Read Slurm's configuration and this installation, and say what will bite. "
      .. "Changes nothing. Exit status: 0 nothing will, 1 errors or warnings, 3 no slurm.conf.")
      :summary("Say what in Slurm's configuration will bite.")
   c:option("--conf", "slurm.conf to read (default: $SLURM_CONF, /etc/slurm/slurm.conf)."):argname("FILE")
   c:option("--node", "Name of this node in slurm.conf (default: $SLURMD_NODENAME, the host's name)."):argname("NAME")
      :convert(function(value)
         return hostlist.name(value), "--node: not a node's name"
      end)
   c:option("--policy", "Policy file to use."):argname("FILE")
   c:flag("--json", "Print the findings as one JSON object.")
   -- For the scripts of packages, before they are removed, and make uninstall.
   c:option("--removal"):hidden(true):choices(removal.PARTS)
end

-- Whether a part may be removed: one line, or none.
local function before_removal(part)
   local uses = removal.uses(part)
   if #uses == 0 then
      return 0
   end
   return report.error(IN_USE, "not removed: %s, and without it %s; first `syscheck setup --undo` or take the line "
      .. "out, and scontrol reconfigure (SYSCHECK_FORCE_REMOVE=1 removes it all the same)",
      printable.plain(table.concat(uses, "; "), MAX_LINE), uses.bite)
end

local function plural(n, word)
   return ("%d %s%s"):format(n, word, n == 1 and "" or "s")
end

local function summary(facts, found)
   local counts = ("%s, %s, %s; %s and host %s, %s"):format(plural(found.errors, "error"),
      plural(found.warnings, "warning"), plural(found.infos, "note"), facts.conf.file, facts.node,
      plural(found.rules, "rule"))
   return ("%-5s %s"):format(found.errors > 0 and "error" or found.warnings > 0 and "warn" or "ok", counts)
end

-- File names and values come from files: nothing in them reaches a terminal.
local function clean(list)
   for _, finding in ipairs(list) do
      for _, key in ipairs({ "text", "file", "why", "add", "fix" }) do
         finding[key] = finding[key] and printable.plain(finding[key], 400)
      end
   end
end

function command.run(args)
   if args.removal then
      return before_removal(args.removal)
   end
   local facts, err = gather.facts(args)
   if not facts then
      return report.error(report.UNKNOWN, "doctor: %s (--conf FILE says where slurm.conf is)", err)
   end
   local found = doctor.examine(facts)
   clean(found.findings)
   clean(found.skipped)
   if args.json then
      local text = json.encode({ v = 1, conf = printable.plain(facts.conf.file, 400), node = facts.node,
         errors = found.errors, warnings = found.warnings, infos = found.infos, rules = found.rules,
         findings = found.findings, skipped = found.skipped })
      -- An empty list is none to cjson. No string can hold this: its quotes are escaped.
      print((text:gsub('"(%l+)":{}', '"%1":[]')))
   else
      local width = terminal.width()
      local function line(text)
         print(terminal.wrap(printable.plain(text, MAX_LINE), width, INDENT))
      end
      for _, finding in ipairs(found.findings) do
         line(doctor.line(finding))
      end
      for _, s in ipairs(found.skipped) do
         line(("info  %s could not be looked at: %s"):format(s.rule, s.why))
      end
      line(summary(facts, found))
   end
   return found.errors + found.warnings > 0 and 1 or 0
end

return command
