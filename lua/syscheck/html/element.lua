--- HTML and SVG as text in which nothing that came from elsewhere is markup. Pure.
--
-- What tag() returns is markup; every string and number given to it as a child is text, and is escaped. So a
-- name that a user chose cannot become markup by being forgotten somewhere. The result is HTML and well-formed
-- XML at once, which makes it checkable by any parser.
local unicode = require("syscheck.lib.unicode")

local element = {}

local MARKUP = {}

local ENTITIES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }
-- Elements without content: all others are closed by a tag of their own, which HTML wants.
local VOID = { br = true, meta = true, circle = true, line = true, path = true, rect = true }

-- Characters that are not seen, change the order of those around them, or that XML does not have.
local INVISIBLE = { 0x61C, 0xAD, 0x180E, 0xFEFF, 0xFFFE, 0xFFFF }
for _, range in ipairs({ { 0x200B, 0x200F }, { 0x2028, 0x202E }, { 0x2060, 0x206F } }) do
   for code = range[1], range[2] do
      INVISIBLE[#INVISIBLE + 1] = code
   end
end
local HIDDEN = {}
for _, code in ipairs(INVISIBLE) do
   HIDDEN[utf8.char(code)] = ("\\u{%x}"):format(code)
end

local function hex(c)
   return ("\\x%02x"):format(c:byte(-1))
end

--- Text as it may stand in HTML and XML, not yet escaped: valid UTF-8, and nothing that a reader does not see.
-- @param text any bytes
function element.clean(text)
   if not text:find("[%c\127-\255]") then
      return text
   end
   text = unicode.repair(text):gsub("[%c\127]", hex):gsub("\xC2[\x80-\x9F]", hex)
   return (text:gsub("[\xC2-\xEF][\x80-\xBF]+", HIDDEN))
end

--- The same, escaped: for the content of an element or a quoted attribute.
function element.escape(text)
   return (element.clean(text):gsub("[&<>\"]", ENTITIES))
end

--- A name from elsewhere, cut to what a page has room for; "-" for nil.
-- @param most bytes that are shown, default 64
function element.name(value, most)
   if value == nil then
      return "-"
   end
   local text = tostring(value)
   local short = unicode.cut(unicode.repair(text:sub(1, (most or 64) + 4)), most or 64)
   return #text > #short and short .. "…" or short
end

--- A coordinate: one digit behind the point, no more bytes than it takes. What is no number is 0.
function element.number(value)
   if value ~= value or value == math.huge or value == -math.huge then
      return "0"
   end
   local text = ("%.1f"):format(value):gsub("%.0$", "")
   return text == "-0" and "0" or text
end

--- Markup of our own making.
function element.markup(text)
   return setmetatable({ text }, MARKUP)
end

--- The text of markup.
function element.text_of(markup)
   return markup[1]
end

local function add(parts, child)
   local kind = type(child)
   if kind == "string" then
      parts[#parts + 1] = element.escape(child)
   elseif kind == "number" then
      parts[#parts + 1] = ("%.14g"):format(child)
   elseif kind == "table" and getmetatable(child) == MARKUP then
      parts[#parts + 1] = child[1]
   elseif kind == "table" then
      for _, one in ipairs(child) do
         add(parts, one)
      end
   end
end

local function attributes_of(attributes)
   local names = {}
   for name in pairs(attributes) do
      names[#names + 1] = name
   end
   table.sort(names)
   for i, name in ipairs(names) do
      local value = attributes[name]
      names[i] = (' %s="%s"'):format(name, type(value) == "number" and element.number(value) or element.escape(value))
   end
   return table.concat(names)
end

--- One element.
-- @param name of the element
-- @param attributes { name = string or coordinate }, or nil
-- @param ... children: strings and numbers (text), markup, lists of them; nil and false are nothing
-- @return markup
function element.tag(name, attributes, ...)
   local open = name .. (attributes and attributes_of(attributes) or "")
   local parts = {}
   for i = 1, select("#", ...) do
      add(parts, (select(i, ...)))
   end
   if #parts == 0 and VOID[name] then
      return element.markup("<" .. open .. "/>")
   end
   return element.markup("<" .. open .. ">" .. table.concat(parts) .. "</" .. name .. ">")
end

return element
