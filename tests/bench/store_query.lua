-- What a question takes inside its process: store_query.lua PREFIX ROUNDS COMMAND ARGUMENT...
-- Prints the median of ROUNDS in ms (the first one, cold, is left out) and the exit code.
local prefix, rounds = arg[1], tonumber(arg[2])
package.path = prefix .. "/share/syscheck/lua/?.lua;" .. package.path
local uv = require("luv")
local command = require("syscheck.cmd." .. arg[3])
local parser = require("argparse")("syscheck"):command_target("command")
command.add_to(parser)
local words = { table.unpack(arg, 3) }

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

local times, code = {}, nil
for i = 0, rounds do
   local args = parser:parse(words)
   local began = uv.hrtime()
   code = command.run(args)
   if i > 0 then
      times[i] = (uv.hrtime() - began) / 1e6
   end
end
table.sort(times)
real_stdout:write(("%.2f %d\n"):format(times[(rounds + 1) // 2], code))
