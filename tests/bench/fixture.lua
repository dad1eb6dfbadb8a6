-- fixture.lua DIR: the /proc and /sys of a busy node of two sockets and 256 CPUs.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local files = require("syscheck.lib.files")
local tree = require("tree")

local root = assert(arg[1], "usage: fixture.lua DIR")
local CPUS = 256

tree.system(root, 527946792)
tree.cpus(root, { kind = "intel", packages = 2, cores = CPUS // 4, smt = 2 })
local dimms = {}
for i = 1, 16 do
   dimms[i] = 32768
end
tree.edac(root, dimms, 8)
for size, n in pairs({ [2048] = 0, [1048576] = 0 }) do
   tree.put(root, ("/sys/kernel/mm/hugepages/hugepages-%dkB/nr_hugepages"):format(size), n .. "\n")
end

local stat = { "cpu  44226 100 21932 921211100 55 6 7 8 9 10" }
for cpu = 0, CPUS - 1 do
   stat[#stat + 1] = ("cpu%d 172762 404 85674 35984808 215 0 11903 0 0 0"):format(cpu)
end
stat[#stat + 1] = "intr 113903128" .. (" 0 17 3"):rep(1500)
stat[#stat + 1] = "ctxt 219391823\nbtime 1700000000\nprocesses 1288311\nprocs_running 3\nprocs_blocked 0\n"
tree.put(root, "/proc/stat", table.concat(stat, "\n"))

-- Version 17: four domains a CPU, 45 numbers each, most of them small (zero where sched_schedstats is off).
local sched, mask = { "version 17", "timestamp 5219393032" }, ("ffffffff,"):rep(CPUS // 32 - 1) .. "ffffffff"
for cpu = 0, CPUS - 1 do
   sched[#sched + 1] = ("cpu%d 0 0 0 0 0 0 %d %d %d"):format(cpu, 6812345678901, 123456789012 + cpu, 12345678)
   for domain, name in ipairs({ "SMT", "CLS", "MC", "NUMA" }) do
      sched[#sched + 1] = ("domain%d %s %s"):format(domain - 1, name, mask) .. (" 0 17 123456"):rep(15)
   end
end
tree.put(root, "/proc/schedstat", table.concat(sched, "\n") .. "\n")

for _, resource in ipairs({ "cpu", "io", "memory" }) do
   local line = "avg10=0.00 avg60=0.00 avg300=0.00 total=1234567\n"
   tree.put(root, "/proc/pressure/" .. resource, "some " .. line .. "full " .. line)
end

local vmstat = {}
for i = 1, 180 do
   vmstat[i] = ("nr_counter_%d %d"):format(i, i * 7919)
end
tree.put(root, "/proc/vmstat", table.concat(vmstat, "\n") .. "\noom_kill 2\n")

local disks = {}
for i, name in ipairs({ "nvme0n1", "nvme1n1", "sda" }) do
   local numbers = "96314 1203 8123412 93112 412931 98122 91238123 1293112 0 412391 1381231 0 0 0 0 9123 4123"
   disks[#disks + 1] = ("%4d %7d %s %s"):format(259, i, name, numbers)
   disks[#disks + 1] = ("%4d %7d %sp1 %s"):format(259, i + 8, name, numbers)
   tree.put(root, "/sys/block/" .. name .. "/stat", numbers .. "\n")
end
tree.put(root, "/proc/diskstats", table.concat(disks, "\n") .. "\n")

-- Three NFS mounts with the operations of version 4.2, some local ones.
local mounts = {}
for _, name in ipairs({ "proc", "sysfs", "tmpfs", "devpts", "cgroup2", "xfs" }) do
   mounts[#mounts + 1] = ("device %s mounted on /%s with fstype %s"):format(name, name, name)
end
for _, name in ipairs({ "home", "apps", "project" }) do
   mounts[#mounts + 1] = ("device srv:/%s mounted on /%s with fstype nfs4 statvers=1.1"):format(name, name)
   mounts[#mounts + 1] = "\topts:\trw,vers=4.2,rsize=1048576,wsize=1048576\n\tage:\t912312\n\tper-op statistics"
   for op = 1, 72 do
      local letters = string.char(65 + op % 26, 65 + op * 7 % 26, 65 + op * 3 % 26)
      mounts[#mounts + 1] = ("\t        OP_%s: %d %d 0 10240 20480 5 412 523 0"):format(letters, op * 31, op * 31)
   end
end
tree.put(root, "/proc/self/mountstats", table.concat(mounts, "\n") .. "\n")

for port = 0, 1 do
   local dir = ("/sys/class/infiniband/mlx5_%d/ports/1/"):format(port)
   tree.put(root, dir .. "state", "4: ACTIVE\n")
   tree.put(root, dir .. "phys_state", "5: LinkUp\n")
   tree.put(root, dir .. "rate", "400 Gb/sec (4X NDR)\n")
   for _, name in ipairs({ "symbol_error", "link_error_recovery", "link_downed", "port_rcv_errors",
      "port_xmit_discards", "local_link_integrity_errors", "excessive_buffer_overrun_errors", "VL15_dropped" }) do
      tree.put(root, dir .. "counters/" .. name, "0\n")
   end
end

-- What a job's record needs beside: machine checks, energy, memory traffic, heat.
local IRQS = 300
local interrupts = { (" "):rep(12) .. ("CPU000     "):rep(CPUS) }
for irq = 1, IRQS do
   assert(files.mkdir(("%s/sys/kernel/irq/%d"):format(root, irq)))
   interrupts[#interrupts + 1] = ("%4d: "):format(irq) .. ("         0 "):rep(CPUS - 1)
      .. ("%10d   IR-PCI-MSI %d-edge      mlx5_comp%d@pci:0000:31:00.0"):format(irq * 7919, irq * 1024, irq)
end
for _, name in ipairs({ "NMI", "LOC", "SPU", "PMI", "IWI", "RTR", "RES", "CAL", "TLB", "TRM", "THR", "DFR", "MCE",
   "MCP", "ERR", "MIS", "PIN", "NPI", "PIW" }) do
   local quiet = name == "THR" or name == "DFR" or name == "MCE"
   interrupts[#interrupts + 1] = (" %s: "):format(name) .. (quiet and "         0 " or "   1231231 "):rep(CPUS)
      .. "  words"
end
tree.put(root, "/proc/interrupts", table.concat(interrupts, "\n") .. "\n")
tree.put(root, "/sys/devices/system/machinecheck/machinecheck0/check_interval", "12c\n")
for package = 0, 1 do
   local dir = ("/sys/class/powercap/intel-rapl:%d/"):format(package)
   tree.put(root, dir .. "name", ("package-%d\n"):format(package))
   tree.put(root, dir .. "enabled", "1\n")
   tree.put(root, dir .. "energy_uj", "233113828733\n")
   tree.put(root, dir .. "max_energy_range_uj", "262143328850\n")
   tree.put(root, dir .. "constraint_0_power_limit_uw", "350000000\n")
   tree.put(root, ("/sys/class/powercap/intel-rapl:%d:0/name"):format(package), "dram\n")
   dir = ("/sys/class/hwmon/hwmon%d/"):format(package)
   tree.put(root, dir .. "name", "coretemp\n")
   for sensor = 1, CPUS // 4 + 1 do
      tree.put(root, ("%stemp%d_input"):format(dir, sensor), "61000\n")
      tree.put(root, ("%stemp%d_label"):format(dir, sensor), "Core\n")
   end
end
for i, name in ipairs({ "nvme", "nvme", "jc42", "jc42", "mlx5", "mlx5", "power_meter" }) do
   tree.put(root, ("/sys/class/hwmon/hwmon%d/name"):format(i + 1), name .. "\n")
end
for i = 0, CPUS - 1 do
   tree.put(root, ("/sys/class/thermal/cooling_device%d/type"):format(i), "Processor\n")
   tree.put(root, ("/sys/class/thermal/cooling_device%d/cur_state"):format(i), "0\n")
end
for cache = 0, 15 do
   tree.put(root, ("/sys/fs/resctrl/mon_data/mon_L3_%02d/mbm_total_bytes"):format(cache), "912341234000\n")
end
