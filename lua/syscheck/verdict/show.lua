--- A check's result in words: the line that a job's user reads, a directory's row.
local metrics = require("syscheck.catalogue.metrics")
local printable = require("syscheck.lib.printable")

local show = {}

local WHY_CHARS = 80

-- "triad 61.3 GB/s", with the limit where it was broken; "n/a" where unmeasured.
local function part(m, rated)
   if rated.value == nil then
      return m.label .. (rated.corrupt and " WRONG RESULT" or " n/a")
   end
   local text = metrics.label(m, rated) .. " " .. metrics.show(m, rated.value, true)
   if rated.busy then
      text = text .. " (busy, not rated)"
   elseif (rated.status == "fail" or rated.status == "warn") and rated.limit and m.kernel then
      text = ("%s (limit %s)"):format(text, metrics.show(m, rated.limit))
   end
   return text
end

-- Adds why something was not measured, each reason once.
local function add_reason(reasons, text)
   text = text and printable.safe(text, WHY_CHARS)
   if text and not reasons[text] then
      reasons[text], reasons[#reasons + 1] = true, text
   end
end

--- One line on a node's check, for its user.
-- @param node name
-- @param result from check.run
-- @param note why it is not what the user asked for, or nil
function show.line(node, result, note)
   local parts, reasons = {}, {}
   for _, rated in ipairs(result.metrics) do
      if rated.status == "unknown" then
         add_reason(reasons, (rated.text or ""):match(": not measured: (.*)$"))
      end
      local m = metrics.BY_NAME[rated.name]
      -- A node that has what it should have is not worth a user's line.
      if not m.expected then
         parts[#parts + 1] = part(m, rated)
      elseif rated.status ~= "pass" and rated.status ~= "unrated" then
         parts[#parts + 1] = rated.text
      end
   end
   for _, one in ipairs(result.runs or {}) do
      if one.path and one.state ~= "ok" then
         parts[#parts + 1] = ("io %s %s"):format(printable.safe(one.path, 24),
            one.state == "corrupt" and "WRONG DATA" or "n/a")
         add_reason(reasons, one.reason)
      end
   end
   local text = ("syscheck: %s %s %s"):format(printable.safe(node), result.level, result.status)
   if #parts > 0 then
      text = text .. "  " .. table.concat(parts, "  ")
   end
   reasons[#reasons + 1] = note
   if #reasons > 0 then
      text = text .. "  (" .. table.concat(reasons, "; ") .. ")"
   end
   return text
end

--- A directory's row in the table of a check, and the rest that is known of it.
-- @param one of directories.measure
-- @return cells, text
function show.path(one)
   local r = one.state == "ok" and one.result
   local row = {
      "io " .. printable.safe(one.path, 40),
      r and ("%.3g/%.3g"):format(r.write_gbs, r.read_gbs) or "-",
      "GB/s w/r",
      "-",
      r and "unrated" or one.state == "corrupt" and "warn" or "unknown",
   }
   if not r then
      return row, ("%s: %s%s"):format(row[5], one.state == "corrupt" and "WRONG DATA: " or "",
         printable.safe(one.reason, 300))
   end
   return row, ("io %s: %s%s, fsync %.0f us (99 %%: %.0f), per second %.3g creates, %.3g stats, %.3g unlinks"):format(
      printable.safe(one.path, 100), printable.safe(r.filesystem, 20), r.direct and "" or " through the page cache",
      r.fsync_us, r.fsync_p99_us, r.creates_per_s, r.stats_per_s, r.unlinks_per_s)
end

return show
