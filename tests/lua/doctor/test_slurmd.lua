-- Which process is this node's slurmd.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local uv = require("luv")
local slurmd = require("syscheck.doctor.facts.slurmd")

TestSlurmd = {}

-- Any user may call a process so; what it is mapped to can make a read of its command line hang.
function TestSlurmd:test_a_users_process_is_none()
   lu.skipIf(uv.getuid() ~= 0, "needs root")
   local before = slurmd("none", "threads")
   local dir = uv.fs_mkdtemp("/tmp/syscheck-test.XXXXXX")
   uv.fs_chmod(dir, 493) -- 0755
   uv.fs_copyfile("/bin/sh", dir .. "/slurmd")
   local input = uv.new_pipe(false)
   local child = assert(uv.spawn(dir .. "/slurmd", { args = { "-c", "read x; :", "-N", "none" }, uid = 65534,
      gid = 65534, stdio = { input } }, function() end))
   uv.sleep(50) -- until it is called so
   local beside = slurmd("none", "threads")
   child:kill("sigkill")
   uv.fs_unlink(dir .. "/slurmd")
   uv.fs_rmdir(dir)
   lu.assertEquals(beside, before)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
