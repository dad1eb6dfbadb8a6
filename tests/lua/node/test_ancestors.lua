-- Whether Slurm's daemon, and all that it started down to a check, are still there.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local uv = require("luv")
local process = require("syscheck.lib.process")
local ancestors = require("syscheck.node.ancestors")

TestAncestors = {}

local stat = process.stat

function TestAncestors:tearDown()
   process.stat = stat
end

-- chain: names from init down to this process, with PIDs 1, 2, ... but for its own. @return what is there, by PID
local function machine(names)
   local all, parent = {}, 0
   for i, name in ipairs(names) do
      local pid = i == #names and uv.os_getpid() or i
      all[pid] = { name = name, parent = parent, start = 100 * i }
      parent = pid
   end
   process.stat = function(pid)
      return all[pid]
   end
   return all
end

function TestAncestors:test_who_is_gone()
   for _, wrapper in ipairs({ "sh", "slurm-prolog.sh", "slurmd_prolog" }) do
      local all = machine({ "systemd", "slurmd", wrapper, "timeout", "lua5.4" })
      local gone = ancestors.watch()
      lu.assertNil(gone())
      -- init, or a subreaper, takes the wrapper.
      all[2], all[3].parent = nil, 1
      lu.assertEquals(gone(), "slurmd (process 2), which started this check, is gone")
      all = machine({ "systemd", "slurmd", wrapper, "timeout", "lua5.4" })
      gone = ancestors.watch()
      all[3] = { name = "other", parent = 2, start = 9999 } -- its PID, used again
      lu.assertNotNil(gone())
   end
   local all = machine({ "systemd", "slurmstepd", "bash", "lua5.4" })
   local gone = ancestors.watch()
   all[2], all[3].parent = nil, 1
   lu.assertNotNil(gone())
end

function TestAncestors:test_by_hand()
   local all = machine({ "systemd", "sshd", "bash", "lua5.4" })
   local gone = ancestors.watch()
   all[2], all[3].parent = nil, 1
   lu.assertNil(gone())
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
