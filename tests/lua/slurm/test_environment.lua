-- What Slurm's environment says of a job.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local environment = require("syscheck.slurm.environment")

TestEnvironment = {}

function TestEnvironment:test_cpus_on()
   lu.assertEquals(environment.cpus_on("n3", "64(x3)", "n[1-3]"), 64)
   lu.assertEquals(environment.cpus_on("n3", "64(x2),8", "n[1-3]"), 8)
   lu.assertEquals(environment.cpus_on("n1", "4,8(x2)", "n[1-3]"), 4)
   lu.assertNil(environment.cpus_on("n9", "4,8(x2)", "n[1-3]"))
   lu.assertNil(environment.cpus_on("n1", "4;8", "n1"))
   lu.assertNil(environment.cpus_on("n1", nil, nil))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
