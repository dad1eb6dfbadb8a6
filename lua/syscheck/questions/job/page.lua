--- A job's answer as a page: its nodes beside each other. records.lua has the answer's form. Pure.
local element = require("syscheck.html.element")
local jobid = require("syscheck.questions.jobid")
local page = require("syscheck.html.page")
local peers = require("syscheck.questions.job.peers")
local pictures = require("syscheck.questions.job.pictures")
local remarks = require("syscheck.questions.job.remarks")
local time = require("syscheck.lib.time")
local waits = require("syscheck.questions.job.waits")

local NAMES = 6 -- of nodes that are out, in the answer
local REMARKS = 200

-- "n3 stands out from the 3 others: package throttled 3.61 s; 3 peers: median 0.00 s, worst 0.00 s"
local function sentence(run, list, label)
   local nodes, known = {}, {}
   for _, found in ipairs(list) do
      local name = element.name(run.rows[found.row].node)
      if not known[name] then
         known[name] = true
         nodes[#nodes + 1] = name
      end
   end
   if #run.rows < 2 then
      return ("job %s has records of one node, which has no peers to be compared with"):format(label)
   elseif #nodes == 0 then
      return ("none of the %d nodes of job %s stands out from the others"):format(#run.rows, label)
   elseif #nodes == 1 then
      return ("%s stands out from the others of job %s: %s"):format(nodes[1], label, peers.text(list[1]))
   end
   return ("%d of the %d nodes of job %s stand out: %s%s"):format(#nodes, #run.rows, label,
      table.concat(nodes, ", ", 1, math.min(NAMES, #nodes)), #nodes > NAMES and ", ..." or "")
end

local function facts_of(run)
   local nodes = run.nodelist or run.nodes
   return { { "name", run.name and element.name(run.name, 120) }, { "user", run.user and element.name(run.user) },
      { "account", run.account and element.name(run.account) },
      { "partition", run.partition and element.name(run.partition) },
      { "cluster", run.cluster and element.name(run.cluster) },
      { "nodes", nodes and element.name(math.type(nodes) == "float" and math.tointeger(nodes) or nodes, 200)
         .. (run.seen and run.nodes and run.seen < run.nodes and (" (records of %d)"):format(run.seen) or "") },
      { "memory", waits.sentence(waits.of_rows(run.rows)) },
      { "began", run.begin_s and time.show(run.begin_s) }, { "ended", run.end_s and time.show(run.end_s) } }
end

--- @param answer list of runs with `why`, `times` (of answer.times) and `made`, as far as known
-- @return text of the file
return function(answer)
   local run = answer[#answer] -- a requeued job has had other nodes before
   local list, marks = peers.of_run(run.rows)
   local order, known, says = pictures.order(run.rows), pictures.compared(run.rows), {}
   local label = jobid.label(run)
   local last
   for i, remark in ipairs(remarks.of(run, list)) do
      says[i] = { remark[1] == last and "" or element.name(remark[1]), element.name(remark[2], 400) }
      last = remark[1]
   end
   return page.build({ title = "Job " .. label, made = answer.made, facts = facts_of(run),
      answer = answer.why or sentence(run, list, label), sections = {
         pictures.like(answer.times), pictures.map(run.rows, order, known, marks),
         #says > 0 and page.section({ title = "Node by node", long = #says > 20,
            more = page.table({ "node", "what" }, says, nil, REMARKS) }),
         #order > 1 and #known > 0 and page.section({ title = "How each metric is spread over the nodes", long = true,
            say = "A dot is a node, a triangle one that is out; the line is the median.", grid = true,
            pictures = pictures.distributions(run.rows, known, marks) }),
         pictures.strip(answer) } })
end
