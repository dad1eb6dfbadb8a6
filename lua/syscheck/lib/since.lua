--- Keys of the store's records. Pure.
local since = {}

--- The smallest key of the store's records from a time on.
function since.key(epoch)
   return math.tointeger(epoch) << 30
end

return since
