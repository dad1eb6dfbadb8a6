--- Gathers the facts that the rules look at. Changes nothing; what a
-- normal user cannot see is marked as unseen.
local uv = require("luv")
local baseline_file = require("syscheck.node.baseline_file")
local command = require("syscheck.slurm.command")
local elf = require("syscheck.doctor.facts.elf")
local files = require("syscheck.lib.files")
local installed = require("syscheck.doctor.facts.installed")
local inventory = require("syscheck.hardware.inventory")
local hostlist = require("syscheck.lib.hostlist")
local others = require("syscheck.doctor.facts.others")
local paths = require("syscheck.lib.paths")
local policy = require("syscheck.policy.policy")
local printable = require("syscheck.lib.printable")
local probe = require("syscheck.doctor.facts.probe")
local site = require("syscheck.doctor.facts.site")
local slurmconf = require("syscheck.slurm.conf")
local slurmd = require("syscheck.doctor.facts.slurmd")
local storm = require("syscheck.slurm.storm")
local time = require("syscheck.lib.time")
local trust = require("syscheck.doctor.facts.trust")

local gather = {}

local OURS = "spank_syscheck.so"
local MAX_BASELINE = 16777216

-- The policy with defaults where it is absent or bad, and which of these it is.
local function read_policy(file)
   local _, _, code = uv.fs_stat(file)
   local p = { file = file, absent = code == "ENOENT" }
   local text, err = probe.text(file)
   if text then
      p.value, p.err = policy.parse(text, file)
      if p.value then
         local trusted, why = files.trusted(file)
         if not trusted then
            -- It names programs, which would be run here, maybe by root.
            p.value, p.err = nil, why
         end
      end
   else
      p.err, p.unread = err, uv.fs_stat(file) ~= nil and not uv.fs_access(file, "R")
   end
   p.value = p.value or policy.default()
   return p
end

local function read_baseline(file)
   local stat, err, code = uv.fs_stat(file)
   local b = { file = file, absent = code == "ENOENT", err = err, unread = stat and not uv.fs_access(file, "R") }
   if stat then
      local text
      text, b.err = probe.text(file, MAX_BASELINE)
      if text then
         b.value, b.err = baseline_file.read(file)
         local trusted, why = files.trusted(file)
         b.err = b.err or (not trusted and why) or nil
      end
   end
   b.time = b.value and time.parse(tostring(b.value.time))
   return b
end

-- plugstack.conf and our lines in it, each with the Slurm that its plugin is built for.
local function plugstack(conf, plugin_dirs)
   local file = slurmconf.plugstack_file(conf)
   local _, _, code = uv.fs_stat(file)
   if code == "ENOENT" then
      return { file = file, exists = false, problems = {}, ours = {}, seen = {}, files = {} }
   end
   local s = slurmconf.plugstack(file, probe.text, probe.glob)
   local stack = { file = file, exists = true, problems = s.problems, ours = {}, seen = s.plugins, files = s.files }
   for _, p in ipairs(s.plugins) do
      if p.path:match("[^/]*$") == OURS then
         for dir in (plugin_dirs or ""):gmatch("[^:]+") do
            if p.path:sub(1, 1) ~= "/" and uv.fs_stat(dir .. "/" .. p.path) then
               p.path = dir .. "/" .. p.path
            end
         end
         local stat, err, why = uv.fs_stat(p.path)
         if stat then
            local text
            text, p.err = probe.object(p.path)
            if text then
               p.version, p.err = elf.slurm_version(text)
            end
            p.missing = text ~= nil and not p.version -- nothing that Slurm could load
         else
            p.missing, p.err = why == "ENOENT", why == "ENOENT" and "is not there" or err
         end
         stack.ours[#stack.ours + 1] = p
      end
   end
   return stack
end

local function slurm_versions(tools)
   local said, out = { slurmd = (probe.ask("slurmd", { "-V" })) }, {}
   for _, t in ipairs(tools) do
      said[t.name] = t.said
   end
   for _, name in ipairs({ "scontrol", "slurmd" }) do
      local version = said[name] and said[name]:match("(%d+%.%d+[%w.-]*)")
      out[#out + 1] = version and { name = name, version = version } or nil
   end
   return out
end

-- slurmctld's clock and what it runs with. Its time is of whole seconds, so half of one
-- and half of the way there and back stay open.
local function controller(program, file)
   local function now()
      local s, us = uv.gettimeofday()
      return s + us / 1e6
   end
   local before = now()
   local said, err = command.run(program, { "show", "config" }, 8, { conf = file })
   local after = now()
   if not said then
      return { err = "slurmctld does not answer: " .. err, refused = site.refused(file, program) }
   end
   local c = { config = {} }
   for line in said:gmatch("[^\n]+") do
      local key, value = line:match("^(%S+)%s+= (.*)$")
      if key then
         c.config[key:lower()] = printable.trimmed(value)
      end
   end
   local at = storm.time(said:match("Configuration data as of (%S+)") or "")
   if not at then
      c.err = "scontrol show config shows no time"
      return c
   end
   c.skew_s = (before + after) / 2 - (at + 0.5)
   c.uncertain_s = 0.5 + (after - before) / 2
   return c
end

--- Gathers the facts.
-- @param options { conf = slurm.conf, node = this node's name in it, policy = file }
-- @return facts; or nil and why there are none
function gather.facts(options)
   local file = site.conf_file(options.conf)
   local conf, err = slurmconf.parse(file, probe.text)
   if not conf then
      return nil, err
   end
   local is_root = uv.getuid() == 0
   local host = uv.os_gethostname()
   local facts = { conf = conf, paths = paths, now = os.time(), is_root = is_root,
      node = hostlist.name(options.node or os.getenv("SLURMD_NODENAME")) or hostlist.name(host:match("^[^.]*"))
         or "unknown" }
   local function expand(path)
      return (path:gsub("%%n", facts.node))
   end
   facts.is_controller = site.is_controller(conf, host)
   facts.is_node = site.is_node(conf, facts.node, host) or not facts.is_controller
   facts.policy = read_policy(options.policy or paths.policy)
   local p = facts.policy.value
   facts.topology = inventory.read("")
   facts.class = facts.topology.class
   facts.baseline = read_baseline(expand(p.baseline or paths.baseline))
   facts.slurmd = slurmd.cpus(facts.node, p.node_cpus)
   facts.scripts = { prolog = installed.scripts(conf, "prolog"), epilog = installed.scripts(conf, "epilog"),
      health = installed.scripts(conf, "health", "healthcheckprogram") }
   facts.slurm_user = site.slurm_user(conf)
   local owner = facts.slurm_user and facts.slurm_user.uid
   local unsafe = is_root and trust.conf_is_open(conf, owner)
   facts.tools = installed.tools(p, not unsafe and file or nil)
   facts.slurm = slurm_versions(facts.tools)
   facts.major = facts.slurm[1] and tonumber(facts.slurm[1].version:match("^%d+"))
   facts.controller = unsafe and { err = "others may change slurm.conf: scontrol is not run by root with it" }
      or controller(p.scontrol, file)
   facts.stack = plugstack(conf, slurmconf.value(conf, "PluginDir")
      or facts.controller.config and facts.controller.config.plugindir)
   facts.submit = installed.submit(conf)
   local copy = uv.fs_stat(paths.state .. "-submit")
   facts.submit_dir = { path = paths.state .. "-submit", uid = copy and copy.uid }
   facts.health = uv.fs_stat(paths.libexec .. "/health") and paths.libexec .. "/health" or nil
   facts.others = others(conf)
   facts.kernels, facts.modules = installed.kernels(), installed.modules()
   facts.dirs = {}
   for i, name in ipairs({ "spool", "state", "run" }) do
      facts.dirs[i] = probe.directory(name, expand(p[name] or paths[name]), is_root)
   end
   facts.log = probe.log(paths.log, paths.sysconf)
   facts.trust = trust.findings(facts, owner)
   return facts
end

return gather
