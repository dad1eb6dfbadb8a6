--- What a run found, for people, programs and spreadsheets.
local hostlist = require("syscheck.lib.hostlist")
local inventory = require("syscheck.fabric.inventory")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local words = require("syscheck.fabric.words")

local show = {}

local LINK = { "name", "rate_gbps", "duplex", "mtu", "pcie_lanes", "pcie_gts", "pcie_lanes_most", "pcie_gts_most",
   "firmware" }

local FINDING = { "kind", "direction", "share", "us", "how", "affected", "why", "again_pct", "wait_pct",
   "peers_wait_pct", "unlike" }

-- What followed a node's fail.
local ACTIONS = { drain = "drained", observed = "would be drained (mode observe)", storm = "not drained, storm guard",
   undecided = "not drained, Slurm did not take it" }

-- GB/s of a healthy pair, the lowest of such classes of samples.of: within a leaf; or across where all are at work, and
-- if there are no such rounds, where few were.
local function typical(answer, far)
   local all, few
   for class, of in pairs(answer.found.reference) do
      local kind, hops = class:match("^(%l+) (%d+)$")
      if (tonumber(hops) > 1) == far then
         few = math.min(few or of.one, of.one)
         all = kind ~= "within" and math.min(all or of.one, of.one) or all
      end
   end
   return far and all or few
end

local per_s = words.per_s

local function latency_of(answer)
   local parts = {}
   for hops, us in pairs(answer.found.latency.mu) do
      parts[#parts + 1] = { hops = hops, text = ("%s %s"):format(words.us(us), hops == 1 and "within a leaf"
         or hops == 2 and "across" or ("across %d levels"):format(hops - 1)) }
   end
   table.sort(parts, function(a, b)
      return a.hops < b.hops
   end)
   for k, one in ipairs(parts) do
      parts[k] = one.text
   end
   return table.concat(parts, ", ")
end

--- What is wrong with the network: pairs that collide are not.
-- @return list of findings
function show.faults(answer)
   local faults = {}
   for _, one in ipairs(answer.findings) do
      faults[#faults + 1] = one.kind ~= "collision" and one or nil
   end
   return faults
end

-- Who was suspected, and there were too many: each leaf has room for so many in a run.
local function untried_of(answer)
   local nodes, leaves, pairs_ = {}, {}, 0
   for _, one in ipairs(answer.untried) do
      nodes[#nodes + 1] = one.node and answer.net.names[one.node]
      leaves[#leaves + 1] = one.leaf and answer.net.leaves[one.leaf].name
      pairs_ = pairs_ + (one.flow and 1 or 0)
   end
   local parts = {}
   parts[1] = nodes[1] and printable.safe(hostlist.fold(nodes), 200)
   parts[#parts + 1] = leaves[1] and "leaf " .. printable.safe(table.concat(leaves, ", leaf "), 200)
   parts[#parts + 1] = pairs_ > 0 and ("%d pair%s"):format(pairs_, pairs_ == 1 and "" or "s") or nil
   return parts[1] and ("suspected, and no turn left to be measured again: %s; measure again, with fewer nodes or when "
      .. "those that were named are repaired"):format(table.concat(parts, ", "))
end

-- What is so for the network; where half of all were suspected and none of them showed it again, it is not because of
-- the network that they were slow for a moment. Beside a fault others are slow for its sake.
local function notes_of(answer)
   local cleared, faulty = answer.unconfirmed - #answer.untried, #show.faults(answer) > 0
   local disturbed = not faulty and cleared >= math.max(3, #answer.net.names / 2)
   local notes = words.notes(answer.net, answer.found, faulty or disturbed, answer.patterns)
   for _, one in ipairs(answer.windows) do
      notes[#notes + 1] = words.held(one)
   end
   notes[#notes + 1] = untried_of(answer)
   notes[#notes + 1] = disturbed and ("%d suspects did not show again: other work on the nodes or in the network while "
      .. "it was measured; repeat it"):format(cleared) or nil
   return notes
end

--- Text for a terminal.
function show.table(answer, color)
   local net, lines, faults = answer.net, {}, show.faults(answer)
   local reached, near, far = {}, typical(answer, false), typical(answer, true)
   reached[1] = near and per_s(near) .. " within a leaf"
   reached[#reached + 1] = far and per_s(far) .. " across, all at once"
   lines[1] = ("%d node%s%s, %d + %d rounds in %.1f s (seed %d); a pair: %s; latency %s"):format(
      #net.names, #net.names == 1 and "" or "s",
      net.known and (" at %d lea%s"):format(#net.leaves, #net.leaves == 1 and "f" or "ves") or ", no topology known",
      #answer.rounds, answer.again and #answer.again.rounds or 0, answer.seconds, answer.seed,
      #reached > 0 and table.concat(reached, ", ") or "-", latency_of(answer))
   lines[#lines + 1] = words.patterns(answer.patterns)
   lines[#lines + 1] = words.files(answer.io)
   for _, note in ipairs(notes_of(answer)) do
      lines[#lines + 1] = "note: " .. note
   end
   for _, one in ipairs(answer.unlike) do
      lines[#lines + 1] = "note: " .. inventory.words(one)
   end
   for _, text in ipairs(answer.notes) do
      lines[#lines + 1] = "note: " .. printable.plain(text, 500)
   end
   for _, one in ipairs(faults) do
      local text = "fault: " .. words.of(net, one)
      lines[#lines + 1] = color and ("\27[31m%s\27[0m"):format(text) or text
   end
   if #net.names == 2 then
      lines[#lines + 1] = "two nodes: what is measured is the pair's, and of two nobody can be blamed"
   elseif #faults == 0 then
      lines[#lines + 1] = "no node, link or route stands out"
         .. (answer.unconfirmed > 0 and (" (%d suspected, not confirmed)"):format(answer.unconfirmed) or "")
   elseif answer.unconfirmed > 0 then
      lines[#lines + 1] = ("%d more suspected, not confirmed"):format(answer.unconfirmed)
   end
   for _, one in ipairs(answer.kept and answer.kept.failed or {}) do
      lines[#lines + 1] = ("%s: %s: %s"):format(printable.safe(one.node), ACTIONS[one.action],
         printable.plain(one.text, 300))
   end
   for _, one in ipairs(answer.kept and answer.kept.beyond or {}) do
      lines[#lines + 1] = ("note: %s: beyond a limit, and nothing was found: %s"):format(
         printable.safe(hostlist.fold(one.nodes), 200), printable.plain(one.text, 300))
   end
   if answer.kept and answer.kept.recorded > 0 then
      lines[#lines + 1] = ("%d records written; syscheck ingest stores them"):format(answer.kept.recorded)
   end
   return table.concat(lines, "\n")
end

local function place(net, one)
   return { node = one.node and net.names[one.node], leaf = one.leaf and net.leaves[one.leaf].name,
      from = one.from and net.names[one.from], to = one.to and net.names[one.to] }
end

-- All pairs of all rounds, in the order in which they were measured.
-- @param number of rounds before
local function pairs_of(answer, number)
   local list = output.list()
   for _, part in ipairs({ answer, answer.again or nil }) do
      for r, round in ipairs(part.rounds) do
         number = number + 1
         for k, p in ipairs(round.pairs) do
            local got = part.results[r][k]
            list[#list + 1] = { a = answer.net.names[p[1]], b = answer.net.names[p[2]], round = number,
               kind = round.kind, hops = answer.net.hops(p[1], p[2]), lat_us = got.lat_us, ab_gbs = got.ab_gbs,
               ba_gbs = got.ba_gbs, both_ab_gbs = got.both_ab_gbs, both_ba_gbs = got.both_ba_gbs, error = got.error }
         end
      end
   end
   return list, number
end

-- Ports of each node, as it says.
local function links_of(answer)
   local list = output.list()
   for _, name in ipairs(answer.net.names) do
      for _, link in ipairs(answer.about[name] and answer.about[name].links or {}) do
         local one = { node = name }
         for _, field in ipairs(LINK) do
            one[field] = type(link) == "table" and link[field] or nil
         end
         list[#list + 1] = one
      end
   end
   return list
end

local PATTERNS = { packed_gbs = "alltoall_packed_gbs", striped_gbs = "alltoall_striped_gbs",
   allreduce_us = "allreduce_us", allreduce_least_us = "allreduce_least_us" }

local function io_of(answer)
   local io = answer.io
   return io and { dir = io.dir, filesystem = io.filesystem, direct = io.direct == true, bytes = io.bytes, own = io.own,
      shared = io.shared, error = io.error, nodes = output.each(io.nodes, function(one)
         return { node = answer.net.names[one.node], write_gbs = one.write_gbs, read_gbs = one.read_gbs,
            shared_write_gbs = one.shared_write_gbs, shared_read_gbs = one.shared_read_gbs }
      end) }
end

--- One object: { v, mpi, seed, seconds, rail, nodes, leaves, pairs, alltoall_packed_gbs,
-- alltoall_striped_gbs, allreduce_us, allreduce_least_us (nil: not measured), findings, unconfirmed, links,
-- unlike, io = as of storage.run (with --io), recorded, failed = list of { node, action, text }, beyond = list
-- of { nodes, text }, notes }.
function show.json(answer)
   local net, told = answer.net, answer.found.nodes.told
   local notes = output.list(notes_of(answer))
   table.move(answer.notes, 1, #answer.notes, #notes + 1, notes)
   local nodes, leaves = output.list(), output.list()
   for i, name in ipairs(net.names) do
      local leaf = net.known and net.leaves[net.leaf[i]]
      nodes[i] = { node = name, leaf = leaf and leaf.name or nil, out_ratio = told.out[i],
         in_ratio = told["in"][i], lat_add_us = answer.found.latency.added[i] }
   end
   for l, leaf in ipairs(net.known and net.leaves or {}) do
      leaves[l] = { leaf = leaf.name, nodes = #leaf.members, up_ratio = answer.found.leaves.scores.up[l],
         down_ratio = answer.found.leaves.scores.down[l],
         packed_ratio = answer.patterns and answer.patterns.leaves[l] }
   end
   local kept = answer.kept
   local all = { v = 1, mpi = answer.mpi, seed = answer.seed, seconds = answer.seconds, rail = answer.rail,
      nodes = nodes, leaves = leaves, pairs = (pairs_of(answer, 0)), unconfirmed = answer.unconfirmed, notes = notes,
      recorded = kept and kept.recorded, failed = kept and output.each(kept.failed, function(one)
         return { node = one.node, action = one.action, text = one.text }
      end),
      beyond = kept and output.each(kept.beyond, function(one)
         return { nodes = output.list(one.nodes), text = one.text }
      end),
      links = links_of(answer), unlike = output.each(answer.unlike, function(one)
         return { nodes = output.list(one.nodes), link = one.link, what = one.what, text = one.text }
      end),
      findings = output.each(answer.findings, function(one)
         local out = place(net, one)
         for _, field in ipairs(FINDING) do
            out[field] = one[field]
         end
         local w = one.window
         out.window = w and { node = net.names[w.whose], bytes = w.bytes, rtt_us = w.rtt_us, gbs = w.rate / 1e9,
            link_gbs = w.link / 1e9, needs_bytes = w.needs, setting = w.buffer } or nil
         out.text = one.kind ~= "collision" and words.of(net, one) or nil
         return out
      end) }
   all.io = io_of(answer)
   for from, to in pairs(PATTERNS) do
      all[to] = answer.patterns and answer.patterns[from]
   end
   return output.json(all)
end

local CSV = { "round", "kind", "a", "b", "hops", "lat_us", "ab_gbs", "ba_gbs", "both_ab_gbs", "both_ba_gbs", "error",
   "rail", "shard" }

--- One line for each pair of each round.
-- @param answers one, or those of several shards
function show.csv(...)
   local rows, number = {}, 0
   for _, answer in ipairs({ ... }) do
      local list
      list, number = pairs_of(answer, number)
      for _, one in ipairs(list) do
         local row = {}
         for k, field in ipairs(CSV) do
            row[k] = one[field] or answer[field]
         end
         rows[#rows + 1] = row
      end
   end
   return output.csv(CSV, rows)
end

--- Answers of one shard or of several, by one rail or by several: JSON of several is { v, shards = list of what it
-- is of one }.
-- @param format "table", "json" or "csv"
function show.all(format, answers, color)
   if format == "csv" then
      return show.csv(table.unpack(answers))
   end
   local parts = {}
   for k, answer in ipairs(answers) do
      parts[k] = show[format](answer, color)
      local what = { answer.rail and ("rail %d"):format(answer.rail),
         answer.across and "between the shards" or answer.shard and ("shard %d"):format(answer.shard) }
      local title = what[1] and what[2] and what[1] .. ", " .. what[2] or what[1] or what[2]
      if format == "table" and title then
         parts[k] = ("%s, %s\n%s"):format(title, printable.safe(hostlist.fold(answer.net.names), 200), parts[k])
      end
   end
   if format == "json" and #parts > 1 then
      return ('{"v":1,"shards":[%s]}'):format(table.concat(parts, ","))
   end
   return table.concat(parts, "\n")
end

return show
