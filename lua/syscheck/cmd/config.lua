--- syscheck config check | show | notify | import: is the policy good, and what of it applies where?
local uv = require("luv")
local baseline_file = require("syscheck.node.baseline_file")
local command = require("syscheck.slurm.command")
local digest = require("syscheck.lib.digest")
local doctor = require("syscheck.doctor.rules")
local files = require("syscheck.lib.files")
local notify = require("syscheck.cmd.common.notify")
local output = require("syscheck.lib.output")
local paths = require("syscheck.lib.paths")
local policy = require("syscheck.policy.policy")
local references = require("syscheck.cmd.common.references")
local policy_bounds = require("syscheck.policy.bounds")
local policy_rules = require("syscheck.doctor.rules.policy")
local policy_text = require("syscheck.policy.text")
local printable = require("syscheck.lib.printable")
local report = require("syscheck.cmd.common.report")
local hostlist = require("syscheck.lib.hostlist")
local sorted = require("syscheck.lib.sorted")
local spelling = require("syscheck.lib.spelling")

local config = {}

local SCONTROL_S = 5

function config.add_to(parser)
   local group = parser:command("config", "Check the policy file, show what of it applies, try its notify program, "
      .. "or import NHC's.")
      :summary("Check or show the policy, import NHC's."):require_command(true):command_target("action")
   group:command("notify", "Run the policy's notify program once, with an event of kind test.")
      :option("--policy", "Policy file to use."):argname("FILE")
   group:command("check", "Say whether the policy can be used, and what is wrong with it.")
      :option("--policy", "Policy file to check."):argname("FILE")
   local show = group:command("show", "Print what applies to a node or a partition, and which line says so.")
   show:argument("node", "Node, as in slurm.conf: each of its partitions is shown."):args("?"):argname("NODE")
   show:option("--partition", "Show this partition instead."):argname("NAME")
   show:option("--account", "For a job of this account."):argname("NAME")
   show:option("--qos", "For a job of this QOS."):argname("NAME")
   show:option("--policy", "Policy file to show."):argname("FILE")
   local import = group:command("import", "Print NHC's configuration as a policy and programs; nothing of it is run.")
   import:argument("file", "LBNL NHC's nhc.conf."):argname("NHC.CONF")
   import:option("--output", "Write them into this new directory."):argname("DIR")
end

-- @return policy, function(key) -> its line, text; or nil and a list of messages
local function read(file)
   local text, err = files.read_trusted(file)
   if not text then
      return nil, { err }
   end
   local parsed, _, line_of = policy.parse(text, file)
   return parsed, line_of, text
end

local function complain(lines)
   for _, line in ipairs(lines) do
      report.error(report.FAILED, "%s", line)
   end
   return #lines > 0 and report.FAILED or 0
end

-- What it says that can be done and hardly was meant, and what it names that is not there.
-- @return list of { severity, line, text }
local function doubts(file, p, line_of)
   local out = {}
   for _, found in ipairs(doctor.examine({ policy = { file = file, value = p } }, policy_rules).findings) do
      out[#out + 1] = { severity = found.severity, line = line_of(found.keys),
         text = ("%s: %s; %s"):format(found.text, found.why, found.fix or "add: " .. found.add) }
   end
   local missing = references.check(p, line_of)
   return table.move(missing, 1, #missing, #out + 1, out)
end

-- As records name it, see `syscheck fleet`.
local function name_of(p, text)
   return ("hash %s%s"):format(digest.of(text), p.version and ", version " .. p.version or "")
end

-- The baseline that goes with it.
local function baseline_line(p)
   local file = (p.baseline or paths.baseline):gsub("%%n", hostlist.name(uv.os_gethostname():match("^[^.]*")) or "%%n")
   local b, err, absent, hash = baseline_file.read(file)
   return ("baseline %s: %s"):format(file, b and ("hash %s%s"):format(hash, type(b.time) == "string" and ", of "
      .. printable.safe(b.time, 40) or "") or absent and "none" or printable.safe(err, 200))
end

-- What is no error to a node, which does as Lua does, and not what its writer meant.
local function check(file, p, line_of, text)
   local lines, warnings = {}, 0
   for i, r in ipairs(policy_text.repeated(text)) do
      lines[i] = ("%s:%d: %s is set in line %d already, and only the last one holds"):format(file, r.line,
         printable.safe(r.key), r.first)
   end
   for _, found in ipairs(doubts(file, p, line_of)) do
      local where = ("%s:%d: "):format(file, found.line or 0):gsub(":0: $", ": ")
      if found.severity == "error" then
         lines[#lines + 1] = where .. found.text
      else
         warnings = warnings + 1
         report.error(0, "warn: %s%s", where, found.text)
      end
   end
   if #lines == 0 then
      print(("%s: %s; %s"):format(file, warnings == 0 and "good"
         or ("can be used, %d warning%s"):format(warnings, warnings == 1 and "" or "s"), name_of(p, text)))
   end
   return complain(lines)
end

-- Partitions of a node, from Slurm. @return list; or nil and why
local function partitions_of(p, node)
   if not hostlist.name(node) then
      return nil, ('"%s" is no node name'):format(printable.safe(node))
   end
   local answer, err = command.run(p.scontrol, { "show", "--oneliner", "node", node }, SCONTROL_S)
   if not answer then
      return nil, ("node %s: %s; name a partition with --partition"):format(node, printable.plain(err, 200))
   end
   local list = {}
   for name in (answer:match(" Partitions=(%S+)") or ""):gmatch("[^,]+") do
      list[#list + 1] = name
   end
   if #list == 0 then
      return nil, ("node %s is in no partition"):format(node)
   end
   return list
end

-- The partition that was named, if Slurm has it. Without Slurm the policy alone is shown.
-- @return list of it; or nil and why
local function partition_of(p, partition)
   local answer = command.run(p.scontrol, { "show", "--oneliner", "partition" }, SCONTROL_S)
   if not answer then
      return { partition }
   end
   local names = {}
   for name in answer:gmatch("PartitionName=(%S+)") do
      names[#names + 1] = name
      if name == partition then
         return { partition }
      end
   end
   local near = spelling.nearest(partition, names)
   return nil, ('Slurm has no partition "%s"%s'):format(printable.safe(partition),
      near and (', did you mean "%s"?'):format(printable.safe(near)) or "")
end

local function where(file, line)
   return line and ("%s:%d"):format(file:match("[^/]*$"), line) or "default"
end

local function bounds_rows(p, job, file, line_of)
   local rows = { { "LEVEL", "VALUE", "OF", "FROM" } }
   local bounds, from = policy_bounds.of(p, job)
   for _, key in ipairs({ "floor", "default", "ceiling" }) do
      local kind, name, entries = from[key][1], from[key][2], from[key][3]
      -- A bound that was moved to another one is set where that one is.
      local line
      for _, set in ipairs({ key, "floor", "ceiling" }) do
         line = line or (name and p[entries][name] and p[entries][name][set] == bounds[key]
            and line_of({ entries, name, set }))
      end
      rows[#rows + 1] = { key, bounds[key], ("%s %s"):format(kind, printable.safe(name or "*")), where(file, line) }
   end
   return rows
end

local BY_NAME = { partitions = true, accounts = true, qos = true }

-- A list of words fits on one line.
local function is_plain(list)
   for _, one in ipairs(list) do
      if type(one) == "table" then
         return false
      end
   end
   return #list > 0
end

-- Every other key, leaf by leaf.
local function rows_of(value, trail, rows, file, line_of)
   for _, key in ipairs(sorted(value)) do
      trail[#trail + 1] = key
      if #trail == 1 and BY_NAME[key] then -- luacheck: ignore 542
         -- Shown above.
      elseif type(value[key]) == "table" and not is_plain(value[key]) then
         rows_of(value[key], trail, rows, file, line_of)
      else
         local list, shown = type(value[key]) == "table" and value[key] or { value[key] }, {}
         for i, one in ipairs(list) do
            shown[i] = type(one) == "number" and ("%.14g"):format(one) or printable.safe(one, 200)
         end
         rows[#rows + 1] = { printable.safe(table.concat(trail, "."), 100), table.concat(shown, ", "),
            where(file, line_of(trail)) }
      end
      trail[#trail] = nil
   end
   return rows
end

local function show(args, file, p, line_of, text)
   local partitions, err
   if args.partition then
      partitions, err = partition_of(p, args.partition)
   elseif args.node then
      partitions, err = partitions_of(p, args.node)
   else
      partitions = { "*" }
   end
   if not partitions then
      return report.error(report.FAILED, "%s", err)
   end
   print(("policy %s: %s\n%s\n"):format(file, name_of(p, text), baseline_line(p)))
   for _, partition in ipairs(partitions) do
      local named = p.partitions[partition] ~= nil
      print(("partition %s%s"):format(printable.safe(partition),
         named and "" or ' (not named in the policy: "*" holds)'))
      local job = { partition = partition, account = args.account, qos = args.qos }
      print(output.table(bounds_rows(p, job, file, line_of)) .. "\n")
   end
   if #partitions > 1 then
      print("Before a job, its own partition's levels hold.\n")
   end
   print(output.table(rows_of(p, {}, { { "KEY", "VALUE", "FROM" } }, file, line_of)))
   return 0
end

-- As ingest would, with one event.
local function try_notify(file, p)
   if not p.notify.program then
      return report.error(report.NOT_FOUND, "%s: notify names no program", file)
   end
   local now = os.time()
   local told, err = notify.call(p.notify, notify.message({ { event = { event = "test", time = now,
      text = "this is a test: syscheck config notify" } } }, now))
   if not told then
      return report.error(report.FAILED, "notify: %s", err)
   end
   print(("%s: took the test event"):format(printable.safe(p.notify.program[1], 200)))
   return 0
end

function config.run(args)
   if args.action == "import" then
      return require("syscheck.cmd.common.nhc").run(args)
   end
   local file = args.policy or paths.policy
   local p, line_of, text = read(file)
   if not p then
      return complain(line_of)
   elseif args.action == "check" then
      return check(file, p, line_of, text)
   elseif args.action == "notify" then
      return try_notify(file, p)
   elseif args.node and args.partition then
      return report.error(report.USAGE, "a node or --partition, not both")
   end
   return show(args, file, p, line_of, text)
end

return config
