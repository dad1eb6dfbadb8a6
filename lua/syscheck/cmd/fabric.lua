--- syscheck fabric: what lies between the nodes, measured by a job step; names the bad NIC, cable, uplink or route.
local uv = require("luv")
local allocated = require("syscheck.cmd.common.allocated")
local hostlist = require("syscheck.lib.hostlist")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local record = require("syscheck.fabric.record")
local report = require("syscheck.cmd.common.report")
local run = require("syscheck.fabric.run")
local shards = require("syscheck.fabric.shards")
local show = require("syscheck.fabric.show")
local slurm = require("syscheck.slurm.command")
local spool = require("syscheck.cmd.common.spool")
local states = require("syscheck.slurm.states")
local storage = require("syscheck.fabric.storage")
local switches = require("syscheck.slurm.switches")
local topology = require("syscheck.cmd.common.topology")

local command = {}

local ALONE = "there is nothing between one node and itself; two are the least, and of three the bad one can be named"
local SHOWN_BUSY = 8
local COMPLETING_S = 30

local function whole(name, least, most)
   return function(text)
      local value = math.tointeger(tonumber(text))
      if not value or value < least or value > most then
         return nil, ("%s is a whole number from %d to %d, not \"%s\""):format(name, least, most,
            printable.safe(text, 32))
      end
      return value
   end
end

function command.add_to(parser)
   local one = parser:command("fabric", "Measure latency and bandwidth between the nodes of a job, as a job step, and "
      .. "name the node, uplink or route that is bad: within leaf switches, across them, alone and loaded.")
      :summary("Find the bad NIC, cable, uplink or route between nodes.")
   one:mutex(one:option("--job", "A running job of yours, on its nodes (default: the one this runs in)."):argname("ID")
      :convert(whole("--job", 1, 4294967295)),
      one:option("--nodes", "Nodes, for a job of its own: n[1-16]."):argname("LIST"),
      one:option("--idle", "The idle nodes of a partition, for jobs of its own there."):argname("PARTITION"))
   one:option("--shard", "Nodes of one job at most, 3 to 512 (default): more are measured in turn, then what is "
      .. "between them."):argname("N"):default(tostring(shards.MOST)):show_default(false)
      :convert(whole("--shard", shards.LEAST, shards.MOST))
   one:option("--rails", "The first of each node's fastest ports, then the second, up to the N'th: one run each.")
      :argname("N"):convert(whole("--rails", 1, 32))
   one:flag("--all", "Everybody with everybody: one round less than nodes.")
   one:option("--share", "Share of the time that a sender sends, 0.01 to 1: spares a network in production.")
      :argname("F"):convert(function(text)
         local value = tonumber(text)
         if not value or not (value >= 0.01 and value <= 1) then
            return nil, ('--share is a number from 0.01 to 1, not "%s"'):format(printable.safe(text, 32))
         end
         return value
      end)
   one:option("--seed", "Of the order of nodes: the same one, the same pairs (default: the time)."):argname("N")
      :convert(whole("--seed", 0, 2147483647))
   one:option("--io", "Files, too: written and read by all nodes in this directory, where the policy's io_paths "
      .. "allow it."):argname("DIR")
   one:option("--io-mb", ("10^6 bytes that a node writes at most at a time, 1 to 10000000 (default %d)."):format(
      storage.MB)):argname("N"):convert(whole("--io-mb", 1, 10000000))
   output.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

-- Names of the idle nodes of a partition, and how many are in which other state. Who is completing a job is waited for:
-- it may be our own last one.
local function idle_of(scontrol, partition)
   if not partition:find("^[%w._-]+$") then
      report.stop(report.USAGE, '--idle is the name of a partition, not "%s"', printable.safe(partition, 64))
   end
   local of
   for _ = 1, COMPLETING_S do
      of = states.ask(scontrol, "--partition=" .. partition)
      local completing = false
      for _, state in pairs(of or {}) do
         completing = completing or states.kind(state) == "completing"
      end
      if not completing then
         break
      end
      uv.sleep(1000)
   end
   if not of then
      report.stop(report.UNKNOWN, "fabric: Slurm does not say which nodes of %s are idle", partition)
   elseif not next(of) then
      report.stop(report.UNKNOWN, "fabric: partition %s: Slurm knows none, or it has no nodes", partition)
   end
   local idle, by_state, left_out = {}, {}, {}
   for name, state in pairs(of) do
      local list = states.kind(state) == "idle" and idle or by_state[state] or {}
      list[#list + 1] = name
      by_state[state] = list ~= idle and list or nil
   end
   for state, names in pairs(by_state) do
      left_out[#left_out + 1] = ("%s %s"):format(printable.safe(hostlist.fold(names), 100), state)
   end
   table.sort(left_out)
   local others = table.concat(left_out, ", ")
   if #idle < 2 then
      report.stop(report.UNKNOWN, "fabric: partition %s has %d idle node%s, it takes two%s", partition, #idle,
         #idle == 1 and "" or "s", #left_out > 0 and " (" .. others .. ")" or "")
   end
   return idle, { #left_out > 0 and ("not idle, left out: %s"):format(others) or nil }
end

-- Of nodes for a job of its own those that may run one: who is drained or down is left out, and not waited for.
-- @return names, list of notes
local function in_service(scontrol, names)
   local of, left, notes = states.ask(scontrol, "--nodes=" .. hostlist.fold(names)), {}, {}
   for _, name in ipairs(of and names or {}) do
      local state = of[name]
      if not state then
         report.stop(report.UNKNOWN, "fabric: %s: Slurm knows no such node", name)
      elseif states.kind(state) == "out" then
         notes[#notes + 1] = ("%s is %s: left out"):format(name, state)
      else
         left[#left + 1] = name
      end
   end
   if of and #left < 2 then
      report.stop(report.UNKNOWN, "fabric: %s", #left == 0 and "no node is in service: " .. table.concat(notes, ", ")
         or ("only %s is in service: %s"):format(left[1], table.concat(notes, ", ")))
   end
   return of and left or names, notes
end

-- @return list of names, list of notes, the job's id or nil: one of its own
local function where(args, policy)
   if args.idle then
      return idle_of(policy.scontrol, args.idle)
   elseif args.nodes then
      return in_service(policy.scontrol, allocated.names(args.nodes, ALONE))
   end
   local job = args.job or allocated.here()
   if not job then
      report.stop(report.USAGE, "no job to measure in: run it inside salloc or sbatch, or name --job ID, --nodes LIST "
         .. "or --idle PARTITION")
   end
   return allocated.of_job(policy.scontrol, job, ALONE), {}, job
end

-- Who was not to be had: "; n1 is allocated, n4 is mixed"; "" where nobody says.
local function busy(scontrol, names)
   local of, list = states.ask(scontrol, "--nodes=" .. hostlist.fold(names)) or {}, {}
   for _, name in ipairs(names) do
      local state = of[name] or "idle"
      local kind = states.kind(state)
      list[#list + 1] = kind ~= "idle" and kind ~= "completing" and ("%s is %s"):format(name, state) or nil
   end
   local more = #list > SHOWN_BUSY and (" and %d more"):format(#list - SHOWN_BUSY) or ""
   return #list > 0 and "; " .. table.concat(list, ", ", 1, math.min(#list, SHOWN_BUSY)) .. more or ""
end

-- The tree that Slurm knows, as far as it names these nodes; nil: none.
local function tree_of(scontrol, names)
   local text = topology.ask(scontrol)
   local leaf = text and switches.leaves(text)
   local known = 0
   for _, name in ipairs(names) do
      known = known + (leaf and leaf[name] and 1 or 0)
   end
   return known > 0 and { leaf = leaf, hops = switches.distance(text) } or nil, #names - known
end

-- The directory for files, where the site allows it. Links in it are the kernel's to refuse: the file system need not
-- be mounted here.
local function files_of(args, policy)
   if not args.io then
      if args.io_mb then
         report.stop(report.USAGE, "--io-mb is for files: name their directory, --io DIR")
      end
      return nil
   elseif args.share then
      report.stop(report.USAGE, "--io and --share cannot be used together: files are written as fast as can be")
   end
   if not args.io:find("^/") then
      report.stop(report.USAGE, '--io "%s": an absolute path is wanted', printable.safe(args.io, 200))
   end
   local dir = (uv.fs_realpath(args.io) or args.io):gsub("(.)/+$", "%1")
   for _, path in ipairs(not (dir .. "/"):find("/%.%.?/") and policy.io_paths or {}) do
      local above = (uv.fs_realpath(path) or path):gsub("/+$", "") .. "/"
      if (dir .. "/"):sub(1, #above) == above then
         return { dir = dir, mb = args.io_mb or storage.MB }
      end
   end
   report.stop(report.USAGE, '--io "%s": files are written only in or under the policy\'s io_paths: %s',
      printable.safe(args.io, 200), #policy.io_paths > 0 and table.concat(policy.io_paths, ", ") or "there are none")
end

-- Those that are idle still.
local function left_of(scontrol, names)
   local of, out = states.ask(scontrol, "--nodes=" .. hostlist.fold(names)) or {}, {}
   for _, name in ipairs(names) do
      out[#out + 1] = states.kind(of[name] or "idle") == "idle" and name or nil
   end
   return out
end

function command.run(args)
   local kernel, why = allocated.kernel()
   if not kernel then
      return report.error(report.UNKNOWN, "%s", why)
   end
   local host = spool.node(args)
   local policy = host.policy
   for _, problem in ipairs(host.problems) do
      report.error(report.UNKNOWN, "fabric: %s", problem)
   end
   local files = files_of(args, policy)
   local names, notes, job = where(args, policy)
   local tree, unknown = tree_of(policy.scontrol, names)
   if tree and unknown > 0 then
      notes[#notes + 1] = ("%d of %d nodes are not in Slurm's topology: each counts as at a leaf of its own"):format(
         unknown, #names)
   end
   local options = { srun = slurm.beside(policy.scontrol, "srun"),
      salloc = slurm.beside(policy.scontrol, "salloc"), kernel = kernel, job = job, partition = args.idle,
      topology = tree, io = files, seed = args.seed or os.time() % 2147483648, all = args.all,
      settings = { share = args.share },
      left = args.idle and function(list)
         return left_of(policy.scontrol, list)
      end }
   local unstop = allocated.on_stop(function(name)
      options.interrupted = name
   end)
   local from = uv.hrtime()
   local function seconds()
      return (uv.hrtime() - from) / 1e9
   end
   local say = allocated.progress(args, seconds)
   local answers, failed = run.rails(names, args.rails, args.shard, options, say, function(answer)
      answer.seconds, from = seconds(), uv.hrtime()
      answer.kept = record.keep(host, answer, function()
         return options.interrupted
      end)
   end)
   unstop()
   local code = 0
   for _, one in ipairs(failed) do
      code = report.error(report.UNKNOWN, "fabric: %s%s%s", #failed + #answers > 1
         and printable.safe(hostlist.fold(one.names), 100) .. ": " or "", one.why,
         not (job or options.interrupted) and busy(policy.scontrol, one.names) or "")
   end
   for _, answer in ipairs(answers) do
      if answer.io and answer.io.error then
         code = report.error(report.UNKNOWN, "fabric: files in %s: %s", printable.plain(answer.io.dir, 200),
            printable.plain(answer.io.error, 300))
      end
      if answer.kept and answer.kept.error then
         code = report.error(report.UNKNOWN, "fabric: records lost: %s", answer.kept.error)
      end
   end
   if #answers == 0 then
      return code
   end
   table.move(notes, 1, #notes, #answers[1].notes + 1, answers[1].notes)
   local format = output.format(args)
   local text = show.all(format, answers, output.has_color()) .. (format == "csv" and "" or "\n")
   if not (io.stdout:write(text) and io.stdout:flush()) then
      return report.error(report.UNKNOWN, "fabric: what was found cannot be written to standard output")
   end
   for _, answer in ipairs(answers) do
      code = #show.faults(answer) > 0 and report.FAILED or code
   end
   return code
end

return command
