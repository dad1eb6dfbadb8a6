-- What a question takes inside its process, of one store or of several in turn:
--   store_query.lua PREFIX ROUNDS STORE... -- COMMAND ARGUMENT...
-- Prints for each store the median of ROUNDS in ms (the first one, cold, is left out) and the exit code.
local prefix, rounds = arg[1], tonumber(arg[2])
package.path = prefix .. "/share/syscheck/lua/?.lua;" .. package.path
local uv = require("luv")
local stores = {}
while arg[3 + #stores] ~= "--" do
   stores[#stores + 1] = assert(arg[3 + #stores], "no --")
end
local words = { table.unpack(arg, 4 + #stores) }
words[#words + 1] = "--store"
local last = #words + 1
local command = require("syscheck.cmd." .. words[1])
local parser = require("argparse")("syscheck"):command_target("command")
command.add_to(parser)

local out, real_stdout = {}, io.stdout
print = function(...) -- luacheck: ignore
   out[#out + 1] = table.concat({ ... }, "\t")
end
io.stdout = setmetatable({}, { __index = function() -- luacheck: ignore
   return function(self, ...)
      out[#out + 1] = table.concat({ ... })
      return self
   end
end })
io.write = function(...) -- luacheck: ignore
   out[#out + 1] = table.concat({ ... })
end

local times, codes = {}, {}
for i = 0, rounds do
   for k, store in ipairs(stores) do
      words[last] = store
      local args = parser:parse(words)
      local began = uv.hrtime()
      codes[k] = command.run(args)
      times[k] = times[k] or {}
      times[k][i] = (uv.hrtime() - began) / 1e6
   end
end
for k in ipairs(stores) do
   table.sort(times[k])
   real_stdout:write(("%.2f %d\n"):format(times[k][(rounds + 1) // 2], codes[k]))
end
