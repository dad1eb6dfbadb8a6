--- Keys of a table in their order. Pure; runs on 5.1 to 5.4, because job_submit loads it.

--- @param t keys are all strings, or all numbers
-- @return list
return function(t)
   local keys = {}
   for key in pairs(t) do
      keys[#keys + 1] = key
   end
   table.sort(keys)
   return keys
end
