--- Slow, or disturbed? What others may have taken from a measurement at most, by evidence from
-- the measurement itself. Pure; docs/decisions.md has the argument and the numbers.
local busy = {}

-- What a measurement lost to others counts from this share on; normal daemons take less.
local LEAST = 0.02
-- A node is busy where every measurement of a check may have lost so much, or others had so
-- many CPUs.
local BUSY, BUSY_CPUS = 0.05, 0.5
-- Less than this is not what keeps it busy: a hypervisor does, or a lack of memory. Never 0, which is no finding.
local SOME_CPUS, LEAST_CPUS = 0.05, 0.01
-- Busy stays: so many checks in a row, over so long.
local CHECKS, STAYS_S = 3, 600

--- State of a node, from check to check: see busy.follow.
busy.FILE = "busy.json"

local MOST = 0.95 -- nothing explains a value of nothing
local NORMAL_STEAL = 0.01
local TICK_S = 0.01 -- of /proc/stat
-- A core whose other thread works keeps a third of its speed at least.
local SMT_LOSS = 2 / 3
-- One core may draw this many times its share of a cache's memory bandwidth.
local GREED = 2
-- What a thread finds cold after somebody else had its core.
local REFILL = 0.2
-- Whose work is the node's own, so that it is the node's defect when it stays.
local OWN = { kernel = true, interrupts = true, service = true }

local function share(value)
   return math.max(0, math.min(MOST, value))
end

--- Who disturbs, as one that is known again: a job or a user by number, a service by its
-- process, a kernel thread by the first part of its name (kworker/3:1).
-- @param most of evidence, or nil
function busy.key(most)
   if not most then
      return "nobody"
   elseif most.job then
      return ("job %d"):format(most.job)
   elseif most.kind == "kernel" then
      return "kernel " .. most.comm:match("^[^/:]*")
   elseif most.kind == "service" then
      return ("service %d"):format(most.pid)
   elseif most.kind == "interrupts" then
      return "interrupts"
   end
   return ("user %d"):format(most.uid or -1)
end

-- The state of the check before, if this one finds the same one at work on this boot.
local function known(state, most, now)
   return type(state) == "table" and state.boot_id == now.boot_id and state.key == busy.key(most)
      and type(state.first_s) == "number" and type(state.checks) == "number" and state.first_s <= now.s and state
      or nil
end

local function stays(checks, first_s, now)
   return checks >= CHECKS and now.s - first_s >= STAYS_S
end

-- The same kernel thread, interrupts or service as at the checks before.
local function is_own(most, state, now)
   state = most and OWN[most.kind] and known(state, most, now)
   return state and stays(state.checks + 1, state.first_s, now)
end

--- The largest share of a measurement that others explain.
--
-- The kernel says what it lost because threads were not running (lost_pct, the mean of the
-- measured CPUs, as its rate is their sum); of that, what a quota of our own took is not others'
-- doing, and others took no more than the CPU time that they got. What runs beside the measured
-- CPUs takes memory bandwidth or a part of a core. All of the time on measured CPUs may have been while
-- the kernel worked, and none of it in its set-up, which takes up to half of the seconds.
-- @param evidence { seconds, worked (s of them), measured, beside (CPUs' worth of time of others on the measured
--   CPUs, and on each other one beyond what is normal there, summed), stolen (list of shares, by
--   measured CPU), quota (share that cgroups' quotas took), stalled (share in which tasks
--   waited for memory), cpus (measured), neighbours (CPUs of a last-level cache), smt, most }
-- @param lost_pct of the kernel's object
-- @param state of busy.follow, of the check before, or nil
-- @param now { boot_id, s = monotonic seconds }
-- @return share from 0 to 0.95; 0 below LEAST
function busy.loss(evidence, lost_pct, state, now)
   local e, stolen, others = evidence, 0, 1
   for _, one in ipairs(e.stolen) do
      stolen = stolen + math.max(0, one - NORMAL_STEAL) / e.cpus
   end
   if is_own(e.most, state, now) then
      others = share(1 - e.most.cpus / math.max(e.measured + e.beside, e.most.cpus))
   end
   local then_all = e.seconds / e.worked
   local waited = math.min(lost_pct / 100 - e.quota,
      then_all * ((e.measured / e.cpus + TICK_S / e.seconds) * others + e.stalled))
   local beside = e.beside * others
   -- The other thread of a core draws on its core's share, no more; a core beside them has one of its own.
   local shared = e.smt and SMT_LOSS * math.min(1, GREED * beside / e.cpus)
      or GREED * beside / (e.neighbours + beside) * math.min(1, e.neighbours / e.cpus)
   -- Whom a hypervisor gives CPU time has a share of core and caches, too.
   shared = math.max(shared, math.min(SMT_LOSS, 2 * stolen))
   shared = math.max(shared, REFILL * share(waited))
   local loss = share(1 - (1 - share(share(waited) + stolen)) * (1 - share(shared)))
   return loss >= LEAST and loss or 0
end

--- What a value would have been at best without what others took.
-- @param m from metrics.LIST
-- @param loss from busy.loss
function busy.credit(m, value, loss)
   if m.better == "higher" then
      return value / (1 - loss)
   elseif m.unit == "%" then
      return value - 100 * loss
   end
   return value * (1 - loss)
end

local KINDS = { kernel = "kernel thread", service = "service" }

local function who(most)
   if most.kind == "interrupts" then
      return "interrupts"
   end
   local of = KINDS[most.kind] or ("uid %s"):format(most.uid or "?")
   return ("%s (pid %d, %s%s)"):format(most.comm, most.pid, of, most.job and (", job %d"):format(most.job) or "")
end

--- "others used 43 % of CPU 3, most by stress-ng (pid 4711, uid 1000)"
-- @param others as in a record's run
function busy.words(others)
   local used = others.cpu and others.cpu_pct >= 1 and others.cpus < 1.5
      and ("%.0f %% of CPU %d"):format(others.cpu_pct, others.cpu) or ("%.1f CPUs"):format(others.cpus)
   if (others.steal_pct or 0) >= 1 and others.steal_pct >= 50 * others.cpus then
      return ("the hypervisor gave %.0f %% of a CPU to others"):format(others.steal_pct)
   end
   return ("others used %s%s"):format(used, others.most and ", most by " .. who(others.most) or "")
end

--- Whether others used so many CPUs that a record names them, whatever it cost.
-- @param cpus that they used
-- @param all CPUs of the node: its own daemons run on each
function busy.is_much(cpus, all)
   return cpus >= math.max(BUSY_CPUS, 0.005 * all)
end

--- Follows who keeps the node busy, from check to check.
-- @param state of the check before, or nil
-- @param list of a check's measurements; those whose `loss` is known count, with their `others`
-- @param now { boot_id, s = monotonic seconds, time = to be shown }
-- @return state { boot_id, key, first_s, since, checks, stays, cpus, most }, nil: not busy
function busy.follow(state, list, now)
   local seen, most
   for _, one in ipairs(list) do
      local here = one.others
      if one.loss and not (here and (one.loss >= BUSY or here.cpus >= BUSY_CPUS)) then
         return nil
      elseif one.loss and (not seen or here.cpus < seen.cpus) then
         seen = here
      end
      most = here and here.most or most
   end
   if not seen then
      return nil
   end
   local before = known(state, most, now)
   local new = { boot_id = now.boot_id, key = busy.key(most), most = most,
      cpus = math.max(seen.cpus, LEAST_CPUS),
      first_s = before and before.first_s or now.s, since = before and before.since or now.time,
      checks = before and before.checks + 1 or 1 }
   new.stays = stays(new.checks, new.first_s, now)
   return new
end

--- The finding, of a node that stays busy or has processes of a job that ended; nil for none.
-- @param state from busy.follow, or nil
-- @param alone whether a job's process can only be one that its job has left
function busy.finding(state, alone)
   if not state then
      return nil
   end
   local used = state.cpus >= SOME_CPUS and ("others use %.1f CPUs"):format(state.cpus)
      or "held up by what uses no CPU time here (a hypervisor, a lack of memory)"
   if state.most and state.most.job and alone then
      return ("leftover processes of job %d: %s, most %s"):format(state.most.job, used, who(state.most))
   elseif state.stays then
      return ("busy for %d checks, since %s: %s%s"):format(state.checks, state.since, used,
         state.most and ", most " .. who(state.most) or "")
   end
end

return busy
