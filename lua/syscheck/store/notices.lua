--- What an admin is to be told, and has been: rows of the store, written in the transaction of the records they are of.
-- So nothing is lost where ingest is killed, and nothing is told twice where records are read twice.
--
-- A row is an event that waits (told_s 0), one that was told, which stays for as long as the same found again is no
-- news, or a node whose newest check is unknown (a state: told_s -1).
local json = require("cjson").new()
local actions = require("syscheck.catalogue.actions")
local files = require("syscheck.lib.files")
local printable = require("syscheck.lib.printable")
local schema = require("syscheck.store.schema")

local notices = {}
notices.__index = notices

local DAY = 86400
local FRESH_S = DAY -- older events are history: a new store reads years of it
local AHEAD_S = 300 -- a record may be of so much later than now
local TRIED_S = 2 * DAY -- for so long what waits is tried
local KEPT_S = 7 * DAY -- what was found bad again within this is the same
local MOST_TEXT = 600
local FLEET_S = 30 * DAY -- a node without a record for so long is none of the fleet

local TABLE = { "CREATE TABLE IF NOT EXISTS notice (id $id PRIMARY KEY, subject $word NOT NULL, "
   .. "time_s $number NOT NULL, told_s $number NOT NULL, text $text NOT NULL)",
   "CREATE INDEX IF NOT EXISTS notice_subject ON notice (subject)" }

-- In table meta; BUSY: until when the one who took the turn may be telling.
local FROM, LAST, BUSY = "notify_from", "notify_last", "notify_busy"
local GRACE_S = 5 -- and what it takes to end a program and to note that

local function meta(store, name)
   local row = store:row("SELECT m.value FROM meta m WHERE m.name = ?", name)
   return row and tonumber(row[1])
end

local function set_meta(store, name, value)
   value = ("%d"):format(value)
   if store:exec("UPDATE meta SET value = ? WHERE name = ?", value, name) == 0 and not meta(store, name) then
      store:exec("INSERT INTO meta (name, value) VALUES (?, ?)", name, value)
   end
end

-- Where nobody is told any more: told again later, it begins anew.
local function forget(store)
   if meta(store, FROM) then
      store:transaction(function()
         store:lock()
         store:exec("DELETE FROM notice")
         store:exec("DELETE FROM meta WHERE name IN (?, ?, ?)", FROM, LAST, BUSY)
      end)
   end
end

--- Opens them for an ingest.
-- @param store opened for writing
-- @param wanted whether the policy names a program
-- @param now epoch seconds
-- @return notices; nil where they are not wanted. Raises what fails
function notices.open(store, wanted, now)
   if not wanted then
      return forget(store)
   end
   local from = meta(store, FROM)
   -- One that is to come is of a clock that was ahead: nobody would be told until then.
   if not from or from > now then
      schema.add_table(store, TABLE)
      store:transaction(function()
         store:lock()
         from = math.min(meta(store, FROM) or now, now)
         set_meta(store, FROM, from)
      end)
   end
   return setmetatable({ store = store, from = from, now = now, rows = nil, places = nil }, notices)
end

-- Event and node of a subject: "observed c/n1".
local function place_of(subject)
   return subject:match("^%S+ %S+") or subject
end

local function enter(self, subject, row)
   local place = place_of(subject)
   self.rows[subject] = row
   self.places[place] = self.places[place] or {}
   self.places[place][subject] = row
end

-- The rows, by subject; read anew after a transaction that failed.
local function rows_of(self)
   if not self.rows then
      self.rows, self.places = {}, {}
      for t in self.store:rows("SELECT n.subject, n.time_s, n.told_s, n.text FROM notice n ORDER BY n.time_s") do
         enter(self, t[1], { time_s = t[2], told_s = t[3], text = t[4] })
      end
   end
   return self.rows
end

--- What is new by this clock: an ingest may take longer than a record may be ahead of it.
-- @param now epoch seconds
function notices:at(now)
   self.now = now
end

--- Forgets what is in memory: the transaction failed, or another process may have written.
function notices:clear()
   self.rows = nil
end

local function drop(self, subject)
   if rows_of(self)[subject] then
      self.rows[subject], self.places[place_of(subject)][subject] = nil, nil
      self.store:exec("DELETE FROM notice WHERE subject = ?", subject)
   end
end

-- With an id of its own: one record may be a node's state and an event, and two kinds of records may have one.
local function put(self, subject, time_s, told_s, text)
   rows_of(self)
   enter(self, subject, { time_s = time_s, told_s = told_s, text = text })
   local driver = self.store.driver
   self.store:exec(("INSERT INTO notice (id, subject, time_s, told_s, text) VALUES (%s, ?, ?, ?, ?)"):format(
      driver.ID_IN), driver.id(files.random_id(16)), subject, time_s, told_s, text)
end

-- Found once more: still so.
local function touch(self, subject, time_s)
   local row = rows_of(self)[subject]
   if time_s > row.time_s then
      row.time_s = time_s
      self.store:exec("UPDATE notice SET time_s = ? WHERE subject = ?", time_s, subject)
   end
end

local function encode(event)
   for key, value in pairs(event) do
      event[key] = type(value) == "string" and printable.plain(value, MOST_TEXT) or value
   end
   return json.encode(event)
end

--- Enters an event that is of no record, once: while its row is there the same subject is no news.
-- @param subject what is the same when it is found again, at most 200 bytes
-- @param event { event = its kind, time = epoch seconds, text, and what else the hook is to know: strings and numbers }
function notices:add(subject, event)
   self.store:transaction(function()
      self.store:lock()
      self:clear()
      local key = ("%s %s"):format(event.event, subject)
      if rows_of(self)[key] then
         touch(self, key, event.time)
      else
         put(self, key, event.time, 0, encode(event))
      end
   end)
end

-- What nodes are called in subjects: neither name has blanks.
local function where(row)
   return row.cluster .. "/" .. row.node .. (row.kind == "fabric" and "/fabric" or "")
end

-- A drain is told each time; the rest while it is news.
local function is_known(self, subject, row, event)
   local before = rows_of(self)[subject]
   if not before then
      return false
   elseif event == "drain" then
      local read, known = pcall(json.decode, before.text)
      return read and actions.is_same_drain({ text = known.text, time = before.time_s },
         { text = printable.plain(actions.words(row), MOST_TEXT), time = row.time_s, trigger = row.trigger })
   end
   return event ~= "resume" and row.time_s - before.time_s <= KEPT_S
end

local ENDED = { drain = { "observed", "storm", "undecided", "resume" },
   resume = { "drain", "observed", "storm", "undecided" } }

-- What was told of a node and is over; an event that still waits is told all the same.
local function end_others(self, row, event)
   rows_of(self)
   for _, name in ipairs(ENDED[event] or {}) do
      for subject, known in pairs(self.places[("%s %s"):format(name, where(row))] or {}) do
         if known.told_s > 0 then
            drop(self, subject)
         end
      end
   end
end

local function note_unknown(self, row)
   local subject = "state " .. where(row)
   local known = rows_of(self)[subject]
   if row.status == "unknown" and known then
      touch(self, subject, row.time_s)
   elseif row.status == "unknown" then
      put(self, subject, row.time_s, -1, printable.plain(row.text or "", MOST_TEXT))
   elseif known and row.time_s >= known.time_s then
      drop(self, subject)
   end
end

--- Looks at a record that is new in the store, within its transaction.
-- @param row of record.read
function notices:record(row)
   if row.time_s < self.now - FRESH_S or row.time_s > self.now + AHEAD_S or row.time_s < self.from
      or (row.kind ~= "check" and row.kind ~= "fabric") then
      return
   end
   local event = actions.outcome(row)
   if row.kind == "check" then
      note_unknown(self, row)
   end
   -- "kept": somebody else knows of it already.
   if not event or event == "kept" then
      return
   end
   local words, more = actions.words(row)
   local subject = ("%s %s"):format(event, where(row))
   if event ~= "drain" and event ~= "resume" then
      -- Cut by bytes: half a character is what a database refuses, and with it all records.
      subject = ("%s %s"):format(subject, printable.plain(actions.kind_of(row.text)))
   end
   if is_known(self, subject, row, event) then
      touch(self, subject, row.time_s)
      return
   end
   end_others(self, row, event)
   local before = rows_of(self)[subject]
   if before and before.told_s == 0 then
      subject = subject .. " " .. row.id -- both wait
   else
      drop(self, subject)
   end
   put(self, subject, row.time_s, 0, encode({ event = event, time = row.time_s, cluster = row.cluster ~= ""
      and row.cluster or nil, node = row.node, text = more and ("%s (%s)"):format(words, more) or words,
      job = row.job and row.job.id, fabric = row.kind == "fabric" or nil }))
end

-- Of each cluster: { cluster, count, of, text of one } of nodes whose newest check is unknown.
local function unknown_of(self)
   local by, out = {}, {}
   for subject, row in pairs(rows_of(self)) do
      local cluster, node = subject:match("^state ([^/]*)/(.+)$")
      if cluster then
         by[cluster] = by[cluster] or { cluster = cluster, names = {}, text = row.text }
         table.insert(by[cluster].names, node)
      end
   end
   for _, one in pairs(by) do
      local row = self.store:row("SELECT COUNT(*) + 0e0 FROM node n LEFT JOIN word w ON w.id = n.cluster "
         .. "WHERE w.text = ? AND n.seen_s >= ?", one.cluster, self.now - FLEET_S)
      one.of = math.tointeger(row and row[1] or 0) or 0
      table.sort(one.names)
      out[#out + 1] = one
   end
   return out
end

local SHOWN = 10 -- names

--- Enters that many nodes' newest check is unknown, once until it is fewer than half of that many.
-- @param limits { unknown_nodes, unknown_share } of the policy
function notices:look(limits)
   self:clear()
   local seen = {}
   for _, one in ipairs(unknown_of(self)) do
      local many = math.max(limits.unknown_nodes, limits.unknown_share * one.of)
      local count = #one.names
      if count >= many then
         local names = table.concat(one.names, ", ", 1, math.min(count, SHOWN)) .. (count > SHOWN and ", ..." or "")
         self:add(one.cluster, { event = "unknown", time = self.now, cluster = one.cluster ~= "" and one.cluster or nil,
            nodes = count, of = one.of, text = ("%d of %d nodes: their newest check is unknown: %s%s"):format(count,
               one.of, names, one.text ~= "" and (" (%s)"):format(one.text) or "") })
      end
      seen["unknown " .. one.cluster] = 2 * count >= many
   end
   for subject, row in pairs(rows_of(self)) do
      if subject:find("^unknown ") and row.told_s > 0 and not seen[subject] then
         drop(self, subject)
      end
   end
end

--- Removes what is over. @return how many events were tried for too long
function notices:sweep()
   local row = self.store:row("SELECT COUNT(*) + 0e0 FROM notice n WHERE n.told_s = 0 AND n.time_s < ?",
      self.now - TRIED_S)
   self.store:exec("DELETE FROM notice WHERE (told_s = 0 AND time_s < ?) OR (told_s < 0 AND time_s < ?) OR time_s < ?",
      self.now - TRIED_S, self.now - FRESH_S, self.now - KEPT_S)
   self:clear()
   return row and row[1] or 0
end

--- @return list of { id = 32 hex digits, event = as entered } that wait, by time
function notices:waiting()
   local list = {}
   for t in self.store:rows(("SELECT %s, n.text FROM notice n WHERE n.told_s = 0 ORDER BY n.time_s"):format(
      self.store.driver.ID_OUT:format("n.id"))) do
      local read, event = pcall(json.decode, t[2])
      list[#list + 1] = { id = t[1], event = read and event or { event = "?", text = "damaged" } }
   end
   return list
end

--- Takes the turn to tell, unless one was taken less than `every` seconds ago, perhaps by another ingest right now.
-- @param most seconds that telling takes at most
-- @return whether it is ours
function notices:claim(every, most)
   return self.store:transaction(function()
      self.store:lock()
      local last, busy = meta(self.store, LAST) or 0, (meta(self.store, BUSY) or 0) - self.now
      if (last <= self.now and self.now - last < every) or (busy > 0 and busy <= most + GRACE_S) then
         return false
      end
      set_meta(self.store, LAST, self.now)
      set_meta(self.store, BUSY, self.now + most + GRACE_S)
      return true
   end)
end

--- After telling: these were told; or nobody was, and the next ingest tries again.
-- @param list of waiting(), or nil
function notices:settle(list)
   self.store:transaction(function()
      local driver = self.store.driver
      for _, one in ipairs(list or {}) do
         self.store:exec(("UPDATE notice SET told_s = ? WHERE id = %s"):format(driver.ID_IN), self.now,
            driver.id(one.id))
      end
      set_meta(self.store, BUSY, 0)
      if not list then
         set_meta(self.store, LAST, 0)
      end
   end)
   self:clear()
end

return notices
