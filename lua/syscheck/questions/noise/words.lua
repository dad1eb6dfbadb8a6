--- Sentences about noise. Pure.
local hostlist = require("syscheck.lib.hostlist")
local printable = require("syscheck.lib.printable")
local time = require("syscheck.lib.time")
local values = require("syscheck.verdict.detail.values")

local words = {}

local LIST = 120 -- characters of a hostlist
local TIMES_PCT = 100 -- from here on a loss is said as how many times as long it takes

--- "11", "0.42", "<0.01": percents as far as they are known.
function words.percent(pct)
   if pct > 0 and pct < 0.01 then
      return "<0.01"
   end
   return (pct >= 99.95 and "%.0f" or pct >= 9.995 and "%.3g" or "%.2g"):format(pct)
end

--- "0.1 ms", "1 ms" of microseconds.
function words.span(us)
   return ("%.4g ms"):format(us / 1000)
end

--- "11 (9.0-13)", ">=11 (to 19)"
function words.cell(row)
   if row.at_least then
      return ">=" .. words.percent(row.pct) .. (row.most_pct and (" (to %s)"):format(words.percent(row.most_pct)) or "")
   elseif row.low_pct then
      return ("%s (%s-%s)"):format(words.percent(row.pct), words.percent(row.low_pct), words.percent(row.high_pct))
   end
   return words.percent(row.pct)
end

--- "n[0,32,64]", or how many where that is long.
function words.nodes(names, most)
   local text = hostlist.fold(names)
   return printable.safe(#text <= (most or LIST) and text or ("%d nodes, %s, ..."):format(#names, names[1]), 200)
end

--- "every 32nd node", "nodes 0, 1 and 31 of every 32"
function words.regular(regular)
   if #regular.first == 1 then
      local n = regular.every
      local ending = n % 100 // 10 == 1 and "th" or ({ "st", "nd", "rd" })[n % 10] or "th"
      return ("every %d%s node"):format(n, ending)
   end
   return ("%s of every %d nodes"):format(table.concat(regular.first, ", "), regular.every)
end

--- "kipmi0: 998 us every 1 s", or without a name.
function words.source(source)
   local beat = ("%s every %s"):format(values.time(source.duration_us), values.time(1000 * source.period_ms))
   return source.name and printable.safe(source.name, 40) .. ": " .. beat or beat
end

--- What a table says of a source after its name: lasts, every, nodes, where, in phase, costs, without.
-- @param where which nodes
function words.cells(source, where)
   return values.time(source.duration_us), values.time(1000 * source.period_ms), ("%d"):format(#source.names), where,
      source.in_phase and "yes" or source.phase_p and "no" or "-",
      source.costs_pct and words.percent(source.costs_pct) or "-",
      source.without_pct and words.percent(source.without_pct) or "-"
end

-- The source that costs most, where it costs something worth a word.
local function first_of(answer)
   local best
   for _, source in ipairs(answer.sources) do
      if source.costs_pct and source.costs_pct >= 0.05 * answer.head.pct and source.costs_pct >= 0.01
         and (not best or source.costs_pct > best.costs_pct) then
         best = source
      end
   end
   return best
end

-- The source that all of these nodes have, and not all others.
local function source_of_all(answer, names)
   for _, source in ipairs(answer.sources) do
      local has, all = {}, source.costs_pct ~= nil and #source.names < answer.nodes
      for _, name in ipairs(source.names) do
         has[name] = true
      end
      for _, name in ipairs(names) do
         all = all and has[name] == true
      end
      if all then
         return source
      end
   end
end

-- "lose 11 % (9.0 to 13)", "take at least 9.9 times as long"
local function loss(answer)
   local h = answer.head
   local times = h.pct >= TIMES_PCT
   local function show(pct)
      return times and ("%.3g"):format(1 + pct / 100) or words.percent(pct)
   end
   local range = h.low_pct and not h.at_least and (" (%s to %s)"):format(show(h.low_pct), show(h.high_pct))
      or h.most_pct and (" (to %s by a Pareto tail)"):format(show(h.most_pct)) or ""
   local least = h.at_least and "at least " or ""
   if times then
      return ("%s %s%s times as long%s"):format(answer.own and "takes" or "take", least, show(h.pct), range)
   end
   return ("%s %s%s %%%s"):format(answer.own and "loses" or "lose", least, show(h.pct), range)
end

--- The answer in a sentence.
-- @param answer of noise.of, `of` filled in: "jobs of class x", "job 4711"
function words.head(answer)
   local h = answer.head
   local text = ("at %d node%s and %s between barriers %s %s"):format(h.nodes, h.nodes == 1 and "" or "s",
      words.span(h.work_us), answer.of, loss(answer))
   local parts = {}
   local first, names = first_of(answer), {}
   for i, one in ipairs(answer.worst or {}) do
      names[i] = one.name
   end
   -- Nodes are worth naming where it is not one source that they have and others have not.
   local other = names[1] and source_of_all(answer, names)
   local said = { first }
   said[#said + 1] = other ~= first and other or nil
   for i, source in ipairs(said) do
      parts[i] = ("%s on %s costs %s points, without it %s %% are left"):format(words.source(source),
         #source.names == answer.nodes and "all nodes" or words.nodes(source.names), words.percent(source.costs_pct),
         words.percent(source.without_pct))
   end
   if names[1] and not other and answer.without_worst_pct < 0.9 * h.pct then
      parts[#parts + 1] = ("without %s it is %s %%"):format(words.nodes(names), words.percent(answer.without_worst_pct))
   end
   return text .. (parts[1] and ": " .. table.concat(parts, "; ") or "")
end

local SCATTER_PART = 0.2 -- of what was measured: worth a word

--- "3.1 +- 0.2"
function words.measured(column)
   return words.percent(column.measured_pct) .. (column.se_pct and " +- " .. words.percent(column.se_pct) or "")
end

--- "yes", "no: more", "cannot tell"
function words.agrees(column)
   return column.agrees and "yes" or column.differs and "no: " .. column.differs or "cannot tell"
end

--- Rows of a table of what was measured beside what was predicted.
-- @param list of verify.compare, or nil
-- @return list of { between barriers, predicted %, measured %, steps, agrees }; nil where there is none
function words.verify_rows(list)
   local rows = {}
   for i, column in ipairs(list or {}) do
      rows[i] = { words.span(column.work_us), words.cell({ pct = column.predicted_pct, at_least = column.at_least }),
         words.measured(column), ("%d"):format(column.steps), words.agrees(column) }
   end
   return rows[1] and rows
end

--- What is to be known of what was measured beside what was predicted.
-- @param list of verify.compare, with `cores` = what verify.other_cores returns, in a list
-- @return list of texts
function words.of_verify(list)
   local out, by = {}, { more = {}, less = {}, scatter = {} }
   for _, one in ipairs(list) do
      local spans = by[one.differs]
      if spans then
         spans[#spans + 1] = words.span(one.work_us)
      end
      if one.differs == "more" and (one.scatter_pct or 0) > SCATTER_PART * one.measured_pct then
         table.insert(by.scatter, ("%s points at %s"):format(words.percent(math.min(one.scatter_pct, one.measured_pct)),
            words.span(one.work_us)))
      end
   end
   if by.more[1] then
      out[#out + 1] = ("more than predicted at %s: what was not there when the nodes were sampled, or is the job's own")
         :format(table.concat(by.more, ", "))
   end
   if by.less[1] then
      out[#out + 1] = ("less than predicted at %s: what the nodes had when they were sampled, and have not now"):format(
         table.concat(by.less, ", "))
   end
   if by.scatter[1] then
      out[#out + 1] = ("of that the allreduce alone has %s, its mean less its usual time: the network, or who else "
         .. "uses the cores"):format(table.concat(by.scatter, ", "))
   end
   local names, has, had = table.unpack(list.cores or {})
   if names and names[1] then
      out[#out + 1] = ("measured on the job's cores, %d of %s, where checks sampled %d: more cores have more noise")
         :format(has, words.nodes(names), had)
   end
   return out
end

--- What has to be known to believe it.
-- @return list of texts
function words.notes(answer)
   local out = {}
   local minutes = answer.sampled_s / 60
   out[1] = ("%d node%s, %d check%s, %s to %s, %.3g s sampled: what happens on a node once a minute was %s"):format(
      answer.nodes, answer.nodes == 1 and "" or "s", answer.checks, answer.checks == 1 and "" or "s",
      time.show(answer.from_s), time.show(answer.to_s), answer.sampled_s,
      minutes < 1 and "hardly seen" or ("seen about %s times"):format(words.percent(minutes)))
   local periodic = 0
   for _, source in ipairs(answer.sources) do
      periodic = math.max(periodic, source.costs_pct or 0)
   end
   if answer.head.pct >= 1 and periodic < answer.head.pct / 3 then
      out[#out + 1] = "most of it is not periodic, or rarer than the samples can show"
   end
   if answer.allreduce then
      out[#out + 1] = ("the barrier itself: %s a step, as %s (allreduce of 8 bytes: %s, %d step%s)")
         :format(values.time(answer.allreduce.us / answer.allreduce.steps),
            answer.allreduce.here and "measured here" or "syscheck fabric measured", values.time(answer.allreduce.us),
            answer.allreduce.steps, answer.allreduce.steps == 1 and "" or "s")
   else
      out[#out + 1] = "the barrier itself is taken to cost nothing: no allreduce was measured here (syscheck fabric)"
   end
   if not answer.own and answer.works[1].rows[#answer.works[1].rows].nodes > answer.nodes then
      out[#out + 1] = ("jobs of more than %d nodes: as if there were more nodes like these"):format(answer.nodes)
   end
   if answer.phase then
      out[#out + 1] = ("%s beats on its nodes at the same time (p %.2g): counted once for a job, not once for a node")
         :format(words.source(answer.phase), answer.phase.phase_p)
   end
   if not answer.complete then
      out[#out + 1] = "not on all nodes all periodic sources were looked for: the time box was too short for that"
   end
   if answer.silent and #answer.silent > 0 then
      out[#out + 1] = ("%d node%s without noise samples: %s"):format(#answer.silent, #answer.silent == 1 and "" or "s",
         words.nodes(answer.silent))
   end
   if answer.spared and answer.head.pct > 0 then
      out[#out + 1] = ("with %d of %d cores of each node set apart for the system (the noisiest): %s %%"):format(
         answer.spared.cores or 0, answer.spared.of or 0, words.percent(answer.spared.pct))
   end
   table.move(answer.verify and words.of_verify(answer.verify) or {}, 1, 16, #out + 1, out)
   return out
end

return words
