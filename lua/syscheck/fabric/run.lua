--- Measures a network for real: steps of Slurm until all who can have answered, then what is found.
local allocation = require("syscheck.fabric.allocation")
local explain = require("syscheck.fabric.explain")
local hostlist = require("syscheck.lib.hostlist")
local loop = require("syscheck.fabric.loop")
local network = require("syscheck.fabric.net")
local session = require("syscheck.fabric.session")
local shards = require("syscheck.fabric.shards")
local step = require("syscheck.fabric.step")
local storage = require("syscheck.fabric.storage")

local run = {}

local ENDED_S = 2 -- a job that was cancelled ends its steps first
local STARTS = 4 -- with fewer nodes each time
local KERNEL_S = 600 -- the step's own limit: what it does takes seconds
local ROUND_S = 0.4 -- in which nothing is amiss

local function without(names, lost)
   local gone, out = {}, {}
   for _, name in ipairs(lost) do
      gone[name] = true
   end
   for _, name in ipairs(names) do
      out[#out + 1] = not gone[name] and name or nil
   end
   return out
end

-- Groups of `size` of each of the lists.
local function divide(lists, size)
   local out = {}
   for _, list in ipairs(lists) do
      for from = 1, #list, size do
         out[#out + 1] = table.move(list, from, math.min(#list, from + size - 1), 1, {})
      end
   end
   return out
end

-- Of three the one without whom the other two start.
local function culprit_of_three(names, options)
   for k, name in ipairs(names) do
      if step.try({ { names[k % 3 + 1], names[(k + 1) % 3 + 1] } }, options)[1] then
         return { name }
      end
   end
   return {}
end

-- Who keeps the others from starting: groups start for themselves, those that cannot are divided, and in the end each
-- of those left is tried with one that could.
-- @return names; empty where none can be found
local function culprits(names, options, say)
   if #names == 3 then
      return culprit_of_three(names, options)
   end
   local groups, good = { names }, {}
   local size = #names
   while size > 3 do
      size = math.ceil(math.sqrt(size))
      local parts = divide(groups, size)
      say("%d parts of %d", #parts, size)
      local up = step.try(parts, options)
      groups = {}
      for k, part in ipairs(parts) do
         if up[k] and #part > 1 then
            table.move(part, 1, #part, #good + 1, good)
         else
            groups[#groups + 1] = part
         end
      end
   end
   local singles, out = divide(groups, 1), {}
   for from = 1, #good > 0 and #singles or 0, math.max(1, #good) do
      local parts = {}
      for k = from, math.min(#singles, from + #good - 1) do
         parts[#parts + 1] = { singles[k][1], good[k - from + 1] }
      end
      say("%d nodes, each with one that could", #parts)
      for k, is_up in ipairs(step.try(parts, options)) do
         out[#out + 1] = not is_up and parts[k][1] or nil
      end
   end
   return out
end

-- What files say is told beside.
local function add_storage(out, net, one, io, say)
   out.io = storage.run(net, function(rounds)
      say("%d rounds of files", #rounds)
      local results, err, lost = one:measure(network.named(net, rounds),
         { io_seconds = storage.SECONDS, io_mb = io.mb })
      return results, lost and #lost > 0 and ("%s: %s"):format(hostlist.fold(lost), err) or err
   end)
   out.io.dir = io.dir
   for _, finding in ipairs(out.io.findings) do
      finding.dir = io.dir
   end
   table.move(out.io.findings, 1, #out.io.findings, #out.findings + 1, out.findings)
   out.unconfirmed = out.unconfirmed + out.io.unconfirmed
end

-- Who has fewer rails than most: with a port down, his second one is called the first, which is another network.
-- What each has is kept for the next rail.
-- @return names, and how many rails most have
local function few_rails(names, one, options)
   local count, most = {}, nil
   for _, name in ipairs(options.rail and names or {}) do
      local rails = (one.about[name] or {}).rails
      options.rails_of[name] = rails or options.rails_of[name]
      if rails then
         count[rails] = (count[rails] or 0) + 1
         if not most or count[rails] > count[most] or count[rails] == count[most] and rails > most then
            most = rails
         end
      end
   end
   local odd = {}
   for _, name in ipairs(most and names or {}) do
      odd[#odd + 1] = (options.rails_of[name] or most) < most and name or nil
   end
   return odd, most
end

-- Why everybody with everybody would take longer than the step may; nil: it would not.
local function too_long(names, options)
   local share = options.settings and options.settings.share
   local seconds = (#names - 1) * (ROUND_S + (share and step.PAUSES_S / share or 0))
   return options.all and seconds > KERNEL_S / 2 and ("%d rounds%s take about %.0f s, longer than a step may: %sfewer "
      .. "nodes, or no --all"):format(#names - 1, share and (" with --share %g"):format(share) or "", seconds,
      share and "a larger --share, " or "") or nil
end

-- One start of the step: from its first word to its last.
-- @return session's answer; or nil, why, the nodes that were lost, and true where these are only left out
local function once(names, options, say)
   local start = { srun = options.srun, kernel = options.kernel, job = options.job,
      dir = options.io and options.io.dir or nil, rail = options.rail, seconds = KERNEL_S,
      interrupted = function() return options.interrupted end }
   local one, err = nil, too_long(names, options)
   if not err then
      one, err = step.start(setmetatable({ nodes = names }, { __index = start }))
   end
   if not one then
      return nil, err, {}
   end
   local ok, lost
   ok, err, lost = one:hello()
   local odd, most = few_rails(names, one, options)
   if ok and #odd > 0 then
      one:finish()
      return nil, ("fewer than %d such ports in use, left out: %s"):format(most, hostlist.fold(odd)), odd, true
   end
   local said = {}
   for name, about in pairs(one.about) do
      said[name] = about.rate_gbps
   end
   local net = network.new(names, options.topology, said)
   local out
   if ok then
      say("%d nodes have started", #names)
      out, err = session.run(net, function(rounds)
         say("%d rounds", #rounds)
         local results, why, gone = one:measure(network.named(net, rounds), options.settings)
         lost = gone
         return results, why
      end, { seed = options.seed, all = options.all,
         -- Who spares the network does not let all nodes send at once.
         patterns = options.settings and options.settings.share and "allreduce" or "all" })
   end
   if out and options.io and not options.interrupted then
      add_storage(out, net, one, options.io, say)
   end
   one:finish()
   if out and not options.interrupted then
      out.net, out.about, out.mpi = net, one.about, one.mpi
      explain.all(out)
      return out
   end
   if options.interrupted then
      return nil, "interrupted", {}
   elseif not ok and one.said_hello and #(lost or {}) == 0 then
      say("%s: looking for who keeps the others from it", err)
      lost = culprits(names, start, say)
      err = #lost > 0 and "MPI does not start with it" or err
   end
   return nil, err, lost or {}
end

local function in_job(names, options, say)
   local lost_all, notes, err = {}, {}, nil
   for _ = 1, STARTS do
      local out, lost, left_out
      out, err, lost, left_out = once(names, options, say)
      if out then
         out.seed, out.notes = options.seed, notes
         out.job, out.nodes, out.share = options.job, #out.net.names, options.settings and options.settings.share
         out.rail = options.rail
         -- Who was lost on the way is no node of the answer's net any more; he is named all the same.
         for _, one in ipairs(lost_all) do
            table.insert(out.net.names, one.name)
            table.insert(out.findings, 1, { kind = "silent", node = #out.net.names, why = one.why })
         end
         for _, one in ipairs(out.findings) do
            local about = one.node and out.about[out.net.names[one.node]] or {}
            -- Files went by it, too, but nothing says that it was it.
            one.rail = not one.dir and options.rail or nil
            one.port = one.rail and about.rail
            one.ports = one.kind == "nic" and not options.rail and (about.rails or 1) > 1 and about.rails or nil
         end
         return out
      elseif not options.interrupted and options.ended and loop.wait(ENDED_S, options.ended) then
         err = ("job %d ended meanwhile: cancelled or preempted"):format(options.job)
         break
      elseif options.interrupted or #lost == 0 or #names - #lost < 2 then
         break
      end
      for _, name in ipairs(left_out and {} or lost) do
         lost_all[#lost_all + 1] = { name = name, why = err }
      end
      notes[#notes + 1] = left_out and err or nil
      say("%s: %s; going on without", hostlist.fold(lost), err)
      names = without(names, lost)
   end
   return nil, err
end

--- @param names list of nodes
-- @param options { srun, salloc, kernel = paths, job = id or nil: one of its own, partition = of that or nil,
--   topology = as of net.new, seed, all, settings, io = { dir, mb = MB that a node writes at most } or nil }
-- @param say function(format, ...) for progress
-- @return session.run's answer, with io = from storage.run and dir, or nil;
--   net, about = { node's name = { boot_id, rate_gbps, links } }, mpi = its name and version, notes = list, seed,
--   job, nodes (measured), share; or nil and why
function run.run(names, options, say)
   if options.job then
      return in_job(names, options, say)
   end
   local id, release, ended = allocation.hold(options.salloc, names, options.partition, function()
      return options.interrupted and "interrupted"
   end)
   if not id then
      return nil, release
   end
   local of = setmetatable({ job = id, ended = ended }, { __index = options, __newindex = options })
   local ok, out, err = xpcall(in_job, debug.traceback, names, of, say)
   release()
   if not ok then
      error(out, 0)
   end
   return out, err
end

--- Measures more nodes than one job should have, shard by shard, then between them.
-- @param most nodes of a shard
-- @param options of run; `left` = function(names) -> those of them that can still be had, or nil: all
-- @param take function(answer): each, as soon as it is there
-- @return list of answers; list of { names, why } of what could not be measured
function run.all(names, most, options, say, take)
   local parts, answers, failed = shards.build(names, options.topology, most), {}, {}
   local function one(list, across, k)
      local out, err = nil, "none of them is idle any more"
      if #list >= (across and shards.LEAST or 2) then
         -- Files tell nothing of what is between shards.
         out, err = run.run(list, across and setmetatable({ io = false }, { __index = options, __newindex = options })
            or options, say)
      end
      if out and across then
         shards.explain(out)
      elseif out and #parts > 1 then
         shards.note(out)
      end
      if out then
         out.shard = #parts > 1 and k or nil
         take(out)
         answers[#answers + 1] = out
      else
         failed[#failed + 1] = { names = list, why = options.interrupted and "interrupted" or err }
      end
   end
   for k, part in ipairs(parts) do
      if not options.interrupted then
         if #parts > 1 then
            say("shard %d of %d: %s", k, #parts, hostlist.fold(part))
         end
         one(k > 1 and options.left and options.left(part) or part, false, k)
      end
   end
   local far = #answers > 1 and not options.interrupted and shards.across(answers, most) or {}
   if #far > 0 then
      say("between the shards: one node of each of %d leaves", #far)
      one(far, true)
   end
   return answers, failed
end

-- Those of the nodes that said that they have a k'th rail.
-- @param rails name -> how many
-- @return these, the others, and how many rails a node has at most
local function with_rail(k, names, rails)
   local have, without_it, most = {}, {}, 0
   for _, name in ipairs(names) do
      most = math.max(most, rails[name] or 0)
      table.insert((rails[name] or 0) >= k and have or without_it, name)
   end
   return have, without_it, most
end

--- The same by each rail: the first of the fastest ports of each node, the second, and so on. Files only once.
-- @param rails how many, or nil: as OpenMPI chooses
-- @return as run.all, each with `rail`
function run.rails(names, rails, most, options, say, take)
   if not rails then
      return run.all(names, most, options, say, take)
   end
   local answers, failed, rails_of = {}, {}, {}
   for k = 1, rails do
      local have, not_there, most_rails = names, {}, nil
      if k > 1 then
         have, not_there, most_rails = with_rail(k, names, rails_of)
      end
      local of = setmetatable({ rail = k, rails_of = rails_of, io = k == 1 and options.io },
         { __index = options, __newindex = options })
      -- Who could not be measured did not say what he has.
      if options.interrupted or k > 1 and not next(rails_of) then
         break
      elseif #have < 2 then
         failed[#failed + 1] = { names = names, why = most_rails < k
            and ("there is no rail %d: they have %d at most"):format(k, most_rails)
            or ("only %s has a rail %d"):format(have[1], k) }
         break
      end
      say("rail %d: %d nodes", k, #have)
      local some, not_done = run.all(have, most, of, say, take)
      if #not_there > 0 and some[1] then
         table.insert(some[1].notes, ("no rail %d, left out: %s"):format(k, hostlist.fold(not_there)))
      end
      table.move(some, 1, #some, #answers + 1, answers)
      for _, one in ipairs(not_done) do
         failed[#failed + 1] = { names = one.names, why = ("rail %d: %s"):format(k, one.why) }
      end
   end
   return answers, failed
end

return run
