--- What a node keeps of its last check for the next one: its class, and how often it had throttled by then.
local last = {}

local FILE = "last.json"

local function is_same(a, b)
   a, b = type(a) == "table" and a or {}, b or {}
   for key, value in pairs(b) do
      if a[key] ~= value then
         return false
      end
   end
   for key in pairs(a) do
      if b[key] == nil then
         return false
      end
   end
   return true
end

--- @return { boot_id, class, sources = { throttle } }, as a snapshot has them, of any types; or nil
function last.read(node)
   return node:read_state(FILE)
end

--- Writes it where it has changed: a check of a node that is well writes nothing.
-- @param was from last.read
-- @param snapshot from counters.snapshot, with the class
-- @return whether it is kept; what went wrong is logged
function last.keep(node, was, snapshot)
   local throttled = snapshot.sources.throttle
   if was and was.boot_id == snapshot.boot_id and was.class == snapshot.class and type(was.sources) == "table"
      and is_same(was.sources.throttle, throttled) then
      return true
   end
   return node:save_state(FILE, { boot_id = snapshot.boot_id, class = snapshot.class,
      sources = { throttle = throttled } })
end

return last
