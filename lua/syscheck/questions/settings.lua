--- What differs between two configurations of a node.
local job_store = require("syscheck.questions.job.read")

local settings = {}

--- "kernel 6.1 -> 6.2, thp always -> never" of two texts of table config; "" when neither is known.
function settings.difference(before, after)
   local a, b = job_store.detail(before), job_store.detail(after)
   local names, out = {}, {}
   for _, one in ipairs({ a, b }) do
      for name in pairs(one) do
         names[name] = true
      end
   end
   for name in pairs(names) do
      if a[name] ~= b[name] then
         out[#out + 1] = ("%s %s -> %s"):format(name, tostring(a[name] == nil and "-" or a[name]),
            tostring(b[name] == nil and "-" or b[name]))
      end
   end
   table.sort(out)
   return table.concat(out, ", ")
end

return settings
