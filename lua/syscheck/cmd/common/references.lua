--- What a policy names that is outside of it: directories, a group, a program, a store. The
-- policy works without them, and not as its writer meant.
local uv = require("luv")
local checks_d = require("syscheck.measure.checks_d")
local group = require("syscheck.cmd.common.group")
local hostlist = require("syscheck.lib.hostlist")
local machine = require("syscheck.hardware.machine")
local memory_traffic = require("syscheck.counters.memory_traffic")
local notify = require("syscheck.cmd.common.notify")
local paths = require("syscheck.lib.paths")
local printable = require("syscheck.lib.printable")
local process = require("syscheck.lib.process")
local sorted = require("syscheck.lib.sorted")
local url = require("syscheck.store.url")
local textfile = require("syscheck.node.textfile")

local references = {}

local ASK_S = 5

-- In a process of its own: a file system whose server is away would hold us.
local function ask(program, args)
   return process.run(program, args, { timeout_ms = ASK_S * 1000 })
end

-- @return why it is no directory that can be used; nil when it is, or may not be looked at
local function not_a_directory(path)
   local r = ask("stat", { "--dereference", "--format=%F", path })
   if not r then
      return nil
   elseif r.timed_out or r.stuck then
      return ("does not answer within %d s"):format(ASK_S)
   elseif r.code == 0 then
      return not r.out:find("^directory") and "is no directory" or nil
   end
   return (r.err:find("No such file") or r.err:find("Not a directory")) and "there is no such directory on this host"
      or nil
end

--- Looks at what the policy names.
-- @param p the policy
-- @param line_of function(key trail) -> its line in the file
-- @return list of { severity = "error" (nowhere right) or "warn" (not on this host), line, text }
function references.check(p, line_of)
   local found = {}
   local node = hostlist.name(os.getenv("SLURMD_NODENAME")) or hostlist.name((uv.os_gethostname():match("^[^.]*")))
      or "?"
   local function say(severity, key, format, ...)
      found[#found + 1] = { severity = severity, line = line_of({ key }), text = key .. ": " .. format:format(...) }
   end
   local function directory(key, path, what_then)
      path = path:gsub("%%n", node)
      local why = not_a_directory(path)
      if why then
         say("warn", key, "%s: %s: %s", printable.safe(path, 200), why, what_then)
      end
   end
   if p.store then
      local _, err = url.parse(p.store)
      if err then
         say("error", "store", "%s", err)
      end
   end
   if p.ship and p.ship:find("^/") then
      directory("ship", p.ship, "a node's records stay on it")
   end
   if p.textfile then
      local path = p.textfile:gsub("%%n", node)
      local wrong = not not_a_directory(path) and textfile.wrong(path)
      directory("textfile", path, "no metrics for Prometheus")
      if wrong then
         say("warn", "textfile", "%s: no metrics for Prometheus", printable.plain(wrong, 300))
      end
   end
   for _, path in ipairs(p.io_paths) do
      directory("io_paths", path, "it is not measured")
   end
   if p.lock then
      directory("lock", p.lock:match("^(.*)/[^/]*$") .. "/", "every check ends as unknown")
   end
   if p.store_group then
      local id, why = group(p.store_group)
      if not id then
         say("warn", "store_group", "%s: %s on this host: ingest does not run without it",
            printable.safe(p.store_group), why)
      end
   end
   local wrong = p.notify.program and notify.wrong(p.notify.program)
   if wrong then
      -- Only the store's host runs it.
      say("warn", "notify", "%s: nobody is told", printable.safe(wrong, 200))
   end
   local there = {}
   for _, name in ipairs(checks_d.names()) do
      local good, why = checks_d.may_run(nil, name)
      there[name] = true
      local none = good and checks_d.no_interpreter(paths.checks .. "/" .. name)
      if none then
         good, why = false, ("%s/%s: %s"):format(paths.checks, name, none)
      end
      if not good then
         say("warn", "checks", "%s: it is not run", printable.plain(why, 300))
      end
   end
   for _, name in ipairs(sorted(p.checks)) do
      if not there[name] then
         say("warn", "checks", "%s is not in %s on this host: each check of it is unknown", printable.safe(name),
            paths.checks)
      end
   end
   local traffic = p.traffic or {}
   if (traffic.groups or traffic.sample_s) and not memory_traffic.directory(machine.at(""), false) then
      say("warn", "traffic", "no counters of memory traffic in %s on this host: jobs' is not counted by resctrl (mount "
         .. "-t resctrl resctrl %s)", memory_traffic.DIR, memory_traffic.DIR)
   end
   if traffic.perf and not memory_traffic.directory(machine.at(""), true) then
      say("warn", "traffic", "neither uncore_imc nor amd_umc in %s on this host: jobs' memory traffic is not counted "
         .. "by perf", memory_traffic.PMUS)
   end
   local _, err = ask(p.scontrol, { "-V" })
   if err then
      say("warn", "scontrol", "%s: a bad node is not drained", printable.safe(err, 200))
   end
   return found
end

return references
