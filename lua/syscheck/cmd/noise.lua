--- syscheck noise: what noise of the system costs jobs of many nodes.
local hostlist = require("syscheck.lib.hostlist")
local jobid = require("syscheck.questions.jobid")
local measured_noise = require("syscheck.cmd.common.measured_noise")
local noise = require("syscheck.questions.noise.logic")
local noise_show = require("syscheck.questions.noise.show")
local noise_store = require("syscheck.questions.noise.read")
local printable = require("syscheck.lib.printable")
local progress = require("syscheck.lib.progress")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")
local simulate = require("syscheck.questions.noise.simulate")
local spool = require("syscheck.cmd.common.spool")
local time = require("syscheck.lib.time")
local verify = require("syscheck.questions.noise.verify")

local command = {}

local MOST_NODES, MOST_SIZES, MOST_SIZE = 65536, 16, 1048576

-- "64,1024" -> ascending list
local function sizes(text)
   local out, seen = {}, {}
   for word in (text .. ","):gmatch("([^,]*),") do
      local n = #word <= 7 and word:match("^%d+$") and math.tointeger(tonumber(word))
      if not n or n < 1 or n > MOST_SIZE then
         return nil, ('--at must be numbers of nodes from 1 to %d, as 64,1024, not "%s"'):format(MOST_SIZE,
            printable.safe(text, 32))
      end
      out[#out + 1] = not seen[n] and n or nil
      seen[n] = true
   end
   table.sort(out)
   if #out > MOST_SIZES then
      return nil, ("--at: at most %d sizes"):format(MOST_SIZES)
   end
   return out
end

local function nodes(text)
   local list, err = hostlist.expand(text, MOST_NODES)
   if not list then
      return nil, ('--nodes must be a list of nodes, as n[1-4,7], not "%s"%s'):format(printable.safe(text, 64),
         err and ": " .. printable.safe(err, 100) or "")
   end
   return list
end

function command.add_to(parser)
   local one = parser:command("noise", "Predict what jobs of many nodes lose to noise of the system, from what checks "
      .. "sampled on single nodes: by the number of nodes and the time between two barriers, which source costs what, "
      .. "what would be without it."):summary("Predict what noise costs jobs of many nodes.")
   one:mutex(
      one:option("--class", "Jobs on nodes of this class (default: each class)."):argname("NAME"),
      one:option("--job", "A job on the nodes of this one."):argname("ID"):convert(jobid.parse),
      one:option("--nodes", "A job on these nodes, as n[1-4,7]."):argname("LIST"):convert(nodes))
   one:option("--cluster", "Only this cluster."):argname("NAME")
   one:option("--at", "Numbers of nodes of a job (default: 1 to 65536)."):argname("N[,N]"):convert(sizes)
   one:option("--simulate", "Also simulate, step by step: a dissemination barrier, or a halo exchange, which waits for "
      .. "neighbours only."):argname("KIND"):choices(simulate.KINDS)
   one:flag("--verify", ("Also measure: fixed work and an allreduce on the nodes of the job in which this runs, or of "
      .. "--job ID, in a step of %d s, beside what is predicted for them."):format(measured_noise.SECONDS))
   question.add_since(one, "30d", "Checks")
   question.add_options(one)
   one:option("--policy", "Policy file to use."):argname("FILE")
end

-- What they really lose, and the allreduce for what is predicted.
local function measure(args, where, known)
   if #known < 2 then
      report.stop(report.NOT_FOUND, "--verify: only %s has samples of noise: two nodes are the least",
         printable.safe(known[1].name))
   end
   local names = {}
   for i, node in ipairs(known) do
      names[i] = node.name_alone
   end
   local measured, err = measured_noise.run(args, where, names)
   if not measured then
      report.stop(report.UNKNOWN, "noise: %s", err)
   end
   return measured, { us = measured[1].call_us, steps = math.ceil(math.log(#names, 2) - 1e-9), here = true }
end

-- Of nodes, as `of` says; nil where none of them has samples.
-- @param where of measured_noise.where: these nodes are measured, too; or nil
local function of_nodes(db, args, wanted, of, own, to, where)
   local span = { from = args.since, to = to or os.time() + 1 }
   local known, silent = noise_store.nodes(db, span, wanted)
   local measured, allreduce
   if where and #known > 0 then
      measured, allreduce = measure(args, where, known)
   end
   local meter = args.simulate and progress.amount("noise: simulating")
   local answer = #known > 0 and noise.of(known, { own = own, sizes = not own and args.at or nil,
      simulate = args.simulate, allreduce = allreduce or noise_store.allreduce(db, args.since, known) }, {
      add_without = function(node)
         noise_store.add_without(db, span, node)
      end, say = meter and meter.to })
   if meter then
      meter.clear()
   end
   if answer then
      answer.of, answer.silent = of, silent
   end
   if measured then
      answer.verify = verify.compare(answer, measured)
      answer.verify.cores = { verify.other_cores(known, measured) }
   end
   return answer, #known
end

local function no_samples(args, what)
   return report.error(report.NOT_FOUND, "no check since %s sampled noise%s; checks of level quick and full do, unless "
      .. "others use the node meanwhile", time.show(args.since), what)
end

local function print_all(args, list)
   list.since = args.since
   return question.print(args, noise_show, list, function(of)
      return require("syscheck.questions.noise.page")(of)
   end)
end

-- Of those that were named.
-- @return those wanted, those that the store does not know
local function by_names(all, names, option)
   local by_name, several, seen, wanted, missing = {}, {}, {}, {}, {}
   for _, node in ipairs(all) do
      several[node.name_alone] = by_name[node.name_alone] ~= nil
      by_name[node.name_alone], by_name[node.name] = node, node
   end
   for _, name in ipairs(names) do
      if several[name] then
         report.stop(report.USAGE, "%s: %s is in several clusters: which, says --cluster", option, printable.safe(name))
      end
      wanted[#wanted + 1] = not seen[name] and by_name[name] or nil
      missing[#missing + 1] = not seen[name] and not by_name[name] and name or nil
      seen[name] = true
   end
   return wanted, missing
end

-- Certain nodes: the job's, or those that were named; `where` of measured_noise.where, or nil.
local function own(db, args, where)
   local all = noise_store.wanted(db, args.since, { cluster = args.cluster })
   local wanted, missing, what, to = {}, {}, "these nodes", nil
   if where then
      wanted, missing = by_names(all, where.names, "--verify")
      what = ("the nodes of job %d"):format(where.job)
   elseif args.job then
      local runs = jobid.runs(db, args.job)
      if #runs == 0 then
         return report.error(report.NOT_FOUND, "%s", jobid.not_found(db, args.job))
      end
      local keys = noise_store.of_run(db, runs[#runs])
      for _, node in ipairs(all) do
         wanted[#wanted + 1] = (keys[node.key] or keys[node.also]) and node or nil
      end
      what, to = "the nodes of job " .. args.job.text, runs[#runs].end_s and runs[#runs].end_s + 1
   else
      wanted, missing = by_names(all, args.nodes, "--nodes")
   end
   -- What was sampled until the job ended; else what is known of its nodes now.
   local answer, known = of_nodes(db, args, wanted, nil, true, to, where)
   if not answer and to then
      answer, known = of_nodes(db, args, wanted, nil, true)
   end
   if not answer then
      return no_samples(args, " on " .. what)
   end
   table.move(missing, 1, #missing, #answer.silent + 1, answer.silent)
   answer.of = #answer.silent == 0 and "a job on " .. what
      or ("a job on %d of %s (%d without samples)"):format(known, what, #answer.silent)
   answer.job = where and ("%d"):format(where.job) or args.job and args.job.text
   return print_all(args, { answer })
end

local function classes(db, args)
   local wanted, near = noise_store.wanted(db, args.since, { class = args.class, cluster = args.cluster })
   local by_class, names = {}, {}
   for _, node in ipairs(wanted) do
      local class = node.class or "?"
      if not by_class[class] then
         by_class[class] = {}
         names[#names + 1] = class
      end
      table.insert(by_class[class], node)
   end
   table.sort(names)
   local list = {}
   for _, name in ipairs(names) do
      local answer = of_nodes(db, args, by_class[name], "jobs of class " .. printable.safe(name), false)
      if answer then
         answer.class = name
         list[#list + 1] = answer
      end
   end
   if #list == 0 then
      return no_samples(args, (args.class and (' on nodes of class "%s"'):format(printable.safe(args.class)) or "")
         .. (near and (', did you mean "%s"'):format(printable.safe(near)) or ""))
   end
   return print_all(args, list)
end

function command.run(args)
   if (args.job or args.nodes or args.verify) and args.at then
      return report.error(report.USAGE, "--at is of jobs whose nodes are drawn from a class: not with --job, --nodes "
         .. "or --verify")
   elseif args.verify and (args.class or args.nodes) then
      return report.error(report.USAGE, "--verify measures on the nodes of a running job: not with --class or --nodes")
   end
   local policy, where
   if args.verify then
      policy = spool.node(args).policy
      where = measured_noise.where(args, policy)
   end
   return question.run(args, function(db)
      -- An answer makes much garbage, and then the process ends.
      collectgarbage("incremental", 400, 400)
      return ((args.job or args.nodes or where) and own or classes)(db, args, where)
   end, policy)
end

return command
