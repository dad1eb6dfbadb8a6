-- Whether Slurm can requeue a job.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local requeue = require("syscheck.slurm.requeue")

TestRequeue = {}

function TestRequeue:test_find()
   local shown = "41          1           1           \n42          1           0           \n"
      .. "43          0           1           \n44          0           0           \n"
   lu.assertTrue(requeue.find(shown, 41))
   lu.assertFalse(requeue.find(shown, 42)) -- sbatch --no-requeue
   lu.assertFalse(requeue.find(shown, 43)) -- srun, salloc
   lu.assertFalse(requeue.find(shown, 44))
   for _, text in ipairs({ "", shown, "45", "45 1", "45 x 1\n", "squeue: error: 45 1 1\n" }) do
      lu.assertNil(requeue.find(text, 45))
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
