--- Points in time and spans of it, as text. Pure. What has no zone is UTC, as every time that
-- syscheck prints.
local printable = require("syscheck.lib.printable")

local time = {}

local UNITS = { m = 60, h = 3600, d = 86400, w = 604800, y = 31536000 }
local MAX_S = 100 * 366 * 86400
local LENGTHS = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 }

--- What point() takes, for a command's help.
time.FORMS = "7d, 12h, 30m, 2w, 2026-11-01 or 2026-11-01T08:00Z"

-- Days from 1970-01-01 to a date of the Gregorian calendar (Howard Hinnant's days_from_civil);
-- os.time knows local time only.
-- @return nil for 30 February
local function days(year, month, day)
   local leap = year % 4 == 0 and (year % 100 ~= 0 or year % 400 == 0)
   local length = month == 2 and leap and 29 or LENGTHS[month]
   if not length or day < 1 or day > length then
      return nil
   end
   -- Years begin in March, so that the leap day is the last one.
   local y = month <= 2 and year - 1 or year
   local of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
   return 365 * y + y // 4 - y // 100 + y // 400 + of_year - 719468
end

-- Most records are of the day of the one before.
local last_date, last_start

local function start_of(date)
   if date ~= last_date then
      local day = days(tonumber(date:sub(1, 4)), tonumber(date:sub(6, 7)), tonumber(date:sub(9, 10)))
      last_date, last_start = date, day and day * 86400
   end
   return last_start
end

--- RFC 3339 in UTC, as records have it: "2026-11-01T08:00:00Z". Ingest reads one of each record.
-- @return epoch seconds, whole (a fraction is left out); nil for anything else
function time.parse(text)
   if not text:find("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z$") then
      return nil
   end
   local start = start_of(text:sub(1, 10))
   local h, hh, _, m, mm, _, s, ss = text:byte(12, 19)
   h, m, s = h * 10 + hh - 528, m * 10 + mm - 528, s * 10 + ss - 528
   return start and h < 24 and m < 60 and s < 61 and start + h * 3600 + m * 60 + s or nil
end

--- RFC 3339 in UTC, whole seconds; "-" for nil.
function time.show(epoch)
   return epoch and os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(epoch)) or "-"
end

--- A span as people type it: "400d".
-- @param units the letters that may follow the number, of m, h, d, w, y (365 days)
-- @return seconds, 0 too; nil for anything else
function time.span(text, units)
   local count, unit = text:match("^(%d+)([" .. units .. "])$")
   return count and #count <= 10 and tonumber(count) * UNITS[unit] or nil
end

-- A date, or a date and a time: seconds may be left out, any zone may follow.
local function date(text)
   local day, rest = text:match("^(%d%d%d%d%-%d%d%-%d%d)(.*)$")
   local start = day and start_of(day)
   if not start or rest == "" then
      return start
   end
   local clock, zone = rest:match("^[T ](%d%d:%d%d)(.*)$")
   if not clock then
      return nil
   end
   local second, after = zone:match("^(:%d%d)%.?%d*(.*)$")
   zone = after or zone
   local sign, h, m = zone:match("^([+-])(%d%d):?(%d%d)$")
   local at = (sign or zone == "" or zone == "Z") and time.parse(("%sT%s%sZ"):format(day, clock, second or ":00"))
   return at and at - (sign and (tonumber(h) * 60 + tonumber(m)) * (sign == "-" and -60 or 60) or 0) or nil
end

--- A point in time as people type it, see FORMS.
-- @param now epoch seconds
-- @return epoch seconds (integer); or nil and what would be right, without prefix
function time.point(text, now)
   local seconds = time.span(text, "mhdw")
   if seconds == 0 then
      return nil, ('"%s" is no time at all: use one like %s'):format(printable.safe(text), time.FORMS)
   elseif seconds and seconds > MAX_S or not seconds and text:find("^%d+[mhdw]$") then
      return nil, ('"%s" is more than 100 years: use a time like %s'):format(printable.safe(text), time.FORMS)
   end
   local at = seconds and now - seconds or date(text)
   if not at then
      return nil, ('must be a time like %s, not "%s"'):format(time.FORMS, printable.safe(text))
   elseif at > now then
      return nil, ('"%s" is in the future (now: %s)'):format(printable.safe(text), time.show(now))
   end
   return math.max(0, at)
end

return time
