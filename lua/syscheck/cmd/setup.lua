--- syscheck setup: connects this installation with the site's Slurm, beside what the site has.
local uv = require("luv")
local disk = require("syscheck.setup.disk")
local gather = require("syscheck.setup.facts")
local hostlist = require("syscheck.lib.hostlist")
local journal = require("syscheck.setup.journal")
local paths = require("syscheck.lib.paths")
local plan = require("syscheck.setup.plan")
local printable = require("syscheck.lib.printable")
local report = require("syscheck.cmd.common.report")
local site = require("syscheck.doctor.facts.site")
local slurmd = require("syscheck.doctor.facts.slurmd")
local still = require("syscheck.setup.still")

local setup = {}

local STATE = paths.state .. "/setup"
local MAX_LINE = 4000

function setup.add_to(parser)
   local c = parser:command("setup", "Connect this installation with Slurm, beside what the site has: print what would "
      .. "change, as a diff. Exit status: 0 done, or nothing to do, 1 something cannot be, 3 no slurm.conf.")
      :summary("Connect with Slurm, beside what the site has.")
   c:mutex(c:flag("--write", "Do it."),
      c:flag("--undo", "Take back what setup did here; what was edited by hand since stays."))
   c:option("--conf", "slurm.conf to use (default: $SLURM_CONF, /etc/slurm/slurm.conf)."):argname("FILE")
   c:option("--role", "What this host is (default: as slurm.conf says): node, controller, login."):argname("ROLE")
      :choices({ "node", "controller", "login" }):count("*")
   c:option("--node", "Name of this node in slurm.conf (default: $SLURMD_NODENAME, the host's name)."):argname("NAME")
      :convert(function(value)
         return hostlist.name(value), "--node: not a node's name"
      end)
end

-- File names and their lines are the site's: nothing in them reaches a terminal.
local function line(text)
   print(printable.plain(text, MAX_LINE))
end

local function say(list, head)
   for _, text in ipairs(list) do
      line(head .. text)
   end
end

local function complain(list)
   for _, text in ipairs(list) do
      report.error(report.FAILED, "setup: %s", text)
   end
   return report.FAILED
end

local function open(d)
   if uv.getuid() ~= 0 then
      return nil, "only root can"
   end
   return journal.open(d, STATE)
end

local function undo(d, node)
   local j, err = open(d)
   if not j then
      return complain({ err })
   end
   local now = { slurmd = slurmd.age(node),
      configless = slurmd.is_configless() or (j.conf and gather.is_fetched(j.conf)),
      at_work = function()
         return slurmd.at_work(node)
      end }
   local done, left = j:undo(function(path)
      return still.needed(path, d, j.conf, now)
   end)
   j:close()
   for _, path in ipairs(done) do
      line("restored " .. path)
   end
   if #done > 0 then
      line("now, when all hosts are done: restart slurmctld and all slurmd")
   elseif #done == 0 and #left == 0 then
      line("nothing to take back")
   end
   return #left > 0 and complain(left) or 0
end

-- @return whether all of them may be changed, and Slurm itself takes slurm.conf; or nil and why not
local function may_change(d, facts, changes)
   local owner = facts.slurm_user and facts.slurm_user.uid
   for _, change in ipairs(changes) do
      local ok, err = d:trusted(change.path, owner)
      if not ok then
         return nil, err
      end
   end
   -- Root loads no plugins that a slurm.conf of somebody else's names.
   local why = d:trusted(facts.conf.file, owner) and site.refused(facts.conf.file, "scontrol")
   return not why, why and ("%s: Slurm refuses it: %s"):format(facts.conf.file, why)
end

local function write(d, facts, made)
   local j, err = open(d)
   if not j then
      return complain({ err })
   end
   local ok
   ok, err = j:write(made.changes, facts.conf.file)
   j:close()
   return ok and 0 or complain({ err, "what was done until then: --write goes on, --undo takes it back" })
end

function setup.run(args)
   local d = disk.at("")
   if args.undo then
      return undo(d, gather.node(args))
   end
   local facts, err = gather.gather(args, d, gather.host(args))
   if not facts then
      return report.error(report.UNKNOWN, "setup: %s (--conf FILE says where slurm.conf is; a login host of a "
         .. "configless Slurm has none, and needs nothing)", err)
   end
   local made = plan.make(facts)
   if #made.stops > 0 then
      return complain(made.stops)
   end
   for _, change in ipairs(made.changes) do
      say(plan.shown(change), "")
   end
   local ok
   ok, err = may_change(d, facts, made.changes)
   if not ok then
      return complain({ err })
   elseif #made.changes == 0 then
      line("nothing to change")
   elseif args.write then
      local code = write(d, facts, made)
      if code ~= 0 then
         return code
      end
   end
   say(made.notes, "")
   if #made.changes > 0 and not args.write then
      line("nothing is changed yet: syscheck setup --write")
   end
   return 0
end

return setup
