--- syscheck node NAME: a node's story. Its checks over time, drains and resumes, throttle and
-- error events, jobs.
local detail = require("syscheck.verdict.detail")
local page = require("syscheck.cmd.common.page")
local printable = require("syscheck.lib.printable")
local fleet_store = require("syscheck.questions.fleet.read")
local node_show = require("syscheck.questions.node.show")
local node_store = require("syscheck.questions.node.read")
local output = require("syscheck.lib.output")
local question = require("syscheck.cmd.common.question")
local report = require("syscheck.cmd.common.report")

local node = {}

local MOST = 10000 -- a job takes 5 kB of memory until it is printed

function node.add_to(parser)
   local command = parser:command("node", "Show a node's story from the store: its checks over time, drains and "
      .. "resumes, throttle and error events, changes of class and settings, jobs."):summary("Show a node's story.")
   command:argument("node", "Node, as Slurm calls it."):args(1):argname("NAME")
   question.add_since(command, "7d", "What happened")
   command:option("--limit", "Show so many events and jobs, the last ones."):argname("N"):default("20")
      :convert(function(text)
         local n = text:match("^%d+$") and #text <= 6 and tonumber(text)
         if n and n >= 1 and n <= MOST then
            return n
         end
         return nil, ('--limit must be a number from 1 to %d, not "%s"'):format(MOST, printable.safe(text))
      end)
   command:option("--cluster", "Of this cluster, where several have a node of that name."):argname("NAME")
   question.add_options(command)
   command:option("--policy", "Policy file to use."):argname("FILE")
end

-- The newest curve and matrix stand last: they are long.
local SHOW = { json = node_show.json, csv = node_show.csv, table = function(tale, ...)
   local sections = detail.of_kept(tale.memory or {})
   return node_show.table(tale, ...) .. (sections[1] and "\n\n" .. page.sections(sections, page.form()) or "")
end }

local function answer(db, args)
   local found = node_store.find(db, args.node, args.cluster)
   if #found == 0 then
      local near = node_store.nearest(db, args.node)
      return report.error(report.NOT_FOUND, 'no record of a node "%s"%s%s', printable.safe(args.node),
         args.cluster and (' of cluster "%s"'):format(printable.safe(args.cluster)) or "",
         near and near ~= args.node and (', did you mean "%s"?'):format(printable.safe(near)) or "")
   elseif #found > 1 then
      local clusters = {}
      for i, one in ipairs(found) do
         clusters[i] = one.cluster == "" and '"" (not known)' or output.name(one.cluster)
      end
      return report.error(report.NOT_FOUND, "node %s is in clusters %s: say --cluster", printable.safe(args.node),
         table.concat(clusters, ", "))
   end
   local tale = node_store.story(db, found[1], args.since, args.limit)
   tale.peers = args.html and fleet_store.newest(db, args.since, found[1].class, found[1].cluster) or nil
   return question.print(args, SHOW, tale, function(of)
      return require("syscheck.questions.node.page")(of)
   end)
end

function node.run(args)
   return question.run(args, answer)
end

return node
