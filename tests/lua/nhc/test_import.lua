-- NHC's configuration as a policy: what has an equal, what needs a hand; nothing of it is ever evaluated.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local cost = require("cost")
local lu = require("luaunit")
local import = require("syscheck.nhc.import")
local line = require("syscheck.nhc.line")
local policy = require("syscheck.policy.policy")

TestLine = {}

function TestLine:test_whom_a_line_is_for()
   for mask, want in pairs({
      ["*"] = "", ["n1"] = "n1", ["gpu*"] = "gpu*", ["n?"] = "n?", ["n[1-4]"] = "n[1-4]",
      ["n[0-9][01]"] = "n[0-9][0,1]",
      ["!ln*"] = "!ln*", ["{n[1-20],m5}"] = "n[1-20],m5", ["!{n03}"] = "!n03", ["/^n00/"] = "n00*", ["/^n00$/"] = "n00",
      ["/gpu/"] = "*gpu*", ["/^s(has|sky)/"] = "shas*,ssky*", ["/^n00[0-5][0-9]\\.cc2$/"] = "n00[0-5][0-9].cc2",
   }) do
      lu.assertEquals(line.nodes(mask), want, mask)
   end
   for _, mask in ipairs({ "s[0-300]", "n[a-c]", "n[5-1]", "/n+/", "/^n.*x/", "/^n(1|2)+/", "/^n[0-9]{2}/", "!*", "n$x",
      "{n;x}",
      "/(a|b)(c|d)(e|f)(g|h)(i|j)(k|l)(m|n)/" }) do
      lu.assertNil(line.nodes(mask), mask)
   end
end

function TestLine:test_words()
   for text, want in pairs({
      ["a b  c"] = { "a", "b", "c" }, ["a 'b c' \"d e\""] = { "a", "b c", "d e" }, ["a '$(x)'"] = { "a", "$(x)" },
      ["a ''"] = { "a", "" }, ["a b'c'd"] = { "a", "bcd" }, ["a # b"] = { "a" }, ["a#b"] = { "a#b" },
      ['a "\\$b \\" c"'] = { "a", '$b " c' }, ["a\\ b"] = { "a b" }, [""] = {},
   }) do
      lu.assertEquals(line.words(text), want, text)
   end
   for text, want in pairs({ ["a $b"] = "$", ["a `b`"] = "`", ['a "$b"'] = "$", ["a; b"] = ";", ["a | b"] = "|",
      ["a > b"] = ">", ["a && b"] = "&", ["a (b)"] = "(", ["a 'b"] = "a quote without its end",
      ['a "b'] = "a quote without its end", ['a "`x`"'] = "`" }) do
      local words, why = line.words(text)
      lu.assertEquals({ words, why }, { nil, want }, text)
   end
end

function TestLine:test_sizes()
   lu.assertEquals({ line.size("5%") }, { 5, "%" })
   lu.assertEquals({ line.size("3gb") }, { 3, "GiB" })
   lu.assertEquals({ line.size("1TB") }, { 1024, "GiB" })
   lu.assertEquals({ line.size("1048576") }, { 1, "GiB" })
   lu.assertEquals({ line.size("512m") }, { 0.5, "GiB" })
   for _, text in ipairs({ "", "x", "5x", "1.2.3", "-1" }) do
      lu.assertNil(line.size(text), text)
   end
   lu.assertEquals({ line.count("1k"), line.count("100"), line.count("x") }, { 1000, 100 })
end

TestImport = {}

-- @return what became of one line, the policy's text, all
local function of(command, mask)
   local out = import.read((mask or "*") .. " || " .. command .. "\n", "/etc/nhc/nhc.conf")
   local text = import.policy(out)
   lu.assertNotNil(policy.parse(text, "p"), text)
   lu.assertEquals(#out.lines, 1)
   return out.lines[1], text, out
end

function TestImport:test_what_has_an_equal()
   for command, want in pairs({
      ["check_fs_mount_rw -f /"] = '{ path = "/", writable = true }',
      ["check_fs_mount_rw /"] = '{ path = "/", writable = true }',
      ["check_fs_mount_ro -t iso9660 -f /cd"] = '{ path = "/cd", type = "iso9660", writable = false }',
      ["check_fs_mount /home srv:/home nfs4"] = '{ path = "/home", source = "srv:/home", type = "nfs4" }',
      ["check_fs_mount_rw -s /dev/sda1 -f /x"] = '{ path = "/x", source = "/dev/sda1", writable = true }',
      ["check_fs_mount -t nfs -o '/(^|,)vers=3(,|$)/' -f /h"] = '{ path = "/h", option = "vers=3", type = "nfs" }',
      ["check_fs_free / 3%"] = '{ path = "/", free_pct = 3, mount = false }',
      ["check_fs_free /tmp 10GB"] = '{ path = "/tmp", free_gib = 10, mount = false }',
      ["check_fs_used / 90%"] = '{ path = "/", free_pct = 10, mount = false }',
      ["check_fs_ifree / 1k"] = '{ path = "/", inodes = 1000, mount = false }',
      ["check_fs_iused / 98%"] = '{ path = "/", inodes_pct = 2, mount = false }',
      ["check_hw_cpuinfo 2 12 24"] = '["*"] = { cores = 12, packages = 2, threads = 24, action = "fail" }',
      ["check_hw_physmem 32gb 32gb 5%"] = '["*"] = { memory_gib = 32, action = "fail" }',
      ["check_hw_physmem_free 1gb"] = '{ action = "fail", free_gib = 1 }',
      ["check_hw_swap 8g 8g 3%"] = '{ action = "fail", swap_gib = 8 }',
      ["check_hw_ib 40"] = '{ name = "infiniband", rate = 40 }',
      ["check_hw_ib 200 mlx5_0:1"] = '{ name = "mlx5_0/1", rate = 200 }',
      ["check_hw_eth eth1"] = '{ name = "eth1" }',
      ["check_ps_service -u root -S sshd"] = '{ name = "sshd", user = "root" }',
      ["check_ps_service -0 -d rpc.statd nfslock"] = '{ name = "rpc.statd", action = "warn" }',
      ["check_ps_service -k nscd"] = '{ name = "nscd", max = 0 }',
      ["check_ps_daemon wulfd root"] = '{ name = "wulfd", user = "root" }',
      ["check_ps_blacklist sshd"] = '{ name = "sshd", max = 0 }',
      ["check_ps_loadavg '' 30"] = '{ action = "fail", five = 30 }',
      ["check_ps_unauth_users"] = '{ action = "fail" }',
      ["check_ps_unauth_users log syslog"] = "leftovers = {\n      {},",
      ["check_file_test -s /etc/passwd"] = '{ path = "/etc/passwd", min_size = 1 }',
      ["check_file_stat -m 0600 -u 0 /x"] = '{ path = "/x", mode = "0600", owner = 0 }',
      ['check_dmi_data_match "BIOS Information: Version: 2.0.1"'] = '{ name = "bios_version", value = "2.0.1" }',
      ["check_gpu_count 8"] = '{ count = 8, kind = "gpu" }',
      ["check_num_numa_nodes 8"] = "numa_nodes = 8",
   }) do
      local entry, text = of(command)
      lu.assertEquals(entry.kind, "policy", command)
      lu.assertStrContains(text, want, false, command)
   end
end

function TestImport:test_whom_it_is_for_is_in_the_item()
   local _, text = of("check_hw_eth eno1", "/^s(has|gpu)/")
   lu.assertStrContains(text, '{ name = "eno1", nodes = "shas*,sgpu*" }')
   local entry
   entry, text = of("check_hw_eth eno1", "/^n+/")
   lu.assertEquals(entry.kind, "hand")
   lu.assertStrContains(text, '-- { name = "eno1" }, -- line 1: which nodes /^n+/ are, the policy cannot say')
   entry, text = of("check_hw_cpuinfo 2 4 8", "gpu*")
   lu.assertEquals(entry.kind, "hand")
   lu.assertStrContains(text,
      '-- ["model"] = { cores = 4, packages = 2, threads = 8 }, -- line 1: expect is by hardware')
end

function TestImport:test_what_is_not_needed_or_not_ours()
   for command, want in pairs({ ["check_hw_mcelog"] = "machine checks", ["check_ps_kswapd 1 2 log"] = "reclaim",
      ["export NHC_RM=slurm"] = "it is Slurm", ["MARK_OFFLINE=0"] = "mode", ["HOSTNAME=\"$HOSTNAME_S\""] = "Slurm's",
      ["export X=$(reboot)"] = "a setting of NHC's own", ["check_hw_physmem 1k 1TB"] = "any size",
      ["check_hw_swap 0kB 0kB 3%"] = "any size" }) do
      local entry = of(command)
      lu.assertEquals(entry.kind, "not", command)
      lu.assertStrContains(entry.to, want, false, command)
   end
end

-- What a shell would run stays text, in a comment of a program that nobody runs.
function TestImport:test_shell_is_never_evaluated()
   for _, command in ipairs({ "check_ps_loadavg $((2*HW_CORES))", "check_fs_free `df` 3%", "check_x; reboot",
      "$(reboot)",
      "check_cmd_status -r 0 echo $(touch /tmp/x)", "check_file_contents $HOME/x y", "reboot",
      "check_net_socket -p tcp",
      "check_fs_free /dev/sda1 3%", "check_fs_size / 1 2", "check_ps_blacklist sshd '!root'", "check_hw_gm myri0",
      "check_hw_physmem 928858388kB 928858388kB 3%", "check_ps_service -m '*x' y", "check_fs_mount_rw -z x",
      "check_hw_physmem_free 10%", "check_hw_swap_free 5%", "check_hw_physmem 5% 10%",
      "check_file_test ! -e /etc/nologin", "check_file_test -! -e /a", "check_file_stat -m 0600 x",
      "check_net_ping -i 2 h",
      "check_net_ping -I '$(x)' h", "check_fs_mount_rw -f relative", "check_hw_eth \"a b\"" }) do
      local entry, _, out = of(command)
      lu.assertEquals(entry.kind, "hand", command)
      lu.assertEquals(#out.scripts, 0, command)
      for _, one in ipairs(out.todo) do
         lu.assertStrContains(one.text, "\n# line 1 of nhc.conf: " .. command, false, command)
         lu.assertStrContains(one.text, "exit 2\n")
      end
   end
end

function TestImport:test_programs_quote_every_word()
   local _, text, out = of([[check_cmd_output -t 2 -r 0 -m '/a"b/' -m '!/$(x)/' 'a b' "it's" '$(reboot)']])
   lu.assertEquals(#out.scripts, 1)
   lu.assertStrContains(out.scripts[1].text, [[timeout 2 'a b' 'it'\''s' '$(reboot)' 2>&1]])
   lu.assertStrContains(out.scripts[1].text, [[wanted=('/a"b/' '!/$(x)/')]])
   lu.assertStrContains(text, '["nhc-1-check_cmd_output"] = { seconds = 3 }')
end

-- What cannot be run is no fault of the node's.
function TestImport:test_a_program_that_cannot_run_is_unknown()
   local dir = require("tree").new()
   local function code_of(command, ping)
      local _, _, out = of(command)
      local f = assert(io.open(dir .. "/check", "w"))
      f:write(out.scripts[1].text)
      f:close()
      if ping then
         f = assert(io.open(dir .. "/ping", "w"))
         f:write("#!/bin/sh\necho \"$*\" >>" .. dir .. "/asked\nexit " .. ping .. "\n")
         f:close()
         os.execute(("chmod 755 '%s/ping'"):format(dir))
      end
      local _, _, code = os.execute(("PATH='%s:/usr/bin:/bin' bash '%s/check' >/dev/null 2>&1"):format(dir, dir))
      return code
   end
   for ping, want in pairs({ [0] = 0, [1] = 1, [2] = 2, [127] = 2 }) do
      lu.assertEquals(code_of("check_net_ping -I eth0 -c 3 a b", ping), want)
   end
   local f = assert(io.open(dir .. "/asked"))
   lu.assertStrContains(f:read("a"), "-n -c 1 -W 1 -I eth0 -- a\n")
   f:close()
   for command, want in pairs({ ["-r 0 /nonexistent"] = 2, ["-r 0 /etc"] = 2, ["-r 126 /etc"] = 0, ["-r 0 true"] = 0,
      ["-r 0 false"] = 1 }) do
      lu.assertEquals(code_of("check_cmd_status " .. command), want, command)
   end
   os.execute(("rm -rf '%s'"):format(dir))
end

function TestImport:test_each_line_is_accounted_for()
   local out = import.read("# x\n\n* || check_hw_mcelog\r\nno line\n * || check_fs_free / 3%\n||\n* ||\n", "nhc.conf")
   lu.assertEquals({ #out.lines, out.comments }, { 5, 2 })
   local lines, counts = import.report(out)
   lu.assertEquals({ #lines, counts }, { 5, { policy = 1, script = 0, hand = 3, ["not"] = 1 } })
   lu.assertEquals(lines[2], 'line 4: no line -> needs a hand: no line of NHC\'s: "nodes || check"')
end

function TestImport:test_numbers_are_whole_or_need_a_hand()
   local _, text = of("check_file_stat -u 10012345 -g 4294967293 /x")
   lu.assertStrContains(text, '{ path = "/x", group = 4294967293, owner = 10012345 }')
   for _, command in ipairs({ "check_hw_cpuinfo 1e999 1 2", "check_cmd_status -r 1e999 true",
      "check_cmd_status -t -5 true", "check_cmd_output -r -1 true", "check_ps_loadavg 1e999" }) do
      lu.assertEquals(of(command).kind, "hand", command)
   end
end

function TestImport:test_more_than_a_list_takes_needs_a_hand()
   local lines = {}
   for i = 1, 66 do
      lines[i] = "* || check_file_test -f /f" .. i
   end
   local out = import.read(table.concat(lines, "\n"), "x")
   lu.assertNotNil(policy.parse(import.policy(out), "p"))
   local _, counts = import.report(out)
   lu.assertEquals({ counts.policy, counts.hand }, { 64, 2 })
end

-- What takes the square of a line's length is not done to a long one.
function TestImport:test_long_lines()
   for _, text in ipairs({ "* || x" .. (" "):rep(60000) .. "y", "/^" .. ("a"):rep(60000) .. "$/ || check_hw_eth e",
      "/^(" .. ("a"):rep(100) .. ("|" .. ("b"):rep(100)):rep(60) .. ")$/ || check_cmd_status true" }) do
      local out = import.read(text, "x")
      lu.assertEquals(out.lines[1].kind, "hand")
      lu.assertNotNil(policy.parse(import.policy(out), "p"))
      lu.assertTrue(cost(import.read, text, "x") < 10 * cost(import.read, "* || " .. ("x"):rep(#text), "x"))
   end
end

-- Garbage of any kind gives a policy that can be read.
function TestImport:test_garbage()
   lu.assertNil(import.read("\0", "x"))
   lu.assertNil(import.read(("x\n"):rep(10001), "x"))
   math.randomseed(7)
   local parts = { "check_fs_mount_rw", "check_ps_service", "check_file_stat", "check_cmd_output", "-f", "-t", "-m",
      "-u",
      "/", "'", '"', "\\", "]]", "--[[", "\27[1m", "%d", "$x", "1e309", "nan", "-1", "5%", "\255", "{", "}", ",", "=" }
   for _ = 1, 300 do
      local words = {}
      for i = 1, math.random(8) do
         words[i] = parts[math.random(#parts)]
      end
      local out = import.read("* || " .. table.concat(words, " "), "x")
      local text = import.policy(out)
      lu.assertNotNil(policy.parse(text, "p"), text)
      import.report(out)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
