--- Records as a fleet's prologs and epilogs write them: for each job-node a passive check
-- and a job record, with the sources of a node with disks, NFS, Lustre, EDAC, InfiniBand.
--   lua5.4 store_gen.lua FIRST COUNT NODES SEED [USERS]   job-nodes FIRST .. FIRST+COUNT-1, in time order
-- One job after another: 1 to 256 nodes (half of the jobs have one), 20 s between starts.
local first, count, nodes, seed = tonumber(arg[1]), tonumber(arg[2]), tonumber(arg[3]), tonumber(arg[4])
math.randomseed(seed, first)
local random, floor = math.random, math.floor

local EPOCH = 1767225600 -- 2026-01-01
local SIZES = { 1, 1, 1, 1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 64, 128, 256 }
local APPS = { "gromacs", "vasp", "lammps", "wrf", "openfoam", "namd", "cp2k", "python", "train", "relax" }

local function hex(n)
   return ("%016x%016x"):format(random(0), random(0)):sub(1, n)
end

local function time(epoch)
   return os.date("!%Y-%m-%dT%H:%M:%SZ", epoch)
end

local boots, totals = {}, {}
for n = 1, nodes do
   boots[n] = ("%s-%s-4%s-9%s-%s"):format(hex(8), hex(4), hex(3), hex(3), hex(12))
   totals[n] = random(1, 1000)
end

local HEAD = '{"v":1,"kind":"%s","id":"%s","cluster":"main","node":"n%04d","boot_id":"%s","time":"%s",'
   .. '"class":"epyc-9654-2s192c-768g","config_id":"3f2a77c1","config":{"kernel":"6.1.0-21-amd64",'
   .. '"microcode":"0xa10113e",'
   .. '"bios":"1.9.2","vendor":"Dell Inc.","product":"PowerEdge R6625","governor":"performance",'
   .. '"driver":"acpi-cpufreq",'
   .. '"turbo":"on","max_mhz":3700,"smt":"on","thp":"madvise","numa_balancing":"0","hugepages":"1048576kB:0",'
   .. '"numa_nodes":8,"dimms":"24x32g"},"parts":{"memory_gib":768,"dimms":24,"packages":2,"cores":192,"threads":384,'
   .. '"numa_nodes":8},"duration_s":%.6f,"job":{"id":%d,"user":"u%03d","uid":%d,"partition":"%s","account":"a%02d",'
   .. '"nodes":%d,"nodelist":"n[%04d-%04d]"%s},'
local CHECK = '"level":"passive","trigger":"prolog","asked":"none","status":"pass","text":"all counters are quiet",'
   .. '"metrics":[{"name":"throttle_events","status":"pass","value":0,"limit":0,"op":">","source":"policy"},'
   .. '{"name":"memory_gib","status":"pass","value":768,"limit":768,"op":"=","source":"class epyc-9654-2s192c-768g"},'
   .. '{"name":"dimms","status":"pass","value":24,"limit":24,"op":"=","source":"class epyc-9654-2s192c-768g"}],'
   .. '"action":"none","kernel_s":0,"box_s":0}\n'
local TOTAL = '"%s":{"time":"%s","throttle":{"package_count":%d,"core_count":%d,"package_ms":%d,"core_ms":%d},'
   .. '"pressure":{"io_some_us":%d,"io_full_us":%d,"memory_some_us":%d,"memory_full_us":%d,"cpu_some_us":%d},'
   .. '"cpu":{"iowait_ms":%d,"steal_ms":0},"disk":{"busy_ms":%d,"read_bytes":%d,"written_bytes":%d,'
   .. '"ops":%d,"op_ms":%d},'
   .. '"nfs":{"ops":%d,"op_ms":%d,"bytes":%d},"lustre":{"ops":%d,"op_us":%d,"read_bytes":%d,"written_bytes":%d},'
   .. '"memory_errors":{"corrected":%d,"uncorrected":0},"machine_checks":{"events":0},"oom":{"kills":0},'
   .. '"reclaim":{"stalls":0,"swapped_in":0},'
   .. '"link":{"errors":0,"downed":0},"energy":{"package_j":%d},"sched":{"wait_ms":%d}},'
local GAUGES = '"limits":{"clock_mhz":3700,"power_w":800},"temperature":{"max_c":%d},'
local DELTA = '"delta":{"throttle":{"package_count":%d,"core_count":%d,"package_ms":%d,"core_ms":%d},'
   .. '"pressure":{"io_some_us":%d,"io_full_us":%d,"memory_some_us":%d,"memory_full_us":%d,"cpu_some_us":%d},'
   .. '"cpu":{"iowait_ms":%d,"steal_ms":0},"disk":{"busy_ms":%d,"read_bytes":%d,"written_bytes":%d,'
   .. '"ops":%d,"op_ms":%d},'
   .. '"nfs":{"ops":%d,"op_ms":%d,"bytes":%d},"lustre":{"ops":%d,"op_us":%d,"read_bytes":%d,"written_bytes":%d},'
   .. '"memory_errors":{"corrected":%d,"uncorrected":0},"machine_checks":{"events":0},"oom":{"kills":0},'
   .. '"reclaim":{"stalls":0,"swapped_in":0},'
   .. '"link":{"errors":0,"downed":0},"energy":{"package_j":%d},"sched":{"wait_ms":%d}},'
local CGROUP = '"cgroup":{"v":2,"steps":1,"cpu_us":%d,"cpu_throttled_us":0,"io_some_us":%d,"io_full_us":%d,'
   .. '"read_bytes":%d,"written_bytes":%d,"memory_peak_bytes":%d,"memory_some_us":0,"oom_kills":0},'
local TAIL = '"elapsed_s":%d,"throttle_events":%d,"check":{"id":"%s","level":"passive","asked":"none","status":"pass",'
   .. '"action":"none"}}\n'

local function values(scale, hot)
   local r = function(n)
      return floor(n * scale * random())
   end
   return hot and r(40) or 0, hot and r(90) or 0, hot and r(4000) or 0, hot and r(9000) or 0, r(3e6), r(1e6),
      r(1e4), r(5e3), r(4e7), r(2e4), r(9e4), r(4e9), r(6e9), r(2e5), r(4e5), r(3e4), r(8e4), r(7e8),
      r(2e5), r(9e7), r(8e10), r(5e10), random(1000) == 1 and r(20) or 0, r(4e6), r(5e6)
end

-- A delta has the worst unit beside the sums; here one did it all.
local function worst_of(delta)
   return (delta:gsub('"package_ms":(%d+),"core_ms":(%d+)', '%0,"package_worst_ms":%1,"core_worst_ms":%2')
      :gsub('"steal_ms":0', '%0,"steal_worst_ms":0'):gsub('"wait_ms":(%d+)', '%0,"wait_worst_ms":%1'))
end

-- Jobs follow from the seed alone, so that every piece knows them.
local made, job = 0, 1000000
local rng = seed
local function draw(n)
   rng = (rng * 6364136223846793005 + 1442695040888963407)
   return ((rng >> 33) % n) + 1
end
while made < first + count do
   local size = math.min(SIZES[draw(#SIZES)], nodes)
   local user, app, start = draw(300), APPS[draw(#APPS)], draw(nodes - size + 1)
   local elapsed, variant = 300 + draw(7200), draw(20)
   job = job + 1
   if made + size > first then
      local begin = EPOCH + (job - 1000000) * 20
      local out = {}
      for i = math.max(0, first - made), math.min(size, first + count - made) - 1 do
         local n = start + i
         local check, name = hex(32), (',"name":"%s-%d"'):format(app, variant)
         local partition = size > 1 and "main" or "shared"
         out[#out + 1] = HEAD:format("check", check, n, boots[n], time(begin - 1), 0.011, job, user, 1000 + user,
            partition, user % 20, size, start, start + size - 1, "") .. CHECK
         local hot = random(500) == 1
         local last = elapsed + random(0, 3)
         local scale = elapsed / 3600
         out[#out + 1] = HEAD:format("job", hex(32), n, boots[n], time(begin + last), 0.012, job, user, 1000 + user,
            partition, user % 20, size, start, start + size - 1, name)
            .. TOTAL:format("begin", time(begin), values(totals[n], true))
            .. (TOTAL:format("end", time(begin + last), values(totals[n] + scale, true)):gsub('^"end":{',
               '%0' .. GAUGES:format(random(40, 85))):gsub('"link":{', '%0"active_ports":2,"rate_gbps":400,'))
         out[#out + 1] = worst_of(DELTA:format(values(scale, hot)))
         out[#out + 1] = CGROUP:format(floor(elapsed * 1.9e8 * random()), floor(2e6 * random()), floor(1e6 * random()),
            floor(8e10 * random()), floor(5e10 * random()), floor(7e11 * random()))
         out[#out + 1] = TAIL:format(last, hot and 12 or 0, check)
      end
      io.write(table.concat(out))
   end
   made = made + size
end
