--- Points in time as people type them: 7d, 12h, 2026-11-01, 2026-11-01T08:00:00Z. Pure.
-- What has no zone is UTC, as every time that syscheck prints.
local printable = require("syscheck.lib.printable")

local since = {}

local UNITS = { m = 60, h = 3600, d = 86400, w = 604800 }
local MAX_S = 100 * 366 * 86400
local FORMS = "7d, 12h, 30m, 2w, 2026-11-01 or 2026-11-01T08:00Z"
local DAYS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

-- Days from 1970-01-01 to a date of the Gregorian calendar; nil for 30 February.
local function days(year, month, day)
   local leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
   local length = month == 2 and leap and 29 or DAYS[month]
   if not length or day < 1 or day > length then
      return nil
   end
   -- Years begin in March, so that the leap day is the last one.
   local y = month <= 2 and year - 1 or year
   local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
   return 365 * y + y // 4 - y // 100 + y // 400 + of_year - 719468
end

local function date(text)
   local year, month, day, rest = text:match("^(%d%d%d%d)%-(%d%d)%-(%d%d)(.*)$")
   local whole = year and days(tonumber(year), tonumber(month), tonumber(day))
   if not whole then
      return nil
   elseif rest == "" then
      return whole * 86400
   end
   local hour, minute, tail = rest:match("^[T ](%d%d):(%d%d)(.*)$")
   if not hour then
      return nil
   end
   local second, zone = tail:match("^:(%d%d)%.?%d*(.*)$")
   second, zone = tonumber(second or 0), zone or tail
   local sign, east_h, east_m = zone:match("^([+-])(%d%d):?(%d%d)$")
   if tonumber(hour) > 23 or tonumber(minute) > 59 or second > 60 or not (sign or zone == "" or zone == "Z") then
      return nil
   end
   local east = sign and (tonumber(east_h) * 60 + tonumber(east_m)) * (sign == "-" and -60 or 60) or 0
   return whole * 86400 + tonumber(hour) * 3600 + tonumber(minute) * 60 + second - east
end

--- @param text what the user typed
-- @param now epoch seconds, default the clock's
-- @return epoch seconds (integer); or nil and what would be right, without prefix
function since.parse(text, now)
   now = now or os.time()
   local count, unit = text:match("^(%d+)([mhdw])$")
   local at
   if count then
      local seconds = #count <= 10 and tonumber(count) * UNITS[unit] or MAX_S + 1
      if seconds == 0 then
         return nil, ('"%s" is no time at all: use one like %s'):format(printable.safe(text), FORMS)
      elseif seconds > MAX_S then
         return nil, ('"%s" is more than 100 years: use a time like %s'):format(printable.safe(text), FORMS)
      end
      at = now - seconds
   else
      at = date(text)
   end
   if not at then
      return nil, ('must be a time like %s, not "%s"'):format(FORMS, printable.safe(text))
   elseif at > now then
      return nil, ('"%s" is in the future (now: %s)'):format(printable.safe(text), since.show(now))
   end
   return math.max(0, at)
end

--- Adds the option --since; its value is epoch seconds.
-- @param default as it would be typed
function since.add_option(command, default, what)
   command:option("--since", ("%s since then: %s (UTC)."):format(what, FORMS)):argname("TIME"):default(default)
      :convert(function(text)
         local at, err = since.parse(text)
         return at, err and "--since: " .. err
      end)
end

--- The smallest key of the store's records from a time on.
function since.key(epoch)
   return math.tointeger(epoch) << 30
end

--- RFC 3339, UTC; "-" for nil.
function since.show(epoch)
   return epoch and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(epoch)) or "-"
end

return since
