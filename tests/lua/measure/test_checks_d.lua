-- The site's own programs: what they may do, and what comes of it.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local uv = require("luv")
local checks_d = require("syscheck.measure.checks_d")
local files = require("syscheck.lib.files")
local policy = require("syscheck.policy.policy")

TestChecksD = {}

function TestChecksD:setUp()
   self.dir = assert(uv.fs_mkdtemp("/tmp/checks.XXXXXX"))
   uv.fs_chmod(self.dir, 493) -- 0755
   self.state, self.notices = {}, {}
end

function TestChecksD:tearDown()
   os.execute("rm -rf " .. self.dir)
end

function TestChecksD:put(name, script, mode)
   assert(files.write(self.dir .. "/" .. name, "#!/bin/bash\n" .. script .. "\n", mode or 493))
end

-- @return entries, first, runs, seconds
function TestChecksD:run(text, lvl, left_s)
   local node = { policy = assert(policy.parse(("return { checks = { %s } }"):format(text or ""), "p")), name = "n1",
      root = "", read_state = function()
         return self.state
      end, save_state = function(_, _, value)
         self.state = value
      end, notice = function(_, said)
         self.notices[#self.notices + 1] = said
      end }
   local from = uv.hrtime() / 1e9
   local entries, first, runs = checks_d.run(node, lvl or "passive", from + (left_s or 5), self.dir)
   return entries, first, runs, uv.hrtime() / 1e9 - from
end

function TestChecksD:test_none()
   local entries, first, runs = self:run()
   lu.assertEquals({ entries, first, runs }, { {}, {}, {} })
end

function TestChecksD:test_a_good_one_with_its_values()
   self:put("lustre", [[echo '{"ok":true,"text":"3 targets","targets":3,"list":[1],"on":true}']])
   local entries, _, runs = self:run()
   lu.assertEquals(entries, { { name = "checks:lustre", status = "pass", text = "lustre: 3 targets" } })
   lu.assertEquals({ runs[1].state, runs[1].result }, { "ok",
      { ok = true, text = "3 targets", targets = 3, on = true } })
end

function TestChecksD:test_a_bad_one_runs_twice()
   self:put("gpus", [[echo '{"ok":false,"text":"3 of 4 GPUs"}'; exit 1]])
   local entries, first, runs = self:run()
   lu.assertEquals({ entries[1].status, entries[1].text, #runs }, { "fail", "gpus: 3 of 4 GPUs", 2 })
   lu.assertEquals(first["checks:gpus"].status, "fail")
end

function TestChecksD:test_a_warning_runs_once_and_off_never()
   self:put("gpus", [[echo '{"ok":false}'; exit 1]])
   local entries, first, runs = self:run('gpus = { action = "warn" }')
   lu.assertEquals({ entries[1].status, entries[1].text, #runs, first }, { "warn", "gpus: bad", 1, {} })
   lu.assertEquals(self:run('gpus = { action = "off" }'), {})
end

function TestChecksD:test_numbers_are_rated()
   self:put("disk", [[echo '{"ok":true,"wear_pct":91,"spare":3}']])
   local entries = self:run("disk = { limits = { wear_pct = { max = 90 }, spare = { min = 1 } } }")
   lu.assertEquals({ entries[1].status, entries[1].text, entries[1].value, entries[1].limit, entries[1].op },
      { "fail", "disk: wear_pct 91 > 90 (policy)", 91, 90, ">" })
   entries = self:run('disk = { limits = { wear_pct = { max = 90, action = "warn" } } }')
   lu.assertEquals(entries[1].status, "warn")
   entries = self:run("disk = { limits = { wear_pct = { max = 95 } } }")
   lu.assertEquals(entries[1].status, "pass")
   entries = self:run("disk = { limits = { hours = { max = 95 } } }")
   lu.assertEquals({ entries[1].status, entries[1].text }, { "unknown", "check disk: hours is no number" })
end

-- JSON's 1e999 is infinite: beyond any limit, and in no record.
function TestChecksD:test_an_infinite_number_is_none()
   self:put("it", [[echo '{"ok":true,"x":1e999,"y":-1e999}']])
   local entries, _, runs = self:run()
   lu.assertEquals({ entries[1].status, runs[1].result }, { "pass", { ok = true } })
   entries = self:run("it = { limits = { x = { max = 5 } } }")
   lu.assertEquals({ entries[1].status, entries[1].text }, { "unknown", "check it: x is no number" })
end

function TestChecksD:test_levels_and_nodes()
   self:put("one", [[echo '{"ok":true}']])
   local function runs(rule, lvl)
      return #self:run("one = { " .. rule .. " }", lvl) == 1
   end
   local from, some = 'levels = "quick"', 'levels = { "passive", "full" }'
   lu.assertEquals({ runs("", "passive"), runs("", "full"), runs(from, "passive"), runs(from, "quick"),
      runs(from, "full"), runs(some, "quick"), runs(some, "full") }, { true, true, false, true, true, false, true })
   lu.assertEquals({ runs('nodes = "n[1-4]"'), runs('nodes = "m[1-4]"'), runs('nodes = "m1,n*"'), runs('nodes = "n"') },
      { true, false, true, false })
end

function TestChecksD:test_what_misbehaves_is_unknown_and_never_bad()
   local cases = {
      { "hangs", "exec sleep 60", "killed after" },
      { "ignores TERM", 'trap "" TERM; while :; do :; done', "killed after" },
      { "forks and ends", "sleep 60 & exit 1", "printed nothing" },
      { "floods", "exec yes", "too much output" },
      { "floods its other output", "exec yes >&2", "too much output" },
      { "says nothing", "", "printed nothing" },
      { "dies half-way", "exit 1", "printed nothing" },
      { "two objects", [[echo '{"ok":true}'; echo '{"ok":true}']], "several lines" },
      { "two on a line", [[echo '{"ok":true}{"ok":true}']], "no JSON object" },
      { "garbage", "echo segmentation fault", "no JSON object: segmentation fault" },
      { "binary", "printf '\\x00\\xff\\xfe{}\\n'", "no JSON object" },
      { "a NUL byte between two", [[printf '{"ok":true}\0{"ok":false}\n']], "no JSON object" },
      { "no UTF-8", [[printf '{"ok":true,"text":"\xff"}\n']], "no JSON object" },
      { "an array", "echo '[true]'", "no JSON object" },
      { "ok is no boolean", [[echo '{"ok":"yes"}']], 'no field ok' },
      { "no ok", "echo '{}'", 'no field ok' },
      { "two minds", [[echo '{"ok":true}'; exit 1]], "exit code 1, and its object says ok is true" },
      { "the other two", [[echo '{"ok":false}']], "exit code 0, and its object says ok is false" },
      { "a signal", "kill -SEGV $$", "ended by signal 11" },
      { "could not", "echo no GPU driver >&2; exit 2", "could not run: no GPU driver" },
      { "another code", "exit 3", "exit code 3" },
   }
   for _, case in ipairs(cases) do
      self:put("it", case[2])
      local entries, first, runs, seconds = self:run("it = { seconds = 0.3 }")
      lu.assertEquals({ entries[1].status, first, #runs }, { "unknown", {}, 1 }, case[1])
      lu.assertStrContains(entries[1].text, case[3], false, case[1])
      lu.assertNotStrContains(entries[1].text, "\n", false, case[1])
      lu.assertTrue(seconds < 3, case[1])
   end
end

-- A grandchild that holds the pipe holds nobody up, and is ended with its group.
function TestChecksD:test_what_it_leaves_behind_is_ended()
   self:put("it", "sleep 77 & echo $! >" .. self.dir .. [[/pid; echo '{"ok":true}']])
   local entries, _, _, seconds = self:run("it = { seconds = 0.3 }")
   lu.assertEquals(entries[1].status, "pass")
   lu.assertTrue(seconds < 3)
   lu.assertEquals(self.notices,
      { "check it: what it started holds its output, which costs its time box of 0.3 s each time" })
   local pid = files.number(self.dir .. "/pid")
   for _ = 1, 100 do
      if (files.read("/proc/" .. pid .. "/stat") or ") Z "):find(") Z ", 1, true) then
         return
      end
      uv.sleep(20)
   end
   lu.fail("it still runs")
end

function TestChecksD:test_what_root_does_not_run()
   local function why(name, called)
      local entries = self:run()
      lu.assertEquals({ #entries, entries[1].status, entries[1].name }, { 1, "unknown", "checks:" .. (called or name) })
      os.remove(self.dir .. "/" .. name)
      return entries[1].text
   end
   self:put("a", "echo '{}'", 420)
   lu.assertStrContains(why("a"), "not executable (chmod +x)")
   self:put("b", "echo '{}'", 509) -- 0775
   uv.fs_chmod(self.dir .. "/b", 509)
   lu.assertStrContains(why("b"), "writable by group or others")
   uv.fs_symlink("/bin/true", self.dir .. "/c")
   lu.assertStrContains(why("c"), "is a link, not a file")
   uv.fs_mkdir(self.dir .. "/d", 493)
   lu.assertStrContains(why("d"), "is a directory, not a file")
   self:put("f", "echo '{}'")
   self:put("g", "echo '{}'")
   uv.fs_chmod(self.dir, 511) -- 0777
   lu.assertStrContains(why("f", "checks.d"), self.dir .. ": writable by group or others")
   uv.fs_chmod(self.dir, 493)
end

-- A directory that is root's, by a link; and by one that others can put another in the place of.
function TestChecksD:test_links_to_the_directory()
   local real = self.dir
   self.dir = real .. "/link"
   for _, target in ipairs({ "there/checks", real .. "/there/checks" }) do
      uv.fs_unlink(self.dir)
      uv.fs_symlink(target, self.dir)
      uv.fs_mkdir(real .. "/there", 493)
      uv.fs_mkdir(real .. "/there/checks", 493)
      uv.fs_chmod(real .. "/there", 493)
      self:put("it", [[echo '{"ok":true}']])
      lu.assertEquals(self:run()[1].status, "pass")
      uv.fs_chmod(real .. "/there", 511) -- 0777
      lu.assertStrContains(self:run()[1].text, "/there: writable by group or others")
   end
   if uv.getuid() == 0 then
      uv.fs_chmod(real .. "/there", 493)
      uv.fs_lchown(self.dir, 65534, 65534)
      lu.assertStrContains(self:run()[1].text, "/link: not owned by root")
   end
   uv.fs_unlink(self.dir)
   uv.fs_symlink("link", self.dir)
   lu.assertEquals(self:run(), {})
   self.dir = real
end

function TestChecksD:test_somebody_elses()
   if uv.getuid() ~= 0 then
      lu.skip("only root may give files away")
   end
   self:put("it", "echo '{}'")
   uv.fs_chown(self.dir .. "/it", 65534, 65534)
   lu.assertStrContains(self:run()[1].text, "not owned by root")
   uv.fs_chown(self.dir .. "/it", 0, 0)
   uv.fs_chown(self.dir, 65534, 65534)
   lu.assertStrContains(self:run()[1].text, "not owned by root")
end

function TestChecksD:test_what_editors_leave_is_no_check()
   for _, name in ipairs({ "a~", ".a.swp", "a.rpmsave", "a.dpkg-old", "README", "a.bak" }) do
      self:put(name, "exit 1")
   end
   lu.assertEquals(self:run(), {})
end

function TestChecksD:test_one_that_the_policy_names_and_is_not_there()
   lu.assertEquals(self:run("gone = {}")[1].status, "unknown")
end

-- However many hang, all end by the deadline.
function TestChecksD:test_the_deadline_holds_all()
   for i = 1, 5 do
      self:put("it" .. i, 'trap "" TERM; while :; do :; done')
   end
   local entries, _, _, seconds = self:run("", "passive", 2)
   lu.assertEquals(#entries, 5)
   lu.assertStrContains(entries[5].text, "not started, the deadline is too near")
   lu.assertTrue(seconds < 2.2, seconds)
end

-- One that hangs does not keep those behind it from their turn for good.
function TestChecksD:test_what_took_all_of_its_time_comes_last()
   self:put("a", "exec sleep 60")
   self:put("b", [[echo '{"ok":true}']])
   local function order()
      local names = {}
      for i, run in ipairs((select(3, self:run("a = { seconds = 0.2 }")))) do
         names[i] = run.name
      end
      return table.concat(names, " ")
   end
   lu.assertEquals({ order(), order() }, { "a b", "b a" })
   self:put("a", [[echo '{"ok":true}']])
   lu.assertEquals({ order(), order() }, { "b a", "a b" })
end

function TestChecksD:test_an_interpreter_that_is_not_there()
   assert(files.write(self.dir .. "/it", "#!/nonexistent/sh -u\n", 493))
   lu.assertEquals(self:run()[1].text, "check it: its interpreter /nonexistent/sh is not there")
   assert(files.write(self.dir .. "/it", "#!/bin/bash\r\necho\r\n", 493))
   lu.assertEquals(self:run()[1].text,
      "check it: its interpreter /bin/bash is not there (its lines end with CR LF)")
end

function TestChecksD:test_its_environment_is_what_we_give()
   uv.os_setenv("LD_PRELOAD_X", "evil")
   self:put("it", [[set -- $(env | sed 's/=.*//' | sort); printf '{"ok":true,"text":"%s"}\n' "$*"]])
   lu.assertEquals(self:run()[1].text, "it: LC_ALL PATH PWD SHLVL SYSCHECK_LEVEL SYSCHECK_NODE _")
end

-- One that survived SIGKILL is not joined by another: this process stands for it.
function TestChecksD:test_one_that_hangs_still_is_not_started_again()
   self:put("it", [[echo '{"ok":true}']])
   local process = require("syscheck.lib.process")
   local pid = uv.os_getpid()
   self.state = { it = { pid = pid, start = process.stat(pid).start } }
   lu.assertStrContains(self:run()[1].text, "an earlier run still hangs")
   self.state = { it = { pid = pid, start = 1 } }
   lu.assertEquals(self:run()[1].status, "pass")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
