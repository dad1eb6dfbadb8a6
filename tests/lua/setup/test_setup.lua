-- syscheck setup on prepared hosts: what is added beside what the site has, and taken back.
package.path = "lua/?.lua;tests/lua/?.lua;tests/lua/setup/?.lua;" .. package.path
local lu = require("luaunit")
local host = require("host")
local uv = require("luv")

TestSetup = { tearDown = host.remove }

-- Lines of a text that begin with a key, or with what setup has switched off.
local function lines_of(text, key)
   local out = {}
   for line in text:gmatch("[^\n]+") do
      out[#out + 1] = line:find("^#? ?s?y?s?c?h?e?c?k? ?s?e?t?u?p?:? ?w?a?s? ?%s*" .. key .. "%s*=") and line or nil
   end
   return out
end

local function conf_lines(key)
   return lines_of(host.text(host.CONF), key)
end

-- setup --write, a second time, and --undo: nothing to do, and all as it was.
local function round_trip(o)
   local before = host.all()
   local made = assert(host.write(o))
   lu.assertTrue(#made.changes > 0)
   local after = host.all()
   lu.assertEquals(host.plan(o).changes, {})
   assert(host.write(o))
   lu.assertEquals(host.all(), after)
   local _, left = host.undo()
   lu.assertEquals(left, {})
   lu.assertEquals(host.all(), before)
   assert(host.write(o))
   lu.assertEquals(host.all(), after)
   return made
end

local NODE, CONTROLLER = { name = "n1" }, { name = "head" }

function TestSetup:test_a_site_that_has_nothing()
   host.new("")
   local made = round_trip(CONTROLLER)
   lu.assertEquals(conf_lines("Prolog"), { "Prolog=/opt/sc/libexec/prolog" })
   lu.assertEquals(conf_lines("Epilog"), { "Epilog=/opt/sc/libexec/epilog" })
   lu.assertEquals(conf_lines("PrologFlags"), { "PrologFlags=Alloc" })
   lu.assertEquals(conf_lines("JobSubmitPlugins"), { "JobSubmitPlugins=lua" })
   lu.assertEquals(conf_lines("SchedulerParameters"), { "SchedulerParameters=nohold_on_prolog_fail" })
   lu.assertEquals(conf_lines("MessageTimeout"), { "MessageTimeout=100" })
   lu.assertEquals(conf_lines("PrologEpilogTimeout"), {})
   lu.assertEquals(conf_lines("HealthCheckProgram"), { "HealthCheckProgram=/opt/sc/libexec/health" })
   lu.assertStrContains(host.text("/etc/slurm/job_submit.lua"), "/opt/sc/share/job_submit.lua")
   lu.assertStrContains(host.text("/etc/slurm/plugstack.conf"), "include /etc/slurm/plugstack.conf.d/syscheck.conf")
   lu.assertStrContains(table.concat(made.notes, "\n"), "restart slurmctld")
   lu.assertNil(host.text("/etc/syscheck/slurm-prolog"))
   -- The file that root is to restore from is root's.
   lu.assertEquals(uv.fs_stat(host.root .. "/var/lib/syscheck/setup").mode & 511, 448)
end

local OWN = [[
# Our Slurm
  Prolog = /opt/site/prolog   # since 2019
Epilog=/opt/site/epilog
PrologFlags=Contain,
SchedulerParameters=bf_interval=30,\
defer # busy
MessageTimeout=30
BatchStartTimeout=200
PrologEpilogTimeout=60
JobSubmitPlugins=all_partitions
HealthCheckProgram=/usr/sbin/nhc
]]

local function own_scripts()
   host.put("/opt/site/prolog", "#!/bin/sh\n", 493)
   host.put("/opt/site/epilog", "#!/bin/sh\n", 493)
end

function TestSetup:test_the_sites_own_lines()
   host.new(OWN)
   own_scripts()
   lu.assertStrContains(table.concat(host.plan(CONTROLLER).notes, "\n"), "let it name a script that runs "
      .. "/usr/sbin/nhc, then /opt/sc/libexec/health")
   round_trip(NODE)
   local text = host.text(host.CONF)
   lu.assertEquals(conf_lines("Prolog"), { "# syscheck setup: was Prolog = /opt/site/prolog   # since 2019",
      "  Prolog=/etc/syscheck/slurm-prolog" })
   lu.assertEquals(conf_lines("Epilog"), { "# syscheck setup: was Epilog=/opt/site/epilog",
      "Epilog=/etc/syscheck/slurm-epilog" })
   lu.assertEquals(conf_lines("PrologFlags"), { "PrologFlags=Contain," }) -- implies Alloc
   lu.assertStrContains(text, "SchedulerParameters=bf_interval=30,\\\ndefer,nohold_on_prolog_fail # busy\n")
   lu.assertEquals(conf_lines("MessageTimeout"), { "MessageTimeout=100" })
   lu.assertEquals(conf_lines("BatchStartTimeout"), { "BatchStartTimeout=200" })
   lu.assertEquals(conf_lines("PrologEpilogTimeout"), { "PrologEpilogTimeout=100" })
   lu.assertEquals(conf_lines("JobSubmitPlugins"), { "JobSubmitPlugins=all_partitions,lua" })
   lu.assertEquals(conf_lines("HealthCheckProgram"), { "HealthCheckProgram=/usr/sbin/nhc" })
   lu.assertNil(host.text("/etc/slurm/job_submit.lua")) -- slurmctld's host's
   lu.assertEquals(uv.fs_stat(host.root .. "/etc/syscheck/slurm-prolog").mode & 511, 493)
end

function TestSetup:test_crlf_and_no_last_newline()
   host.new(nil)
   host.put(host.CONF, "ClusterName=c\r\nSlurmctldHost=head\r\nMessageTimeout=10\r\nNodeName=n[1-3]", 416)
   round_trip(CONTROLLER)
   local text = host.text(host.CONF)
   lu.assertStrContains(text, "\r\nMessageTimeout=100\r\nNodeName=n[1-3]\r\n# syscheck")
   lu.assertNil(text:find("[^\r]\n"))
   lu.assertEquals(uv.fs_stat(host.root .. host.CONF).mode & 511, 416)
end

function TestSetup:test_a_last_line_that_goes_on()
   host.new(nil)
   host.put(host.CONF, "ClusterName=c\nSlurmctldHost=head\nNodeName=n[1-3] \\")
   round_trip(CONTROLLER)
   lu.assertEquals(#host.plan(CONTROLLER).stops, 0)
end

function TestSetup:test_included_files_are_changed_where_they_stand()
   host.new("include conf.d/limits.conf\n")
   host.put("/etc/slurm/conf.d/limits.conf", "MessageTimeout=5 # short\nProlog=/opt/site/prolog\n")
   own_scripts()
   round_trip(NODE)
   lu.assertEquals(host.text("/etc/slurm/conf.d/limits.conf"), "MessageTimeout=100 # short\n"
      .. "# syscheck setup: was Prolog=/opt/site/prolog\nProlog=/etc/syscheck/slurm-prolog\n")
end

function TestSetup:test_a_directory_of_scripts()
   host.new("Prolog=/etc/slurm/prolog.d/*.sh\nEpilog=/etc/slurm/epilog.d/*\n")
   host.put("/etc/slurm/prolog.d/00-first.sh", "#!/bin/sh\n", 493)
   host.put("/etc/slurm/epilog.d/50-clean", "#!/bin/sh\n", 493)
   round_trip(NODE)
   -- slurmd runs the last name first.
   lu.assertStrContains(host.text("/etc/slurm/prolog.d/0-syscheck.sh"), "/opt/sc/libexec/prolog' || [ $? -ne 1 ]")
   lu.assertStrContains(host.text("/etc/slurm/epilog.d/00-syscheck"), "/opt/sc/libexec/epilog' || true")
   lu.assertEquals(conf_lines("Prolog"), { "Prolog=/etc/slurm/prolog.d/*.sh" })
end

function TestSetup:test_directories_that_cannot_be_used()
   host.new("Prolog=/etc/slurm/prolog.d/*\n")
   local _, err = host.write(NODE)
   lu.assertStrContains(err, "slurm.conf:1: Prolog=/etc/slurm/prolog.d/*: there is no /etc/slurm/prolog.d here")
   host.put("/etc/slurm/prolog.d/00-syscheck", "#!/bin/sh\necho mine\n", 493)
   _, err = host.write(NODE)
   lu.assertStrContains(err, "/etc/slurm/prolog.d/00-syscheck: is there, and not written by setup")
   host.put(host.CONF, "Prolog=/etc/slurm/prolog.d/[0-9]*\nNodeName=n1\n")
   _, err = host.write(NODE)
   lu.assertStrContains(err, "no name for a script of ours")
end

function TestSetup:test_scripts_that_slurmd_cannot_run()
   for what, make in pairs({
      ["is not there"] = function() end,
      ["is a directory"] = function() host.put("/opt/site/prolog/x", "") end,
      ["is not executable"] = function() host.put("/opt/site/prolog", "#!/bin/sh\n", 420) end,
   }) do
      host.new("Prolog=/opt/site/prolog\n")
      make()
      local before = host.all()
      local made, err = host.write(NODE)
      lu.assertNil(made)
      lu.assertStrContains(err, "slurm.conf:1: Prolog=/opt/site/prolog: it " .. what)
      lu.assertEquals(host.all(), before)
      lu.assertNotNil(host.write(CONTROLLER)) -- where it need not be
      host.remove()
   end
   host.new("Prolog=/opt/site/prolog\n")
   host.put("/opt/site/real", "#!/bin/sh\n", 493)
   assert(uv.fs_symlink("real", host.root .. "/opt/site/prolog"))
   round_trip(NODE)
   lu.assertStrContains(host.text("/etc/syscheck/slurm-prolog"), "\n'/opt/site/prolog'\n")
end

function TestSetup:test_a_script_that_calls_ours_already()
   host.new("Prolog=/opt/site/prolog\n")
   host.put("/opt/site/prolog", "#!/bin/sh\n/opt/sc/libexec/prolog || [ $? -ne 1 ] || exit 1\n", 493)
   local made = host.write(NODE)
   lu.assertStrContains(table.concat(made.notes, "\n"), "/opt/site/prolog runs ours already")
   lu.assertEquals(conf_lines("Prolog"), { "Prolog=/opt/site/prolog" })
   -- slurmctld's host cannot see that: then the node's script runs the site's alone.
   host.write(CONTROLLER)
   host.remove()
   host.new("# syscheck setup: was Prolog=/opt/site/prolog\nProlog=/etc/syscheck/slurm-prolog\n")
   host.put("/opt/site/prolog", "#!/bin/sh\n/opt/sc/libexec/prolog || [ $? -ne 1 ] || exit 1\n", 493)
   host.write(NODE)
   lu.assertNil(host.text("/etc/syscheck/slurm-prolog"):find("/opt/sc/libexec/prolog", 1, true))
end

-- As after packages over an earlier `make install` that has gone.
local OLD = "/usr/local/libexec/syscheck/"

function TestSetup:test_scripts_of_setup_that_call_what_is_gone()
   for value, path in pairs({ ["/opt/site/prolog"] = "/etc/syscheck/slurm-prolog",
      ["/etc/slurm/prolog.d/*"] = "/etc/slurm/prolog.d/00-syscheck" }) do
      host.new(("Prolog=%s\n"):format(value))
      own_scripts()
      host.put("/etc/slurm/prolog.d/50-x", "#!/bin/sh\n", 493)
      assert(host.write(NODE))
      local good = host.text(path)
      host.put(path, (good:gsub("/opt/sc/libexec/", OLD)), 493)
      uv.fs_unlink(host.root .. "/var/lib/syscheck/setup/journal.json") -- the other one's said so
      lu.assertEquals(#host.plan(NODE).changes, 1)
      assert(host.write(NODE))
      lu.assertEquals(host.text(path), good)
      host.remove()
   end
end

function TestSetup:test_lines_that_name_another_installation()
   host.new(("Prolog=%sprolog\nHealthCheckProgram=%shealth\n"):format(OLD, OLD))
   host.put(OLD .. "prolog", "#!/bin/sh\n", 493)
   local notes = table.concat(assert(host.write(CONTROLLER)).notes, "\n")
   lu.assertEquals(conf_lines("Prolog"), { ("Prolog=%sprolog"):format(OLD) })
   lu.assertStrContains(notes, "let it be /opt/sc/libexec/prolog once all nodes have that")
   lu.assertStrContains(notes, "let it be /opt/sc/libexec/health once all nodes have that")
end

function TestSetup:test_the_sites_own_that_calls_what_is_gone()
   host.new("Prolog=/etc/slurm/prolog.d/*\nEpilog=/opt/site/epilog\n")
   host.put("/etc/slurm/prolog.d/50-syscheck", ("#!/bin/sh\n%sprolog || [ $? -ne 1 ] || exit 1\n"):format(OLD), 493)
   host.put("/opt/site/epilog", ("#!/bin/sh\n# %sepilog\n"):format(OLD), 493)
   local before = host.all()
   local _, err = host.write(NODE)
   lu.assertEquals(err, "/etc/slurm/prolog.d/50-syscheck calls /usr/local/libexec/syscheck/prolog, which is not there: "
      .. "let it call /opt/sc/libexec/prolog")
   lu.assertEquals(host.all(), before)
   host.put(OLD .. "prolog", "#!/bin/sh\n", 493)
   lu.assertStrContains(table.concat(assert(host.write(NODE)).notes, "\n"), "50-syscheck runs ours already")
end

function TestSetup:test_several_lines()
   host.new("Prolog=/opt/site/prolog\nProlog=/opt/site/epilog\n")
   own_scripts()
   host.write({ name = "n1", version = 2405 })
   lu.assertEquals(conf_lines("Prolog"), { "Prolog=/opt/site/prolog", "Prolog=/opt/site/epilog",
      "Prolog=/etc/syscheck/slurm-prolog" })
   lu.assertNil(host.text("/etc/syscheck/slurm-prolog"):find("/opt/site", 1, true))
   host.remove()
   -- Before 24.05 the last one holds.
   host.new("Prolog=/opt/site/prolog\nProlog=/opt/site/epilog\n")
   own_scripts()
   round_trip(NODE) -- a second one does not wake the first line
   lu.assertEquals(conf_lines("Prolog"), { "Prolog=/opt/site/prolog", "# syscheck setup: was Prolog=/opt/site/epilog",
      "Prolog=/etc/syscheck/slurm-prolog" })
   lu.assertStrContains(host.text("/etc/syscheck/slurm-prolog"), "'/opt/site/epilog'")
end

function TestSetup:test_what_an_include_of_ours_has_replaced()
   host.new("Prolog=/opt/site/prolog\ninclude syscheck.conf\n")
   host.put("/etc/slurm/syscheck.conf", "Prolog=/opt/sc/libexec/prolog\nEpilog=/opt/sc/libexec/epilog\n")
   own_scripts()
   local made = round_trip(NODE)
   lu.assertStrContains(table.concat(made.notes, "\n"), "Prolog=/opt/site/prolog (/etc/slurm/slurm.conf:1) did not run")
   lu.assertEquals(conf_lines("Prolog"), { "# syscheck setup: was Prolog=/opt/site/prolog",
      "Prolog=/etc/syscheck/slurm-prolog" })
   lu.assertStrContains(host.text("/etc/slurm/syscheck.conf"), "# syscheck setup: was Prolog=/opt/sc/libexec/prolog\n")
   lu.assertStrContains(host.text("/etc/syscheck/slurm-prolog"), "'/opt/site/prolog'")
end

function TestSetup:test_what_several_lines_of_ours_have_replaced()
   host.new("Prolog=/opt/site/prolog\ninclude ours.conf\ninclude ours.conf\nPROLOG=/opt/sc/libexec/prolog\n")
   host.put("/etc/slurm/ours.conf", "Prolog=/opt/sc/libexec/prolog\n")
   own_scripts()
   round_trip(NODE)
   lu.assertEquals(conf_lines("Prolog"), { "# syscheck setup: was Prolog=/opt/site/prolog",
      "Prolog=/etc/syscheck/slurm-prolog" })
   lu.assertEquals(host.text("/etc/slurm/ours.conf"), "# syscheck setup: was Prolog=/opt/sc/libexec/prolog\n")
   lu.assertStrContains(host.text("/etc/syscheck/slurm-prolog"), "'/opt/site/prolog'")
end

function TestSetup:test_a_relative_name()
   host.new("Prolog=prolog.sh\n")
   host.put("/etc/slurm/prolog.sh", "#!/bin/sh\n", 493)
   local _, err = host.write(NODE)
   lu.assertStrContains(err, "wants a whole path")
   _, err = host.write({ name = "n1", version = 2311 })
   lu.assertStrContains(err, "let that script run /opt/sc/libexec/prolog")
   round_trip({ name = "n1", version = 2411 })
   lu.assertEquals(conf_lines("Prolog"), { "Prolog=prolog.sh", "Prolog=/etc/syscheck/slurm-prolog" })
end

function TestSetup:test_configless()
   host.new(nil)
   own_scripts()
   local served = "/run/slurm/conf/slurm.conf"
   host.put(served, OWN .. "NodeName=n[1-3]\nSlurmctldHost=head\n")
   host.put("/run/slurm/conf/plugstack.conf", "")
   local o = { name = "n1", conf = served }
   local before = host.text(served)
   local made = round_trip(o)
   lu.assertEquals(host.text(served), before)
   lu.assertEquals(host.text("/run/slurm/conf/plugstack.conf"), "")
   lu.assertStrContains(host.text("/etc/syscheck/slurm-prolog"), "'/opt/site/prolog'")
   lu.assertStrContains(table.concat(made.notes, "\n"), "is a copy of slurmctld's (configless)")
   -- What slurmctld serves afterwards says the same.
   host.put(served, "# syscheck setup: was Prolog=/opt/site/prolog\nProlog=/etc/syscheck/slurm-prolog\n"
      .. "# syscheck setup: was Epilog=/opt/site/epilog\nEpilog=/etc/syscheck/slurm-epilog\nNodeName=n1\n")
   lu.assertEquals(host.plan(o).changes, {})
end

function TestSetup:test_a_login_host()
   host.new(OWN)
   local made = round_trip({ name = "login" })
   lu.assertEquals(#made.changes, 1)
   lu.assertEquals(made.changes[1].path, "/etc/slurm/plugstack.conf")
end

function TestSetup:test_plugstack()
   host.new("")
   host.put("/etc/slurm/plugstack.conf", "required pyxis.so\ninclude plugstack.conf.d/*.conf\n")
   host.put("/etc/slurm/plugstack.conf.d/syscheck.conf", "optional /opt/sc/lib/spank_syscheck.so\n")
   round_trip(CONTROLLER)
   lu.assertEquals(host.text("/etc/slurm/plugstack.conf"), "required pyxis.so\ninclude plugstack.conf.d/*.conf\n")
   host.put("/etc/slurm/plugstack.conf", "required pyxis.so")
   host.write(CONTROLLER)
   lu.assertStrContains(host.text("/etc/slurm/plugstack.conf"), "required pyxis.so\n# syscheck")
end

function TestSetup:test_a_line_for_a_plugin_that_is_gone()
   local file, line = "/etc/slurm/plugstack.conf.d/syscheck.conf",
      "# ours\noptional /usr/local/lib/syscheck/spank_syscheck.so status_dir=/run/x agent=/usr/local/libexec/syscheck/"
         .. "agent.lua\n# end"
   host.new("")
   host.put("/etc/slurm/plugstack.conf", "include plugstack.conf.d/*.conf\n")
   host.put(file, line)
   lu.assertStrContains(table.concat(host.plan(NODE).notes, "\n"), file .. ":2: /usr/local/lib/syscheck/"
      .. "spank_syscheck.so is not there, nor /opt/sc/lib/spank_syscheck.so: users have no --syscheck option")
   host.put("/opt/sc/lib/spank_syscheck.so", "")
   round_trip(NODE)
   lu.assertEquals(host.text(file), "# ours\noptional /opt/sc/lib/spank_syscheck.so status_dir=/run/x "
      .. "agent=/opt/sc/libexec/agent.lua\n# end")
   -- One that is there is the site's choice.
   host.undo()
   host.put("/usr/local/lib/syscheck/spank_syscheck.so", "")
   assert(host.write(NODE))
   lu.assertEquals(host.text(file), line)
end

function TestSetup:test_a_health_program_that_runs_both()
   for text, said in pairs({ ["/usr/sbin/nhc\n/opt/sc/libexec/health"] = false, ["/usr/sbin/nhc"] = true,
      ["/usr/local/libexec/syscheck/health"] = true }) do
      host.new("HealthCheckProgram=/etc/slurm/health\n")
      host.put("/etc/slurm/health", "#!/bin/sh\n" .. text .. "\n", 493)
      lu.assertEquals(table.concat(host.plan(CONTROLLER).notes):find("idle nodes:", 1, true) ~= nil, said, text)
      host.remove()
   end
end

function TestSetup:test_a_host_that_slurm_conf_lacks()
   local LOGIN = "foo is in no NodeName or SlurmctldHost line of /etc/slurm/slurm.conf: taken for a login host "
      .. "(--role, --node)"
   local NONE = "%s is in no NodeName line of /etc/slurm/slurm.conf"
   for _, c in ipairs({ { { name = "foo" }, LOGIN }, { { name = "foo", role = { "login" } } },
      { { name = "foo", role = { "node" } }, NONE:format("foo") }, { { name = "n1", node = "n9" }, NONE:format("n9") },
      { { name = "n1", node = "n2" } }, { NODE }, { CONTROLLER } }) do
      host.new("")
      local notes = "\n" .. table.concat(host.plan(c[1]).notes, "\n") .. "\n"
      lu.assertEquals(notes:match("\n([^\n]* is in no [^\n]*)\n"), c[2])
      host.remove()
   end
end

function TestSetup:test_a_linked_slurm_conf()
   host.new("")
   host.put("/srv/slurm.conf", host.text(host.CONF), 384)
   os.remove(host.root .. host.CONF)
   assert(uv.fs_symlink("../../srv/slurm.conf", host.root .. host.CONF))
   round_trip(CONTROLLER)
   lu.assertEquals(uv.fs_lstat(host.root .. host.CONF).type, "link")
   lu.assertEquals(uv.fs_stat(host.root .. "/srv/slurm.conf").mode & 511, 384)
   lu.assertStrContains(host.text("/srv/slurm.conf"), "JobSubmitPlugins=lua")
end

function TestSetup:test_a_directory_that_users_may_write()
   host.new("")
   assert(uv.fs_chmod(host.root .. "/etc/slurm", 511)) -- 0777
   lu.assertErrorMsgContains("/etc/slurm: writable by everybody", host.write, CONTROLLER)
end

function TestSetup:test_what_slurm_would_refuse()
   for text, want in pairs({
      ["Prolog=/a Epilog=/b\n"] = "slurm.conf:1: Slurm refuses what follows Prolog",
      ["nonsense\n"] = "slurm.conf:1: Slurm cannot read this line",
      ["include more.conf\n"] = "slurm.conf:1: include:",
      ["include slurm.conf\n"] = "slurm.conf:1: include: /etc/slurm/slurm.conf includes itself",
      ["include a\n"] = "/etc/slurm/b:2: include: /etc/slurm/a includes itself",
      ["MessageTimeout=soon\n"] = "slurm.conf:1: MessageTimeout=soon is no number of seconds",
      ["SchedulerParameters=a\\x\n"] = "slurm.conf:1: that line cannot be edited",
   }) do
      host.new(text)
      host.put("/etc/slurm/a", "include b\n")
      host.put("/etc/slurm/b", "\ninclude a\n")
      local before = host.all()
      local made, err = host.write(CONTROLLER)
      lu.assertNil(made, text)
      lu.assertStrContains(err, want)
      lu.assertEquals(host.all(), before)
      host.remove()
   end
   host.new(nil)
   lu.assertNil(host.write(CONTROLLER))
end

function TestSetup:test_owner_of_the_policys_copy()
   if uv.getuid() ~= 0 then
      lu.skip("needs root")
   end
   host.new("SlurmUser=slurm\n")
   host.put("/var/lib/syscheck-submit/x", "")
   round_trip({ name = "head", slurm_uid = 64030 })
   lu.assertEquals(uv.fs_stat(host.root .. "/var/lib/syscheck-submit").uid, 64030)
   host.undo()
   lu.assertEquals(uv.fs_stat(host.root .. "/var/lib/syscheck-submit").uid, 0)
end

-- A group that the directory gives to new files is not the old file's.
function TestSetup:test_the_group_in_a_setgid_directory()
   if uv.getuid() ~= 0 then
      lu.skip("needs root")
   end
   host.new("")
   assert(uv.fs_chown(host.root .. "/etc/slurm", 0, 64030))
   assert(uv.fs_chmod(host.root .. "/etc/slurm", 1517)) -- 02755
   round_trip(CONTROLLER)
   lu.assertEquals(uv.fs_stat(host.root .. host.CONF).gid, 0)
   lu.assertEquals(uv.fs_stat(host.root .. "/etc/slurm/job_submit.lua").gid, 0)
end

function TestSetup:test_a_file_that_is_included_twice()
   host.new("include common.conf\ninclude common.conf\n")
   host.put("/etc/slurm/common.conf", "MessageTimeout=10\n")
   round_trip(CONTROLLER)
   lu.assertEquals(host.text("/etc/slurm/common.conf"), "MessageTimeout=100\n")
end

function TestSetup:test_a_quoted_path()
   host.new('Prolog="/opt/our site/it\'s"   # old\n')
   host.put("/opt/our site/it's", "#!/bin/sh\n", 493)
   round_trip(NODE)
   lu.assertStrContains(host.text("/etc/syscheck/slurm-prolog"), "\n'/opt/our site/it'\\''s'\n")
end

function TestSetup:test_one_directory_for_both()
   host.new("Prolog=/opt/site/d/*\nEpilog=/opt/site/d/*\n")
   host.put("/opt/site/d/50-x", "#!/bin/sh\n", 493)
   local before = host.all()
   local _, err = host.write(NODE)
   lu.assertStrContains(err, "/opt/site/d/00-syscheck: Prolog and Epilog name the same scripts")
   lu.assertEquals(host.all(), before)
end

-- Whatever the site adds and takes away there later.
function TestSetup:test_a_directory_gets_one_script()
   host.new("Prolog=/etc/slurm/prolog.d/*\n")
   host.put("/etc/slurm/prolog.d/00-first", "#!/bin/sh\n", 493)
   assert(host.write(NODE))
   lu.assertNotNil(host.text("/etc/slurm/prolog.d/0-syscheck"))
   os.remove(host.root .. "/etc/slurm/prolog.d/00-first")
   lu.assertEquals(host.plan(NODE).changes, {})
   host.put("/etc/slurm/prolog.d/0-a", "#!/bin/sh\n", 493)
   lu.assertEquals(host.plan(NODE).changes, {})
end

function TestSetup:test_links_that_lead_nowhere_and_names_without_a_directory()
   host.new("")
   assert(uv.fs_symlink("gone", host.root .. "/etc/slurm/job_submit.lua"))
   local before = host.all()
   local _, err = host.write(CONTROLLER)
   lu.assertStrContains(err, "/etc/slurm/job_submit.lua: a link that leads nowhere")
   lu.assertEquals(host.all(), before)
   host.remove()
   host.new("PlugStackConfig=plugstack.conf\n")
   before = host.all()
   _, err = host.write(CONTROLLER)
   lu.assertStrContains(err, "PlugStackConfig=plugstack.conf")
   lu.assertEquals(host.all(), before)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
