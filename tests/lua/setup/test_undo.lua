-- Taking back: after hand edits, after a setup that was stopped at any step, while Slurm still needs a file.
package.path = "lua/?.lua;tests/lua/?.lua;tests/lua/setup/?.lua;" .. package.path
local lu = require("luaunit")
local host = require("host")
local uv = require("luv")

TestUndo = { tearDown = host.remove }

local FILE = "/etc/slurm/job_submit.lua"
local BOTH = { name = "head", role = { "controller", "node" } }

local function site()
   host.new("Prolog=/opt/site/prolog\nEpilog=/opt/site/epilog.d/*\nMessageTimeout=10\nJobSubmitPlugins=lua\n")
   host.put("/opt/site/prolog", "#!/bin/sh\n", 493)
   host.put("/opt/site/epilog.d/50-x", "#!/bin/sh\n", 493)
   host.put(FILE, "function slurm_job_submit()\nreturn 0\nend\nreturn slurm.SUCCESS\n", 384)
   host.put("/etc/slurm/plugstack.conf", "optional a.so")
end

-- Edits a file by hand.
local function edit(path, from, to)
   local text, n = host.text(path):gsub(from, to)
   lu.assertEquals(n, 1)
   host.put(path, text, uv.fs_stat(host.root .. path).mode & 511)
end

function TestUndo:test_hand_edits_stay()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   edit(host.CONF, "ClusterName=c\n", "ClusterName=mine\n")
   edit(host.CONF, "PrologFlags=Alloc\n", "PrologFlags=Alloc\n# his\nDebugFlags=Steps\n")
   edit(FILE, "return 0\n", "return 1 -- his\n")
   local _, left = host.undo()
   lu.assertEquals(left, {})
   -- In the middle of the block that setup appended.
   edit(host.CONF, "# his\nDebugFlags=Steps\n", "")
   edit(host.CONF, "ClusterName=mine\n", "ClusterName=c\n")
   edit(FILE, "return 1 %-%- his\n", "return 0\n")
   lu.assertEquals(host.all(), before)
end

-- What he has changed of ours is his; the rest goes, and nothing asks for it again.
function TestUndo:test_a_line_of_ours_that_he_edited()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   edit(host.CONF, "MessageTimeout=100", "MessageTimeout=120")
   edit(host.CONF, "HealthCheckInterval=300", "HealthCheckInterval=600")
   local _, left = host.undo()
   lu.assertEquals(left, {
      host.CONF .. ": yours now, as it was edited since: MessageTimeout=120; before setup: MessageTimeout=10",
      host.CONF .. ": yours now, as it was edited since: HealthCheckInterval=600; before setup: nothing" })
   lu.assertEquals({ host.undo() }, { {}, {} })
   lu.assertNil(uv.fs_stat(host.root .. "/var/lib/syscheck/setup"))
   edit(host.CONF, "MessageTimeout=120", "MessageTimeout=10")
   edit(host.CONF, "HealthCheckInterval=600\n", "")
   lu.assertEquals(host.all(), before)
end

function TestUndo:test_hand_edits_elsewhere()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   edit(host.CONF, "ClusterName=c\n", "# his\nClusterName=c\n")
   host.put(host.CONF, host.text(host.CONF) .. "# his last\n")
   local _, left = host.undo()
   lu.assertEquals(left, {})
   edit(host.CONF, "# his\n", "")
   edit(host.CONF, "# his last\n", "")
   lu.assertEquals(host.all(), before)
end

function TestUndo:test_what_he_took_out_by_hand()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   edit(host.CONF, "MessageTimeout=100", "MessageTimeout=10")
   os.remove(host.root .. "/etc/syscheck/slurm-prolog")
   local _, left = host.undo()
   lu.assertEquals(left, {})
   lu.assertEquals(host.all(), before)
end

function TestUndo:test_a_file_of_ours_that_he_edited()
   site()
   assert(host.write(BOTH))
   edit("/etc/syscheck/slurm-prolog", "exit 0\n", "exit 0 # his\n")
   local _, left = host.undo()
   lu.assertEquals(left, { "/etc/syscheck/slurm-prolog: was edited since; it is yours now: remove it, or keep it" })
   lu.assertNotNil(host.text("/etc/syscheck/slurm-prolog"))
   lu.assertEquals({ host.undo() }, { {}, {} })
end

-- The hunk of the last line and the block behind it is one, and of the block nothing may stay that is not his.
function TestUndo:test_a_line_next_to_others_that_he_edited()
   host.new(nil)
   host.put(host.CONF, "ClusterName=c\nSlurmctldHost=head\nNodeName=n[1-3]\nPartitionName=p Nodes=n[1-3]\n"
      .. "SchedulerParameters=defer\nMessageTimeout=30\n")
   local before = host.all()
   assert(host.write(BOTH))
   edit(host.CONF, "MessageTimeout=100", "MessageTimeout=120")
   edit(host.CONF, "nohold_on_prolog_fail", "nohold_on_prolog_fail,bf_window=10")
   local _, left = host.undo()
   lu.assertEquals(left,
      { host.CONF .. ": yours now, as it was edited since: MessageTimeout=120; before setup: MessageTimeout=30" })
   lu.assertEquals({ host.undo() }, { {}, {} })
   edit(host.CONF, "MessageTimeout=120", "MessageTimeout=30")
   edit(host.CONF, ",bf_window=10", "")
   lu.assertEquals(host.all(), before)
end

function TestUndo:test_modes_and_owners_that_were_changed_since_stay()
   site()
   assert(host.write(BOTH))
   assert(uv.fs_chmod(host.root .. host.CONF, 416))
   host.undo()
   lu.assertEquals(uv.fs_stat(host.root .. host.CONF).mode & 511, 416)
end

function TestUndo:test_more_than_one_setup()
   site()
   local before = host.all()
   assert(host.write({ name = "n1" }))
   edit(host.CONF, "MessageTimeout=100", "MessageTimeout=20")
   assert(host.write(BOTH))
   lu.assertStrContains(host.text(host.CONF), "MessageTimeout=100")
   local _, left = host.undo()
   lu.assertEquals(left, { host.CONF
      .. ": yours now, as it was edited since: MessageTimeout=20; before setup: MessageTimeout=10" })
   edit(host.CONF, "MessageTimeout=20", "MessageTimeout=10")
   lu.assertEquals(host.all(), before)
end

function TestUndo:test_a_script_that_was_removed_and_set_up_again()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   os.remove(host.root .. "/etc/syscheck/slurm-prolog")
   assert(host.write(BOTH))
   local _, left = host.undo()
   lu.assertEquals(left, {})
   lu.assertEquals(host.all(), before)
end

function TestUndo:test_nothing_was_done()
   site()
   local before = host.all()
   lu.assertEquals({ host.undo() }, { {}, {} })
   lu.assertEquals(host.all(), before)
   lu.assertNil(uv.fs_stat(host.root .. "/var/lib/syscheck/setup"))
end

-- A slurmd goes by what it read when it was started.
function TestUndo:test_a_script_that_a_slurmd_may_still_run()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   local _, left = host.undo({ running = { slurmd = 3600 } })
   lu.assertEquals(#left, 1)
   lu.assertStrContains(left[1], "/etc/syscheck/slurm-prolog: kept, as the slurmd here was started with it")
   lu.assertNotNil(host.text("/etc/syscheck/slurm-prolog"))
   _, left = host.undo({ running = { slurmd = 0 } })
   lu.assertEquals(left, {})
   lu.assertEquals(host.all(), before)
   assert(host.write(BOTH))
   _, left = host.undo({ running = { slurmd = 3600, configless = true } })
   lu.assertEquals(left, {})
end

function TestUndo:test_a_script_that_he_edited_is_not_written_again()
   site()
   assert(host.write(BOTH))
   edit("/etc/syscheck/slurm-prolog", "exit 0\n", "exit 0 # his\n")
   local after = host.all()
   local _, err = host.write(BOTH)
   lu.assertStrContains(err, "/etc/syscheck/slurm-prolog: was edited since setup wrote it")
   lu.assertEquals(host.all(), after)
end

function TestUndo:test_an_owner_that_he_changed()
   if uv.getuid() ~= 0 then
      lu.skip("needs root")
   end
   site()
   host.put("/var/lib/syscheck-submit/x", "")
   local dir = host.root .. "/var/lib/syscheck-submit"
   assert(host.write({ name = "head", slurm_uid = 64030 }))
   assert(uv.fs_chown(dir, 64031, 64031))
   local _, left = host.undo()
   lu.assertEquals(left, { "/var/lib/syscheck-submit: has another owner since, and is left as it is" })
   lu.assertEquals(uv.fs_stat(dir).uid, 64031)
   lu.assertEquals({ host.undo() }, { {}, {} })
end

-- A file system that is away: what it will say again, nobody knows.
function TestUndo:test_a_slurm_conf_that_is_not_there_now()
   site()
   assert(host.write({ name = "n1", role = { "node" } }))
   os.remove(host.root .. host.CONF)
   local _, left = host.undo({ running = { slurmd = 1 } })
   lu.assertEquals(left,
      { "/etc/syscheck/slurm-prolog: kept, as /etc/slurm/slurm.conf cannot be read, and may name it" })
   lu.assertNotNil(host.text("/etc/syscheck/slurm-prolog"))
   -- Slurm is gone from this host.
   _, left = host.undo({ running = {} })
   lu.assertEquals(left, {})
   lu.assertNil(host.text("/etc/syscheck/slurm-prolog"))
end

-- It has read the names of a directory's scripts, and runs one after the other.
function TestUndo:test_a_directory_whose_scripts_run_just_now()
   site()
   assert(host.write(BOTH))
   local looks, there = 0, {}
   local _, left = host.undo({ running = { at_work = function()
      looks = looks + 1
      there[looks] = host.text("/opt/site/epilog.d/00-syscheck") ~= nil
      return looks < 3
   end } })
   lu.assertEquals(there, { true, true, true })
   lu.assertEquals(left, {})
   lu.assertNil(host.text("/opt/site/epilog.d/00-syscheck"))
end

-- Stops at step n of what f does. @return whether there was one
local function stopped_at(n, f)
   local count = 0
   local ok, err = pcall(f, function()
      count = count + 1
      if count == n then
         error("stop", 0)
      end
   end)
   lu.assertTrue(ok or err == "stop", tostring(err))
   return not ok
end

local function with(step)
   return { name = BOTH.name, role = BOTH.role, step = step }
end

-- No name that a pattern of Slurm's matches is there in between, and slurm.conf names nothing that is not.
local function assert_usable()
   for path in pairs(host.all()) do
      if path:find("/epilog%.d/[^.]") then
         lu.assertNotNil(path:find("/50%-x$") or path:find("/00%-syscheck$"), path)
      end
   end
   local conf = host.text(host.CONF)
   lu.assertTrue(not conf:find("\nProlog=/etc/syscheck/slurm%-prolog\n")
      or host.text("/etc/syscheck/slurm-prolog") ~= nil)
end

function TestUndo:test_stopped_at_each_step_of_writing()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   local after = host.all()
   host.undo()
   host.remove()
   local n = 0
   repeat
      n = n + 1
      for _, then_ in ipairs({ "undo", "write" }) do
         site()
         local stopped = stopped_at(n, function(step)
            host.write(with(step))
         end)
         assert_usable()
         if then_ == "write" then
            assert(host.write(BOTH))
            lu.assertEquals(host.all(), after)
         end
         local _, left = host.undo()
         lu.assertEquals(left, {})
         lu.assertEquals(host.all(), before, ("%s after step %d"):format(then_, n))
         host.remove()
         if not stopped then
            n = -n
            break
         end
      end
   until n < 0
   lu.assertTrue(-n > 15)
   site()
end

function TestUndo:test_stopped_at_each_step_of_undoing()
   site()
   local before = host.all()
   assert(host.write(BOTH))
   local after = host.all()
   host.remove()
   local n, stopped = 0, true
   while stopped do
      n = n + 1
      for _, then_ in ipairs({ "undo", "write" }) do
         site()
         assert(host.write(BOTH))
         stopped = stopped_at(n, function(step)
            host.undo({ step = step })
         end)
         assert_usable()
         if then_ == "write" then
            assert(host.write(BOTH))
            lu.assertEquals(host.all(), after)
         end
         local _, left = host.undo()
         lu.assertEquals(left, {})
         lu.assertEquals(host.all(), before, ("%s after step %d"):format(then_, n))
         host.remove()
      end
   end
   lu.assertTrue(n > 15)
   site()
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
