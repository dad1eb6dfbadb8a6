--- Sections and tables as wide as the terminal. See verdict/detail.lua for what a section is.
local output = require("syscheck.lib.output")
local plot = require("syscheck.lib.plot")
local terminal = require("syscheck.lib.terminal")

local page = {}

local GAP = 2 -- between columns, as of output.table
local DEFAULT = 80 -- columns, where standard output is no terminal
local MOST_BAR, LEAST_BAR = 40, 6
local LEAST_CUT = 10 -- of a column that is shortened

--- How this standard output takes a page.
-- @return { width = columns or nil, color, as_utf8 = bars of blocks }
function page.form()
   local width = terminal.width()
   return { width = width, color = output.has_color(), as_utf8 = width ~= nil and output.has_utf8() }
end

-- Of a bar: what follows it.
local function text_of(cell)
   if type(cell) == "table" then
      return cell.text or cell.after or ""
   end
   return cell
end

local function size_of(cell)
   local text = text_of(cell)
   return utf8.len(text) or #text
end

-- @return widths of the columns, of the whole; a bar counts as what follows it
local function measure(rows)
   local widths = {}
   for _, row in ipairs(rows) do
      for i, cell in ipairs(row) do
         widths[i] = math.max(widths[i] or 0, size_of(cell))
      end
   end
   local sum = GAP * (#widths - 1)
   for _, width in ipairs(widths) do
      sum = sum + width
   end
   return widths, sum
end

local function has_bar(rows)
   for _, cell in ipairs(rows[2] or {}) do
      if type(cell) == "table" and cell.bar then
         return true
      end
   end
   return false
end

-- Bars as text, in the room that is left; without room none.
local function draw(rows, room, form)
   local width = math.min(MOST_BAR, room)
   local out = {}
   for r, row in ipairs(rows) do
      out[r] = {}
      for i, cell in ipairs(row) do
         if type(cell) == "table" and cell.bar then
            cell = (width >= LEAST_BAR and plot.bar(cell.bar, width, form.as_utf8) or "") .. (cell.after or "")
         end
         out[r][i] = cell
      end
   end
   return out
end

-- One column shortened by what does not fit.
local function cut(rows, column, too_much)
   local widths = measure(rows)
   local most = math.max(LEAST_CUT, widths[column] - too_much)
   local out = {}
   for r, row in ipairs(rows) do
      out[r] = table.move(row, 1, #row, 1, {})
      local text = text_of(row[column])
      -- What may be long is printable ASCII.
      out[r][column] = #text > most and text:sub(1, most - 3) .. "..." or row[column]
   end
   return out
end

-- Wrapped where it does not fit, else as it is.
local function fitted(text, form, indent, more)
   local line = (" "):rep(indent) .. text
   return (utf8.len(line) or #line) <= (form.width or math.huge) and line or terminal.wrap(line, form.width, more)
end

-- A row as a sentence: "memory: SIZE 32 MiB, LATENCY_ns 145".
local function stacked(rows, form, indent)
   local lines = {}
   for r = 2, #rows do
      local words = {}
      for i = 2, #rows[r] do
         local title = text_of(rows[1][i])
         words[#words + 1] = title ~= "" and ("%s %s"):format(title, text_of(rows[r][i])) or nil
      end
      lines[#lines + 1] = fitted(("%s: %s"):format(text_of(rows[r][1]), table.concat(words, ", ")), form, indent,
         indent + 2)
   end
   return table.concat(lines, "\n")
end

--- A table that fits; where its columns do not, narrow ones, else a sentence for each row.
-- @param block { rows, narrow, cut }, see verdict/detail.lua
-- @param form of page.form
-- @param indent blanks before each line
function page.table(block, form, indent)
   local rows, width = block.rows, (form.width or math.huge) - indent
   local _, sum = measure(rows)
   if sum > width and block.narrow then
      rows = block.narrow
      _, sum = measure(rows)
   end
   local shown = rows
   if sum > width and block.cut then
      shown = cut(rows, block.cut, sum - width)
      _, sum = measure(shown)
   end
   if sum > width then
      return stacked(rows, form, indent)
   elseif has_bar(shown) then
      shown = draw(shown, math.min(width, DEFAULT) - sum, form)
   end
   local pad = (" "):rep(indent)
   return pad .. output.table(shown, form.color):gsub("\n", "\n" .. pad)
end

local STYLES = { warn = "33", strong = "1" }

--- A sentence, wrapped, in a colour where there are.
function page.text(text, style, form, indent)
   local wrapped = fitted(text, form, indent, indent)
   return form.color and STYLES[style] and ("\27[%sm%s\27[0m"):format(STYLES[style], wrapped) or wrapped
end

--- Sections, one below the other.
-- @return text without a line feed at its end
function page.sections(sections, form)
   local lines = {}
   for _, section in ipairs(sections) do
      lines[#lines + 1] = (lines[1] and "\n" or "") .. page.text(section.title, "strong", form, 0)
      for _, part in ipairs(section) do
         if type(part) == "string" then
            part = { text = part }
         end
         lines[#lines + 1] = part.rows and page.table(part, form, 2) or page.text(part.text, part.style, form, 2)
      end
   end
   return table.concat(lines, "\n")
end

return page
