--- What nodes' checks found for a while, read from the store in two passes: spells of checks worse than the class's,
-- as hypotheses of suspects.find.
local causes = require("syscheck.questions.why.causes")
local job_store = require("syscheck.questions.job.read")
local odds = require("syscheck.questions.why.odds")
local rows = require("syscheck.questions.why.rows")
local statistics = require("syscheck.lib.statistics")
local suspects = require("syscheck.questions.suspects.logic")
local why_checks = require("syscheck.questions.why.checks")

local checks = {}

local SAMPLE = 20000 -- checks that say what is usual
local MIN_CLASS = 8 -- checks of a class, for that
local SPREADS, LEAST_SHARE = 3, 0.03 -- beyond the class's spread, and of a run's time, to be bad
local NEAR_S = 3 * 86400 -- a check's finding is taken to last so long, and not beyond the middle to one that is good
local PRIOR = 0.01 -- how often a node has a trouble of one kind for a while

local CHECK = job_store.columns(causes.CHECK, "c")
local MEASURED = "(" .. CHECK:gsub(",", " IS NOT NULL OR") .. " IS NOT NULL)"
local SELECT = ("SELECT c.node, c.class, c.key >> 30, %s FROM check_node c WHERE c.key >= ? AND %s"):format(CHECK,
   MEASURED)
local FABRIC = ("SELECT c.node, c.class, c.key >> 30, %s FROM fabric_node c WHERE c.key >= ? ORDER BY c.key"):format(
   job_store.columns(causes.FABRIC, "c"))
-- What is seen of an item goes by its number here.
local ITEMS = causes.MEASURED

-- Calls each(node, class, time, i, x) for each value on its metric's scale.
local function values(store, rated, cores, text, since, each, ...)
   for t in store:rows(SELECT .. text, math.tointeger(since) << 30, ...) do
      local class = rated(t[1], t[2])
      for i, item in ipairs(causes.CHECK) do
         local x = class and causes.scaled(item, t[3 + i], { cores = cores(class) })
         if x then
            each(t[1], class, t[3], i, x)
         end
      end
   end
end

-- The same of what `syscheck fabric` measured.
local function fabric_values(store, since, each)
   for t in store:rows(FABRIC, math.tointeger(since) << 30) do
      for i, item in ipairs(causes.FABRIC) do
         local x = causes.scaled(item, t[3 + i], {})
         if x then
            each(t[1], t[2] or 0, t[3], #causes.CHECK + i, x)
         end
      end
   end
end

-- Median and spread of each class's metrics.
local function usual_of(store, rated, cores, since)
   local count = store:row("SELECT count(*) FROM check_node c WHERE c.key >= ?", math.tointeger(since) << 30)[1]
   local share = math.max(1, math.ceil(1024 * SAMPLE / math.max(1, count)))
   local of = {}
   values(store, rated, cores, " AND (c.key & 1023) < ?", since, function(_, class, _, i, x)
      local key = class .. " " .. i
      of[key] = of[key] or {}
      table.insert(of[key], x)
   end, share)
   for key, list in pairs(of) do
      local median, sd = statistics.robust(list)
      of[key] = #list >= MIN_CLASS and { x = median, sd = sd } or nil
   end
   return of
end

-- Spells of bad checks by node and metric: { i, class, n, from, to (s), after, before (of the good ones around it, or
-- nil), losses }; and how many checks and bad ones each class has, and by node.
local function spells(store, rated, cores, usual, since)
   local found, open, counts = {}, {}, {}
   local function each(node, class, at, i, x)
      local of = class .. " " .. i
      local known = ITEMS[i].usual
      local u = known and { x = causes.scaled(ITEMS[i], known, {}), sd = why_checks.USUAL_SD } or usual[of]
      if not u then
         return
      end
      local item, key = ITEMS[i], node .. " " .. i
      local own = open[key] or { bad = 0, checks = 0 }
      open[key] = own
      counts[of] = counts[of] or { bad = 0, checks = 0, nodes = {}, p = {} }
      counts[of].nodes[node] = own
      local level = x - u.x
      local lost = level > SPREADS * u.sd and item.scale.lost(u.x, level) or 0
      local bad = lost >= LEAST_SHARE
      for _, one in ipairs({ own, counts[of] }) do
         one.checks, one.bad = one.checks + 1, one.bad + (bad and 1 or 0)
      end
      if not bad then
         if own.spell then
            own.spell.before = at
         end
         own.spell, own.good = nil, at
      else
         if not own.spell then
            own.spell = { node = node, i = i, of = of, own = own, n = 0, from = at, after = own.good, losses = {} }
            found[#found + 1] = own.spell
         end
         local spell = own.spell
         spell.n, spell.to = spell.n + 1, at
         own.longest = math.max(own.longest or 0, spell.n)
         spell.losses[#spell.losses + 1] = math.min(0.95, lost)
      end
   end
   values(store, rated, cores, " ORDER BY c.key", since, each)
   fabric_values(store, since, each)
   return found, counts
end

-- Its node's runs that began while it was bad.
local function runs_in(spell, runs)
   local from, to = spell.from - NEAR_S, spell.to + NEAR_S
   from = spell.after and math.max(from, (spell.after + spell.from) / 2) or from
   to = spell.before and math.min(to, (spell.before + spell.to) / 2) or to
   local out = {}
   for _, run in ipairs(runs) do
      out[#out + 1] = run.begin_s >= from and run.begin_s <= to and run or nil
   end
   return out
end

-- P of so many bad checks in a row, of any of the node's checks the first.
local function p_of_checks(spell, all)
   local mine = spell.own
   local rate = (all.bad - mine.bad + 1) / (all.checks - mine.checks + 2)
   return (mine.checks - spell.n + 1) * rate ^ spell.n
end

-- Of what the system takes each node has its own share for ever, and many checks of it say no more than one: P of a
-- node with so many in a row, of which it is one itself.
local function p_of_nodes(spell, all)
   local p = all.p[spell.n]
   if not p then
      local as_long, nodes = 0, 0
      for _, own in pairs(all.nodes) do
         nodes = nodes + 1
         as_long = as_long + ((own.longest or 0) >= spell.n and 1 or 0)
      end
      p = as_long / (nodes + 1)
      all.p[spell.n] = p
   end
   return p
end

--- Hypotheses of suspects.find.
-- @param of_node by node: its runs in order of time
-- @param rated of classes.rated_as
-- @param own of odds.own_of_level
function checks.hypotheses(store, since, of_node, rated, own)
   local reader = rows.new(store)
   local function cores(class)
      return reader:of_class(class).cores
   end
   local list, found, counts = {}, spells(store, rated, cores, usual_of(store, rated, cores, since), since)
   for _, spell in ipairs(found) do
      local item, runs = ITEMS[spell.i], runs_in(spell, of_node[spell.node] or {})
      local share, events = statistics.median(spell.losses), {}
      for i, run in ipairs(runs) do
         local one = suspects.seen(run, spell.node)
         events[i] = { run = run, share = share, seen = one,
            fits = odds.levels(one.e, one.y, share, item.range.wide, item.range.beyond, own) }
      end
      local p = (item.kind == "share" and p_of_nodes or p_of_checks)(spell, counts[spell.of])
      local rarity = odds.rarity(math.min(1, p))
      local there = PRIOR * rarity
      list[#list + 1] = events[1] and { node = spell.node, group = item.group, events = events, worth = function()
         return math.log(there / (1 + there)), 2 * math.log(rarity)
      end } or nil
   end
   return list
end

return checks
