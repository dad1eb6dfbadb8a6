--- Nodes' leaf switches into the store: from a file, or from Slurm, which is asked once an hour.
local files = require("syscheck.lib.files")
local leaves = require("syscheck.store.leaves")
local printable = require("syscheck.lib.printable")
local slurm = require("syscheck.slurm.command")
local switches = require("syscheck.slurm.switches")

local topology = {}

local CALL_S = 8
local MAX_BYTES = 16777216 -- of 10,000 nodes it is some 100 kB

--- Adds the options that name it.
function topology.add_options(command)
   command:option("--topology", "Output of scontrol show topology: leaf switches (default: scontrol is asked, hourly).")
      :argname("FILE")
   command:option("--cluster", "Cluster of that topology (default: Slurm's own here, else the store's only one).")
      :argname("NAME")
end

-- Which of the store's clusters is meant. Slurm here may be another cluster's: where nobody says that it is
-- the store's, only a file is taken for it.
-- @return name; or nil, and why where somebody asked
local function cluster_of(stored, args, host)
   local own = args.cluster or host:cluster()
   for _, name in ipairs(stored) do
      if name == own then
         return name
      end
   end
   if args.cluster and stored[1] then
      return nil, ('the store has no nodes of cluster "%s"'):format(printable.safe(args.cluster, 64))
   elseif args.topology and stored[2] then
      return nil, ("--topology: the store has clusters %s: say --cluster"):format(
         printable.safe(table.concat(stored, ", "), 200))
   end
   return args.topology and stored[1] or nil
end

local function read(path)
   local text, err = files.read(path, MAX_BYTES + 1) -- a pipe, too
   if text and #text > MAX_BYTES then
      return nil, ("%s: more than %d MiB"):format(path, MAX_BYTES >> 20)
   end
   return text, err
end

--- What Slurm here says of its topology.
-- @return text; or nil and why
function topology.ask(scontrol)
   return slurm.run(scontrol, { "show", "topology" }, CALL_S, { max_output = MAX_BYTES })
end

--- Writes them, as far as they changed. What Slurm does not answer is no error.
-- @param db opened for writing
-- @param args topology, cluster
-- @param host from node.open
-- @return how many changed; and a line where the caller named what cannot be used
function topology.write(db, args, host)
   local cluster, err = cluster_of(leaves.clusters(db), args, host)
   local text, leaf_of
   if cluster and args.topology then
      text, err = read(args.topology)
      if text then
         leaf_of, err = switches.leaves(text)
         err = err and ("%s: %s; it should be what scontrol show topology prints"):format(args.topology, err)
      end
   elseif cluster and leaves.is_due(db, cluster, os.time()) then
      text = topology.ask(host.policy.scontrol)
      leaf_of = text and switches.leaves(text)
   end
   return leaf_of and leaves.write(db, cluster, leaf_of) or 0, err
end

return topology
