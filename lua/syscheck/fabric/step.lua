--- The job step in which nodes talk with each other: starts it, gives it rounds, reads what each rank prints. One
-- task a node (kernels/fabric has the protocol). A node that does not start, dies or does not answer is named, and
-- the caller goes on without it.
local json = require("cjson.safe").new()
local uv = require("luv")
local blame = require("syscheck.fabric.blame")
local fields = require("syscheck.catalogue.fields")
local hostlist = require("syscheck.lib.hostlist")
local loop = require("syscheck.fabric.loop")
local said = require("syscheck.fabric.said")

local positive = said.positive

local step = {}
step.__index = step

local HELLO_S = 60 -- until all tasks have been launched
local READY_S = 30 -- until MPI_Init is done, and one more for each READY_NODES: 512 nodes take some seconds
local READY_NODES = 16
local TRY_S = 15 -- until the few nodes of a part have done it
local ROUND_S = 12 -- of a round in which everybody waits for somebody, in all phases
--- Pauses of a round, over the share of the time in which there is traffic: kernels/fabric/bandwidth.c has them.
step.PAUSES_S = 0.3
local END_S = 5
local STUCK_S = 15 -- until a rank says that it is stuck, and for connections: kernels/fabric/watch.c, round.c
local MOST_LINKS = 32 -- of a node
local IS_GROUPS = { collective = true, work = true, files = true } -- events of a round of groups
local ERRORS_KEPT = 40 -- lines of standard error, and as many of srun's own

json.decode_invalid_numbers(false)

-- A user's own settings win. PMIx' own connections between slurmstepds wait two minutes for a node that drops all
-- packets, in a call that cannot be interrupted: longer than UnkillableStepTimeout, and Slurm drains whoever tried.
-- Without them the same goes by Slurm's messages, which have a time-out.
-- OpenMPI's own MPI-IO keeps a file beside an open one; ROMIO, which comes with it, none.
local SETTINGS = { OMPI_MCA_io = "^ompio", OMPI_MCA_btl_base_warn_component_unused = "0",
   OMPI_MCA_mpi_yield_when_idle = "1", SLURM_PMIX_DIRECT_CONN = "false" }

local function environment()
   local env = uv.os_environ()
   for name, value in pairs(SETTINGS) do
      env[name] = env[name] or value
   end
   local list = {}
   for name, value in pairs(env) do
      list[#list + 1] = name .. "=" .. value
   end
   return list
end

-- What is written to an srun that has ended is an error of that write, and not the end of this program.
local function ignore_broken_pipes()
   if not step.sigpipe then
      step.sigpipe = uv.new_signal()
      step.sigpipe:start("sigpipe", function() end)
      step.sigpipe:unref()
   end
end

--- Starts the step; hello() waits for it.
-- @param options { srun, kernel = paths, nodes = names, job = id of the allocation, dir = where files go, or nil,
--   rail = number of the port that each is to use, or nil, cores = true: each task on all of the job's cores there,
--   seconds = the kernel's own limit, interrupted = function() -> true when it is no longer wanted }
-- @return self; or nil and why it could not be started
function step.start(options)
   local self = setmetatable({ nodes = options.nodes, asked = {}, rank_of = {}, name_of = {}, about = {},
      ready = {}, errors = {}, said_by_srun = 0, plan = 0, open = 2 }, step)
   for _, node in ipairs(options.nodes) do
      self.asked[node] = true
   end
   local args = { "--mpi=pmix", "--ntasks-per-node=1", "--nodes=" .. #options.nodes, "--ntasks=" .. #options.nodes,
      "--nodelist=" .. hostlist.fold(options.nodes), "--kill-on-bad-exit=1", "--wait=" .. END_S, "--unbuffered",
      "--job-name=" .. fields.OWN_JOB, "--input=all", "--jobid=" .. options.job, "--overlap",
      options.kernel, "--seconds", ("%d"):format(options.seconds) }
   if options.cores then
      table.insert(args, 1, "--cpu-bind=none")
   end
   for name, value in pairs({ dir = options.dir, rail = options.rail and ("%d"):format(options.rail) }) do
      table.move({ "--" .. name, value }, 1, 2, #args + 1, args)
   end
   ignore_broken_pipes()
   self.pipes = { input = uv.new_pipe(false), out = uv.new_pipe(false), err = uv.new_pipe(false) }
   local pid
   -- A group of its own: ^C at the terminal reaches us, and we end it.
   self.child, pid = uv.spawn(options.srun, { args = args, env = environment(),
      stdio = { self.pipes.input, self.pipes.out, self.pipes.err }, detached = true }, function(code, signal)
      self.exited = { code = code, signal = signal }
   end)
   if not self.child then
      for _, pipe in pairs(self.pipes) do
         pipe:close()
      end
      return nil, ("%s: %s"):format(options.srun, pid)
   end
   self.pid, self.interrupted, self.rail = pid, options.interrupted, options.rail
   local function closed()
      self.open = self.open - 1
   end
   loop.lines(self.pipes.out, function(line)
      self:take(json.decode(line))
   end, closed)
   loop.lines(self.pipes.err, function(line)
      -- MPI may have much to say before srun says who ended.
      local srun = line:find("^srun: ") and 1 or 0
      if line:find("%S") and (#self.errors < ERRORS_KEPT or srun == 1 and self.said_by_srun < ERRORS_KEPT) then
         table.insert(self.errors, line)
         self.said_by_srun = self.said_by_srun + srun
      end
   end, closed)
   return self
end

-- One line of a rank.
function step:take(got)
   local rank = type(got) == "table" and math.tointeger(got.rank)
   if not rank then
      return
   elseif got.event == "hello" and self.asked[got.node] and not self.about[got.node] then
      self.rank_of[got.node], self.name_of[rank], self.about[got.node] = rank, got.node, said.about(got)
   elseif got.event == "link" and self.about[got.node] and #self.about[got.node].links < MOST_LINKS then
      table.insert(self.about[got.node].links, said.link(got))
   elseif got.event == "errors" and self.name_of[rank] then
      said.errors(got, self.about[self.name_of[rank]].errors)
   elseif got.event == "ready" then
      self.ready[rank], self.mpi = true, said.mpi(got)
   elseif got.event == "round" and got.plan == self.plan and self.results then
      self:round(rank, got)
   elseif IS_GROUPS[got.event] and got.plan == self.plan and self.results then
      self:group(rank, got)
   elseif self.through and (got.event == "done" and got.plan == self.plan or got.event == "stuck") then
      self.done[rank], self.through[rank] = got.event == "done", true
      local node, instead = self.name_of[rank], said.instead(got)
      self.instead = self.instead or self.rail and node and instead
         and ("OpenMPI does not keep to rail %d on %s, it used %s (of two ports in one network? "
            .. "net.ipv4.conf.all.arp_ignore=1 and arp_announce=2)"):format(self.rail, node, instead)
   end
end

-- A pair's line, of one of its two ends: each has what it received.
function step:round(rank, got)
   local round = self.pair_of[math.tointeger(got.round) or -1]
   local at = round and round[rank]
   if not at then
      return
   end
   self.at[rank] = math.tointeger(got.round) + 1
   local result = self.results[self.at[rank]][at.k]
   -- Somebody was waited for meanwhile, in the library's own calls.
   result.lat_us = not got.late and positive(got.lat_us) or result.lat_us
   if at.first then
      result.ba_gbs, result.both_ba_gbs = positive(got.rx_gbs), positive(got.rx_both_gbs)
      result.ab_tcp = said.tcp(got)
   else
      result.ab_gbs, result.both_ab_gbs = positive(got.rx_gbs), positive(got.rx_both_gbs)
      result.ba_tcp = said.tcp(got)
   end
   result[at.first and "a_wait_pct" or "b_wait_pct"] = positive(got.wait_pct)
   result.wrong = type(got.wrong) == "string" and got.wrong or result.wrong
   result.error = type(got.error) == "string" and got.error or result.error
   -- Only what failed makes a node silent, or not: the others' lines, hundreds of thousands with --all, cost no look.
   self.failed = self.failed or result.error
   result.ends = result.ends + 1
end

-- A group's line, of each of its nodes.
function step:group(rank, got)
   local list, name = self.results[(math.tointeger(got.round) or -1) + 1], self.name_of[rank]
   if list and name and self.has_groups[list] then
      list[name] = said[got.event](got)
   end
end

-- Runs the loop until `over()` or the deadline, or until the step has ended.
function step:wait(seconds, over)
   loop.wait(seconds, function()
      return over() or self.exited and self.open == 0 or self.interrupted and self.interrupted()
   end)
   return over()
end

local OF_KERNEL = { "^fabric: (.+)" }
local OF_ANY = { "^srun: (Required node.+)", "^srun: fatal: (.+)", OF_KERNEL[1], "([Ii]nvalid MPI.*)",
   "^srun: error: (.+)", "^.-: fatal: (.+)", "^(%S.+)" }

-- What Slurm, MPI or the kernel said that a person can use, as one line; the first of these patterns' first.
function step:words(patterns)
   for _, pattern in ipairs(patterns) do
      for _, line in ipairs(self.errors) do
         local text = line:match(pattern)
         if text and not text:find("^%-+$") and not text:find("Terminated$") then
            return text
         end
      end
   end
end

-- Names of those for whom `has(rank)` is false, the unknown among them.
function step:without(has)
   local out = {}
   for _, node in ipairs(self.nodes) do
      local rank = self.rank_of[node]
      if not rank or not has(rank) then
         out[#out + 1] = node
      end
   end
   return out
end

--- Starts a step for each group of nodes, all at the same time, and ends them: who can start together?
-- @param groups list of lists of names
-- @param options of start
-- @return list of true or false, in the order of the groups
function step.try(groups, options)
   local steps, out = {}, {}
   local function is_up(one)
      return #one:without(function(rank) return one.ready[rank] end) == 0
   end
   for k, names in ipairs(groups) do
      local of = setmetatable({ nodes = names }, { __index = options })
      steps[k] = step.start(of)
   end
   loop.wait(TRY_S, function()
      for _, one in ipairs(steps) do
         if not is_up(one) and not (one.exited and one.open == 0) then
            return options.interrupted and options.interrupted()
         end
      end
      return true
   end)
   for k in ipairs(groups) do
      out[k] = steps[k] ~= nil and is_up(steps[k])
      if steps[k] then
         steps[k]:finish()
      end
   end
   return out
end

--- Waits until every node's task has started and MPI_Init is done.
-- @return true; or nil, why, and the nodes that did not start, where it is known
function step:hello()
   local started = self:wait(HELLO_S, function()
      return #self:without(function() return true end) == 0
   end)
   if not started then
      local missing = self:without(function() return true end)
      local why = self.exited and (self:words(OF_ANY) or "srun ended with code " .. self.exited.code)
         or ("no task started within %d s"):format(HELLO_S)
      return nil, why, #missing < #self.nodes and missing or {}
   end
   self.said_hello = true
   local seconds = READY_S + #self.nodes // READY_NODES
   local ready = self:wait(seconds, function()
      return #self:without(function(rank) return self.ready[rank] end) == 0
   end)
   if not ready then
      local missing = self:without(function(rank) return self.ready[rank] end)
      return nil, self.exited and (self:words(OF_ANY) or "the step ended in MPI_Init")
         or ("MPI_Init is not done after %d s"):format(seconds), #missing < #self.nodes and missing or {}
   end
   return true
end

-- A round as the kernel takes it, and where its results go to.
function step:say(r, round)
   local words, list, pair_of = { round.groups and round.kind or "round" }, {}, {}
   for k, p in ipairs(round.pairs or {}) do
      local a, b = self.rank_of[p[1]], self.rank_of[p[2]]
      words[#words + 1] = ("%d-%d"):format(a, b)
      list[k] = { ends = 0 }
      pair_of[a], pair_of[b] = { k = k, first = true }, { k = k }
   end
   for _, group in ipairs(round.groups or {}) do
      local ranks = {}
      for i, name in ipairs(group) do
         ranks[i] = self.rank_of[name]
      end
      words[#words + 1] = table.concat(ranks, ",")
   end
   self.results[r], self.pair_of[r - 1], self.has_groups[list] = list, pair_of, round.groups ~= nil
   return table.concat(words, " ")
end

--- Lets the ranks do rounds.
-- @param rounds list of { pairs = list of { name, name } }, or { kind = "alltoall", "allreduce", "work", "files" or
--   "file", groups = list of lists of names, seconds = that it may take }
-- @param settings { name = value } of the kernel's `set`
-- @return for each round a list in the order of its pairs of { lat_us, ab_gbs, ba_gbs, both_ab_gbs, both_ba_gbs,
--   ab_tcp, ba_tcp = { rtt_us, rwnd_pct, sndbuf_pct, again_pct } of the sender or nil, a_wait_pct, b_wait_pct = of its
--   time each of the two had no CPU, error, wrong }; of groups { name = as of said.collective, said.work or
--   said.files }; or nil, why, and the nodes that were lost
function step:measure(rounds, settings)
   self.plan = self.plan + 1
   self.results, self.pair_of, self.has_groups, self.done, self.through, self.at = {}, {}, {}, {}, {}, {}
   self.failed = nil
   local text = { "plan " .. self.plan }
   for name, value in pairs(settings or {}) do
      text[#text + 1] = ("set %s %s"):format(name, value)
   end
   for r, round in ipairs(rounds) do
      text[#text + 1] = self:say(r, round)
   end
   text[#text + 1] = "go\n"
   self.pipes.input:write(table.concat(text, "\n"))
   local lost, through = {}, 0
   local seconds, pauses = END_S + STUCK_S, settings and settings.share and step.PAUSES_S / settings.share or 0
   for _, round in ipairs(rounds) do
      seconds = seconds + (round.seconds or ROUND_S) + pauses
   end
   local all = self:wait(seconds, function()
      while self.through[through] do -- ranks begin with 0
         through = through + 1
      end
      if self.failed then
         self.failed, lost = nil, blame.silent(self.nodes, rounds, self.results)
      end
      return through == #self.nodes or #lost > 0
   end)
   if self.instead then
      return nil, self.instead, {}
   elseif all and #lost == 0 then
      for _, list in ipairs(self.results) do
         for _, result in ipairs(list) do
            result.error = result.error or result.ends == 0 and "no answer" or nil
         end
      end
      return self.results
   end
   local why
   if #lost == 0 then
      lost[1], why = blame.find(self.errors, self.rank_of, function(node) return self:partner(rounds, node) end)
   end
   if #lost == 0 then
      lost = self:without(function(rank) return self.done[rank] end)
      lost = #lost < #self.nodes and lost or {}
   end
   return nil, self:words(OF_KERNEL) or why or self:words(OF_ANY) or "not all nodes came to the end of the rounds", lost
end

-- With whom a node was in the first round that it did not come to the end of; nil: with nobody, or that one did.
function step:partner(rounds, node)
   local rank = self.rank_of[node]
   for r = (self.at[rank] or 0) + 1, #rounds do
      local at = self.pair_of[r - 1][rank]
      if at then
         local other = rounds[r].pairs[at.k][at.first and 2 or 1]
         return (self.at[self.rank_of[other]] or 0) < r and other or nil
      end
   end
end

--- Ends the step: by asking it to, else by force. Nothing of it is left afterwards.
function step:finish()
   self.interrupted = nil -- what follows is what an interruption asks for
   if not self.exited and next(self.ready) then
      self.pipes.input:write("end\n")
      self.pipes.input:shutdown()
      self:wait(END_S, function() return self.exited ~= nil end)
   end
   for _, signal in ipairs({ "sigterm", "sigterm", "sigkill" }) do
      if not self.exited then
         -- srun ends its tasks at the second one within a second, at the first where it has been told to.
         uv.kill(self.pid, signal)
         self:wait(END_S, function() return self.exited ~= nil end)
      end
   end
   for _, pipe in pairs(self.pipes) do
      if not pipe:is_closing() then
         pipe:close()
      end
   end
   if not self.child:is_closing() then
      self.child:close()
   end
   uv.run("nowait")
end

return step
