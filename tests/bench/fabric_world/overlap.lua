--- Marks faults that can hide each other, or be taken for each other.

local overlap = {}

local function mark(fault, why)
   fault.overlap = true
   fault.overlap_why = fault.overlap_why or why
end

-- Leaves that a fault touches, by number.
local function leaves_of(s, fault)
   if fault.leaf then
      return { s.leaf_number[fault.leaf] }
   end
   local touched = {}
   for n, name in ipairs(fault.pair or { fault.node }) do
      touched[n] = s.leaf_of[s.index[name]]
   end
   return touched
end

local function touches_node(a, b)
   for _, name in ipairs(a.pair or {}) do
      if name == b.node then
         return true
      end
   end
   return false
end

local function compare(s, a, b)
   local flat = #s.leaves == 1
   if touches_node(a, b) or touches_node(b, a) then
      return "node"
   elseif a.leaf or b.leaf then
      return "leaf"
   elseif a.node and b.node and not flat then
      return "neighbour"
   end
end

--- Set overlap = true and overlap_why in s.truth: "node" (a bad route at a bad node), "leaf" (a node or route behind
-- a bad uplink or leaf switch), "neighbour" (two bad nodes in a leaf; not in a site of one leaf).
-- @param s site with s.truth
function overlap.mark(s)
   s.leaf_number = {}
   for l, leaf in ipairs(s.leaves) do
      s.leaf_number[leaf.name] = l
   end
   local by_leaf = {}
   for _, fault in ipairs(s.truth) do
      for _, l in ipairs(leaves_of(s, fault)) do
         by_leaf[l] = by_leaf[l] or {}
         table.insert(by_leaf[l], fault)
      end
   end
   for l = 1, #s.leaves do
      local list = by_leaf[l] or {}
      for i = 1, #list do
         for j = i + 1, #list do
            local why = list[i] ~= list[j] and compare(s, list[i], list[j])
            if why then
               mark(list[i], why)
               mark(list[j], why)
            end
         end
      end
   end
end

return overlap
