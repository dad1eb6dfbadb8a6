--- A page: one file that needs nothing else, says its answer first, then shows it. Pure.
--
-- It has no script and fetches nothing; its policy forbids the browser both, whatever a name in it may hold.
local element = require("syscheck.html.element")
local style = require("syscheck.html.style")

local page = {}

local tag = element.tag

local LONG, WRAPPED = 36, { class = "p" } -- a cell's text from which it may have several lines
--- What a page of ours can be known by.
page.MARK = '<meta content="syscheck" name="generator"/>'
local POLICY = "default-src 'none'; style-src 'unsafe-inline'"

--- A table behind a picture.
-- @param head list of texts
-- @param rows list of lists of texts, numbers or markup; nil is "-"
-- @param left so many columns begin at the left, the others are numbers; nil: all
-- @param most rows that are shown; how many are not is said
-- @return markup; nil without rows
function page.table(head, rows, left, most)
   if #rows == 0 then
      return nil
   end
   local titles, lines = {}, {}
   for i, text in ipairs(head) do
      titles[i] = tag("th", { scope = "col" }, text)
   end
   for r = 1, math.min(most or #rows, #rows) do
      local cells = {}
      for i = 1, #head do
         local value = rows[r][i]
         local wrapped = type(value) == "string" and #value > LONG and WRAPPED or nil
         cells[i] = tag("td", wrapped, value == nil and "-" or value)
      end
      lines[r] = tag("tr", nil, cells)
   end
   local out = { tag("div", { class = "scroll" }, tag("table", { class = left and "l" .. left or nil },
      tag("thead", nil, tag("tr", nil, titles)), tag("tbody", nil, lines))) }
   if #rows > #lines then
      out[2] = tag("p", { class = "say" }, ("%d more; --csv has all."):format(#rows - #lines))
   end
   return out
end

--- What is out in a table: not by its colour alone.
function page.bad(text)
   return tag("b", nil, text .. "*")
end

--- One thing that is shown.
-- @param spec { title (what is seen), say (how to read it, or nil), pictures = list of markup, grid (true: pictures
--   are narrow, beside each other), table = of page.table, called (of the table, default "Table"), more = markup, long
--   (true: may be broken across sheets of paper) }
function page.section(spec)
   local pictures = {}
   for i, picture in ipairs(spec.pictures or {}) do
      pictures[i] = spec.grid and picture or tag("div", { class = "scroll" }, picture)
   end
   return tag("section", { class = spec.long and "long" or nil }, tag("h2", nil, spec.title),
      spec.say and tag("p", { class = "say" }, spec.say),
      #pictures > 0 and tag("figure", nil, spec.grid and tag("div", { class = "grid" }, pictures) or pictures),
      spec.more, spec.table and tag("details", nil, tag("summary", nil, spec.called or "Table"), spec.table))
end

--- A list of remarks; nil for an empty one.
function page.list(items, most)
   local lines = {}
   for i = 1, math.min(most or #items, #items) do
      lines[i] = tag("li", nil, items[i])
   end
   if #items > #lines then
      lines[#lines + 1] = tag("li", nil, ("and %d more"):format(#items - #lines))
   end
   return #lines > 0 and tag("ul", nil, lines) or nil
end

--- "Job 4711 was slow.": the begin of a sentence, but of a name, and its end.
function page.sentence(text)
   text = text:gsub("^%l+%f[ ]", function(word)
      return word:sub(1, 1):upper() .. word:sub(2)
   end)
   return text:find("[.!?]$") and text or text .. "."
end

--- The whole file.
-- @param spec { title, answer (a sentence), facts = list of { what, value }, sections = list of page.section, nil and
--   false are none, made = { version, time } }
-- @return text
function page.build(spec)
   local facts = {}
   for _, fact in ipairs(spec.facts or {}) do
      facts[#facts + 1] = fact[2] ~= nil and tag("li", nil, tag("i", nil, fact[1]), " ", fact[2]) or nil
   end
   local head = tag("head", nil, tag("meta", { charset = "utf-8" }),
      tag("meta", { name = "generator", content = "syscheck" }),
      tag("meta", { ["http-equiv"] = "Content-Security-Policy", content = POLICY }),
      tag("meta", { name = "viewport", content = "width=device-width, initial-scale=1" }),
      tag("meta", { name = "referrer", content = "no-referrer" }),
      tag("meta", { name = "color-scheme", content = "light dark" }),
      tag("title", nil, spec.title), tag("style", nil, element.markup(style)))
   local body = tag("body", nil, tag("main", nil, tag("h1", nil, spec.title),
      tag("p", { class = "answer" }, page.sentence(spec.answer)), #facts > 0 and tag("ul", { class = "facts" }, facts),
      spec.sections, spec.made and tag("footer", nil, ("syscheck %s, %s. A value with * is out. Times are UTC."):format(
         spec.made.version, spec.made.time))))
   return "<!DOCTYPE html>\n" .. element.text_of(tag("html", { lang = "en" }, head, body)) .. "\n"
end

return page
