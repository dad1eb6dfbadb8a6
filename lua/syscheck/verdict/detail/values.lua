--- What the sections of a check's details share: a kernel's object is believed in nothing. Pure.
local values = {}

--- A finite number, or nil (cjson's null, too).
function values.number(value)
   return type(value) == "number" and value == value and math.abs(value) < math.huge and value or nil
end

--- Objects of a list that have these numbers; of another thing than a list an empty one.
function values.list(list, ...)
   local out = {}
   for _, one in ipairs(type(list) == "table" and list or {}) do
      local good = type(one) == "table"
      for _, key in ipairs({ ... }) do
         good = good and values.number(one[key]) ~= nil
      end
      out[#out + 1] = good and one or nil
   end
   return out
end

--- Three digits, or "-": 0.123, 1.23, 12.3, 123, 1234.
function values.show(value)
   value = values.number(value)
   if not value then
      return "-"
   end
   local size = math.abs(value)
   return (size >= 100 and "%.0f" or size >= 10 and "%.1f" or size >= 1 and "%.2f" or "%.3g"):format(value)
end

--- A whole number, or "-".
function values.whole(value)
   value = values.number(value)
   return value and ("%.0f"):format(value) or "-"
end

--- A length of time of so many microseconds.
function values.time(us)
   us = values.number(us)
   if not us then
      return "-"
   end
   local scale, unit = 1, "us"
   if us >= 999.5e3 then
      scale, unit = 1e6, "s"
   elseif us >= 999.5 then
      scale, unit = 1e3, "ms"
   end
   return values.show(us / scale) .. " " .. unit
end

--- Smallest and largest of a list, and where they are.
-- @param get function(item) -> number
-- @return index of the smallest, index of the largest; nil of an empty list
function values.extremes(list, get)
   local low, high
   for i, one in ipairs(list) do
      low = (not low or get(one) < get(list[low])) and i or low
      high = (not high or get(one) > get(list[high])) and i or high
   end
   return low, high
end

return values
