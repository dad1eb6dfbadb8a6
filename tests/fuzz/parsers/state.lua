-- node/*: what this node kept for itself between jobs, torn or damaged: the ledger, a job's begin, the last
-- snapshot, a drain's marker, what it could not drain for, its metrics, a run and whom it met ("@@ PATH" begins a file).
local memory = require("tree_in_memory")
local budget = require("syscheck.node.budget")
local counters = require("syscheck.counters.deltas")
local jobs = require("syscheck.node.jobs")
local ledger = require("syscheck.node.ledger")
local log = require("syscheck.lib.log")
local mark = require("syscheck.slurm.mark")
local node = require("syscheck.node.node")
local oracle = require("oracle")
local policy = require("syscheck.policy.policy")
local process = require("syscheck.lib.process")
local prometheus = require("syscheck.lib.prometheus")
local resume = require("syscheck.slurm.resume")
local runs = require("syscheck.node.runs")
local series = require("syscheck.node.series")
local sources = require("syscheck.counters.sources")
local textfile = require("syscheck.node.textfile")

local BOOT = "1b4e28ba-2fa1-11d2-883f-0016d3cca427"

local function seeds()
   return {
      '@@ /s/last_pass.json\n{"boot_id":"' .. BOOT .. '","next_s":5,"pass_s":1,"level":"quick","due":"resumed"}\n',
      '@@ /s/begin/5.json\n{"snapshot":{"boot_id":"' .. BOOT .. '","time":1763713414,"uptime_s":5.5,"sources":{"disk":'
         .. '{"busy_ms:sda":5,"read_bytes:sda":6,"op_ms:sda/read":4294967290},"sched":{"wait_ms:0":5},'
         .. '"energy":{"package_j:package-0/262143.33":1},"nfs":{"ops:/h":1}},"ages":'
         .. '{"/h":5},"blamed":{"corrected:mc0/dimm1":1}},"check":{"id":"ab","level":"quick","status":"pass"}}\n',
      "@@ /s/begin/5.run\nrun 0123456789abcdef0123456789abcdef " .. BOOT .. " 1763713414 -\n6\n7\n7\n@@ /s/begin/6.run\nrun ab "
         .. BOOT .. " 5 2\n@@ /s/ended/5\n5 0123456789abcdef0123456789abcdef 1763713414\n",
      "@@ /s/ended/5\n5 0123456789abcdef0123456789abcdef " .. BOOT .. " 3\n",
      '@@ /s/drained.json\n{"reason":"syscheck: x","boot_id":"' .. BOOT .. '","passes":1,"fails":2,"next_s":5,"metrics":'
         .. '["triad_gbs"],"level":"quick","corrupt":false,"time":"2026-11-21T08:00:00Z"}\n@@ /scontrol\nNodeName=n1 '
         .. 'State=IDLE+DRAIN Reason=syscheck: x [root@2026-11-21T08:23:34]\n',
      '@@ /s/drained.json\n{"reason":"syscheck: x","boot_id":"b","job":true,"level":"full","metrics":[]}\n@@ /scontrol\n'
         .. 'NodeName=n1 State=MIXED+DRAIN Reason=syscheck: x [root@2026-11-21T08:23:34]\n',
      '@@ /s/bad.json\n{"reason":"triad 1 < 2 GB/s","boot_id":"' .. BOOT .. '","action":"undecided","sent":true,"tries":2,'
         .. '"next_s":5,"level":"quick","check":"ab","metrics":[{"name":"triad_gbs","value":1,"limit":2}],"asked":'
         .. '"2026-11-21T08:00:00Z","error":"x","full":{"name":"p","total":9,"taken":1,"cap":1},"corrupt":true}\n',
      '@@ /t/syscheck.prom\n# kept by syscheck, no metric: {"boot_id":"' .. BOOT .. '","checks":{"quick pass":5,"passive unknown":1},"check_s":9.5,"drains":'
         .. '{"triad_gbs":1,"other":2},"withheld":{"cap":3},"times":{"quick":1763713414},"newest":"pass","measured":"fail","values":{"triad_gbs":'
         .. '{"value":61.3,"limit":80,"median":90},"noise_pct":{"value":1}}}\n',
      '@@ /s/slurm.json\n{"conf":"/etc/slurm.conf"}\n',
   }
end

memory.install()
log.write = function() end
-- The drain's marker is asked about at slurmctld, which answers what the file says.
process.run = function()
   local file = io.open("/scontrol")
   return { code = file and 0 or 1, signal = 0, out = file and file:read("a") or "", err = "" }
end

local function here()
   local self = setmetatable({ problems = {}, root = "", name = "n1", state = "/s", run_dir = "/r", spool = "/p",
      policy = policy.default() }, node)
   self.policy.mode = "enforce"
   function self.write_state()
      return true
   end
   function self.append()
      return true
   end
   return self
end

local END = { boot_id = BOOT, time = 1763713500, uptime_s = 100, ages = { ["/h"] = 50 }, blamed = {}, sources = {
   disk = { ["busy_ms:sda"] = 10, ["read_bytes:sda"] = 7, ["op_ms:sda/read"] = 9, ["op_ms:sda/write"] = 3 },
   sched = { ["wait_ms:0"] = 8, ["wait_ms:1"] = 9 }, energy = { ["package_j:package-0/262143.33"] = 5 },
   nfs = { ["ops:/h"] = 7, ["ops:/new"] = 5 }, memory_errors = { ["corrected:mc0"] = 4 } } }

local function look_at_ledger(self)
   local l = ledger.read(self, BOOT)
   oracle.number(l.next_s, "next_s", 0, 1.7976931348623157e308)
   -- However damaged, a day later a check may run.
   for _, now_s in ipairs({ 0, 100 }) do
      assert(budget.affords(l, 0.01, now_s) or budget.affords(l, 0.01, now_s + 86401), "never a check again")
      assert(budget.is_stale(l, 300, "quick", now_s) or l.pass_s <= now_s, "a pass that is still to come")
   end
   budget.skips(l, 0.01, "quick", 100)
   budget.charge(l, 0.01, 100, 4.5)
   oracle.number(l.next_s, "next_s", 0, 100 + 86400)
end

local function look_at_begin(self)
   local begin = jobs.read_begin(self, 5)
   local snapshot = begin and type(begin.snapshot) == "table" and begin.snapshot
   if snapshot then
      for name, values in pairs(counters.delta(snapshot, END) or {}) do
         for key, value in pairs(values) do
            oracle.number(value, name .. "." .. key, 0, 1e300)
         end
      end
      for _, one in ipairs(counters.errors(snapshot, END) or {}) do
         oracle.is("string", one.unit, "an error's unit")
      end
      -- A source by itself, where the earlier one has what no source writes.
      for _, source in ipairs(sources) do
         local values = type(snapshot.sources) == "table" and snapshot.sources[source.name]
         if type(values) == "table" then
            counters.delta(snapshot, { boot_id = snapshot.boot_id, sources = { [source.name] = END.sources.disk } })
         end
      end
   end
   jobs.check_of(begin and begin.check)
   jobs.other(self, 7, BOOT)
end

local function look_at_run(self)
   local run = runs.read(self, 5)
   if run then
      assert(#run.id == 32 and #run.others <= 64 and run.more >= 0, "a run")
      oracle.number(run.restart, "restart", 0, math.maxinteger)
      for _, other in ipairs(run.others) do
         assert(math.type(other) == "integer" and other ~= 5, "who shared the node")
      end
   end
   oracle.is("boolean", runs.is_recorded(self, 5, run, BOOT), "whether it is recorded")
   oracle.is("boolean", runs.is_recorded(self, 5, nil, BOOT), "whether it is recorded")
end

local function look_at_marker(self)
   resume.is_ours(self)
   local marker = resume.due(self, BOOT, 100)
   if marker then
      resume.begins(self, marker, 100)
      for _, status in ipairs({ "pass", "fail" }) do
         local done = resume.after(self, marker, { status = status, node_status = status, metrics = { { name = "triad_gbs", status = status } } }, 100)
         assert(done == "resume" or done == "none", "what was done")
      end
      assert(marker.next_s == marker.next_s and marker.next_s < math.huge, "when it is due again")
   end
end

local FAIL = { confirmed = true, enforced = true, reason = "x", level = "quick", status = "fail", runs = { {} },
   metrics = { { name = "triad_gbs", status = "fail", value = 1, limit = 2 } } }
local PASS = { node_status = "pass", runs = { {} }, metrics = { { name = "triad_gbs", status = "pass" } } }

local function look_at_mark(self)
   for _, result in ipairs({ FAIL, PASS }) do
      local m = mark.read(self, BOOT)
      mark.is_sent(self, m, 100)
      mark.is_open(self, m, 100)
      mark.checked(self, m, result, 100)
      local found = mark.finding(self, m, result, 100)
      assert(found or result == PASS, "a finding that is lost")
      if found then
         m = mark.begin(self, found, mark.read(self, BOOT), BOOT, 100)
         mark.sending(self, m)
         mark.decided(self, m, { action = "undecided", open = true }, 100)
         oracle.line(select(2, mark.standing(m, found.reason)).reason)
      end
      if m then
         mark.looked(self, m, { action = "none" }, 100)
         oracle.number(m.next_s, "next_s", -math.maxinteger, math.maxinteger)
      end
   end
end

local function look_at_metrics()
   local file = io.open("/t/syscheck.prom")
   local state = series.open(textfile.kept(file and file:read("a")), BOOT)
   series.add(state, { level = "quick", status = "pass", duration_s = 1, class = "c", metrics = FAIL.metrics }, 100)
   local text = prometheus.text(series.families(state, END, { version = "1", class = "c", mode = "observe" }))
   for line in text:gmatch("([^\n]*)\n") do
      assert(line:find("^# %u+ syscheck_[%l_]+ .") or line:find("^syscheck_[%l_]+[^ ]* %-?%d[%d.e+-]*$"), line)
   end
   assert(state.checks["quick pass"] >= 1, "a check that does not count")
end

local function run(input)
   memory.use(input)
   local self = here()
   look_at_ledger(self)
   look_at_begin(self)
   look_at_run(self)
   look_at_marker(self)
   look_at_mark(self)
   look_at_metrics()
   assert(self:slurm_conf() == nil or type(self:slurm_conf()) == "string", "slurm.conf's place")
end

return { run = run, seeds = seeds, max = 2000 }
