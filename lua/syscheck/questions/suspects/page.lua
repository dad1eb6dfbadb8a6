--- Suspects as a page. An answer is as show.lua has it. Pure.
local causes = require("syscheck.questions.why.causes")
local chart = require("syscheck.html.chart")
local element = require("syscheck.html.element")
local page = require("syscheck.html.page")
local several = require("syscheck.questions.suspects.several")
local strip = require("syscheck.html.strip")
local suspects = require("syscheck.questions.suspects.logic")
local time = require("syscheck.lib.time")
local words = require("syscheck.questions.why.words")

local DRAWN = 100 -- suspects with a picture of their own
local ROWS = 500

local function cause_of(one)
   local kind = several.of(one)
   return kind and kind.CAUSE or one.condition and causes.GROUPS[one.condition.group]
      or "nothing that was recorded"
end

local function what_of(one)
   local first, kind = one.condition and one.condition.first, several.of(one)
   if kind then
      return ("%s: %s"):format(kind.CAUSE, kind.text(one, element.name))
   elseif not first then
      return cause_of(one)
   end
   local on = first.on ~= one.name and ("as on %s: "):format(element.name(first.on)) or ""
   return ("%s: %s%s"):format(cause_of(one), on, element.name(first.text, 200))
end

-- "2026-11-20 09:15": two of them stand in a row of much text.
local function minute(epoch)
   return (time.show(epoch):sub(1, 16):gsub("T", " "))
end

-- Its runs under the cause: how long each took, of what was expected.
local function picture(one)
   local low, high, rest, slow, is_slow = 0.95, 1.1, {}, {}, {}
   for _, run in ipairs(one.slow) do
      is_slow[run.key or run] = true
   end
   for _, run in ipairs(one.spell or {}) do
      low, high = math.min(low, run.ratio), math.max(high, run.ratio)
      table.insert(is_slow[run.key] and slow or rest, { run.begin_s, run.ratio, ("job %s, %s: %s"):format(
         run.job_id or "?", time.show(run.begin_s), words.times(run.ratio)) })
   end
   local all = one.spell or {}
   local from, to = all[1] and all[1].begin_s or one.from_s, all[1] and all[#all].begin_s or one.to_s
   local c = chart.new({ label = ("Runs of %s over time"):format(element.name(one.name)), width = 360, height = 190,
      x = { low = from - 3600, high = to + 3600, kind = "time", count = 4 },
      y = { low = low, high = high, count = 4, label = element.name(one.name, 20) .. ": took, of what was expected" } })
   c:horizontal(1)
   c:marks(rest, "circle", "f", 2.5)
   c:marks(slow, "triangle", "bad", 4)
   return c:done()
end

local function sentence(answer)
   local names = {}
   for i = 1, math.min(6, #answer) do
      names[i] = element.name(answer[i].name)
   end
   local slow = ("%d of %d runs were slow"):format(answer.totals.slow, answer.totals.compared)
   if #answer == 0 then
      return slow .. "; no node is the likely cause of several of them"
   end
   return ("%s; %d likely cause%s of several of them: %s%s"):format(slow, #answer, #answer == 1 and "" or "s",
      table.concat(names, ", "), #answer > #names and ", ..." or "")
end

--- @param answer of suspects.find with `totals`, `since`, `to` (now) and `made`
-- @return text of the file
return function(answer)
   local lanes, pictures, rows, hints = {}, {}, {}, several.hints(answer)
   for i, one in ipairs(answer) do
      local marks = {}
      for k, run in ipairs(one.slow) do
         marks[k] = { at = run.begin_s, shape = "triangle", class = "bad",
            title = ("job %s: %s"):format(run.job_id or "?", words.times(run.ratio)) }
      end
      lanes[i] = { name = one.name, marks = marks, title = cause_of(one),
         spans = { { from = one.from_s, to = one.to_s, class = "band", title = cause_of(one) } } }
      if i <= DRAWN then
         pictures[i] = picture(one)
      end
      rows[i] = { element.name(one.name), minute(one.from_s), minute(one.to_s),
         ("%d of %d"):format(#one.slow, one.runs),
         words.times(one.cost), words.percent(one.probability) .. " %", what_of(one) }
   end
   local totals = answer.totals
   return page.build({ title = "Suspects", made = answer.made, answer = sentence(answer),
      facts = { { "runs that began since", time.show(answer.since) }, { "kinds of job", ("%d"):format(totals.kinds) },
         { "slow", ("%.0f %% over what like runs took, and beyond their spread"):format(100 * (suspects.SLOW - 1)) },
         { "looked at", not totals.complete and "not all nodes that may be suspects: a later --since has fewer"
            or nil } },
      sections = {
         #answer > 0 and page.section({ title = "Who, since when, by what",
            say = hints[1] and table.concat(hints, ". ") .. "." or nil, more = page.table({ "node", "from", "to",
            "slow runs", "median", "sure", "what goes with it" }, rows, nil, ROWS) }),
         #answer > 0 and page.section({ title = "When their runs were slow", long = #lanes > 40,
            say = "A triangle is a slow run; a bar goes from the first to the last.", pictures = { strip({
               label = "Slow runs of suspects over time", from = answer.since, to = answer.to, lanes = lanes }) } }),
         #pictures > 0 and page.section({ title = "The runs of each under its cause", grid = true, long = true,
            say = "A triangle speaks for it; a dot does not; the line is what was expected.",
            pictures = pictures }) } })
end
