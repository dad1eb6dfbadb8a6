--- What must hold of any parser's answer.
local oracle = {}

--- An error is one line that a terminal can show, of bounded length.
function oracle.line(err, most)
   if type(err) ~= "string" then
      error("an error that is no text: " .. type(err), 2)
   elseif err == "" then
      error("an error without a word", 2)
   elseif err:find("[%c\127]") then
      error("an error that is not one printable line", 2)
   elseif #err > (most or 2000) then
      error("an error of " .. #err .. " bytes", 2)
   end
end

--- Either a value, or nil and a line.
function oracle.value_or_line(value, err, most)
   if value == nil then
      oracle.line(err, most)
   end
   return value
end

--- A value has a type; nil where `optional`.
function oracle.is(kind, value, what, optional)
   if type(value) ~= kind and not (optional and value == nil) then
      error(("%s is a %s, not a %s"):format(what, type(value), kind), 2)
   end
   return value
end

--- A finite number from low to high; nil where there is none.
function oracle.number(value, what, low, high)
   if value == nil then
      return
   elseif type(value) ~= "number" then
      error(("%s is a %s"):format(what, type(value)), 2)
   elseif value ~= value or value < low or value > high then
      error(("%s is out of range: %s"):format(what, value), 2)
   end
end

--- Text that any database takes: UTF-8 without NUL.
function oracle.clean(value, what)
   if value ~= nil and (type(value) ~= "string" or not utf8.len(value) or value:find("\0", 1, true)) then
      error(what .. " is not clean text", 2)
   end
end

--- Two values, tables too, that should be the same.
function oracle.same(a, b, what)
   if type(a) == "table" and type(b) == "table" then
      for key in pairs(a) do
         oracle.same(a[key], b[key], what .. "." .. tostring(key))
      end
      for key in pairs(b) do
         if a[key] == nil then
            error(what .. "." .. tostring(key) .. " is more", 2)
         end
      end
   elseif a ~= b and not (a ~= a and b ~= b) then
      error(("%s is not the same: %s, %s"):format(what, tostring(a), tostring(b)), 2)
   end
end

return oracle
