--- What setup looks at on this host. Changes nothing.
local uv = require("luv")
local hostlist = require("syscheck.lib.hostlist")
local installed = require("syscheck.doctor.facts.installed")
local paths = require("syscheck.lib.paths")
local policy = require("syscheck.policy.policy")
local probe = require("syscheck.doctor.facts.probe")
local scripts = require("syscheck.setup.scripts")
local site = require("syscheck.doctor.facts.site")
local slurmconf = require("syscheck.slurm.conf")
local slurmd = require("syscheck.doctor.facts.slurmd")
local stages = require("syscheck.setup.stages")

local facts = {}

local FETCHED = "/run/slurm/conf/" -- by a configless slurmd

-- "slurm-wlm 22.05.8" -> 2205
local function version()
   for _, program in ipairs({ "slurmctld", "slurmd", "scontrol" }) do
      local said = probe.ask(program, { "-V" })
      local major, minor = (said or ""):match("(%d+)%.(%d+)")
      if major then
         return tonumber(major) * 100 + tonumber(minor)
      end
   end
end

--- This node's name in slurm.conf, as far as it is known.
function facts.node(options)
   return hostlist.name(options.node or os.getenv("SLURMD_NODENAME")) or uv.os_gethostname():match("^[^.]*")
end

--- Whether a slurm.conf is what a configless slurmd has fetched, and nobody else changes.
function facts.is_fetched(file)
   return file:sub(1, #FETCHED) == FETCHED or file:find("/conf%-cache/") ~= nil
end

--- What no file says.
-- @return { hostname, node, version, user = function(conf), has_group = function(name) }
function facts.host(options)
   return { hostname = uv.os_gethostname(), version = version(), user = site.slurm_user,
      node = facts.node(options), configless = slurmd.is_configless(),
      has_group = function(name)
         return probe.ask("getent", { "group", name }) ~= nil
      end }
end

local function roles_of(f, named, host)
   if named and #named > 0 then
      local roles = {}
      for _, role in ipairs(named) do
         roles[role] = true
      end
      return roles
   end
   local controller, node = site.is_controller(f.conf, host.hostname), site.is_node(f.conf, host.node, host.hostname)
   return { controller = controller or nil, node = node or nil, login = not (controller or node) or nil }
end

-- A name that slurm.conf lacks, which may be a wrong one.
local function astray(f, options, host)
   local named = options.node
   if named and not site.is_node(f.conf, named, named)
      or f.roles.node and not site.is_node(f.conf, host.node, host.hostname) then
      return ("%s is in no NodeName line of %s"):format(named or host.node, f.conf.file)
   elseif #(options.role or {}) == 0 and f.roles.login then
      return ("%s is in no NodeName or SlurmctldHost line of %s: taken for a login host (--role, --node)"):format(
         host.node, f.conf.file)
   end
end

-- Why slurm.conf is not edited here.
local function fixed(f, disk, host)
   local real = disk:real(f.conf.file) or f.conf.file
   if host.configless or facts.is_fetched(f.conf.file) or facts.is_fetched(real) then
      return f.conf.file .. " is a copy of slurmctld's (configless)"
   elseif not f.roles.controller then
      local on = probe.directory("conf", disk.root .. probe.parent(real), false).shared
      return on and ("%s is on a shared file system (%s): setup on slurmctld's host"):format(f.conf.file, on)
         or not f.roles.node and f.conf.file .. " of a login host follows slurmctld's"
   end
end

local function stack(f, disk)
   local file = slurmconf.plugstack_file(f.conf)
   if file:sub(1, 1) ~= "/" then
      return { file = file, plugins = {}, err = ("PlugStackConfig=%s: no whole path"):format(file) }
   end
   local text, err = disk:text(file)
   local s = slurmconf.plugstack(file, function(path)
      return probe.text(disk.root .. path)
   end, function(pattern)
      local out = {}
      for i, path in ipairs(probe.glob(disk.root .. pattern)) do
         out[i] = path:sub(#disk.root + 1)
      end
      return out
   end)
   for _, p in ipairs(s.plugins) do
      p.text = p.path:sub(1, 1) == "/" and not disk:owner(p.path) and disk:text(p.file) or nil
   end
   return { file = file, text = text, plugins = s.plugins, err = err, installed = disk:owner(paths.plugin) ~= nil }
end

-- The scripts of each stage, and what is in the directories that a pattern names.
local function add_scripts(f, disk)
   f.scripts, f.names, f.guards = {}, {}, {}
   local function know(path)
      f.guards[path] = disk:text(path)
   end
   for _, s in ipairs(stages.LIST) do
      local values = stages.site(f.conf, f.texts, paths, s)
      f.scripts[s.stage] = installed.named(values, s.stage, probe.parent(f.conf.file), disk.root)
      know(stages.guard(paths, s.stage))
      for _, value in ipairs(values) do
         local dir, glob = value:match("^(/.*)/([^/]*)$")
         local pattern = dir and glob:find("[*?%[]") and scripts.pattern(glob)
         f.names[dir or ""] = pattern and disk:names(dir) or nil
         for _, name in ipairs(pattern and f.names[dir] or {}) do
            if name:find("syscheck", 1, true) then
               know(dir .. "/" .. name)
            end
         end
      end
   end
end

--- Gathers the facts.
-- @param options { conf = slurm.conf, node, role = list of names, policy }
-- @param disk from setup/disk.lua
-- @param host from facts.host()
-- @return facts, see setup/plan.lua; or nil and why there are none
function facts.gather(options, disk, host)
   local file = site.conf_file(options.conf, disk.root)
   local f = { paths = paths, version = host.version, texts = {} }
   local err
   f.conf, err = slurmconf.parse(file, function(path)
      local text, why = probe.text(disk.root .. path)
      f.texts[path] = text
      return text, why
   end)
   if not f.conf then
      return nil, err
   end
   f.roles = roles_of(f, options.role, host)
   f.fixed = fixed(f, disk, host)
   local text = disk:text(paths.policy)
   f.policy = text and policy.parse(text, paths.policy) or policy.default()
   f.shared = probe.directory("libexec", disk.root .. paths.libexec, false).shared
   add_scripts(f, disk)
   local health = slurmconf.value(f.conf, "HealthCheckProgram")
   f.health = health and installed.named({ health }, "health", probe.parent(f.conf.file), disk.root) or {}
   f.astray = astray(f, options, host)
   f.stack = stack(f, disk)
   f.stack.fixed = f.fixed and not f.roles.login and f.fixed or nil
   f.submit = { file = slurmconf.beside(f.conf, "job_submit.lua"),
      installed = disk:text(paths.data .. "/job_submit.lua") }
   f.submit.text, f.submit.err = disk:text(f.submit.file)
   f.slurm_user = host.user(f.conf)
   local dir = paths.state .. "-submit"
   local owner = disk:owner(dir)
   f.submit_dir = { path = dir, uid = owner and owner.uid, gid = owner and owner.gid }
   f.store_group = f.policy.store_group and not host.has_group(f.policy.store_group) and f.policy.store_group or nil
   return f
end

return facts
