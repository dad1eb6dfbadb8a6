--- Text from anywhere as valid UTF-8. Pure.
local unicode = {}

--- Every byte that is no UTF-8 becomes U+FFFD.
function unicode.repair(text)
   local _, bad = utf8.len(text)
   if not bad then
      return text
   end
   local parts, from = {}, 1
   while bad do
      parts[#parts + 1] = text:sub(from, bad - 1)
      parts[#parts + 1] = "\u{FFFD}"
      from = bad + 1
      _, bad = utf8.len(text, from)
   end
   parts[#parts + 1] = text:sub(from)
   return table.concat(parts)
end

--- The characters that fit whole into a number of bytes.
-- @param text valid UTF-8
function unicode.cut(text, bytes)
   return #text <= bytes and text or text:sub(1, utf8.offset(text, 0, bytes + 1) - 1)
end

return unicode
