--- What Slurm tells a prolog, and the few calls that go back to it.
local process = require("syscheck.process")

local slurm = {}

local MAX_DIGITS = 18 -- of a number that Lua can count with
local MAX_HOSTS = 200000 -- a bound against nonsense, ten times the largest cluster

--- Name that is safe to build a path from, or nil.
function slurm.safe_name(text)
   return text and #text <= 255 and text:match("^[%w_][%w._-]*$") or nil
end

-- "1-3,07" -> "1", "2", "3", "07"
local function numbers(list)
   local out = {}
   for item in list:gmatch("[^,]+") do
      local from, to = item:match("^(%d+)-(%d+)$")
      if from then
         if #from > MAX_DIGITS or #to > MAX_DIGITS or #out + tonumber(to) - tonumber(from) > MAX_HOSTS then
            return nil
         end
         local format = "%0" .. #from .. "d"
         for n = tonumber(from), tonumber(to) do
            out[#out + 1] = format:format(n)
         end
      elseif item:match("^%d+$") then
         out[#out + 1] = item
      else
         return nil
      end
   end
   return out
end

-- "r[1-2]n[1-2]" -> four names
local function expand_one(text, out)
   local head, list, tail = text:match("^([^%[%]]*)%[([%d,-]+)%](.*)$")
   if not head then
      if text:find("[%[%]]") then
         return nil
      end
      out[#out + 1] = text
      return #out <= MAX_HOSTS
   end
   local items = numbers(list)
   for _, n in ipairs(items or {}) do
      local rest = {}
      if not expand_one(tail, rest) then
         return nil
      end
      for _, r in ipairs(rest) do
         out[#out + 1] = head .. n .. r
      end
      if #out > MAX_HOSTS then
         return nil
      end
   end
   return items ~= nil
end

--- Hostlist to names: "n[1-3,07],m2". nil when it is none.
function slurm.expand(hostlist)
   local out = {}
   local at, depth = 1, 0
   for i = 1, #hostlist + 1 do
      local c = hostlist:sub(i, i)
      if c == "[" then
         depth = depth + 1
      elseif c == "]" then
         depth = depth - 1
      elseif (c == "," and depth == 0) or c == "" then
         if i > at and not expand_one(hostlist:sub(at, i - 1), out) then
            return nil
         end
         at = i + 1
      end
   end
   return out
end

--- CPUs of the job on one node: SLURM_JOB_CPUS_PER_NODE ("2(x3),4") follows the
-- order of SLURM_NODELIST.
-- @return number, or nil when it cannot be told
function slurm.cpus_on(node, cpus_per_node, nodelist)
   local runs = {}
   for item in (cpus_per_node or ""):gmatch("[^,]+") do
      local cpus, times = item:match("^(%d+)%(x(%d+)%)$")
      cpus = tonumber(cpus or item:match("^%d+$"))
      if not cpus then
         return nil
      end
      runs[#runs + 1] = { cpus = cpus, times = tonumber(times or 1) }
   end
   if #runs == 1 then
      return runs[1].cpus
   end
   local names = slurm.expand(nodelist or "")
   for index, name in ipairs(names or {}) do
      if name == node then
         for _, run in ipairs(runs) do
            if index <= run.times then
               return run.cpus
            end
            index = index - run.times
         end
      end
   end
   return nil
end

--- The job as its prolog or epilog sees it. Names come from users.
-- @param get function(name) -> value of an environment variable, or nil
-- @return { id, user, uid, partition, account, nodes, nodelist, ... }, absent
--   fields absent; or nil and why
function slurm.job(get)
   local id = tonumber((get("SLURM_JOB_ID") or ""):match("^%d+$"))
   if not id then
      return nil, "no SLURM_JOB_ID: this runs as Slurm's Prolog or Epilog"
   end
   local nodes = slurm.expand(get("SLURM_NODELIST") or get("SLURM_JOB_NODELIST") or "")
   return {
      id = id,
      user = get("SLURM_JOB_USER"),
      uid = tonumber(get("SLURM_JOB_UID") or nil),
      partition = get("SLURM_JOB_PARTITION"),
      account = get("SLURM_JOB_ACCOUNT"),
      qos = get("SLURM_JOB_QOS"), -- Slurm 26.05 and newer
      nodes = nodes and #nodes > 0 and #nodes or nil,
      nodelist = get("SLURM_NODELIST") or get("SLURM_JOB_NODELIST"),
      het_job_id = tonumber(get("SLURM_HET_JOB_ID") or nil),
      restart = tonumber(get("SLURM_JOB_RESTART_COUNT") or nil),
   }
end

--- Calls one of Slurm's commands. Times come back in UTC.
-- @param program a name or path
-- @param args list of strings
-- @param timeout_s seconds
-- @param max_output bytes, or nil
-- @return what it printed; or nil and why
function slurm.call(program, args, timeout_s, max_output)
   local conf = os.getenv("SLURM_CONF")
   local name = program:match("[^/]+$") or program
   local run, err = process.run(program, args, {
      timeout_ms = timeout_s * 1000,
      max_output = max_output,
      env = { "TZ=UTC", conf and "SLURM_CONF=" .. conf or nil },
   })
   if not run then
      return nil, err
   elseif run.timed_out then
      return nil, ("%s %s: no answer within %.0f s"):format(name, args[1], timeout_s)
   elseif run.too_long then
      return nil, ("%s %s: an answer without end"):format(name, args[1])
   elseif run.code ~= 0 or run.signal ~= 0 then
      return nil, ("%s %s: %s %s: %s"):format(name, args[1], run.signal ~= 0 and "ended by signal" or "exit code",
         tostring(run.signal ~= 0 and run.signal or run.code), (run.err:gsub("%s+", " "):sub(1, 300)))
   end
   return run.out
end

return slurm
