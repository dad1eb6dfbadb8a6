--- How answers are printed: table, JSON, CSV. Names come from users: a table and a CSV
-- hold nothing that a terminal obeys, JSON is plain ASCII.
local columns = require("syscheck.lib.columns")
local json = require("cjson").new()
local sorted = require("syscheck.lib.sorted")
local uv = require("luv")
local printable = require("syscheck.lib.printable")
local unicode = require("syscheck.lib.unicode")

local output = {}

-- lua-cjson writes {} for an empty list.
local LIST = {}

--- Adds --json and --csv, of which one at most may be given.
-- @param other option that excludes them, too, or nil
function output.add_options(command, other)
   command:mutex(command:flag("--json", "Print JSON."),
      command:flag("--csv", "Print CSV (RFC 4180, with a head line)."), other)
end

--- @return "json", "csv" or "table"
function output.format(args)
   return args.json and "json" or args.csv and "csv" or "table"
end

--- Whether to print colours: on a terminal that can, unless NO_COLOR is set.
function output.has_color()
   local no, term = os.getenv("NO_COLOR"), os.getenv("TERM")
   return uv.guess_handle(1) == "tty" and (not no or no == "") and term ~= nil and term ~= "dumb"
end

--- Whether the reader's locale shows UTF-8.
function output.has_utf8()
   for _, name in ipairs({ "LC_ALL", "LC_CTYPE", "LANG" }) do
      local value = os.getenv(name)
      if value and value ~= "" then
         return value:lower():find("utf%-?8") ~= nil
      end
   end
   return false
end

local function escape(character)
   local code = utf8.codepoint(character)
   if code < 0x10000 then
      return ("\\u%04x"):format(code)
   end
   code = code - 0x10000
   return ("\\u%04x\\u%04x"):format(0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF))
end

local function number(value)
   if value ~= value or value == math.huge or value == -math.huge then
      return nil
   end
   local whole = math.tointeger(value)
   return whole and ("%d"):format(whole) or ("%.14g"):format(value)
end

--- A table that JSON shows as a list, also when it is empty.
function output.list(t)
   return setmetatable(t or {}, LIST)
end

--- The same, of what a function makes of each item of a list.
-- @param items list, or nil for an empty one
-- @param f function(item) -> what JSON shows
function output.each(items, f)
   local out = output.list()
   for i, item in ipairs(items or {}) do
      out[i] = f(item)
   end
   return out
end

local function encode(value, parts)
   local kind = type(value)
   if kind == "string" then
      parts[#parts + 1] = (json.encode(unicode.repair(value)):gsub("\\/", "/"):gsub("[\xC2-\xF4][\x80-\xBF]*", escape))
   elseif kind == "number" then
      parts[#parts + 1] = number(value) or "null"
   elseif kind == "boolean" then
      parts[#parts + 1] = tostring(value)
   elseif kind ~= "table" then
      parts[#parts + 1] = "null"
   elseif getmetatable(value) == LIST or #value > 0 then
      parts[#parts + 1] = "["
      for i, item in ipairs(value) do
         parts[#parts + 1] = i > 1 and "," or nil
         encode(item, parts)
      end
      parts[#parts + 1] = "]"
   else
      parts[#parts + 1] = "{"
      for i, key in ipairs(sorted(value)) do
         parts[#parts + 1] = i > 1 and "," or nil
         encode(key, parts)
         parts[#parts + 1] = ":"
         encode(value[key], parts)
      end
      parts[#parts + 1] = "}"
   end
end

--- One line of JSON, ASCII, keys sorted. Keys are strings; a list has no holes and is
-- marked by output.list where it may be empty.
function output.json(value)
   local parts = {}
   encode(value, parts)
   return table.concat(parts)
end

-- What spreadsheets take for the plain one.
local PLAIN = { ["\u{A0}"] = " ", ["\u{3000}"] = " ", ["\u{FF1D}"] = "=", ["\u{FF0B}"] = "+", ["\u{FF0D}"] = "-",
   ["\u{FF20}"] = "@" }

-- Puts a ' in front of what a spreadsheet would take for a formula: at the text's begin, and behind
-- each ; which parts cells where the decimal point is a comma. Quotes before it would be that cell's own.
local function defuse(text)
   return (text:gsub("[^;]+", function(part)
      return part:gsub(utf8.charpattern, PLAIN):find('^[ "]*[=+@-]') and "'" .. part
   end))
end

-- RFC 4180. Control characters become \xNN: a row is a line, and no terminal obeys it.
local function csv_cell(value)
   if value == nil then
      return ""
   elseif type(value) == "number" then
      return number(value) or ""
   elseif type(value) == "boolean" then
      return tostring(value)
   end
   local text = unicode.repair(value):gsub("[%c\127]", printable.hex):gsub("\xC2([\x80-\x9F])", printable.hex)
   text = defuse(text)
   return text:find('[",]') and '"' .. text:gsub('"', '""') .. '"' or text
end

--- CSV: a head line and a line for each row.
-- @param titles list of strings
-- @param rows list of lists of strings, numbers, booleans or nil, as many as titles
function output.csv(titles, rows)
   local lines = {}
   for r = 0, #rows do
      local row, cells = rows[r] or titles, {}
      for i = 1, #titles do
         cells[i] = csv_cell(row[i])
      end
      lines[r + 1] = table.concat(cells, ",") .. "\r\n"
   end
   return table.concat(lines)
end

output.cell, output.table, output.fitted = columns.cell, columns.table, columns.fitted

--- A name for a table or a sentence, "-" where there is none.
function output.name(value, max)
   return value == nil and "-" or printable.safe(value, max)
end

return output
