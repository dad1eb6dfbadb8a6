--- What happened to a node: from its checks and job records, each fed in the order of time.
-- Pure; keeps numbers of what was measured, and the last `limit` events and jobs.
local actions = require("syscheck.catalogue.actions")
local fields = require("syscheck.catalogue.fields")
local job_records = require("syscheck.questions.job.records")
local finding = require("syscheck.questions.finding")
local statistics = require("syscheck.lib.statistics")

local story = {}
story.__index = story

-- A list that keeps its last entries and counts all.
local function last(limit)
   return { limit = limit, total = 0, first = 1, list = {} }
end

local function push(ring, entry)
   ring.total = ring.total + 1
   ring.list[ring.total] = entry
   if ring.total > ring.limit then
      ring.list[ring.total - ring.limit] = nil
   end
end

local function rest_of(ring)
   local out = {}
   for i = math.max(1, ring.total - ring.limit + 1), ring.total do
      out[#out + 1] = ring.list[i]
   end
   return out
end

--- @param limit how many jobs, and how many events of each kind of record, are kept
function story.new(limit)
   local self = setmetatable({ statuses = {}, checks = 0, fabric_runs = 0, points = {}, changes = { {}, {} },
      found = {}, limit = limit, events = { last(limit), last(limit), last(limit), last(limit) }, jobs = last(limit) },
      story)
   for _, field in ipairs(fields.MEASURED) do
      self.points[field.name] = {}
   end
   return self
end

-- Class and settings, as each kind of record has them.
local function note_setup(list, time, class, config)
   local before = list[#list]
   if not before or before.class ~= class or before.config ~= config then
      list[#list + 1] = { time = time, class = class, config = config }
   end
end

-- A check that only reads counters passes where one that measures is unrated: no news.
local GOOD = { pass = true, unrated = true }

-- A reason without its numbers: a node that stays busy is one story, by however much.
local function kind_of(reason)
   return reason and (reason:gsub("%d[%d.]*", "0"))
end

-- Keeps what a record measured.
local function keep(self, r)
   for name, value in pairs(r.metrics) do
      local points = self.points[name]
      if points then
         points[#points + 1] = { r.time, value }
      end
   end
end

-- What was done to the node, if anything. @return whether it was
local function acted(c, events)
   local what, more = actions.words(c)
   if what then
      push(events, { time = c.time, event = c.action, run = c.run,
         text = more and ("%s (%s)"):format(what, more) or what })
   end
   return what ~= nil
end

--- @param c { time = epoch, trigger, level, status, action, class, config, text, drain, metrics =
--   { name = value }, job = what the run is called, or nil }
function story:check(c)
   self.checks = self.checks + 1
   local status = c.status or "?"
   self.statuses[status] = (self.statuses[status] or 0) + 1
   keep(self, c)
   note_setup(self.changes[1], c.time, c.class, c.config)
   local told = acted(c, self.events[1])
   if not told and self.status and GOOD[self.status] ~= GOOD[status] then
      push(self.events[1], { time = c.time, event = "check", run = c.run,
         text = ("%s -> %s%s"):format(self.status, status, c.text and ": " .. c.text or "") })
   elseif not told and status == "unknown" and c.text and kind_of(c.text) ~= self.reason then
      -- Of a node on which no check ever found out anything, too.
      push(self.events[1], { time = c.time, event = "check", run = c.run, text = "unknown: " .. c.text })
   end
   self.status, self.reason = status, kind_of(c.text)
end

--- A run of `syscheck fabric`: what it found of the node, its leaf switch or a pair of it that it had not found before,
-- and what it finds no more.
-- @param f { time, action, text, drain, metrics = { name = value }, findings = of finding.all, is_over = of
--   fleet/fabric.lua }
function story:fabric(f)
   self.fabric_runs = self.fabric_runs + 1
   keep(self, f)
   local new, over
   self.found, new, over = finding.follow(self.found, f)
   for _, one in ipairs(new) do
      push(self.events[4], { time = f.time, event = "fabric", text = one.text })
   end
   for _, one in ipairs(over) do
      push(self.events[4], { time = f.time, event = "fabric", text = "no longer: " .. one.text })
   end
   acted(f, self.events[4])
end

-- Which part: "mc0 CPU0_DIMM_A1: corrected 12; mlx5_0/1: errors 4", of the kinds given.
local function parts(errors, kinds)
   local out = {}
   for _, e in ipairs(errors or {}) do
      if kinds[e.kind] then
         out[#out + 1] = job_records.error_text(e)
      end
   end
   return #out > 0 and " (" .. table.concat(out, "; ") .. ")" or ""
end

local GROUPS = {
   { event = "throttle", names = { "throttle_events" }, kinds = {} },
   { event = "memory", names = { "memory_corrected", "memory_uncorrected" },
      kinds = { dimm = true, controller = true } },
   { event = "machine", names = { "machine_checks" }, kinds = {} },
   { event = "link", names = { "link_errors", "link_downed" }, kinds = { link = true } },
   { event = "oom", names = { "oom_kills", "cg_oom_kills" }, kinds = {} },
}

--- @param j { time, begin_s, elapsed_s, class, config, values = { name = value }, errors (of
--   job_records.part), run }
function story:job(j)
   note_setup(self.changes[2], j.time, j.class, j.config)
   push(self.jobs, j)
   for _, group in ipairs(GROUPS) do
      local counts = {}
      for _, name in ipairs(group.names) do
         if (j.values[name] or 0) > 0 then
            counts[#counts + 1] = ("%.0f %s"):format(j.values[name], fields.JOB_BY_NAME[name].label)
         end
      end
      if #counts > 0 then
         local ms = group.event == "throttle" and j.values.throttle_package_ms
         push(self.events[2], { time = j.time, event = group.event, run = j.run,
            text = ("%s%s%s"):format(table.concat(counts, ", "), ms and (", %.0f ms"):format(ms) or "",
               parts(j.errors, group.kinds)) })
      end
   end
end

--- @param l { time, records, bytes, reason }
function story:loss(l)
   push(self.events[3], { time = l.time, event = "loss", text = ("%.0f records lost%s%s"):format(l.records or 0,
      l.bytes and (" (%.0f bytes)"):format(l.bytes) or "", l.reason and ": " .. l.reason or "") })
end

-- Where class or settings changed, from both kinds of records.
local function changes(lists)
   local all, out = {}, {}
   for _, list in ipairs(lists) do
      table.move(list, 1, #list, #all + 1, all)
   end
   table.sort(all, function(a, b)
      return a.time < b.time
   end)
   for i = 2, #all do
      for _, name in ipairs({ "class", "config" }) do
         local before, now = all[i - 1][name], all[i][name]
         if before and now and before ~= now then
            out[#out + 1] = { time = all[i].time, event = name, text = ("%s -> %s"):format(before, now), from = before,
               to = now }
         end
      end
   end
   return out
end

local function summary(points)
   local values, low, high = {}, math.huge, -math.huge
   for i, point in ipairs(points) do
      values[i] = point[2]
      low, high = math.min(low, point[2]), math.max(high, point[2])
   end
   return #values > 0 and { n = #values, last = values[#values], median = statistics.median(values), min = low,
      max = high }
end

--- @return { checks, fabric_runs, statuses, metrics = { { field, n, last, median, min, max, points } }, events
--   (oldest first), events_total, jobs (oldest first), jobs_total }
function story:answer()
   local events, total = changes(self.changes), 0
   for _, ring in ipairs(self.events) do
      local list = rest_of(ring)
      table.move(list, 1, #list, #events + 1, events)
      total = total + ring.total - #list
   end
   total = total + #events
   table.sort(events, function(a, b)
      if a.time ~= b.time then
         return a.time < b.time
      end
      return a.event < b.event
   end)
   events = table.move(events, math.max(1, #events - self.limit + 1), #events, 1, {})
   local measured = {}
   for _, field in ipairs(fields.MEASURED) do
      local s = summary(self.points[field.name])
      if s then
         s.field, s.points = field, self.points[field.name]
         measured[#measured + 1] = s
      end
   end
   return { checks = self.checks, fabric_runs = self.fabric_runs, statuses = self.statuses, metrics = measured,
      events = events, events_total = total, jobs = rest_of(self.jobs), jobs_total = self.jobs.total }
end

return story
