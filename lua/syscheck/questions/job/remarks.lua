--- What a job's table does not show in numbers: what checks found, events, errors, noise. Pure.
local alike = require("syscheck.questions.job.alike")
local beside = require("syscheck.catalogue.beside")
local fields = require("syscheck.catalogue.fields")
local job_records = require("syscheck.questions.job.records")
local peers = require("syscheck.questions.job.peers")
local printable = require("syscheck.lib.printable")
local units = require("syscheck.lib.units")

local remarks = {}

-- Events that a healthy node does not have, and the fields they are from.
-- @return list of { text, names }
local function events_of(row)
   local v, list = row.values or {}, {}
   if (v.throttle_events or 0) > 0 then
      local ms = v.throttle_package_ms
      list[1] = { ("throttled %.0f times during the job%s"):format(v.throttle_events,
         ms and (" (%s)"):format(units.show("ms", ms)) or ""),
         { "throttle_events", "throttle_package_ms", "throttle_core_ms" } }
   end
   for _, name in ipairs({ "memory_corrected", "memory_uncorrected", "machine_checks", "link_errors",
      "link_downed" }) do
      if (v[name] or 0) > 0 then
         list[#list + 1] = { ("%s: %.0f"):format(fields.JOB_BY_NAME[name].label, v[name]), { name } }
      end
   end
   if (v.oom_kills or 0) > 0 then
      list[#list + 1] = { ("%.0f process%s killed for memory during the job"):format(v.oom_kills,
         v.oom_kills == 1 and "" or "es"), { "oom_kills" } }
   end
   return list
end

local function check_text(check)
   local lines = {}
   for _, r in ipairs(check.metrics or {}) do
      if r.status == "fail" or r.status == "warn" or r.status == "unknown" then
         lines[#lines + 1] = ("%s: %s"):format(r.status, r.text or r.name)
      end
   end
   if check.action == "drain" then
      local drain = check.drain or {}
      lines[#lines + 1] = drain.done and "drained, the job did not start there"
         or "out of service by the prolog's exit code: "
            .. (drain.kept and "already drained: " .. tostring(drain.kept) or tostring(drain.error or "?"))
   elseif check.action == "observed" then
      lines[#lines + 1] = "would have been drained (mode is observe)"
   elseif check.action == "storm" then
      lines[#lines + 1] = "bad, not drained: the storm guard's cap was used up"
   elseif check.action == "undecided" then
      lines[#lines + 1] = "bad, not drained, to be settled by the node's next check: "
         .. tostring((check.drain or {}).error or "?")
   end
   lines[#lines + 1] = check.note
   return lines
end

local function warnings_of(run)
   local out = {}
   for _, warning in ipairs(run.warnings or {}) do
      out[warning.row] = out[warning.row] or {}
      table.insert(out[warning.row], warning)
   end
   return out
end

--- What the table does not show in numbers.
-- @param list of peers.of_run
-- @return list of { node, text }
function remarks.of(run, list)
   local out = {}
   local function add(row, text)
      out[#out + 1] = { row.node, tostring(text) }
   end
   local found_of, warnings = peers.by_row(list), warnings_of(run)
   for i, row in ipairs(run.rows) do
      local check, job, mine = row.check, row.job, found_of[i] or {}
      for _, text in ipairs(check and check_text(check) or {}) do
         add(row, text)
      end
      for _, warning in ipairs(warnings[i] or {}) do
         add(row, "warn: " .. alike.sentence(warning))
      end
      local seen = {}
      for _, record in ipairs({ check or {}, job or {} }) do
         for _, problem in ipairs(record.problems or {}) do
            if not seen[problem] then
               seen[problem] = true
               add(row, "problem: " .. problem)
            end
         end
      end
      local unlike = {}
      for _, found in ipairs(mine) do
         unlike[found.name] = found
      end
      for _, warning in ipairs(warnings[i] or {}) do
         unlike["check." .. warning.name] = nil -- said already
      end
      for _, event in ipairs(events_of(row)) do
         local found = unlike[event[2][1]]
         add(row, event[1] .. (found and "; " .. peers.against(found) or ""))
         for _, name in ipairs(event[2]) do
            unlike[name] = nil
         end
      end
      for _, e in ipairs(job and job.errors or {}) do
         add(row, job_records.error_text(e))
      end
      for _, found in ipairs(mine) do
         if unlike[found.name] then
            add(row, "unlike its peers: " .. peers.text(found))
         end
      end
      local ids, more = job_records.others(row), job and job.others_more or 0
      if #ids == 0 and more > 0 then
         add(row, ("shared with %.0f other job%s"):format(more, more == 1 and "" or "s"))
      elseif #ids > 0 then
         add(row, ("shared with job%s %s%s"):format(#ids == 1 and "" or "s", table.concat(ids, ", "),
            more > 0 and (" and %.0f more"):format(more) or ""))
      end
      if check and not job then
         add(row, "no job record yet: the job still runs there, or its epilog did not")
      end
   end
   return out
end

--- Nodes of which the noise is told, the noisiest; JSON has all.
remarks.MOST_NOISY = 8

--- What took the cores' time in the checks before the job, of the noisiest nodes.
-- @return list of lines
function remarks.noise(answer)
   local noisy, notes = {}, {}
   for _, run in ipairs(answer) do
      for _, row in ipairs(run.rows) do
         local text = row.check and row.check.noise and beside.noise_text(row.check.noise)
         noisy[#noisy + 1] = text and { node = row.node, pct = row.metrics.noise_pct or 0, text = text } or nil
      end
   end
   table.sort(noisy, function(a, b)
      if a.pct ~= b.pct then
         return a.pct > b.pct
      end
      return a.node < b.node
   end)
   for i = 1, math.min(remarks.MOST_NOISY, #noisy) do
      notes[i] = ("%s: noise before the job: %s"):format(printable.safe(noisy[i].node),
         printable.safe(noisy[i].text, 300))
   end
   if #noisy > remarks.MOST_NOISY then
      notes[#notes + 1] = ("noise of %d more nodes: --json has it"):format(#noisy - remarks.MOST_NOISY)
   end
   return notes
end

return remarks
