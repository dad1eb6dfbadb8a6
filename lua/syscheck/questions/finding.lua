--- What a run of `syscheck fabric` found of a node, from the store's detail; damage is nothing. Pure.
local finding = {}

local function text(value)
   return type(value) == "string" and value or nil
end

--- @param list `findings` of a record
-- @return list of { key = the same in each run that finds it (a link of an uplink and links lost are one fault that
--   looks now like this, now like that), own = the node is at fault, leaf, text }
function finding.all(list)
   local out = {}
   for _, one in ipairs(type(list) == "table" and list or {}) do
      local kind, says = text(type(one) == "table" and one.kind or nil), text(type(one) == "table" and one.text or nil)
      if kind and says then
         local leaf, from, to = text(one.leaf), text(one.from), text(one.to)
         out[#out + 1] = { own = one.own == true, leaf = leaf, text = says,
            key = table.concat({ kind:gsub("^uplink_.*", "uplink"), leaf or "", from or "", to or "" }, " ") }
      end
   end
   return out
end

return finding
