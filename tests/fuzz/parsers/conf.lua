-- slurm/conf: slurm.conf, plugstack.conf and what they include; "@@ PATH" begins a file.
local slurmconf = require("syscheck.slurm.conf")

local function files_of(input)
   local files, name, lines = {}, "/etc/slurm.conf", {}
   for line in (input .. "\n"):gmatch("([^\n]*)\n") do
      local path = line:match("^@@ (%S+)$")
      if path then
         files[name], name, lines = table.concat(lines, "\n"), path, {}
      else
         lines[#lines + 1] = line
      end
   end
   files[name] = table.concat(lines, "\n")
   return files
end

local function seeds()
   return {
      'ClusterName=Chem # x\nProlog=/a/prolog.sh\nSlurmctldHost=h(10.0.0.1)\nPrologFlags=Alloc,Contain\ninclude b.conf\n'
         .. 'AuthInfo=cred_expire=30,socket=/run/m\nMessageTimeout=10\n@@ /etc/b.conf\nNodeName=n[1-4] CPUs=8 \\\n  '
         .. 'RealMemory=1000 State=UNKNOWN\nPartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE\nInclude slurm.conf\n',
      'Epilog="/a b" x\n include x\nKey\\=v\\#c\nSchedulerParameters=a=1, nohold_on_prolog_fail\nBatchStartTimeout=UNLIMITED\n',
      "required /usr/lib/a.so x=1 y\noptional b.so\ninclude /etc/p.d/*\n@@ /etc/p.d/*\noptional c.so # z\ninclude d\nfoo\n",
      "Include %c.conf\nClusterName=C\ninclude %c%c\n@@ /etc/c.conf\nA=1\nA=2\n\0=\nJobCompHost+=x\n",
   }
end

local function problems_are_good(list)
   assert(#list <= 20, "problems without end")
   for _, one in ipairs(list) do
      assert(type(one.file) == "string" and type(one.text) == "string", "a problem")
      assert(one.line == nil or math.type(one.line) == "integer", "a problem's line")
   end
end

local function run(input)
   local files = files_of(input)
   local function read(path)
      if files[path] then
         return files[path]
      end
      return nil, path .. ": no such file"
   end
   local conf = slurmconf.parse("/etc/slurm.conf", read)
   problems_are_good(conf.problems)
   for key, entry in pairs(conf.values) do
      assert(key == key:lower() and type(entry.value) == "string" and math.type(entry.line) == "integer", "an entry")
      local seconds = slurmconf.seconds(conf, key)
      assert(seconds == nil or type(seconds) == "number" and seconds >= 0, "a time-out")
   end
   slurmconf.has(conf, "PrologFlags", "alloc")
   slurmconf.has(conf, "AuthInfo", "cred_expire")
   local stack = slurmconf.plugstack("/etc/slurm.conf", read, function(pattern)
      return files[pattern] and { pattern } or {}
   end)
   problems_are_good(stack.problems)
   for _, plugin in ipairs(stack.plugins) do
      assert(type(plugin.path) == "string" and (plugin.kind == "required" or plugin.kind == "optional"), "a plugin")
   end
end

return { run = run, seeds = seeds, max = 3000 }
