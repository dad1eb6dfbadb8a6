--- The files of /proc and /sys, below a root: what the counters' sources read by.
local uv = require("luv")
local files = require("syscheck.lib.files")
local topology = require("syscheck.hardware.topology")

local machine = {}
machine.__index = machine

--- @param root "" for the machine itself, or the root of a prepared tree
function machine.at(root)
   return setmetatable({ root = root }, machine)
end

for _, name in ipairs({ "read", "line", "number", "list" }) do
   machine[name] = function(self, path, ...)
      return files[name](self.root .. path, ...)
   end
end

--- How many folders are in a folder, by its links (where the file system counts them); nil
-- where it is absent.
function machine:folders(path)
   local stat = uv.fs_stat(self.root .. path)
   return stat and stat.nlink - 2
end

function machine:topology()
   return topology.read(self.root)
end

return machine
