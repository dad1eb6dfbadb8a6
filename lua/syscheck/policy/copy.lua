--- The copy of the last good policy: its text below one line with the time it was
-- taken, its length and its checksum. Pure; runs on 5.1 to 5.4.
local policy_copy = {}

local HEAD = "-- syscheck: copy of a good policy, %s, %d bytes, checksum %08x\n"

-- Adler-32 (RFC 1950): against a torn or damaged file, not against an attacker: only root
-- can write where the copy is.
local function checksum(text)
   local a, b = 1, 0
   for i = 1, #text do
      a = (a + text:byte(i)) % 65521
      b = (b + a) % 65521
   end
   return b * 65536 + a
end

--- @param time when, as text
function policy_copy.wrap(text, time)
   return HEAD:format(time, #text, checksum(text)) .. text
end

--- Whether a copy is of this text (its checksum aside, which costs time).
function policy_copy.is_of(copy, text)
   local head = copy:find("\n", 1, true)
   return head ~= nil and #copy - head == #text and copy:sub(head + 1) == text
end

--- @return text, when it was taken; or nil when it is damaged
function policy_copy.unwrap(copy)
   local time, size, sum, at = copy:match(
      "^%-%- syscheck: copy of a good policy, (%S+), (%d+) bytes, checksum (%x+)\n()")
   local text = at and copy:sub(at)
   if not text or #text ~= tonumber(size) or checksum(text) ~= tonumber(sum, 16) then
      return nil
   end
   return text, time
end

return policy_copy
