--- Findings as sentences for an admin. Pure.
local hostlist = require("syscheck.lib.hostlist")
local overloaded = require("syscheck.fabric.patterns").OVERLOADED
local printable = require("syscheck.lib.printable")
local sorted = require("syscheck.lib.sorted")
local storage = require("syscheck.fabric.storage")

local words = {}

local DOES = { out = "sends", ["in"] = "receives", both = "sends and receives" }
local WAY = { up = "up", down = "down", both = "up and down" }

local function share(value)
   return ("%.2f"):format(value)
end

local function bytes(value)
   return value < 1e6 and ("%.0f kB"):format(value / 1e3) or ("%.1f MB"):format(value / 1e6)
end

-- "TCP's window of 64 kB at 30 ms allows 17 of 622 Mbit/s: it needs 2.3 MB (net.ipv4.tcp_rmem of n5)"
local function window_of(w, name)
   local unit, per = "Mbit/s", 1e6 / 8
   if w.link >= 10e9 / 8 then
      unit, per = "Gbit/s", 1e9 / 8
   end
   return ("TCP's window of %s at %.3g ms allows %.3g of %.3g %s: it needs %s (net.ipv4.%s%s)"):format(
      bytes(w.bytes), w.rtt_us / 1e3, w.rate / per, w.link / per, unit, bytes(w.needs), w.buffer,
      name and " of " .. name(w.whose) or "")
end

--- A window that holds most pairs, as a sentence.
-- @param one of explain.all's `windows`
function words.held(one)
   return ("most pairs %s: %s; the rate is what their links say"):format(
      one.hops == 1 and "within a leaf" or "across", window_of(one))
end

-- What else is known of who is slow.
local function beside(one)
   local more = {}
   for _, text in ipairs(one.unlike or {}) do
      more[#more + 1] = text
   end
   more[#more + 1] = one.again_pct and one.how ~= "loss" and ("TCP sends %.2g %% of it again"):format(one.again_pct)
      or nil
   more[#more + 1] = one.ports and ("it has %d such ports: --rails %d tells which"):format(one.ports, one.ports) or nil
   return #more > 0 and ("; %s"):format(table.concat(more, "; ")) or ""
end

local SAY = {}

function SAY.window(one, name)
   if one.node then
      return ("%s %s at %s of its peers: %s"):format(name(one.node), DOES[one.direction], share(one.share),
         window_of(one.window, name))
   end
   return ("%s %s %s: %s of other pairs: %s"):format(name(one.from), one.direction == "both" and "and" or "to",
      name(one.to), share(one.share), window_of(one.window, name))
end

function SAY.busy(one, name)
   return ("%s %s at %s of its peers: its process had no CPU for %.0f %% of the time, theirs for %.0f %%: other "
      .. "work or a quota on the host"):format(name(one.node), DOES[one.direction], share(one.share), one.wait_pct,
      one.peers_wait_pct)
end

local WHAT = { out = "what it sends", ["in"] = "what is sent to it", both = "what it sends and what is sent to it" }

function SAY.nic(one, name)
   if one.how == "loss" then
      return ("%s: TCP sends %.2g %% of %s again, with every partner: packets are lost, its NIC, port or cable"):format(
         name(one.node), one.again_pct, WHAT[one.direction])
   end
   return ("%s %s at %s of its peers, alone and with every partner: its NIC, port or cable%s"):format(name(one.node),
      DOES[one.direction], share(one.share), one.lone and ", or the uplink, as it is alone at its leaf" or "")
end

function SAY.host(one, name)
   if one.how == "both directions at once" then
      return ("%s moves %s of its peers when both directions run at once, all of it in one: %s"):format(name(one.node),
         share(one.share), one.again_pct and "packets are lost, its cable or port, or the host (PCIe width)"
         or "the host (PCIe width, pinning of the process or its interrupts)")
   end
   return ("%s %s at %s of its peers while others are at work, at full rate alone: %s"):format(name(one.node),
      DOES[one.direction], share(one.share), one.again_pct and "packets are lost, its cable or port, or the host "
      .. "(PCIe, pinning)" or "the host (PCIe, pinning) or its port of the leaf switch")
end

-- "1.23 us", "1234 us"
function words.us(us)
   return (us < 999.5 and "%.3g us" or "%.0f us"):format(us)
end

function SAY.latency(one, name)
   return ("%s adds %s to every message: its NIC (firmware, errors corrected on the link) or power saving of the "
      .. "host"):format(name(one.node), words.us(one.us))
end

function SAY.silent(one, name)
   return ("%s does not answer: %s"):format(name(one.node),
      printable.plain(one.why or "no partner heard from it", 200))
end

function SAY.corrupt(one, name)
   return ("between %s and %s data was changed: %s"):format(name(one.from), name(one.to), printable.plain(one.why, 200))
end

function SAY.leaf_switch(one, _, leaf)
   return ("all pairs within %s reach %s of other leaves': the leaf switch"):format(leaf(one.leaf), share(one.share))
end

function SAY.leaf_overloaded(one, _, leaf)
   return ("in an all-to-all within %s nodes receive %s of what they do in one of few nodes of each leaf: the leaf "
      .. "switch is overloaded, it carries less than its ports together"):format(leaf(one.leaf), share(one.share))
end

local FILES = { write = "writes to", read = "reads from", both = "writes to and reads from" }

function SAY.io(one, name)
   return ("%s %s %s at %s of its peers, %s"):format(name(one.node), FILES[one.direction],
      printable.plain(one.dir, 200), share(one.share), one.how == "alone"
      and "while the others rest, too: its client of the file system, its NIC or cable"
      or "at full rate while the others rest: what it shares with them on its way to the servers")
end

function SAY.io_leaf(one, _, leaf)
   return ("nodes of %s reach %s of other leaves' in %s: what is between that leaf and the file system's "
      .. "servers"):format(leaf(one.leaf), share(one.share), printable.plain(one.dir, 200))
end

function SAY.io_error(one, name)
   return ("%s cannot use %s, most nodes can: %s"):format(name(one.node), printable.plain(one.dir, 200),
      printable.plain(one.why, 200))
end

function SAY.io_corrupt(one, name)
   return ("%s read from %s what was not written: %s"):format(name(one.node), printable.plain(one.dir, 200),
      printable.plain(one.why, 200))
end

function SAY.uplink_link(one, _, leaf)
   return ("a link of %s's uplink, %s, carries %s of the others%s: a lone pair that is routed over it is as "
      .. "slow"):format(leaf(one.leaf), WAY[one.direction], share(one.share), one.affected and one.affected < 0.995
      and (" (%.0f %% of the pairs tried)"):format(100 * one.affected) or "")
end

function SAY.uplink_lost(one, _, leaf)
   return ("%s's uplink, %s, carries %s of its peers' when all are at work, a lone pair is at full rate: links lost, "
      .. "or fewer than other leaves have"):format(leaf(one.leaf), WAY[one.direction], share(one.share))
end

function SAY.route(one, name)
   return ("%s %s %s: %s of other pairs, alone, and both are at full rate with others: a wrong or dead route"):format(
      name(one.from), one.direction == "both" and "and" or "to", name(one.to), share(one.share))
end

--- @param one a finding of judge.all; of one rail with `rail` = its number, `port` = its name on that node or nil
function words.of(net, one)
   local port = one.port and (" (%s)"):format(printable.safe(one.port)) or ""
   local rail = one.rail and ("rail %d%s: "):format(one.rail, port)
   return (rail or "") .. SAY[one.kind](one, function(node)
      return printable.safe(net.names[node])
   end, function(leaf)
      return printable.safe(net.leaves[leaf].name)
   end) .. beside(one)
end

-- "62 MB/s", "1.2 GB/s"
function words.per_s(gbs)
   return gbs and gbs < 0.2 and ("%.3g MB/s"):format(1000 * gbs) or gbs and ("%.3g GB/s"):format(gbs) or "-"
end

--- What nodes reach all at once, as a line; nil: not measured.
-- @param patterns from patterns.of, or nil
function words.patterns(patterns)
   local p, parts = patterns or {}, {}
   if p.packed_gbs then
      parts[1] = ("all-to-all of 35 kB: a node receives %s in groups within a leaf%s"):format(words.per_s(p.packed_gbs),
         p.striped_gbs and ", " .. words.per_s(p.striped_gbs) .. " in groups across" or "")
   end
   if p.allreduce_us then
      parts[#parts + 1] = ("allreduce of 8 bytes: %s%s"):format(words.us(p.allreduce_us), p.allreduce_least_us
         and (", %d messages in a row take %s"):format(p.allreduce_steps, words.us(p.allreduce_least_us)) or "")
   end
   return parts[1] and table.concat(parts, "; ")
end

--- What nodes reach with files, as a line; nil: not measured.
-- @param files io of run.run's answer, or nil
function words.files(files)
   local own, one = files and files.own or {}, files and files.shared or {}
   if not own.write_gbs then
      return nil
   end
   local function rates(of)
      return ("a node writes %s, reads %s, all %s and %s"):format(words.per_s(of.write_gbs), words.per_s(of.read_gbs),
         words.per_s(of.write_all_gbs), words.per_s(of.read_all_gbs))
   end
   -- A node at 0.8 of its peers has to take longer by so much.
   local least = (1 / 0.8 - 1) * (files.bytes or 0) / 1e9 / math.max(own.write_gbs, own.read_gbs or 0)
   return ("files in %s (%s, %s the page cache, at most %s each): %s%s%s"):format(printable.plain(files.dir, 200),
      printable.plain(files.filesystem or "unknown", 64), files.direct and "past" or "through", bytes(files.bytes or 0),
      rates(own), one.write_gbs and "; one file together: " .. rates(one) or "", least < storage.LOST_S
      and "; too short to compare nodes that are a little slow: a larger --io-mb" or "")
end

--- What is so for the network, and no fault of one: oversubscription, two link rates.
-- @param found from suspects.find
-- @param faulty true: something is wrong, which may be what makes pairs across slow
-- @param patterns from patterns.of, or nil
-- @return list of sentences
function words.notes(net, found, faulty, patterns)
   local out, groups = {}, {}
   for _, text in ipairs(patterns and patterns.errors or {}) do
      out[#out + 1] = "all-to-all and allreduce: " .. printable.plain(text, 200)
   end
   if patterns and patterns.middle and patterns.middle < overloaded and patterns.steady then
      out[#out + 1] = ("in an all-to-all within a leaf nodes receive %s of what few nodes of each leaf do, in most "
         .. "leaves: leaf switches carry less than their ports together"):format(share(patterns.middle))
   end
   local far = found.leaves.usual and found.leaves.usual / found.near.both
   if far and far < 0.85 and not faulty then
      out[#out + 1] = ("with all at work a pair across leaves reaches %s of one within a leaf: uplinks are "
         .. "oversubscribed, about %.1f:1"):format(share(far), 1 / far)
         .. (#net.leaves == 2 and "; of two leaves, neither can be blamed" or "")
   end
   local level = found.guessed and net.rate or found.alike or {}
   for i, name in ipairs(net.names) do
      local r = level[i]
      if r and r < 0.9 * (found.alike and net.rate[i] or 1) then
         groups[r] = groups[r] or {}
         table.insert(groups[r], name)
      end
   end
   for _, r in ipairs(sorted(groups)) do
      out[#out + 1] = ("%s: %s"):format(printable.safe(hostlist.fold(groups[r]), 200), found.guessed
         and ("links of %s of the others' rate, taken as made so, as many have it"):format(share(r))
         or ("%s of what the others reach, all alike, and their links do not say so: a limit that was set, or one "
            .. "cause for all; none leaves service for it"):format(share(r)))
   end
   return out
end

return words
