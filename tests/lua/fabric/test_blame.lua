-- Who took a step along, by what real ones said: n2's rank was killed in each.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local blame = require("syscheck.fabric.blame")

local RANKS = {}
for k = 1, 9 do
   RANKS["n" .. k] = k - 1
end

local function reset(node)
   return ("[%s][[13986,19801],0][btl_tcp_frag.c:135:mca_btl_tcp_frag_send] mca_btl_tcp_frag_send: writev failed: "
      .. "Connection reset by peer (104)"):format(node), ("[%s:15610] ../ompi/mca/pml/ob1/pml_ob1_sendreq.c:190 FATAL")
      :format(node)
end

local function ended(node, how)
   return ("srun: error: n%d: task %d: %s"):format(node, node - 1, how)
end

-- with: { node = with whom it was }
local function find(lines, with)
   return { blame.find(lines, RANKS, function(node)
      return (with or {})[node]
   end) }
end

TestBlame = {}

-- Of rounds with partners, who answered nobody: two partners waited for it in vain.
function TestBlame:test_who_is_silent()
   local nodes, ok, vain = { "n1", "n2", "n3" }, { ends = 2 }, { ends = 1, error = "no answer" }
   local rounds = { { pairs = { { "n1", "n2" } } }, { pairs = { { "n3", "n2" } } }, { pairs = { { "n1", "n3" } } } }
   lu.assertEquals(blame.silent(nodes, rounds, { { vain }, { vain }, { ok } }), { "n2" })
   lu.assertEquals(blame.silent(nodes, rounds, { { vain }, { ok }, { ok } }), {})
   lu.assertEquals(blame.silent(nodes, rounds, { {}, {}, {} }), {})
end

function TestBlame:test_slurm_ends_the_others()
   lu.assertEquals(find({ ended(2, "Killed"), "srun: launch/slurm: _step_signal: Terminating StepId=1.0",
      ended(8, "Terminated"), ended(6, "Terminated") }), { "n2", "n2: task 1: Killed" })
end

function TestBlame:test_who_could_not_send_is_told_first()
   local one, two = reset("n1")
   local lines = { one, two, "srun: Job step aborted: Waiting up to 4 seconds for job step to finish.",
      ended(1, "Exited with exit code 255"), ended(2, "Killed"), ended(7, "Killed"), ended(3, "Killed") }
   lu.assertEquals(find(lines, { n1 = "n2" }), { "n2", "n2: task 1: Killed" })
   -- Who is with whom nobody knows: of the others the first.
   lu.assertEquals(find(lines), { "n2", "n2: task 1: Killed" })
end

function TestBlame:test_mpi_kills_all_in_any_order()
   local one, two = reset("n3")
   local three, four = reset("n9")
   lu.assertEquals(find({ one, two, ended(3, "Killed"), ended(8, "Killed"), ended(1, "Killed"), ended(2, "Killed"),
      ended(6, "Killed"), three, four, ended(4, "Killed"), ended(9, "Killed") }, { n3 = "n2", n9 = "n3" }),
      { "n2", "n2: task 1: Killed" })
end

-- n9 lost n8 when srun had ended it: one who is told to end took nobody along.
function TestBlame:test_who_was_told_to_end_is_lost_by_others()
   local one, two = reset("n9")
   for _, how in ipairs({ "Terminated", "Killed" }) do
      lu.assertEquals(find({ ended(2, "Killed"), "srun: launch/slurm: _step_signal: Terminating StepId=25.0", one, two,
         ended(8, how), ended(9, "Exited with exit code 255") }, { n9 = "n8", n8 = "n9" }),
         { "n2", "n2: task 1: Killed" })
   end
   local three, four = reset("n1")
   lu.assertEquals(find({ three, four, ended(3, "Terminated"), ended(2, "Killed"), ended(1, "Terminated") },
      { n1 = "n3" }), { "n2", "n2: task 1: Killed" })
end

-- MPI says that it lost somebody, and its task ends, before anybody else's.
function TestBlame:test_a_loser_whose_own_line_is_late()
   local one, two = reset("n1")
   lu.assertEquals(find({ ended(1, "Exited with exit code 255"), ended(2, "Killed"), one, two }, { n1 = "n2" }),
      { "n2", "n2: task 1: Killed" })
end

-- n3 lost n1 when MPI had ended all: whom the first loser was with is to blame.
function TestBlame:test_those_lost_later_were_ended_by_mpi()
   local one, two = reset("n8")
   local three, four = reset("n3")
   lu.assertEquals(find({ one, two, ended(1, "Killed"), ended(9, "Killed"), ended(8, "Exited with exit code 255"),
      three, four, ended(6, "Terminated"), ended(2, "Killed"), ended(3, "Exited with exit code 255") },
      { n8 = "n2", n3 = "n1" }), { "n2", "n2: task 1: Killed" })
end

function TestBlame:test_who_ended_by_itself_and_whom_it_took_along()
   local one, two = reset("n8")
   lu.assertEquals(find({ one, two, ended(4, "Killed"), ended(5, "Exited with exit code 1"),
      ended(8, "Exited with exit code 255") }), { "n5", "n5: task 4: Exited with exit code 1" })
end

-- OpenMPI 5: who loses somebody exits with 14, with or without a word, which names the peer.
function TestBlame:test_openmpi_5()
   local killed = { "n2", "n2: task 1: Killed" }
   local gone = "slurmstepd-n1: error: *** STEP 13.0 ON n1 CANCELLED AT 2026-11-29T11:04:09 ***"
   local one, three, four = ended(1, "Exited with exit code 14"), ended(3, "Exited with exit code 14"),
      ended(4, "Exited with exit code 14")
   lu.assertEquals(find({ ended(2, "Killed"), "srun: Terminating StepId=3.0", one }, { n1 = "n2" }), killed)
   lu.assertEquals(find({ one, "srun: Terminating StepId=9.0", ended(2, "Killed") }), killed)
   lu.assertEquals(find({ gone, one, three, ended(2, "Killed"), four }), killed)
   local lost = "[n4][[15368,0],3][../opal/mca/btl/tcp/btl_tcp_frag.c:127:mca_btl_tcp_frag_send] peer: n2 "
      .. "mca_btl_tcp_frag_send: writev failed: Connection reset by peer (104)"
   lu.assertEquals(find({ lost, gone, ended(1, "Killed"), ended(2, "Killed"), three, ended(4, "Killed") },
      { n4 = "n1" }), killed)
end

-- Better one of them than all nodes once more.
function TestBlame:test_all_lost_somebody()
   local one, two = reset("n1")
   lu.assertEquals(find({ one, two, ended(1, "Exited with exit code 255") }, { n1 = "n2" }),
      { "n1", "n1: task 0: Exited with exit code 255" })
end

function TestBlame:test_others_are_not_named()
   local one, two = reset("login")
   lu.assertEquals(find({ one, two, "srun: error: login: task 0: Killed", "srun: error: n1 task 0: Killed" }), {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
