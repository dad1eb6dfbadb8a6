-- lua/native/native.c: a child with bounds, and locks. Files that are mapped: test_compiled.lua.
package.path = "lua/?.lua;" .. package.path
package.cpath = "build/lua/?.so;" .. package.cpath
local lu = require("luaunit")
local uv = require("luv")
local files = require("syscheck.lib.files")
local native = require("syscheck_native")
local process = require("syscheck.lib.process")

local DIR = assert(uv.fs_mkdtemp("/tmp/native.XXXXXX"))
local CWD = uv.cwd()

-- Runs Lua in a child with these bounds. @return what became of the process that watches it, see process.run
local function watch(code, seconds, log)
   local text = ([[package.cpath = "%s/build/lua/?.so;" .. package.cpath
      require("syscheck_native").bound(%s, "0", "%s")
      local uv = require("luv")
      %s]]):format(CWD, seconds or 30, log or DIR .. "/log", code)
   return assert(process.run(arg[-1], { "-E", "-e", text }, { timeout_ms = 60000 }))
end

-- @return exit code, what was printed but for the process, errors
local function bound(code, seconds, log)
   local r = watch(code, seconds, log)
   lu.assertEquals({ r.signal, r.timed_out, r.stuck, r.held }, { 0, nil, false })
   return r.code, (r.out:gsub("^process %d+\n", "", 1)), r.err
end

-- Whether the process whose number stands there ends: a signal that was sent takes its time.
local function ends(path)
   local pid = tonumber(files.read(path))
   for _ = 1, 400 do
      local stat = process.stat(pid)
      if not stat or stat.state == "Z" then
         return true
      end
      uv.sleep(50)
   end
   return false
end

TestBound = {}

function TestBound:setUp()
   os.remove(DIR .. "/log")
end

function TestBound:test_its_exit_code_is_the_childs()
   for _, code in ipairs({ 0, 3, 99, 255 }) do
      lu.assertEquals({ bound(("os.exit(%d)"):format(code)) }, { code, ("code %d\n"):format(code), "" })
   end
   lu.assertEquals({ bound('uv.kill(uv.os_getpid(), "sigkill")') }, { 137, "code 137\n", "" })
   lu.assertEquals({ bound('uv.kill(uv.os_getpid(), "sigsegv")') }, { 139, "code 139\n", "" })
end

function TestBound:test_the_child_has_a_group_and_no_descriptor_but_the_log()
   local child = [[print("nobody reads this") io.stderr:write("said\n") lines = {}
      for _, fd in ipairs({ 0, 1, 2 }) do lines[#lines + 1] = uv.fs_readlink("/proc/self/fd/" .. fd) end
      local pid, group = io.open("/proc/self/stat"):read("a"):match("^(%d+) .*%) %a %d+ (%d+)")
      lines[#lines + 1] = pid == group and "leads" or "follows"
      io.stderr:write(table.concat(lines, " "), "\n")]]
   lu.assertEquals({ bound(child) }, { 0, "code 0\n", "" })
   lu.assertEquals(files.read(DIR .. "/log"), "said\n/dev/null /dev/null " .. DIR .. "/log leads\n")
   lu.assertEquals(uv.fs_stat(DIR .. "/log").mode & tonumber("137", 8), 0) -- 0640 at most
   -- Appended to; nothing of that goes anywhere where there is none.
   bound('io.stderr:write("more\\n")')
   lu.assertEquals(files.read(DIR .. "/log"):sub(-5), "more\n")
   assert(os.execute("mkfifo " .. DIR .. "/fifo"))
   for _, log in ipairs({ DIR .. "/fifo", DIR, DIR .. "/absent/log" }) do
      lu.assertEquals({ bound('io.stderr:write("x") os.exit(5)', 30, log) }, { 5, "code 5\n", "" }, log)
   end
end

function TestBound:test_after_its_seconds_the_child_is_asked_then_killed_and_all_of_its_group()
   lu.assertEquals({ bound("uv.sleep(60000)", 1) }, { 124, "code 124\n", "" })
   local child = [[local pid = select(2, uv.spawn("sleep", { args = { "600" } }))
      io.open("%s/sleep.pid", "w"):write(pid):close()
      uv.new_signal():start("sigterm", function() end) uv.new_timer():start(60000, 0, function() end) uv.run()]]
   lu.assertEquals({ bound(child:format(DIR), 1) }, { 123, "code 123\n", "" })
   lu.assertTrue(ends(DIR .. "/sleep.pid"))
end

function TestBound:test_what_a_killed_child_has_left_ends_with_it()
   local child = [[local pid = select(2, uv.spawn("sleep", { args = { "600" } }))
      io.open("%s/sleep.pid", "w"):write(pid):close() uv.kill(uv.os_getpid(), "sigkill")]]
   lu.assertEquals((bound(child:format(DIR))), 137)
   lu.assertTrue(ends(DIR .. "/sleep.pid"))
end

function TestBound:test_a_signal_that_would_end_it_ends_the_child()
   local child = [[io.open("%s/child.pid", "w"):write(uv.os_getpid()):close()
      uv.kill(uv.os_getppid(), "sigterm") uv.sleep(60000)]]
   lu.assertEquals({ bound(child:format(DIR)) }, { 143, "code 143\n", "" })
   lu.assertNil(process.stat(tonumber(files.read(DIR .. "/child.pid"))))
end

function TestBound:test_a_killed_parent_takes_the_child_with_it()
   local child = [[io.open("%s/child.pid", "w"):write(uv.os_getpid()):close()
      uv.kill(uv.os_getppid(), "sigkill") uv.sleep(60000)]]
   lu.assertEquals(watch(child:format(DIR)).signal, 9)
   lu.assertTrue(ends(DIR .. "/child.pid"))
end

function TestBound:test_bad_arguments()
   for _, seconds in ipairs({ "0", "-1", "86401", "1.5", "'x'", "nil" }) do
      local code, out, err = bound("", seconds)
      lu.assertEquals({ code, out }, { 1, "" }, seconds)
      lu.assertStrContains(err, "bad argument #1 to 'bound'", false, seconds)
   end
end

function TestBound:test_it_leads_a_group_and_says_who_its_child_is()
   local child = [[io.open("%s/child.pid", "w"):write(uv.os_getpid()):close()]]
   lu.assertEquals(watch(child:format(DIR)).out, ("process %s\ncode 0\n"):format(files.read(DIR .. "/child.pid")))
end

TestLock = {}

function TestLock:test_one_at_a_time()
   local C = uv.constants
   local a = assert(uv.fs_open(DIR .. "/lock", C.O_RDWR + C.O_CREAT, 384))
   local b = assert(uv.fs_open(DIR .. "/lock", C.O_RDWR, 0))
   lu.assertTrue(native.try_lock(a))
   lu.assertTrue(native.try_lock(a))
   lu.assertFalse(native.try_lock(b))
   uv.fs_close(a)
   lu.assertTrue(native.try_lock(b))
   uv.fs_close(b)
   lu.assertEquals({ native.try_lock(b) }, { nil, 9 }) -- EBADF
end

-- Held by another process for a while: waited for, as long as is allowed.
function TestLock:test_lock_file()
   local path = DIR .. "/waited"
   local fd = assert(process.lock_file(path, 0))
   lu.assertEquals({ process.lock_file(path, 0) }, { nil, path .. ": not free within 0 s", true })
   uv.fs_close(fd)
   local holder = uv.spawn("flock", { args = { path, "sh", "-c", "touch " .. DIR .. "/held; sleep 1" } },
      function() end)
   while not uv.fs_stat(DIR .. "/held") do
      uv.sleep(10)
   end
   lu.assertEquals({ process.lock_file(path, 0) }, { nil, path .. ": not free within 0 s", true })
   fd = assert(process.lock_file(path, 30))
   uv.fs_close(fd)
   holder:close()
end

TestStamp = {}

function TestStamp:test_size_and_second()
   local path = DIR .. "/stamp"
   local file = assert(io.open(path, "wb"))
   file:write("12345")
   file:close()
   uv.fs_utime(path, 1000000000, 1700000000.75)
   lu.assertEquals(native.stamp(path), "5.1700000000")
   lu.assertNil(native.stamp(DIR .. "/absent"))
end

local code = lu.LuaUnit.run("-o", "TAP")
os.execute("rm -rf " .. DIR)
os.exit(code)
