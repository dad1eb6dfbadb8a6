-- Where Slurm's other commands are.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local command = require("syscheck.slurm.command")

TestCommand = {}

-- The policy may name a wrapper: what is beside scontrol undoes a drain, too.
function TestCommand:test_beside()
   for scontrol, squeue in pairs({
      scontrol = "squeue",
      ["/opt/slurm/bin/scontrol"] = "/opt/slurm/bin/squeue",
      ["/opt/slurm/bin/scontrol-24.11"] = "/opt/slurm/bin/squeue",
      ["/opt/scontrol/bin/scontrol"] = "/opt/scontrol/bin/squeue",
      ["my-scontrol"] = "squeue",
   }) do
      lu.assertEquals(command.beside(scontrol, "squeue"), squeue)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
