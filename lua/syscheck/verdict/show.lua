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
      local m = metrics.of(rated.name)
      -- A node that has and is what it should is not worth a user's line.
      if not m.expected and not m.own then
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

-- By how many percent a value is worse than its class's median, or nil.
local function percent_worse(m, rated)
   local median = rated.median
   if not median or median <= 0 or not rated.value or rated.bound or rated.busy then
      return nil
   end
   return 100 * (m.better == "higher" and 1 - rated.value / median or rated.value / median - 1)
end

local function plain(m)
   return m.plain or m.long or m.label
end

-- "memory 31 % below its class", "memory latency 6 % worse than its class".
local function against_class(m, worse)
   return ("%s %.0f %% %s its class"):format(plain(m), worse, m.better == "higher" and "below" or "worse than")
end

-- One metric that is not as it should be, for who knows no benchmarks.
local function unusual(m, rated)
   local worse = percent_worse(m, rated)
   if m.own then
      return rated.text
   elseif rated.corrupt then
      return plain(m) .. " gives wrong results"
   elseif rated.status == "unknown" then
      return plain(m) .. (rated.busy and " not rated, others used the node" or " not measured")
   elseif m.expected then
      return rated.text
   elseif m.name == "throttle_events" then
      return ("throttled %.0f times since its last job or check"):format(rated.value)
   elseif m.name == "others_cpus" then
      return ("others use %s of its CPUs"):format(metrics.show(m, rated.value))
   elseif worse and worse >= 1 and rated.limit then
      local limit = percent_worse(m, { value = rated.limit, median = rated.median })
      return ("%s (limit %.0f %%)"):format(against_class(m, worse), limit)
   elseif rated.limit then
      return ("%s %s, limit %s"):format(plain(m), metrics.show(m, rated.value, true),
         metrics.show(m, rated.limit, true))
   end
   return rated.text
end

--- The same in a phrase: what is unusual, else where it is furthest below its class.
-- @param result from check.run
-- @return text, "" where there is nothing to say; by how many percent it is worse than its class, or nil
function show.brief(result)
   local bad, n, slow, off = nil, 0, "", nil
   for _, rated in ipairs(result.metrics) do
      local m = metrics.of(rated.name)
      local worse = percent_worse(m, rated)
      if worse and worse > (off or -math.huge) then
         off, slow = worse, worse >= 1 and against_class(m, worse) or ""
      end
      if rated.status == result.status then
         n = n + 1
         bad = (not bad or rated.corrupt and not bad.corrupt) and rated or bad
      end
   end
   if result.status == "pass" or result.status == "unrated" then
      return slow, off
   elseif not bad then
      return "", off
   end
   return ("%s%s"):format(unusual(metrics.of(bad.name), bad), n > 1 and (" and %d more"):format(n - 1) or ""), off
end

--- Whether something was measured that is rated elsewhere, and has no limit here: no more than the rest is fine.
function show.is_partly(result)
   for _, rated in ipairs(result.metrics) do
      local m = metrics.of(rated.name)
      if rated.status == "unrated" and m.kernel and not m.static and (m.limit or {}).action ~= "off" then
         return true
      end
   end
   return false
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
