--- Bytes from anywhere as valid UTF-8. Pure.
local unicode = {}

--- What is no UTF-8 becomes U+FFFD.
-- @param max bytes that are kept, whole characters; nil: all
function unicode.valid(text, max)
   local _, bad = utf8.len(text)
   if bad then
      local parts, from = {}, 1
      while bad do
         parts[#parts + 1] = text:sub(from, bad - 1)
         parts[#parts + 1] = "\u{FFFD}"
         from = bad + 1
         _, bad = utf8.len(text, from)
      end
      parts[#parts + 1] = text:sub(from)
      text = table.concat(parts)
   end
   return max and #text > max and text:sub(1, utf8.offset(text, 0, max + 1) - 1) or text
end

return unicode
