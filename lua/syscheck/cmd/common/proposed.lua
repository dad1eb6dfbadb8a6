--- The baseline that is proposed and used by nobody until it is applied: where its file is, and the one that comes by
-- itself once a class has enough.
local json = require("cjson").new()
local baseline = require("syscheck.verdict.baseline")
local choose = require("syscheck.verdict.adoption")
local baseline_file = require("syscheck.node.baseline_file")
local files = require("syscheck.lib.files")
local lessons = require("syscheck.store.lessons")
local paths = require("syscheck.lib.paths")
local proposal = require("syscheck.verdict.proposal")
local source = require("syscheck.cmd.common.lessons")
local time = require("syscheck.lib.time")

local proposed = {}

proposed.FILE = "baseline.proposed.json"

-- All of a class is read for it, so not at each ingest while its nodes are in doubt.
local EACH_S = 3600
local NAMES = 5 -- of classes in the line
local SUBJECT = 200 -- bytes of it; names of classes are ASCII
local LAST = "proposal" -- in table meta: when that was last

--- Beside another file.
function proposed.beside(file)
   return (file:match("^(.*)/") or ".") .. "/" .. proposed.FILE
end

--- Beside a store; of one that is no file, where the default one would be.
function proposed.path(db)
   return proposed.beside(db.path or paths.store)
end

-- Whether it is time again; then the next one is not before EACH_S from now.
local function is_due(db, now)
   local row = db:row("SELECT value FROM meta WHERE name = ?", LAST)
   local last = row and tonumber(row[1])
   if last and now - last < EACH_S and last <= now then
      return false
   end
   db:transaction(function()
      db:lock()
      if db:exec("UPDATE meta SET value = ? WHERE name = ?", ("%d"):format(now), LAST) == 0 and not row then
         db:exec("INSERT INTO meta (name, value) VALUES (?, ?)", LAST, ("%d"):format(now))
      end
   end)
   return true
end

-- Of a class with measured checks that neither the baseline in use nor the proposal has.
local function lacks(db, classes, used, before)
   for class in pairs(classes) do
      if not (used and used.classes[class]) and not (before and before.classes[class])
         and lessons.has(db, class, baseline.MIN_CHECKS) then
         return true
      end
   end
   return false
end

--- After an ingest: a class that newly has enough is proposed, once.
-- @param host from node.open
-- @param classes { class = true } of which this ingest stored what was measured
-- @return { file, classes = list of { class, nodes, checks } that are new in it, text = one line }; nil: no news; nil
--   and why it cannot be written
function proposed.after_ingest(db, host, classes)
   local file, now = proposed.path(db), os.time()
   local used = baseline_file.read(host:expand(host.policy.baseline or paths.baseline))
   local before = baseline_file.read(file)
   if not next(classes) or not lacks(db, classes, used, before) or not is_due(db, now) then
      return nil
   end
   local chosen, new = proposal.with_new(source.of_store(db, nil, nil, function() end), used)
   local names, told = {}, {}
   for _, count in ipairs(new or {}) do
      if not (before and before.classes[count.class]) then
         told[#told + 1] = count
         names[#names + 1] = #told <= NAMES and ("%s (%s, %d checks)"):format(count.class,
            choose.nodes(count.nodes), count.checks) or nil
      end
   end
   if #told == 0 then
      return nil
   end
   chosen.time = time.show(now)
   local good, err = baseline.accept(chosen)
   if good then
      good, err = files.put(file, json.encode(chosen) .. "\n")
   end
   if not good then
      return nil, ("%s: %s"):format(file, err)
   end
   local more = #told > NAMES and (" and %d more"):format(#told - NAMES) or ""
   return { file = file, classes = told, text = ("enough for a baseline of %s%s: syscheck baseline apply %s"):format(
      table.concat(names, ", "), more, file) }
end

--- A proposal as an event: of the same classes it is the same one, by however many checks.
-- @param news of after_ingest
-- @return subject, event for notices:add
function proposed.event(news, now)
   local names = {}
   for i, count in ipairs(news.classes) do
      names[i] = count.class
   end
   return table.concat(names, ","):sub(1, SUBJECT), { event = "proposal", time = now, file = news.file,
      text = news.text }
end

return proposed
