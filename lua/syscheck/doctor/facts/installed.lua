--- Facts about the installation: what of it runs.
local uv = require("luv")
local metrics = require("syscheck.catalogue.metrics")
local paths = require("syscheck.lib.paths")
local probe = require("syscheck.doctor.facts.probe")
local slurmconf = require("syscheck.slurm.conf")
local submit = require("syscheck.doctor.facts.submit")
local wrapper = require("syscheck.doctor.facts.wrapper")

local installed = {}

--- Each kernel: { name, path, version } or with err and fix.
function installed.kernels()
   local out = {}
   for i, kernel in ipairs(metrics.KERNELS) do
      local k = { name = kernel.name, path = paths.libexec .. "/" .. kernel.name }
      local stat = uv.fs_stat(k.path)
      if not stat then
         k.err, k.fix = "is not there", "install syscheck on this host (package or make install)"
      elseif stat.type ~= "file" or stat.mode & 73 == 0 then
         k.err, k.fix = "is not executable", "chmod 755 " .. k.path
      else
         local said
         said, k.err = probe.ask(k.path, { "--version" }, 10000, { "OPENBLAS_NUM_THREADS=1" })
         k.version = said and (said:match("(%d+%.%d[%w.]*)") or "?")
         k.fix = k.err and (k.err:find("shared libr") and "install the library (hwloc, libnuma, OpenBLAS)"
            or "install syscheck on this host (package or make install)")
      end
      out[i] = k
   end
   return out
end

--- What of the agent's own code does not load, with all that it needs: { name, file, err }.
function installed.modules()
   local out = {}
   for _, name in ipairs({ "luv", "cjson", "syscheck.prolog", "syscheck.epilog" }) do
      local ok, err = pcall(require, name)
      if not ok then
         out[#out + 1] = { name = name, file = name:find("syscheck", 1, true)
            and ("%s/lua/%s.lua"):format(paths.data, (name:gsub("%.", "/"))) or nil,
            err = tostring(err):match("^[^\n]*") }
      end
   end
   return out
end

--- The programs that the agent needs: { name, program, said } or with err, why and fix.
-- @param conf slurm.conf, which scontrol wants to read even for its version; nil: not run
function installed.tools(p, conf)
   local out = {}
   local text = probe.text(paths.libexec .. "/prolog") or ""
   local lua, bound = text:match("'([^'\n]*lua[^'\n]*)' %-E"), paths.libexec .. "/bound.lua"
   for _, t in ipairs({
      { "scontrol", p.scontrol, { "-V" }, "a bad node is not drained with a reason",
         "say scontrol = PATH in the policy" },
      { "flock", "flock", { "--version" }, "no lock is waited for: directories and virtual nodes may not be measured",
         "install util-linux" },
      { "lua", lua, { "-v" }, "the agent does not start: nothing is checked", "install lua5.4" },
      -- An empty script, as the prolog runs the agent.
      { "bound", lua, { "-E", bound, "4", "0", "/dev/null", "/dev/null" },
         "the agent does not start: nothing is checked", "install syscheck on this host (package or make install)",
         bound },
   }) do
      if t[2] and (conf or t[1] ~= "scontrol") then
         local said, err, absent = probe.ask(t[2], t[3], nil, conf and { "SLURM_CONF=" .. conf })
         if t[1] == "scontrol" and not absent then
            err = nil -- it is there; a slurm.conf that it does not like is another rule's
         end
         out[#out + 1] = { name = t[1], program = t[6] or t[2], said = said, err = err, why = t[4], fix = t[5] }
      end
   end
   return out
end

-- A script, without its comments.
local function mentions(text, what)
   text = ("\n" .. text):gsub("\n%s*#[^\n]*", "\n")
   return text:find(what, 1, true) ~= nil
end

-- A path that a script calls and that is not there, or nil.
local function missing(text, name, ours, root)
   return text and wrapper.missing(text, name, ours, function(called)
      local _, _, code = uv.fs_stat(root .. called)
      return code ~= "ENOENT" and code ~= "ENOTDIR"
   end) or nil
end

--- What a Prolog, Epilog or HealthCheckProgram line names, by a path or a pattern, each: { path, ours, guard = written
-- by setup, or meant to be, keeps = the site's own that setup's runs, calls, missing = what it calls and is not there,
-- closed = line that fails where ours is not there, unread, err }.
-- @param values the lines' values
-- @param dir slurm.conf's directory
-- @param root of the files, for tests; default ""
function installed.named(values, name, dir, root)
   local out, ours, guard = {}, paths.libexec .. "/" .. name, wrapper.guard(paths, name)
   root = root or ""
   for _, value in ipairs(values) do
      local path = value:sub(1, 1) == "/" and value or dir .. "/" .. value
      for _, found in ipairs(probe.glob(root .. path)) do
         local real = uv.fs_realpath(found)
         local s = { path = found:sub(#root + 1), ours = real ~= nil and real == uv.fs_realpath(root .. ours) }
         local stat, err, code = uv.fs_stat(found)
         if not stat then
            s.unread = code == "EACCES"
            s.err = code == "ENOENT" and "is not there" or not s.unread and err or nil
         elseif stat.type ~= "file" then
            s.err = "is a " .. stat.type
         elseif stat.mode & 73 == 0 then -- 0111
            s.err = "is not executable"
         end
         local text = stat and stat.type == "file" and not s.ours and probe.text(found)
         s.unread = s.unread or (stat and stat.type == "file" and not s.ours and not text)
         s.guard = text and text:find(wrapper.MARK, 1, true) ~= nil or not stat and found == root .. guard
         s.keeps = text and wrapper.keeps(text) or nil
         s.calls = text and (mentions(text, ours) or mentions(text, "syscheck/" .. name)) or false
         s.missing = missing(not s.calls and s.keeps and probe.text(root .. s.keeps) or text, name, ours, root)
         s.closed = s.calls and wrapper.fails_closed(text, mentions(text, ours) and ours or "syscheck/" .. name) or nil
         out[#out + 1] = s
      end
   end
   return out
end

--- The same of slurm.conf's lines.
-- @param key of the lines, default name
function installed.scripts(conf, name, key)
   local values = {}
   for i, entry in ipairs(conf.all[key or name] or {}) do
      values[i] = entry.value
   end
   return installed.named(values, name, probe.parent(conf.file))
end

--- job_submit.lua beside slurm.conf: { file, exists, same, ours, calls, chained = loads ours, err }.
function installed.submit(conf)
   local file = slurmconf.beside(conf, "job_submit.lua")
   local stat, _, code = uv.fs_stat(file)
   local s = { file = file, exists = stat ~= nil or code ~= "ENOENT" }
   if s.exists then
      local text, err = probe.text(file)
      local ours = paths.data .. "/job_submit.lua"
      s.err = err
      s.same = text ~= nil and text == probe.text(ours)
      s.ours = text ~= nil and submit.is_copy(text)
      s.calls = text ~= nil and submit.names_us(text)
      s.chained = text ~= nil and submit.is_chained(text, ours)
   end
   return s
end

return installed
