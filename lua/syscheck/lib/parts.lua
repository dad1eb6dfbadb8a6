--- A list in as few parts of nearly one size as are no longer than `most`. Pure.
-- @return list of lists; of an empty one none
return function(list, most)
   local count, out = math.ceil(#list / most), {}
   for k = 1, count do
      out[k] = table.move(list, (k - 1) * #list // count + 1, k * #list // count, 1, {})
   end
   return out
end
