-- What learning costs: N records of M nodes as prologs write them, through a pipe, into
-- the real reader and learner. Prints seconds and the most memory at N/10 and at N.
--   lua5.4 tests/bench/learn.lua [N [M]]     default 1,000,000 records of 1,000 nodes
package.path = "lua/?.lua;" .. package.path
local n, nodes = tonumber(arg[1] or 1000000), tonumber(arg[2] or 1000)

local function write(total)
   local line = '{"v":1,"kind":"check","id":"%016x%016x","node":"n%d","class":"epyc-9654-2s192c-768g",'
      .. '"time":"2026-11-21T08:00:00Z","boot_id":"5b2f8a54-8d5c-4e0b-9f4e-0c6a7d1f2b3c","level":"quick",'
      .. '"status":"pass","action":"none","trigger":"prolog","duration_s":3.5,"config":{"kernel":"6.1.0-18-amd64",'
      .. '"bios":"1.9","governor":"performance","smt":"on","thp":"madvise","microcode":"0xa10113e"},'
      .. '"parts":{"memory_gib":768,"dimms":24,"cores":192},"job":{"id":%d,"user":"alice","partition":"main"},'
      .. '"metrics":[{"name":"triad_gbs","status":"pass","value":%.6g,"limit":600,"op":"<","source":"class"}],'
      .. '"runs":[{"kernel":"stream","state":"ok","attempt":1,"seconds":2,"result":{"triad_gbs":%.6g,"copy_gbs":700}},'
      .. '{"kernel":"dgemm","state":"ok","attempt":1,"seconds":1,"result":{"gflops":%.6g}},'
      .. '{"kernel":"noise","state":"ok","attempt":1,"seconds":0.5,"result":{"noise_pct":0.2}}]}\n'
   for i = 1, total do
      local triad = 700 * (1 + (math.random() - 0.5) / 20)
      io.write(line:format(math.random(0), math.random(0), i % nodes, i, triad, triad, triad * 10))
   end
end

if arg[3] == "write" then
   write(n)
   return
end

local learn = require("syscheck.verdict.learning")
local records = require("syscheck.spool.records")

local function peak_mb()
   return tonumber(io.open("/proc/self/status"):read("a"):match("VmHWM:%s*(%d+)")) / 1024
end

for _, total in ipairs({ n // 10, n }) do
   local pipe = assert(io.popen("mktemp -d"))
   local dir = pipe:read("l")
   pipe:close()
   local writer = "mkfifo %s/records.jsonl && (lua5.4 tests/bench/learn.lua %d %d write >%s/records.jsonl &)"
   assert(os.execute(writer:format(dir, total, nodes, dir)))
   local began = os.clock()
   local learned = learn.from(records.read({ dir }, error))
   local c = learned.classes["epyc-9654-2s192c-768g"].metrics.triad_gbs
   print(("%d records of %d nodes: %.1f s CPU, %.0f MB at most; %d values of triad kept, median %.1f"):format(total,
      nodes, os.clock() - began, peak_mb(), c.n, c.median))
   os.execute("rm -r " .. dir)
end
