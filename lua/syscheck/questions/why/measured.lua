--- What checks measured on nodes, read from the store: of a job's own nodes, and of those of their classes.
local causes = require("syscheck.questions.why.causes")
local job_store = require("syscheck.questions.job.read")
local schema = require("syscheck.store.schema")

local measured = {}

local CHECK_NODES = 128 -- a larger job: only the checks that it began with
local CHECK_DAYS, CHECKS_LOOKED, CHECKS_EACH = 15, 200, 6 -- of a node, before and after
-- A month in windows of less than six hours, so that all times of day are in it: the first checks of each, of so many
-- that are looked at; of many more where those show that some checks measure, but not so many did.
local CLASS_DAYS, CLASS_WINDOWS, CLASS_ROWS = 30, 125, 12
local CLASS_LOOKED, CLASS_ENOUGH = { 100, 1000 }, 500
local DAY = 86400
local PROLOG_S = 120 -- a check before a job is recorded after the job's begin snapshot

local CHECK = job_store.columns(causes.CHECK, "c")
local FABRIC = job_store.columns(causes.FABRIC, "c")
local MEASURED = "(" .. CHECK:gsub(",", " IS NOT NULL OR") .. " IS NOT NULL)"
local CHECKS = ("SELECT c.node, c.class, c.key >> 30, %s FROM "):format(CHECK)

-- The first checks that measured something, of so many under a condition: most did not, and on a busy node a week has
-- thousands.
local function first_checks(where, order, looked, each)
   return CHECKS .. ("(SELECT c.node, c.class, c.key, %s FROM check_node c WHERE %s ORDER BY c.key%s LIMIT %d) c "
      .. "WHERE %s ORDER BY c.key%s LIMIT %d"):format(CHECK, where, order, looked, MEASURED, order, each)
end
local BEFORE = first_checks("c.node = ? AND c.key < ? AND c.key >= ?", " DESC", CHECKS_LOOKED, CHECKS_EACH)
local AFTER = first_checks("c.node = ? AND c.key >= ? AND c.key < ?", "", CHECKS_LOOKED, CHECKS_EACH)
local FABRIC_RUNS = ("SELECT c.node, c.class, c.key >> 30, %s FROM fabric_node c WHERE c.node = ? AND c.key %%s ? AND "
   .. "c.key %%s ? ORDER BY c.key%%s LIMIT %d"):format(FABRIC, CHECKS_EACH)
local FABRIC_BEFORE, FABRIC_AFTER = FABRIC_RUNS:format("<", ">=", " DESC"), FABRIC_RUNS:format(">=", "<", "")
local CHECKS_OF_RUN = CHECKS .. "check_node c WHERE c.run = ? AND " .. MEASURED

local function check_of(t, when, between, list)
   local check = job_store.numbers(list or causes.CHECK, t, 4)
   check.when, check.days = when, math.abs(t[3] - between) / DAY
   return check
end

local function farther(a, b)
   return a.days > b.days
end

--- Fills in each row's checks: the nearest of its node, before and after, the farthest first.
-- @param run { key, begin_s, end_s }
-- @param list rows of its nodes
function measured.of_nodes(store, run, list)
   local by_node = {}
   for _, row in ipairs(list) do
      row.checks = {}
      by_node[row.node] = row
   end
   local between = math.min(run.begin_s + PROLOG_S, math.max(run.end_s, run.begin_s + 1))
   local at = math.floor(between)
   if #list > CHECK_NODES then
      for t in store:rows(CHECKS_OF_RUN, run.key) do
         local row = by_node[t[1]]
         if row then
            table.insert(row.checks, check_of(t, t[3] < at and "before" or "after", between))
         end
      end
      for _, row in ipairs(list) do
         table.sort(row.checks, farther)
      end
      return
   end
   local key, from, to = schema.key(at), schema.key(at - CHECK_DAYS * DAY), schema.key(at + CHECK_DAYS * DAY)
   for _, row in ipairs(list) do
      for kind, of in pairs({ before = { { BEFORE, from }, { FABRIC_BEFORE, from, causes.FABRIC } },
         after = { { AFTER, to }, { FABRIC_AFTER, to, causes.FABRIC } } }) do
         for _, part in ipairs(of) do
            for t in store:rows(part[1], row.node, key, part[2]) do
               table.insert(row.checks, check_of(t, kind, between, part[3]))
            end
         end
      end
      table.sort(row.checks, farther)
   end
end

-- What nodes of the job's classes measured in the month before.
-- @param wanted set of these classes
-- @param looked at so many checks of each window
-- @return { class = { metric = list of { node, value } } }, how many checks; whether any class's measured
local function checks_among(store, end_s, wanted, looked)
   local out, found, any = {}, 0, false
   local text = first_checks("c.key >= ? AND c.key < ?", "", looked, CLASS_ROWS)
   local step = CLASS_DAYS * DAY // CLASS_WINDOWS
   local from = math.floor(end_s) - CLASS_DAYS * DAY
   for i = 0, CLASS_WINDOWS - 1 do
      for t in store:rows(text, schema.key(math.max(0, from + i * step)),
         schema.key(math.max(0, from + (i + 1) * step))) do
         local class = t[2]
         any = true
         if class and wanted[class] then
            found = found + 1
            out[class] = out[class] or {}
            for name, value in pairs(job_store.numbers(causes.CHECK, t, 4)) do
               out[class][name] = out[class][name] or {}
               table.insert(out[class][name], { node = t[1], value = value })
            end
         end
      end
   end
   return out, found, any
end

--- What nodes of some classes measured in the month before. Few checks of each window where that is enough: most of an
-- answer's time would be theirs.
-- @param wanted set of the classes
-- @return { class = { metric = list of { node, value } } }
function measured.of_classes(store, end_s, wanted)
   local out, found, any
   for _, looked in ipairs(CLASS_LOOKED) do
      out, found, any = checks_among(store, end_s, wanted, looked)
      if not any or found >= CLASS_ENOUGH then
         break
      end
   end
   return out
end

return measured
