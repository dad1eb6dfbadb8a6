-- Which process is this node's slurmd.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local uv = require("luv")
local slurmd = require("syscheck.doctor.facts.slurmd")

TestSlurmd = {}

-- A directory with a shell that is called slurmd, and the name of a node that no other test beside this one has.
local function shell()
   local dir = uv.fs_mkdtemp("/tmp/syscheck-test.XXXXXX")
   uv.fs_chmod(dir, 493) -- 0755
   uv.fs_copyfile("/bin/sh", dir .. "/slurmd")
   -- @param ends of what start() started of it
   return dir, "none-" .. dir:match("[^.]+$"), function(ends)
      for _, finish in ipairs(ends) do
         finish()
      end
      uv.fs_unlink(dir .. "/slurmd")
      uv.fs_rmdir(dir)
   end
end

-- Starts one, and waits until it is called so.
local function start(command, args, options)
   local input, output = uv.new_pipe(false), uv.new_pipe(false)
   options = options or {}
   options.args, options.stdio = args, { input, output }
   local child = assert(uv.spawn(command, options, function() end))
   output:read_start(function()
      uv.stop()
   end)
   uv.run()
   output:close()
   return function()
      child:kill("sigkill")
      input:close()
   end
end

local SCRIPT = "echo here; read x; :"

-- Two clusters on one machine may each have a node of this name: this node's slurmd is in its network namespace.
function TestSlurmd:test_of_two_clusters()
   lu.skipIf(uv.getuid() ~= 0 or not os.execute("unshare --net true 2>/dev/null"), "needs network namespaces")
   local dir, name, remove = shell()
   local args = { "-c", SCRIPT, "-N", name }
   local ends = { start(dir .. "/slurmd", args) }
   local one = slurmd.cpus(name, "threads")
   ends[2] = start("unshare", { "--net", dir .. "/slurmd", table.unpack(args) })
   local of_two = slurmd.cpus(name, "threads")
   ends[3] = start(dir .. "/slurmd", args)
   local not_told_apart = slurmd.cpus(name, "threads")
   remove(ends)
   lu.assertNotNil(one)
   lu.assertEquals(of_two, one)
   lu.assertNil(not_told_apart)
end

-- Any user may call a process so; what it is mapped to can make a read of its command line hang.
function TestSlurmd:test_a_users_process_is_none()
   lu.skipIf(uv.getuid() ~= 0, "needs root")
   local dir, name, remove = shell()
   local args = { "-c", SCRIPT, "-N", name }
   local ends = { start(dir .. "/slurmd", args) }
   local before = slurmd.cpus(name, "threads")
   ends[2] = start(dir .. "/slurmd", args, { uid = 65534, gid = 65534 })
   local beside = slurmd.cpus(name, "threads")
   remove(ends)
   lu.assertNotNil(before)
   lu.assertEquals(beside, before)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
