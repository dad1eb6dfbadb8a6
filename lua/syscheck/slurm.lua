--- What Slurm tells a prolog, and the few calls that go back to it.
local process = require("syscheck.process")

local slurm = {}

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
         if tonumber(to) - tonumber(from) > MAX_HOSTS then
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
      nodes = nodes and #nodes > 0 and #nodes or nil,
      nodelist = get("SLURM_NODELIST") or get("SLURM_JOB_NODELIST"),
      het_job_id = tonumber(get("SLURM_HET_JOB_ID") or nil),
      restart = tonumber(get("SLURM_JOB_RESTART_COUNT") or nil),
   }
end

local PREFIX = "syscheck:"
local CALL_TIMEOUT_MS = 5000
local MAX_REASON = 250

local function scontrol(program, args)
   local conf = os.getenv("SLURM_CONF")
   local run, err = process.run(program, args, {
      timeout_ms = CALL_TIMEOUT_MS,
      env = conf and { "SLURM_CONF=" .. conf } or nil,
   })
   if not run then
      return nil, err
   elseif run.timed_out then
      return nil, ("scontrol %s: no answer within %d s"):format(args[1], CALL_TIMEOUT_MS // 1000)
   elseif run.code ~= 0 then
      return nil, ("scontrol %s: exit code %s: %s"):format(args[1], tostring(run.code), (run.err:gsub("%s+", " ")))
   end
   return run.out
end

--- Drains a node, unless it is out of service already: then whoever took it out
-- keeps their reason.
-- @param program scontrol, a name or path
-- @param node name, checked by safe_name
-- @param text why, without prefix
-- @return { done = bool, reason, kept = reason that stood, error }
function slurm.drain(program, node, text)
   local reason = (PREFIX .. " " .. text):gsub("[^ !#-~]", "?"):sub(1, MAX_REASON)
   local shown, err = scontrol(program, { "show", "node", "--oneliner", node })
   if not shown then
      -- Without knowing whose reason stands there, none is written: the prolog's
      -- exit code takes the node out of service with Slurm's own.
      return { done = false, reason = reason, error = err }
   end
   local state, standing = shown:match(" State=(%S+)"), shown:match(" Reason=(.*)$")
   if standing and state and (state:find("DRAIN") or state:find("DOWN") or state:find("FAIL"))
      and standing:sub(1, #PREFIX) ~= PREFIX then
      return { done = false, reason = reason, kept = (standing:gsub("%s+$", "")) }
   end
   local ok
   ok, err = scontrol(program, { "update", "nodename=" .. node, "state=drain", "reason=" .. reason })
   return { done = ok ~= nil, reason = reason, error = err }
end

return slurm
