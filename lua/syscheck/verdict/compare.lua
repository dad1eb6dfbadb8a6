--- Two sets of checks against each other, as before and after a change of the BIOS: what differs beyond the noise.
-- Pure.
local noise = require("syscheck.verdict.compare.noise")
local sorted = require("syscheck.lib.sorted")
local statistics = require("syscheck.lib.statistics")
local values = require("syscheck.verdict.compare.values")
local printable = require("syscheck.lib.printable")

local compare = {}

-- "same" means that a difference of so much would have been seen.
local SEEN_PCT = 10
-- Percentage points of time, where the value is one.
local LEAST_POINTS, SEEN_POINTS = 0.5, 1
-- Time boxes that differ by more measure another quantity; not so the noise, which is a share of time.
local SAME_BOX = 1.25

-- @return { [key] = { info, all, clean } }, keys in order; info of the first record that has it
local function collect(records)
   local by_key, order = {}, {}
   for _, record in ipairs(records) do
      values.each(record, function(key, one)
         if not by_key[key] then
            by_key[key] = { info = one, all = {}, clean = {}, loss_pct = 0, spread_pct = 0 }
            order[#order + 1] = key
         end
         local c = by_key[key]
         c.all[#c.all + 1] = one.value
         c.clean[#c.clean + 1] = one.loss_pct == 0 and one.value or nil
         c.loss_pct = math.max(c.loss_pct, one.loss_pct)
         c.spread_pct = math.max(c.spread_pct, one.spread_pct or 0)
         c.box_s = math.max(c.box_s or 0, one.box_s or 0)
      end)
   end
   return by_key, order
end

-- The runs that nobody disturbed; where all were, all of them, and what others may have taken.
local function used(c)
   if #c.clean > 0 then
      return c.clean, 0
   end
   return c.all, c.loss_pct
end

local function judge(info, difference, limit, size)
   local is_share = info.unit == "%"
   if math.abs(difference) > limit then
      return (difference > 0) == (info.better == "higher") and "better" or "worse"
   end
   return limit <= (is_share and math.max(SEEN_POINTS, SEEN_PCT / 100 * size) or SEEN_PCT / 100 * size) and "same"
      or "cannot tell"
end

-- How runs differ here: the median over what varies little by nature.
local function usual_pct(of_a, of_b)
   local all = {}
   for key, a in pairs(of_a) do
      if of_b[key] and not a.info.steady and a.info.kernel ~= "noise" and a.info.kernel ~= "io" then
         all[#all + 1] = noise.deviation_pct((used(a)), (used(of_b[key])))
      end
   end
   return statistics.median(all)
end

local function row(key, a, b, run_pct, usual)
   local list_a, loss_a = used(a)
   local list_b, loss_b = used(b)
   local info = a.info
   local limit, from, at, bt = noise.of(list_a, list_b, { kernel = info.kernel, run_pct = run_pct(key),
      usual_pct = not info.steady and usual or nil, spread_pct = math.max(a.spread_pct, b.spread_pct),
      loss_pct = math.max(loss_a, loss_b), least = info.unit == "%" and LEAST_POINTS or nil })
   local verdict, why = judge(info, bt - at, limit, math.max(math.abs(at), math.abs(bt))), nil
   local other_box = info.kernel ~= "noise" and a.box_s > 0 and b.box_s > 0
      and math.max(a.box_s, b.box_s) > SAME_BOX * math.min(a.box_s, b.box_s)
   if other_box then
      verdict, why = "cannot tell", ("time boxes of %g and %g s"):format(a.box_s, b.box_s)
   elseif math.max(loss_a, loss_b) > 0 then
      why = "others used the node"
   end
   return { name = key, label = info.label, unit = info.unit, metric = info.metric, kernel = info.kernel, a = at,
      b = bt, runs_a = #list_a, runs_b = #list_b, disturbed_a = #a.all - #a.clean, disturbed_b = #b.all - #b.clean,
      change = bt - at, change_pct = at ~= 0 and 100 * (bt / at - 1) or nil, noise = limit,
      noise_pct = at ~= 0 and 100 * limit / math.abs(at) or nil, noise_from = from, verdict = verdict, why = why,
      other_box = other_box }
end

-- What a record says of the machine, one text a key.
local function facts(record)
   local out = { node = record.node, class = record.class, level = record.level, boot_id = record.boot_id,
      cpus = type(record.cpus) == "table" and record.cpus.list or nil }
   for _, part in ipairs({ "parts", "config" }) do
      for key, value in pairs(type(record[part]) == "table" and record[part] or {}) do
         out[part .. "." .. tostring(key)] = value
      end
   end
   for _, one in ipairs(type(record.runs) == "table" and record.runs or {}) do
      local version = type(one) == "table" and type(one.result) == "table" and one.result.version
      out.version = type(version) == "string" and version or out.version
   end
   return out
end

-- The values of all records of a side: { [key] = { texts, [text] = true } }
local function facts_of(records)
   local out = {}
   for _, record in ipairs(records) do
      for key, value in pairs(facts(record)) do
         local kind = type(value)
         if kind == "string" or kind == "number" or kind == "boolean" then
            local text = kind == "number" and ("%.14g"):format(value) or tostring(value)
            out[key] = out[key] or {}
            if not out[key][text] then
               out[key][text] = true
               table.insert(out[key], text)
            end
         end
      end
   end
   return out
end

local function joined(list)
   if not list then
      return nil
   end
   local copy = table.move(list, 1, #list, 1, {})
   table.sort(copy)
   return table.concat(copy, " / ")
end

local FIRST = { "node", "class", "level", "cpus", "version" }

-- What the two sides say differently of the machine.
local function differences(a, b)
   local out, done = {}, { boot_id = true }
   local function look(key)
      local before, after = joined(a[key]), joined(b[key])
      if before ~= after and not done[key] then
         out[#out + 1] = { what = key, a = before, b = after }
      end
      done[key] = true
   end
   for _, key in ipairs(FIRST) do
      look(key)
   end
   local all = {}
   for key in pairs(a) do all[key] = true end
   for key in pairs(b) do all[key] = true end
   for _, key in ipairs(sorted(all)) do
      look(key)
   end
   return out
end

local function shares_boot(a, b)
   for _, boot in ipairs(a.boot_id or {}) do
      if b.boot_id and b.boot_id[boot] then
         return true
      end
   end
   return false
end

-- What a reader has to know before he believes a row.
local function remarks(a, b, rows, changed)
   local out = {}
   local function say(text, ...)
      out[#out + 1] = text:format(...)
   end
   local differs = {}
   for _, one in ipairs(changed) do
      differs[one.what] = one.a ~= nil and one.b ~= nil
   end
   if differs.class then
      say("two hardware classes: what differs may be the hardware")
   elseif differs.node then
      say("two nodes: healthy nodes of one class differ by 3 to 5 %%")
   elseif shares_boot(a, b) then
      say("both were measured in the same boot: a change of the BIOS is not in effect yet")
   end
   for _, side in ipairs({ { "A", a.node }, { "B", b.node } }) do
      if side[2] and side[2][2] then
         say("%s has runs of %d nodes", side[1], #side[2])
      end
   end
   if differs.cpus then
      say("measured on different CPUs")
   end
   if differs.version then
      say("two versions of syscheck measured")
   end
   local disturbed, assumed, said = 0, false, {}
   for _, one in ipairs(rows) do
      if one.kernel and one.other_box and not said[one.kernel] then
         said[one.kernel] = true
         say("%s: %s, which is another quantity", printable.safe(one.kernel), one.why)
      end
      disturbed = math.max(disturbed, one.disturbed_a + one.disturbed_b)
      assumed = assumed or one.noise_from == "assumed"
   end
   if disturbed > 0 then
      say("others used the node in %d of the runs; such a run counts only where there is no other", disturbed)
   end
   return out, assumed
end

--- Whether a record has a value to compare.
function compare.has_values(record)
   local found = false
   values.each(record, function()
      found = true
   end)
   return found
end

--- Compares.
-- @param a, b lists of check records, of one each at least
-- @param run_pct function(metric) -> standard deviation of a node's runs in %, as a baseline of their class has it,
--   or nil
-- @return { rows = list of { name, label, unit, metric, kernel, a, b (means), runs_a, runs_b, disturbed_a,
--   disturbed_b, change, change_pct, noise, noise_pct, noise_from, verdict = better|worse|same|"cannot tell", why,
--   other_box },
--   changed = list of { what, a, b }, only_a, only_b = lists of keys, wrong = list of { side, kernel },
--   remarks = list of texts, assumed = a row's noise is, worse, better = how many }
function compare.of(a, b, run_pct)
   local of_a, order = collect(a)
   local of_b, order_b = collect(b)
   local out = { rows = {}, only_a = {}, only_b = {}, wrong = {}, worse = 0, better = 0 }
   local usual = usual_pct(of_a, of_b)
   for _, key in ipairs(order) do
      if of_b[key] then
         local one = row(key, of_a[key], of_b[key], run_pct, usual)
         out.rows[#out.rows + 1] = one
         out[one.verdict] = out[one.verdict] and out[one.verdict] + 1
      else
         out.only_a[#out.only_a + 1] = key
      end
   end
   for _, key in ipairs(order_b) do
      out.only_b[#out.only_b + 1] = not of_a[key] and key or nil
   end
   for _, side in ipairs({ { "a", a }, { "b", b } }) do
      for _, record in ipairs(side[2]) do
         for _, kernel in ipairs(values.wrong(record)) do
            out.wrong[#out.wrong + 1] = { side = side[1], kernel = kernel }
         end
      end
   end
   local facts_a, facts_b = facts_of(a), facts_of(b)
   out.changed = differences(facts_a, facts_b)
   out.remarks, out.assumed = remarks(facts_a, facts_b, out.rows, out.changed)
   return out
end

return compare
