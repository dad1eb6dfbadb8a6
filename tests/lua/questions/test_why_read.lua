-- What `why` reads of a job's surroundings.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local data = require("syscheck.questions.why.read")
local jobid = require("syscheck.questions.jobid")
local own_store = require("own_store")

TestWhyRead = { setUp = own_store.setUp, tearDown = own_store.tearDown }

local T = 1795161600 -- 2026-11-20T08:00:00Z

-- Eight runs of each kind, an hour apart, each as long as the others.
-- @param kinds name -> numbers of its nodes
-- @param others jobs that shared the nodes of a run, by its number; or nil
local function write(kinds, others)
   local rows, id = {}, 0
   for i = 1, 8 do
      local from_s = T + 3600 * i - 1000
      for _, name in ipairs({ "x", "beside", "both", "elsewhere" }) do
         id = id + 1
         for _, node in ipairs(kinds[name] or {}) do
            rows[#rows + 1] = own_store.record({ kind = "job", node = "n" .. node, class = "epyc-9654-2s192c-768g",
               time = from_s + 1000, elapsed_s = 1000 + i % 3, begin = os.date("!%Y-%m-%dT%H:%M:%SZ", from_s),
               others = others and others[id], job = { id = id, user = "alice", name = name, nodes = #kinds[name] } })
         end
      end
   end
   own_store.write(rows)
end

-- Nodes that are asked what the time of job 29 was, the last one of kind x, was like elsewhere.
local function asked()
   local input, name = data.read(own_store.db, jobid.runs(own_store.db, { kind = "job", id = 29 })[1])
   local out = {}
   for _, one in ipairs(input.meanwhile()) do
      out[#out + 1] = name(one.row.node)
   end
   table.sort(out)
   return out
end

-- What is wrong with a job's own node all have that share it: they say nothing of anywhere else.
function TestWhyRead:test_meanwhile_is_elsewhere()
   write({ x = { 1, 2 }, beside = { 1 }, both = { 1, 2, 4 }, elsewhere = { 3 } })
   lu.assertEquals(asked(), { "n3", "n4" })
end

function TestWhyRead:test_nobody_was_elsewhere()
   write({ x = { 1, 2 }, beside = { 2 }, both = { 1, 2 } })
   lu.assertEquals(asked(), {})
end

-- One node of many is another one.
function TestWhyRead:test_one_of_a_larger_run_was_elsewhere()
   local nodes = {}
   for i = 1, 12 do
      nodes[i] = i
   end
   write({ x = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11 }, both = nodes })
   lu.assertEquals(asked(), { "n12" })
end

-- What slowed those that had a node for themselves no other job did.
function TestWhyRead:test_which_runs_had_a_shared_node_for_themselves()
   local function alone(others)
      write({ x = { 1, 2 }, elsewhere = { 3 } }, others)
      local input = data.read(own_store.db, jobid.runs(own_store.db, { kind = "job", id = 29 })[1])
      local out = {}
      for i, one in ipairs(input.history(input.rows[1].node)) do
         out[i] = tostring(one.alone)
      end
      return table.concat(out, " ")
   end
   -- The latest one first; which they are of a node that was not shared nobody asks.
   lu.assertEquals(alone({ [1] = { 900 }, [5] = { 900, 901 }, [25] = { 900 } }), ("nil "):rep(7):sub(1, -2))
   own_store.tearDown()
   own_store.setUp()
   lu.assertEquals(alone({ [1] = { 900 }, [5] = { 900, 901 }, [25] = { 900 }, [29] = { 902 } }),
      "false true true true true false false")
end

-- A node that was checked as the job began, and whose record of it never came, is one of the job's.
function TestWhyRead:test_a_node_without_a_record()
   write({ x = { 1, 2 }, elsewhere = { 3 } })
   local from_s = T + 3600 * 8 - 1000
   local function check(node)
      return own_store.record({ kind = "check", node = node, class = "epyc-9654-2s192c-768g", time = from_s + 1,
         level = "quick", trigger = "prolog", status = "pass", metrics = { { name = "triad_gbs", status = "pass",
         value = 700 } }, job = { id = 29, user = "alice", name = "x", nodes = 3 } })
   end
   own_store.write({ check("n1"), check("n4"), check("n4") })
   local input, name, _, more = data.read(own_store.db, jobid.runs(own_store.db, { kind = "job", id = 29 })[1])
   local gone = input.rows[3]
   lu.assertEquals({ #input.rows, input.recorded, more }, { 3, 2, 0 })
   lu.assertEquals({ name(gone.node), gone.gone, gone.class, gone.elapsed_s, gone.cores },
      { "n4", true, input.rows[1].class, nil, 192 })
   lu.assertEquals({ #gone.checks, gone.checks[1].triad_gbs }, { 2, 700 })
   -- Before the first record came nothing is known of any.
   own_store.write({ own_store.record({ kind = "check", node = "n5", class = "epyc-9654-2s192c-768g",
      time = from_s + 5000, level = "quick", trigger = "prolog", status = "pass", job = { id = 99, user = "alice",
      name = "x", nodes = 2 } }) })
   local running = jobid.runs(own_store.db, { kind = "job", id = 99 })[1]
   lu.assertEquals(running and data.read(own_store.db, running).rows or {}, {})
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
