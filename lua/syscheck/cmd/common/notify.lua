--- Tells the admin: runs the policy's program with one JSON object on its standard input. docs/records.md has the form.
--
-- What goes wrong is a line on standard error, and tried again by the next ingest: never ingest's own trouble.
local files = require("syscheck.lib.files")
local notices = require("syscheck.store.notices")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local process = require("syscheck.lib.process")
local time = require("syscheck.lib.time")
local uv = require("luv")

local notify = {}

local MOST = 200 -- events in one object; how many more there are is said
local LINES = 20 -- of its text
local MOST_OUTPUT = 65536 -- bytes that the program may write; more is no answer
local SHOWN = 200 -- of what it wrote

--- Why a program may not be run, or cannot be.
-- @param program list: path, arguments
-- @return one line; nil where it can
function notify.wrong(program)
   local path = program[1]
   local stat = uv.fs_stat(path)
   if not stat or stat.type ~= "file" then
      return path .. (stat and ": no file" or ": there is no such file on this host")
   end
   local trusted, err = files.trusted(path)
   if not trusted then
      return err
   end
   return not uv.fs_access(path, "X") and path .. ": not executable" or nil
end

-- "2026-11-26T08:00:00Z n1 drain: triad ..."
local function line_of(event)
   return ("%s %s%s: %s"):format(event.time, event.node and event.node .. " " or "", event.event, event.text)
end

local function text_of(events, total)
   local lines = { ("syscheck: %d event%s"):format(total, total == 1 and "" or "s") }
   for i = 1, math.min(#events, LINES) do
      lines[#lines + 1] = line_of(events[i])
   end
   if total > LINES then
      lines[#lines + 1] = ("and %d more: syscheck drains"):format(total - math.min(#events, LINES))
   end
   return table.concat(lines, "\n")
end

-- Of all events, where it is one.
local function cluster_of(list)
   local name = list[1] and list[1].event.cluster
   for _, one in ipairs(list) do
      if one.event.cluster ~= name then
         return nil
      end
   end
   return name
end

--- The object. @param list of { event } as notices:waiting() has them
function notify.message(list, now)
   local events = output.list()
   for i = 1, math.min(#list, MOST) do
      local event = {}
      for key, value in pairs(list[i].event) do
         event[key] = value
      end
      event.time = time.show(event.time or now)
      events[i] = event
   end
   return output.json({ v = 1, time = time.show(now), cluster = cluster_of(list), events = events,
      more = #list > MOST and #list - MOST or nil, text = text_of(events, #list) }) .. "\n"
end

--- Runs the program.
-- @param policy its table `notify`
-- @return true; or nil and one line
function notify.call(policy, message)
   local wrong = notify.wrong(policy.program)
   if wrong then
      return nil, wrong
   end
   local result, err = process.run(policy.program[1], { table.unpack(policy.program, 2) },
      { timeout_ms = policy.timeout * 1000, max_output = MOST_OUTPUT, input = message })
   if not result then
      return nil, err
   elseif result.timed_out or result.stuck then
      return nil, ("%s: did not end within %g s"):format(policy.program[1], policy.timeout)
   elseif result.too_long then
      return nil, ("%s: wrote more than %d bytes"):format(policy.program[1], MOST_OUTPUT)
   elseif result.code ~= 0 or result.signal ~= 0 then
      local said = printable.trimmed(result.err ~= "" and result.err or result.out)
      return nil, ("%s: %s%s"):format(policy.program[1], result.signal ~= 0 and "signal " .. result.signal
         or "exit status " .. result.code, said ~= "" and ": " .. printable.plain(said, SHOWN) or "")
   end
   return true
end

local function tell(open, policy, complain)
   open:at(os.time())
   open:look(policy)
   local lost = open:sweep()
   if lost > 0 then
      complain("%d events could not be told for two days, and are dropped", lost)
   end
   if #open:waiting() == 0 or not open:claim(policy.every, policy.timeout) then
      return
   end
   local list = open:waiting() -- another ingest may have told them just now
   local told, err = #list == 0, nil
   if #list > 0 then
      told, err = notify.call(policy, notify.message(list, open.now))
   end
   open:settle(told and list or nil)
   if not told then
      complain("%s; %d event%s waiting for the next ingest", err, #list, #list == 1 and " is" or "s are")
   end
end

-- What fails here is no trouble of ingest's. @return what f returns; nil: it failed
local function guarded(complain, f, ...)
   local done, result = pcall(f, ...)
   if not done then
      complain("%s", tostring(result))
      return nil
   end
   return result
end

--- Opens what ingest writes events to. @return notices, or nil: nobody is to be told, or it does not work
function notify.open(db, policy, complain)
   return guarded(complain, notices.open, db, policy.notify.program ~= nil, os.time())
end

--- Enters an event that is of no record; see notices:add.
-- @param open of notify.open
-- @param complain function(format, ...)
function notify.add(open, complain, subject, event)
   guarded(complain, open.add, open, subject, event)
end

--- Tells what waits.
-- @param open of notify.open
-- @param complain function(format, ...)
function notify.tell(open, policy, complain)
   guarded(complain, tell, open, policy.notify, complain)
end

return notify
