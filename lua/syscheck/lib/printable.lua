--- Text from anywhere, made fit to print. Pure; runs on 5.1 to 5.4, because job_submit
-- loads it.
local printable = {}

--- A character as \xNN.
function printable.hex(c)
   return ("\\x%02x"):format(c:byte())
end

--- Any value as printable ASCII: what is not, and " and \, becomes \xNN. For what users
-- or other machines wrote.
-- @param max characters of input, default 64; "..." follows where it was cut
function printable.safe(value, max)
   value, max = tostring(value), max or 64
   local shown = value:sub(1, max):gsub('[%c\127-\255"\\]', printable.hex)
   return #value > max and shown .. "..." or shown
end

--- A message of our own, which quotes with ": only what a terminal obeys is replaced.
function printable.plain(value, max)
   return (tostring(value):sub(1, max):gsub("[^ -~]", "?"))
end

--- Without the white space at its end. From there, as a search for its beginning (%s+$) takes the
-- square of what is long and blank.
function printable.trimmed(text)
   return text:match("^(.*%S)") or ""
end

return printable
