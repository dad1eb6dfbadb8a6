-- What of the answers is right: counts for bench/why.lua.
local output = require("syscheck.lib.output")

local tally = {}

local MANY_LIKE = 16
local MANY, SOME = 15, 3 -- jobs that a suspect slowed by a tenth: has to be found; is rightly one
local BINS = { 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.01 } -- of the probability that is claimed

function tally.new()
   return { by = {}, innocent = {}, tight = { n = 0, first = 0 },
      all = { n = 0, right = 0, node = 0, innocent = 0, first = 0 },
      fine = { n = 0, innocent = 0 }, beside = { n = 0, right = 0 }, bins = {}, said = {} }
end

local function at(t, key)
   t[key] = t[key] or { n = 0, right = 0, node = 0, innocent = 0, said = {} }
   return t[key]
end

local function has(nodes, node)
   if nodes == "all" then
      return false
   end
   for _, one in ipairs(nodes) do
      if one == node then
         return true
      end
   end
   return false
end

-- Whether another name for a cause is right, too.
local function also(cause, group)
   if type(cause.also) == "table" then
      return has(cause.also, group) or cause.also[group] == true
   end
   return cause.also == group
end

-- Whether each of several nodes has a cause of its own in a job, and each what is said.
local function each_has(case, h, name)
   local where, what = true, true
   for _, node in ipairs(h.nodes) do
      local here, this = false, false
      for _, cause in ipairs(case.causes) do
         if cause.nodes ~= "all" and has(cause.nodes, name(node)) then
            here, this = true, this or cause.group == h.group or also(cause, h.group)
         end
      end
      where, what = where and here, what and this
   end
   return where, what
end

-- Whether what is named is one of the causes: where, and what.
local function judge(case, h, name)
   local where, what = false, false
   if h.where == "several" then
      where, what = each_has(case, h, name)
   end
   for _, cause in ipairs(case.causes) do
      local here
      if h.where == "all" then
         here = cause.nodes == "all" or #cause.nodes >= case.size
      elseif h.where == "several" then
         here = cause.nodes ~= "all" and #cause.nodes > 1
         local hits = 0
         for _, node in ipairs(h.nodes) do
            hits = hits + (cause.nodes ~= "all" and has(cause.nodes, name(node)) and 1 or 0)
         end
         here = here and hits >= #h.nodes / 2
      else
         here = has(cause.nodes, name(h.node)) or (case.size == 1 and cause.nodes == "all")
      end
      where = where or here
      what = what or here and (cause.group == h.group or also(cause, h.group))
   end
   return where, what
end

-- The cause that cost most.
local function main_of(case)
   local main = case.causes[1]
   for _, cause in ipairs(case.causes) do
      main = cause.share > main.share and cause or main
   end
   return main
end

local function is_case(case, main)
   return main and main.trace and case.slowdown >= 1.1
end

--- Whether run times are tight and like runs many, of a cause of some nodes. There are few: all of them are asked.
function tally.is_tight(case)
   local main = main_of(case)
   return is_case(case, main) and main.nodes ~= "all" and case.tight and case.like >= MANY_LIKE
end

-- A leaf's uplinks: what slowed its nodes' jobs is none of theirs.
local function is_uplink(cause)
   return cause.unit == "leaf" and cause.group == "link"
end

-- Jobs that a cause slowed, of the causes that what is listed stands for: a node's, or its leaf's.
local function most(truth, one, field)
   local n = 0
   local names = one.members or { one.name }
   for _, cause in ipairs(truth) do
      local is = has(names, cause.node) and (not one.members or is_uplink(cause))
      n = is and math.max(n, cause[field]) or n
   end
   return n
end

--- @param sampled whether it is one of those that all else is counted of
-- @param truth suspects of the site
function tally.add(t, case, answer, name, sampled, truth)
   local h = answer.named
   local where, what = false, false
   if h then
      where, what = judge(case, h, name)
   end
   local first = false
   for _, one in ipairs(answer.explanations) do
      if one.where ~= "nobody" then
         first = select(2, judge(case, one, name))
         break
      end
   end
   if tally.is_tight(case) then
      t.tight.n, t.tight.first = t.tight.n + 1, t.tight.first + (first and 1 or 0)
   end
   if not sampled then
      return
   end
   -- That others were slowed by a node blames it for nothing in this job, and is to be true.
   local beside = answer.beside
   for _, node in ipairs(beside and (beside.nodes or { beside.node }) or {}) do
      local cost = most(truth, { name = name(node) }, "cost") >= SOME
      t.beside.n, t.beside.right = t.beside.n + 1, t.beside.right + (cost and 1 or 0)
   end
   local main = main_of(case)
   local innocent = h and h.where ~= "all" and not where
   if is_case(case, main) then
      local is_node = main.nodes ~= "all"
      local key = (is_node and "" or "all: ") .. (main.kind or main.group)
      local unit = is_node and main.unit or "all"
      for _, one in ipairs({ at(t.by, key), at(t.by, "= " .. (is_node and "" or "all ") .. main.group),
         at(t.by, "@ " .. tostring(unit)), at(t.by, "# like " .. (case.like < 3 and "0-2" or case.like < 8 and "3-7" or
         case.like < 16 and "8-15" or "16+")), is_node and t.all or nil }) do
         one.n, one.right = one.n + 1, one.right + (what and 1 or 0)
         one.first = (one.first or 0) + (first and 1 or 0)
         one.node, one.innocent = (one.node or 0) + (where and 1 or 0), (one.innocent or 0) + (innocent and 1 or 0)
         if one.said then
            local said = h and ((h.where == "all" and "all " or where and "" or "innocent ") .. h.group) or
               answer.slow.verdict
            one.said[said] = (one.said[said] or 0) + 1
         end
      end
   elseif not main then
      t.fine.n, t.fine.innocent = t.fine.n + 1, t.fine.innocent + (innocent and 1 or 0)
      for trait, there in pairs(case.traits or {}) do
         if there then
            local one = at(t.innocent, trait)
            one.n, one.innocent = one.n + 1, one.innocent + (innocent and 1 or 0)
         end
      end
   end
   if h then
      for i = 1, #BINS - 1 do
         if h.together >= BINS[i] and h.together < BINS[i + 1] then
            t.bins[i] = t.bins[i] or { n = 0, claimed = 0, right = 0 }
            local bin = t.bins[i]
            bin.n, bin.claimed, bin.right = bin.n + 1, bin.claimed + h.together, bin.right + (where and 1 or 0)
         end
      end
   end
   local show = os.getenv("SHOW")
   if show and is_case(case, main) and not what and (show == "1" or show == main.group)
      or show == "first" and is_case(case, main) and not first
      or show == "innocent" and innocent then
      tally.explain(case, answer, name)
   end
end

-- SHOW=1 (or a group, or "innocent"): what was said instead.
function tally.explain(case, answer, name)
   io.stderr:write(("%s job %d size %d like %d tight %s slow %.2f: %s %.2f p %.2g\n"):format(
      case.causes[1] and "case" or "FINE", case.id, case.size, case.like, tostring(case.tight), case.slowdown,
      answer.slow.verdict, answer.slow.ratio or 0, answer.slow.p or -1))
   for _, cause in ipairs(case.causes) do
      io.stderr:write(("   planted %s %s on %s share %.2f trace %s\n"):format(cause.group, cause.kind or "",
         cause.nodes == "all" and "all" or table.concat(cause.nodes, " ", 1, math.min(4, #cause.nodes)), cause.share,
         tostring(cause.trace)))
   end
   for i = 1, math.min(6, #answer.explanations) do
      local h = answer.explanations[i]
      io.stderr:write(("   %5.1f %% %s %s %s rarity %.3g fit %.3g harm %.3g (%s) most %.2f p %.2g\n"):format(
         100 * (h.probability or 0), h.where, h.node and name(h.node) or h.nodes and #h.nodes or "-", h.group,
         h.rarity or -1, h.fit or -1, h.harm or -1, h.runs or "-", h.most or -1, h.p or -1))
      for j = 1, math.min(3, #h.evidence) do
         local e = h.evidence[j]
         io.stderr:write(("         %s %s (peers %.4g, like %.4g, class %.4g) p %.2g bf %.3g fit %.3g most %.2f\n")
            :format(e.name, tostring(e.value or (e.before and e.before.value)), e.peers or -1, e.like or -1,
            e.class or -1, e.p or -1, e.bf or -1, e.fit or -1, e.most or -1))
      end
   end
end

-- Whether it is said by what.
local function is_said(truth, one)
   for _, cause in ipairs(truth) do
      local of = one.members and is_uplink(cause) and has(one.members, cause.node)
         or cause.node == one.name and one.condition ~= nil
         and (cause.group == one.condition.group or also(cause, one.condition.group))
      if of then
         return true
      end
   end
   return false
end

-- A rack's nodes each for itself, as each is said to be slow, and once.
local function each_node(listed)
   local out, is_alone = {}, {}
   for _, one in ipairs(listed) do
      is_alone[one.name] = true
      out[#out + 1] = not one.rack and one or nil
   end
   for _, one in ipairs(listed) do
      for _, name in ipairs(one.rack and one.members or {}) do
         out[#out + 1] = not is_alone[name] and { name = name } or nil
      end
   end
   return out
end

--- Which of the nodes that slowed many jobs `suspects` lists, or its leaf where that is what slowed them, and whether
-- what it lists slowed any: by a tenth (right), by 3 % (cost).
function tally.suspects(t, truth, listed)
   local s = t.suspects or { bad = 0, found = 0, traced = 0, traced_found = 0, listed = 0, right = 0, cost = 0,
      cause = 0, leaves = 0 }
   t.suspects = s
   local found, is_bad, is_traced, is_found = each_node(listed), {}, {}, {}
   for _, one in ipairs(found) do
      s.listed, s.leaves = s.listed + 1, s.leaves + (one.members and 1 or 0)
      s.right = s.right + (most(truth, one, "slowed") >= SOME and 1 or 0)
      s.cost = s.cost + (most(truth, one, "cost") >= SOME and 1 or 0)
      s.cause = s.cause + (is_said(truth, one) and 1 or 0)
      for _, cause in ipairs(truth) do
         local is = one.members and is_uplink(cause) and has(one.members, cause.node) or cause.node == one.name
         is_found[cause.node] = is_found[cause.node] or is and (not one.members or cause.slowed >= MANY)
      end
   end
   for _, cause in ipairs(truth) do
      is_bad[cause.node] = is_bad[cause.node] or cause.slowed >= MANY
      is_traced[cause.node] = is_traced[cause.node] or cause.slowed >= MANY and cause.traced > 0
   end
   for node, is in pairs(is_bad) do
      local found_it = is_found[node] and 1 or 0
      s.bad, s.found = s.bad + (is and 1 or 0), s.found + (is and found_it or 0)
      s.traced, s.traced_found = s.traced + (is_traced[node] and 1 or 0),
         s.traced_found + (is_traced[node] and found_it or 0)
   end
end

local function pct(a, b)
   return b > 0 and 100 * a / b or 0
end

function tally.result(t)
   local worst, bins = 0, {}
   for i, bin in pairs(t.bins) do
      local claimed, right = pct(bin.claimed, bin.n), pct(bin.right, bin.n)
      bins[#bins + 1] = { from = BINS[i], n = bin.n, claimed_pct = claimed, right_pct = right }
      worst = bin.n >= 100 and math.max(worst, math.abs(claimed - right)) or worst
   end
   return { first_place_pct = pct(t.all.first, t.all.n), named_pct = pct(t.all.right, t.all.n),
      node_pct = pct(t.all.node, t.all.n), cases = t.all.n,
      tight_pct = pct(t.tight.first, t.tight.n), tight_cases = t.tight.n,
      innocent_pct = pct(t.all.innocent, t.all.n), beside = t.beside.n,
      beside_right_pct = pct(t.beside.right, t.beside.n), false_blame_pct = pct(t.fine.innocent, t.fine.n),
      suspects_recall_pct = t.suspects and pct(t.suspects.found, t.suspects.bad), suspects = t.suspects,
      suspects_traced_recall_pct = t.suspects and pct(t.suspects.traced_found, t.suspects.traced),
      suspects_precision_pct = t.suspects and pct(t.suspects.right, t.suspects.listed),
      suspects_cost_pct = t.suspects and pct(t.suspects.cost, t.suspects.listed),
      false_blame_cases = t.fine.n, calibration_worst = worst, bins = bins }
end

function tally.print(t, label)
   local r = tally.result(t)
   print(("%s: first %.1f %%, named right %.1f %% of %d (node %.1f %%), tight %.1f %% of %d; innocent named %.1f %%; "
      .. "without a cause %.1f %% of %d"):format(label, r.first_place_pct, r.named_pct, r.cases, r.node_pct,
      r.tight_pct, r.tight_cases, r.innocent_pct, r.false_blame_pct, r.false_blame_cases))
   if t.suspects then
      local s = t.suspects
      print(("   suspects: %d of %d found (%d of %d that left a trace), %d of %d listed are right, %d cost jobs 3 %%, "
         .. "%d with the cause, %d leaves"):format(s.found, s.bad, s.traced_found, s.traced, s.right, s.listed, s.cost,
         s.cause, s.leaves))
   end
   if label ~= "all seeds" then
      return
   end
   local rows, keys = { { "CAUSE", "CASES", "FIRST_%", "RIGHT_%", "WHERE_%", "INNOCENT_%", "SAID" } }, {}
   for key in pairs(t.by) do
      keys[#keys + 1] = key
   end
   table.sort(keys)
   for _, key in ipairs(keys) do
      local one, said = t.by[key], {}
      for what, n in pairs(one.said) do
         said[#said + 1] = { what = what, n = n }
      end
      table.sort(said, function(a, b)
         return a.n > b.n
      end)
      for i, s in ipairs(said) do
         said[i] = i <= 4 and ("%s %d"):format(s.what, s.n) or nil
      end
      rows[#rows + 1] = { key, tostring(one.n), ("%.0f"):format(pct(one.first or 0, one.n)),
         ("%.0f"):format(pct(one.right, one.n)),
         ("%.0f"):format(pct(one.node, one.n)), ("%.1f"):format(pct(one.innocent, one.n)), table.concat(said, ", ") }
   end
   print(output.table(rows))
   for trait, one in pairs(t.innocent) do
      print(("without a cause, %s: %.1f %% of %d"):format(trait, pct(one.innocent, one.n), one.n))
   end
   print(("others were slowed by: %d answers of a node, %.1f %% of them right"):format(r.beside, r.beside_right_pct))
   for _, bin in ipairs(r.bins) do
      print(("claimed %.2f+: %d answers, claimed %.1f %%, right %.1f %%"):format(bin.from, bin.n, bin.claimed_pct,
         bin.right_pct))
   end
end

return tally
