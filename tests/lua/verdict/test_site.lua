-- What is bad of what a site has looked at.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local rating = require("syscheck.verdict.rating")
local site = require("syscheck.verdict.site")

local FACTS = {
   now = 1000000,
   uid = function(user)
      return type(user) == "number" and user or ({ root = 0, munge = 991 })[user]
   end,
   filesystems = {}, files = {},
}

-- @return status and text of one item, with these facts
local function rate(key, item, facts)
   local entry = site.rate(key, { item }, setmetatable(facts, { __index = FACTS }))[1]
   return ("%s|%s"):format(entry.status, entry.text), entry
end

TestSite = {}

function TestSite:test_file_systems()
   local good = { state = "answered", type = "nfs4", source = "srv:/home", options = "rw,nosuid,rw,vers=4.2",
      read_only = false, kind = "directory", free_pct = 50, free_gib = 100, inodes_pct = 90, inodes = 1000,
      writable = true }
   local function of(item, changed)
      item.path = "/home"
      local f = setmetatable(changed or {}, { __index = good })
      return (rate("filesystems", item, { filesystems = { f } }))
   end
   for _, case in ipairs({
      { of({}), "pass|/home: good" },
      { of({ type = "nfs4", source = "srv:/home", option = "vers=4.2", writable = true, free_pct = 5 }),
         "pass|/home: good" },
      { of({ type = { "nfs", "nfs4" } }), "pass|/home: good" },
      { of({ type = "lustre" }), "fail|/home: is of type nfs4, expected lustre" },
      { of({ type = { "lustre", "gpfs" } }), "fail|/home: is of type nfs4, expected lustre or gpfs" },
      { of({ source = "other:/home" }), "fail|/home: is srv:/home, expected other:/home" },
      { of({ option = { "nosuid", "vers=3" } }), "fail|/home: mounted without vers=3" },
      { of({}, { type = false }), "fail|/home: not mounted" },
      { of({ mount = false }, { type = false }), "pass|/home: good" },
      { of({}, { error = "No such file or directory", absent = true }), "fail|/home: no such directory" },
      { of({}, { error = "Stale file handle" }), "fail|/home: Stale file handle" },
      { of({}, { state = "hangs" }), "unknown|/home: does not answer" },
      { of({}, { state = "hung before", hung_s = 300.4 }), "fail|/home: does not answer, for 300 s" },
      { of({}, { state = "hung before", hung_s = 3 }), "unknown|/home: does not answer, for 3 s" },
      { of({}, { state = "failed" }), "unknown|/home: could not be looked at" },
      { of({}, { state = "failed", error = "No space left on device" }),
         "unknown|/home: could not be looked at, its lock: No space left on device" },
      { of({ writable = true }, { read_only = true }), "fail|/home: read-only" },
      { of({ writable = true }, { writable = false, write_error = "Input/output error" }),
         "fail|/home: cannot be written to: Input/output error" },
      { of({}, { read_only = true }), "pass|/home: good" },
      { of({ writable = false }), "fail|/home: can be written to" },
      { of({ free_pct = 60 }), "fail|/home: 50 % free < 60 (policy)" },
      { of({ free_gib = 100 }), "pass|/home: good" },
      { of({ inodes_pct = 95, action = "warn" }), "warn|/home: 90 % of inodes free < 95 (policy)" },
      { of({ inodes = 5000 }), "fail|/home: 1000 inodes free < 5000 (policy)" },
   }) do
      lu.assertEquals(case[1], case[2])
   end
   lu.assertEquals((rate("filesystems", { path = "/x" }, { filesystems = {} })), "unknown|/x: could not be looked at")
end

function TestSite:test_files()
   local good = { state = "answered", kind = "file", mode = 420, uid = 0, gid = 0, size = 100, modified = 999000 }
   local function of(item, changed)
      item.path = "/f"
      return (rate("files", item, { files = { setmetatable(changed or {}, { __index = good }) } }))
   end
   for _, case in ipairs({
      { of({ type = "file", mode = "0644", owner = "root", group = 0, min_size = 1, newer_s = 1000 }),
         "pass|/f: good" },
      { of({ type = "directory" }), "fail|/f: is a file, expected a directory" },
      { of({ type = "absent" }), "fail|/f: is there" },
      { of({ type = "absent" }, { error = "x", absent = true }), "pass|/f: absent" },
      { of({}, { error = "x", absent = true }), "fail|/f: absent" },
      { of({ mode = "600" }), "fail|/f: mode 0644, expected 600" },
      { of({ owner = "munge" }), "fail|/f: owner 0, expected munge" },
      { of({ group = 5 }), "fail|/f: group 0, expected 5" },
      { of({ min_size = 101 }), "fail|/f: 100 bytes < 101 (policy)" },
      { of({ newer_s = 999 }), "fail|/f: 1000 s old > 999 (policy)" },
   }) do
      lu.assertEquals(case[1], case[2])
   end
end

function TestSite:test_a_list_of_more_nodes_than_most_sites_have()
   lu.assertTrue(site.is_for("n[1-12000]", "n11999"))
   lu.assertFalse(site.is_for("!n[1-12000]", "n11999"))
end

function TestSite:test_services_and_processes()
   local services = { services = { sshd = "active", munge = "failed", nscd = "reloading", old = "unknown" } }
   lu.assertEquals((rate("services", { name = "nscd" }, services)), "pass|service nscd: reloading")
   lu.assertEquals((rate("services", { name = "old" }, services)), "unknown|service old: systemd does not say")
   lu.assertEquals((rate("services", { name = "sshd" }, services)), "pass|service sshd: active")
   lu.assertEquals((rate("services", { name = "munge" }, services)), "fail|service munge: is failed")
   lu.assertEquals((rate("services", { name = "x" }, services)), "unknown|service x: systemd does not say")
   local running = { processes = { { name = "munged", uid = 991, count = 1 }, { name = "nscd", uid = 0, count = 2 },
      { name = "nscd", uid = 28, count = 1 } } }
   for _, case in ipairs({
      { { name = "munged" }, "pass|process munged: 1 running" },
      { { name = "munged", user = "munge" }, "pass|process munged: 1 running" },
      { { name = "munged", user = "root" }, "fail|process munged: not running of user root" },
      { { name = "munged", user = "nobody" },
         "unknown|process munged: user nobody is not in /etc/passwd: give its number" },
      { { name = "munged", min = 2 }, "fail|process munged: 1 running, expected 2" },
      { { name = "nscd", max = 0 }, "fail|process nscd: 3 running, expected 0 at most" },
      { { name = "nscd", user = 28, max = 1 }, "pass|process nscd: 1 running" },
      { { name = "other", max = 0 }, "pass|process other: 0 running" },
   }) do
      lu.assertEquals((rate("processes", case[1], running)), case[2])
   end
   lu.assertEquals((rate("processes", { name = "x" }, {})), "unknown|process x: could not be looked at")
end

function TestSite:test_links_and_slots()
   local facts = { links = { ib0 = { up = true, state = "ACTIVE", rate = 100 }, eth0 = { up = false, state = "down" },
      eth1 = { up = true, state = "up" } },
      pcie = { { kind = "gpu", address = "0:1", width = 16, max_width = 16, speed = 2.5 },
         { kind = "gpu", address = "0:2", width = 8, max_width = 16, speed = 2.5 },
         { kind = "nvme", address = "0:3", width = 4, max_width = 4, speed = 16 } } }
   for _, case in ipairs({
      { "links", { name = "ib0" }, "pass|link ib0: up" },
      { "links", { name = "ib0", rate = 200 }, "fail|link ib0: 100 Gbit/s < 200 (policy)" },
      { "links", { name = "eth0" }, "fail|link eth0: is down" },
      { "links", { name = "eth1", rate = 25 }, "unknown|link eth1: its rate is not known" },
      { "links", { name = "ib1" }, "fail|link ib1: absent" },
      { "pcie", { kind = "gpu" }, "fail|PCIe gpu: 0:2 width x8 < 16 (policy)" },
      { "pcie", { kind = "gpu", width = 8, count = 2 }, "pass|PCIe gpu: 2 at full width" },
      { "pcie", { kind = "gpu", width = 8, count = 4 }, "fail|PCIe gpu: 2 found < 4 (policy)" },
      { "pcie", { kind = "nvme", speed = 32 }, "fail|PCIe nvme: 0:3 at 16 GT/s < 32 (policy)" },
      { "pcie", { kind = "infiniband", count = 0 }, "pass|PCIe infiniband: 0 at full width" },
   }) do
      lu.assertEquals((rate(case[1], case[2], facts)), case[3])
   end
end

function TestSite:test_what_only_warns_unless_the_policy_wants_more()
   lu.assertEquals((rate("clock", {}, {})), "unknown|clock: the kernel does not say")
   lu.assertEquals((rate("clock", {}, { clock = { synchronised = false } })), "warn|clock: not synchronised")
   lu.assertEquals((rate("clock", { action = "fail" }, { clock = { synchronised = false } })),
      "fail|clock: not synchronised")
   lu.assertEquals((rate("clock", { max_error_ms = 10 }, { clock = { synchronised = true, max_error_ms = 20 } })),
      "warn|clock: may be wrong by 20 ms > 10 (policy)")
   lu.assertEquals((rate("load", { five = 10 }, { load = { one = 50, five = 12 } })),
      "warn|load: 12 in 5 minutes > 10 (policy)")
   lu.assertEquals((rate("memory", { free_gib = 2, swap_gib = 1 }, { memory = { free_gib = 4, swap_gib = 0 } })),
      "warn|memory: 0 GiB of swap < 1 (policy)")
   lu.assertEquals((rate("dmi", { name = "bios_version", value = { "1", "2" } }, { dmi = { bios_version = "3" } })),
      "fail|bios_version: 3, expected 1 or 2")
   lu.assertEquals((rate("dmi", { name = "bios_version", value = "3" }, { dmi = {} })),
      "unknown|bios_version: the firmware does not say")
end

function TestSite:test_leftovers()
   local users = { users = { { uid = 1001, count = 2, comm = "python3", pid = 77 },
      { uid = 991, count = 1, comm = "munged", pid = 5 } } }
   lu.assertEquals((rate("leftovers", {}, users)),
      "warn|leftovers: 2 processes of users in no job (most: python3, user 1001, process 77)")
   lu.assertEquals((rate("leftovers", { except = { 1001 } }, users)), "pass|leftovers: none")
   lu.assertEquals((rate("leftovers", { min_uid = 500, except = { 1001, "munge" } }, users)), "pass|leftovers: none")
   lu.assertEquals((rate("leftovers", {}, {})), "unrated|leftovers: not looked at: jobs may run here")
   lu.assertEquals((rate("leftovers", {}, { why = "state: killed" })), "unknown|leftovers: could not be looked at")
end

function TestSite:test_nodes_and_off()
   local p = { services = { "a", { name = "b", nodes = "n[1-3]" }, { name = "c", nodes = "gpu*" },
      { name = "d", action = "off" }, { name = "e", nodes = "!n*" }, { name = "f", nodes = "n?" } } }
   local function names(node)
      local out = {}
      for i, item in ipairs(site.items(p, "services", node)) do
         out[i] = item.name
      end
      return table.concat(out)
   end
   lu.assertEquals({ names("n2"), names("n4"), names("gpu7"), names("xgpu7"), names("n42") },
      { "abf", "af", "ace", "ae", "a" })
end

function TestSite:test_one_name_twice_is_two_entries()
   local entries = site.rate("processes", { { name = "x", max = 0 }, { name = "x", user = 0, max = 0 } },
      setmetatable({ processes = {} }, { __index = FACTS }))
   lu.assertEquals({ entries[1].name, entries[2].name }, { "processes:x", "processes:x#2" })
end

-- Other people's text (a file system's source, a process's name) is made printable.
function TestSite:test_text_is_printable()
   local _, e = rate("filesystems", { path = "/x", source = "y" }, { filesystems = { { state = "answered",
      type = "nfs", source = "\27[31m\n" } } })
   lu.assertEquals(e.text, "/x: is ?[31m?, expected y")
end

-- With the rest of a check: the worst decides, a fail that is not repeated warns, modes are the items' own.
function TestSite:test_in_the_verdict()
   local function entry(status, mode)
      return { name = "services:a", status = status, text = "service a: is " .. status, rule_mode = mode }
   end
   local p = { mode = "enforce", limits = {}, expect = {} }
   local rated = rating.rate({ throttle_events = { value = 0 } }, { throttle_events = {} },
      { entry("fail", "observe") })
   lu.assertEquals({ rated.status, rating.set_modes(rated, p, "c"), rated.metrics[2].mode, rated.metrics[2].rule_mode },
      { "fail", false, "observe" })
   rated = rating.rate({}, {}, { entry("fail") })
   lu.assertEquals({ rating.set_modes(rated, p, "c"), rating.reason(rated) }, { true, "service a: is fail" })
   rated = rating.rate({}, {}, { entry("pass") })
   rating.settle(rated, { ["services:a"] = entry("fail") })
   lu.assertEquals({ rated.status, rated.metrics[1].text },
      { "warn", "service a: is fail; not confirmed by a second run: service a: is pass" })
   rated = rating.rate({}, {}, { entry("unknown") })
   lu.assertEquals(rating.settle(rated, { ["services:a"] = entry("fail") }),
      "service a: is fail; not confirmed: service a: is unknown")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
