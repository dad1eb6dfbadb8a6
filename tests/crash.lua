-- Kills what writes, moves and stores records, at random points, and looks for what was
-- acknowledged.
--   crash.lua run LUADIR WORKDIR KILLS SEED [SYSCHECK]   SYSCHECK: kills its ingest, too
--   crash.lua victim KIND LUADIR WORKDIR ACKS      what is killed: works until then
--   crash.lua check LUADIR WORKDIR [IDS]           every acknowledged record once? Also among
--                                                  the IDS that a store has
local uv = require("luv")

local AT_ONCE = 4
-- A victim's life at most, from when it begins its work (it says so); of ingest, which
-- cannot say so, from its start.
local MAX_MS, MAX_INGEST_MS = 200, 400

-- How often each kind is among the killed.
local KINDS = { "append", "append", "append", "agent", "agent", "agent", "ship", "ship", "close" }

local victims = {}

-- Notes an id once append has returned true: from then on it must not be lost.
local function acknowledge(acks)
   local file = assert(io.open(acks, "ab"))
   file:setvbuf("no")
   local records = require("syscheck.spool.records")
   local append = records.append
   function records.append(spool, record, limits)
      local ok, err = append(spool, record, limits)
      if ok then
         file:write(record.id, "\n")
      end
      return ok, err
   end
   return records
end

local LIMITS = { spool_segment_mb = 0.01, spool_max_mb = 1000 }

function victims.append(work, acks)
   local records = acknowledge(acks)
   local id = require("syscheck.lib.files").random_id
   while true do
      local time = os.date("!%Y-%m-%dT%H:%M:%SZ")
      assert(records.append(work .. "/spool", { v = 1, kind = "job", id = id(), node = "n1", boot_id = "b", time = time,
         class = "c", ["end"] = { time = time }, job = { id = math.random(1e6), user = "bob", name = ("x"):rep(600) } },
         LIMITS))
   end
end

-- Prolog and epilog of one job after the other, as the shell entries run them.
function victims.agent(work, acks)
   acknowledge(acks)
   local prolog, epilog = require("syscheck.prolog"), require("syscheck.epilog")
   local n = 0
   while true do
      n = n + 1
      local environment = { SLURM_JOB_ID = ("%d"):format(uv.os_getpid() * 1000 + n), SLURMD_NODENAME = "n1",
         SLURM_JOB_USER = "alice", SLURM_JOB_PARTITION = "main", SPANK_SYSCHECK = "passive" }
      local function get(name)
         return environment[name]
      end
      prolog.main(get, { policy = work .. "/policy.lua" })
      epilog.main(get, { policy = work .. "/policy.lua" })
   end
end

function victims.ship(work)
   local process, ship = require("syscheck.lib.process"), require("syscheck.spool.ship")
   while true do
      local fd = process.lock_file(work .. "/spool/.ship.lock", 1)
      if fd then
         local out = ship.run({ spool = work .. "/spool", node = "n1", to = work .. "/dest", keep_mb = 0 })
         assert(not out.err, out.err)
         uv.fs_close(fd)
      end
      uv.sleep(5)
   end
end

function victims.close(work)
   while true do
      require("syscheck.spool.journal").close(work .. "/spool")
      uv.sleep(3)
   end
end

-- ingest ends by itself, so something starts it again.
local INGEST = 'while :; do "$0" ingest --store "$1/store.db" "$1/dest" >/dev/null; done'

-- @return program, arguments
local function victim(kind, luadir, work, number, syscheck)
   if kind == "ingest" then
      return "bash", { "-c", INGEST, syscheck, work }
   end
   return "lua5.4", { arg[0], "victim", kind, luadir, work, ("%s/acks/%d"):format(work, number) }
end

local function run(luadir, work, kills, seed, syscheck)
   math.randomseed(seed)
   if syscheck then
      table.move({ "ingest", "ingest" }, 1, 2, #KINDS + 1, KINDS)
   end
   local started, killed, running = 0, 0, 0
   local died = {}
   local function start()
      started, running = started + 1, running + 1
      local kind = KINDS[math.random(#KINDS)]
      local out, err = uv.new_pipe(false), uv.new_pipe(false)
      local text = {}
      local timer = uv.new_timer()
      local child, pid
      local program, args = victim(kind, luadir, work, started, syscheck)
      child, pid = uv.spawn(program, { args = args, stdio = { nil, out, err }, detached = true }, function(code, signal)
         running = running - 1
         timer:close()
         child:close()
         if signal == 9 then
            killed = killed + 1
         else
            died[#died + 1] = ("%s: exit code %d: %s"):format(kind, code, table.concat(text))
         end
         if started < kills then
            start()
         end
      end)
      assert(child, pid)
      err:read_start(function(_, data)
         if data then
            text[#text + 1] = data
         elseif not err:is_closing() then
            err:close()
         end
      end)
      -- Alone, or with the programs that it runs.
      local group = (kind == "ingest" or math.random(2) == 1) and -1 or 1
      local ms = math.random(0, kind == "ingest" and MAX_INGEST_MS or MAX_MS)
      local function arm()
         if not timer:is_closing() then
            timer:start(ms, 0, function()
               uv.kill(group * pid, "sigkill")
            end)
         end
      end
      out:read_start(function(_, data)
         if data then
            arm()
         else
            out:close()
         end
      end)
      if kind == "ingest" then
         arm()
      end
   end
   for _ = 1, AT_ONCE do
      start()
   end
   uv.run()
   for _, text in ipairs(died) do
      print("not killed: " .. text)
   end
   print(("%d kills, seed %d"):format(killed, seed))
   return #died == 0 and killed == kills
end

-- Ids, one a line: what a store has.
local function count_lines(file)
   local times = {}
   for id in io.lines(file) do
      times[id] = (times[id] or 0) + 1
   end
   return times
end

local function check(work, stored)
   local records = require("syscheck.spool.records")
   local times, bad, torn, total = {}, 0, 0, 0
   for record in records.read({ work .. "/dest/n1" }, function(_, _, why)
      torn = torn + 1
      print("damaged line: " .. why)
   end) do
      times[record.id] = (times[record.id] or 0) + 1
      total = total + 1
      if times[record.id] > 1 or record.kind == "loss" then
         bad = bad + 1
         print(("%s %s: %d times"):format(record.kind, record.id, times[record.id]))
      end
   end
   stored = stored and count_lines(stored)
   for id, n in pairs(stored or {}) do
      if n > 1 or not times[id] then
         bad = bad + 1
         print(("in the store %d times, in the destination %d: %s"):format(n, times[id] or 0, id))
      end
   end
   local acknowledged, lost = 0, 0
   for _, name in ipairs(require("syscheck.lib.files").list(work .. "/acks")) do
      for id in io.lines(work .. "/acks/" .. name) do
         acknowledged = acknowledged + 1
         if not times[id] or (stored and not stored[id]) then
            lost = lost + 1
            print(("lost: %s of victim %s: not in the %s"):format(id, name, times[id] and "store" or "destination"))
         end
      end
   end
   print(("%d acknowledged, %d lost; %d in the destination, %d of them more than once, %d damaged lines"):format(
      acknowledged, lost, total, bad, torn))
   return lost == 0 and bad == 0 and acknowledged > 0
end

local mode = arg[1]
if mode == "victim" then
   package.path = arg[3] .. "/?.lua;" .. package.path
   require("syscheck.node.node") -- what takes the time
   io.stdout:write("ready\n")
   io.stdout:flush()
   victims[arg[2]](arg[4], arg[5])
else
   package.path = arg[2] .. "/?.lua;" .. package.path
   os.exit(mode == "run" and run(arg[2], arg[3], tonumber(arg[4]), tonumber(arg[5]), arg[6])
      or mode == "check" and check(arg[3], arg[4]))
end
