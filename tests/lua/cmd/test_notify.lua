-- The program that tells an admin: what it reads, and what may go wrong with it.
package.path = "lua/?.lua;" .. package.path
local json = require("cjson")
local lu = require("luaunit")
local notify = require("syscheck.cmd.common.notify")
local uv = require("luv")

local T = 1795161600 -- 2026-11-20T08:00:00Z
local dir

TestNotify = {}

function TestNotify:setUp()
   dir = assert(uv.fs_mkdtemp("/tmp/notify.XXXXXX"))
end

function TestNotify:tearDown()
   for _, name in ipairs({ "program", "got" }) do
      os.remove(dir .. "/" .. name)
   end
   uv.fs_rmdir(dir)
end

local function write(script, mode)
   local file = assert(io.open(dir .. "/program", "w"))
   file:write("#!/bin/sh\n" .. script .. "\n")
   file:close()
   assert(uv.fs_chmod(dir .. "/program", mode or 493)) -- 0755
end

local function call(script, message, timeout)
   write(script)
   return notify.call({ program = { dir .. "/program", dir .. "/got", "; reboot" }, timeout = timeout or 20 },
      message or "{}\n")
end

local function event(i, more)
   local e = { event = "drain", time = T + i, cluster = "c", node = "n" .. i,
      text = "syscheck: triad 61.2 < 94.1 GB/s" }
   for k, v in pairs(more or {}) do
      e[k] = v
   end
   return { event = e }
end

function TestNotify:test_message()
   local o = json.decode(notify.message({ event(1, { job = 7 }), event(2, { cluster = "d" }) }, T + 60))
   lu.assertEquals({ o.v, o.time, o.cluster, #o.events, o.more }, { 1, "2026-11-20T08:01:00Z", nil, 2, nil })
   lu.assertEquals(o.events[1], { event = "drain", time = "2026-11-20T08:00:01Z", cluster = "c", node = "n1", job = 7,
      text = "syscheck: triad 61.2 < 94.1 GB/s" })
   lu.assertEquals(o.text, "syscheck: 2 events\n2026-11-20T08:00:01Z n1 drain: syscheck: triad 61.2 < 94.1 GB/s\n"
      .. "2026-11-20T08:00:02Z n2 drain: syscheck: triad 61.2 < 94.1 GB/s")
   -- One line, whatever stands in it.
   lu.assertEquals(select(2, notify.message({ event(1, { text = 'a\nb"\\' }) }, T):gsub("\n", "")), 1)
end

function TestNotify:test_of_many_only_the_first()
   local list = {}
   for i = 1, 10000 do
      list[i] = event(i)
   end
   local text = notify.message(list, T)
   local o = json.decode(text)
   lu.assertEquals({ #o.events, o.more, o.cluster }, { 200, 9800, "c" })
   lu.assertStrContains(o.text, "syscheck: 10000 events\n")
   lu.assertStrContains(o.text, "and 9980 more: syscheck drains")
   lu.assertTrue(#text < 65536)
end

function TestNotify:test_it_reads_its_standard_input()
   lu.assertEquals({ call('cat >"$1"; [ "$2" = "; reboot" ] && [ "$PWD" = / ] && [ -z "${HOME-}" ]', '{"v":1}\n') },
      { true })
   lu.assertEquals(assert(io.open(dir .. "/got")):read("a"), '{"v":1}\n')
end

function TestNotify:test_what_goes_wrong()
   local big = ("x"):rep(4 * 1048576) -- more than any pipe holds
   for _, case in ipairs({
      { "exit 3", "exit status 3" },
      { "echo 'mail: no route\27[2J' >&2; exit 1", "exit status 1: mail: no route?[2J" },
      { "kill -9 $$", "signal 9" },
      { "exec 0<&-; exit 1", "exit status 1", big },
      { "yes", "wrote more than 65536 bytes" },
      { "yes >&2", "wrote more than 65536 bytes" },
      { "trap '' TERM; while :; do sleep 0.1; done", "did not end within 0.5 s", big, 0.5 },
   }) do
      local told, err = call(case[1], case[3], case[4])
      lu.assertNil(told, case[1])
      lu.assertStrContains(err, case[2])
   end
   -- Who does not read it and ends well has taken it; so has one that leaves something behind.
   lu.assertEquals({ call("exit 0", big) }, { true })
   lu.assertEquals({ call("sleep 30 & exit 0", "{}", 0.5) }, { true })
end

function TestNotify:test_what_is_not_run()
   local function wrong(mode)
      write("touch " .. dir .. "/got", mode)
      local told, err = notify.call({ program = { dir .. "/program" }, timeout = 5 }, "{}")
      lu.assertNil(told)
      lu.assertNil(uv.fs_stat(dir .. "/got"))
      return err
   end
   lu.assertStrContains(wrong(511), "writable by group or others") -- 0777
   lu.assertStrContains(wrong(420), "not executable") -- 0644
   lu.assertStrContains(notify.wrong({ dir }), "no file")
   lu.assertStrContains(notify.wrong({ dir .. "/nothing" }), "no such file")
   if uv.getuid() == 0 then
      write("exit 0")
      uv.fs_chown(dir .. "/program", 65534, 65534)
      lu.assertStrContains(notify.wrong({ dir .. "/program" }), "not owned by root")
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
