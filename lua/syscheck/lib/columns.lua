--- Tables of aligned columns, and how they fit a terminal.
local terminal = require("syscheck.lib.terminal")

local columns = {}

local STYLES = { bad = "31", warn = "33", good = "32", strong = "1" }

--- A cell of a table with a style: bad, warn, good, strong.
function columns.cell(text, style)
   return { text = text, style = style }
end

local function text_of(cell)
   return type(cell) == "table" and cell.text or cell
end

local GAP = 2 -- blanks between columns

-- How wide each column is, and which go to the right: those of numbers.
local function layout(rows)
   local widths, right = {}, {}
   for r, row in ipairs(rows) do
      for i, cell in ipairs(row) do
         local text = text_of(cell)
         widths[i] = math.max(widths[i] or 0, utf8.len(text) or #text)
         if r > 1 and right[i] ~= false then
            right[i] = text:find("^[>+-]?%d[%d.]*%*?$") ~= nil or text == "-"
         end
      end
   end
   return widths, right
end

local function in_columns(rows, color, widths, right)
   local lines = {}
   for r, row in ipairs(rows) do
      local cells = {}
      for i, cell in ipairs(row) do
         local text = text_of(cell)
         local pad = (" "):rep(widths[i] - (utf8.len(text) or #text))
         local code = color and type(cell) == "table" and STYLES[cell.style] or color and r == 1 and STYLES.strong
         if i == #row and not right[i] then
            pad = ""
         end
         text = code and ("\27[%sm%s\27[0m"):format(code, text) or text
         cells[i] = right[i] and pad .. text or text .. pad
      end
      lines[r] = (table.concat(cells, (" "):rep(GAP)):gsub(" +$", ""))
   end
   return table.concat(lines, "\n")
end

--- A table with aligned columns, as wide as its content: columns of numbers to the right.
-- @param rows lists of strings or columns.cell; the first is the head. Strings are safe already.
-- @param color as has_color() says
function columns.table(rows, color)
   return in_columns(rows, color, layout(rows))
end

local LEAST_PROSE = 24 -- columns that a sentence needs beside others
local MOST_LEAD = 0.6 -- of the width, that the first columns may take in each part of a table

-- Its last column, which holds sentences, in as many lines as it takes.
local function beside_prose(rows, color, room, widths, right)
   local out, final = { rows[1] }, #rows[1]
   for r = 2, #rows do
      local cell, first = rows[r][final], true
      for piece in (terminal.wrap(text_of(cell), room) .. "\n"):gmatch("(.-)\n") do
         local row = {}
         for i = 1, final - 1 do
            row[i] = first and rows[r][i] or ""
         end
         row[final] = type(cell) == "table" and columns.cell(piece, cell.style) or piece
         out[#out + 1], first = row, false
      end
   end
   return in_columns(out, color, widths, right)
end

-- Where not even that fits: a line for each cell, an empty one between rows.
local function one_by_one(rows, color, width)
   local heads, parts = layout({ rows[1] }), {}
   local titles = math.max(table.unpack(heads))
   for r = 2, #rows do
      local lines = {}
      for i, cell in ipairs(rows[r]) do
         local text, code = text_of(cell), color and type(cell) == "table" and STYLES[cell.style]
         if text ~= "" then
            text = terminal.wrap(("%-" .. titles .. "s  %s"):format(rows[1][i], text), width, titles + GAP)
            lines[#lines + 1] = code and ("\27[%sm%s\27[0m"):format(code, text) or text
         end
      end
      parts[#parts + 1] = table.concat(lines, "\n")
   end
   return table.concat(parts, "\n\n")
end

-- Whether a column has nothing but "-", or nothing but 0.
local function says_nothing(rows, i)
   for r = 2, #rows do
      local text = text_of(rows[r][i])
      if text ~= "-" and text ~= "" and not text:find("^0[0.]*$") then
         return false
      end
   end
   return true
end

local function chosen(rows, which)
   local out = {}
   for r, row in ipairs(rows) do
      out[r] = {}
      for i, column in ipairs(which) do
         out[r][i] = row[column]
      end
   end
   return out
end

--- A table on a terminal. If it is wider than that: a last column of sentences gets several lines; else columns
-- that say nothing are left out, then it is printed in several parts, each of which begins with the first columns;
-- where these and one more do not fit, or these take most of the width, a line for each cell.
-- @param width columns of the terminal; nil: as columns.table prints it
-- @param how { lead = how many columns each part begins with (1), prose = true: the last column holds sentences }
-- @return text, list of the heads left out
function columns.fitted(rows, color, width, how)
   local lead, left_out = how and how.lead or 1, {}
   local widths, right = layout(rows)
   local total = GAP * (#widths - 1)
   for _, size in ipairs(widths) do
      total = total + size
   end
   if not width or total <= width then
      return in_columns(rows, color, widths, right), left_out
   elseif how and how.prose then
      local room = width - total + widths[#widths]
      return room >= LEAST_PROSE and beside_prose(rows, color, room, widths, right) or one_by_one(rows, color, width),
         left_out
   end
   local kept, first, widest = {}, 0, 0
   for i = 1, #widths do
      if i > lead and says_nothing(rows, i) then
         left_out[#left_out + 1] = rows[1][i]
      else
         kept[#kept + 1] = i
         first = first + (i <= lead and widths[i] + GAP or 0)
         widest = i > lead and math.max(widest, widths[i]) or widest
      end
   end
   if first > MOST_LEAD * width or first + widest > width then
      return one_by_one(chosen(rows, kept), color, width), left_out
   end
   local part, used, parts = table.move(kept, 1, lead, 1, {}), first, {}
   for k = lead + 1, #kept do
      local i = kept[k]
      if #part > lead and used + widths[i] > width then
         parts[#parts + 1] = part
         part, used = table.move(kept, 1, lead, 1, {}), first
      end
      part[#part + 1], used = i, used + widths[i] + GAP
   end
   parts[#parts + 1] = part
   for k, one in ipairs(parts) do
      parts[k] = columns.table(chosen(rows, one), color)
   end
   return table.concat(parts, "\n\n"), left_out
end

return columns
