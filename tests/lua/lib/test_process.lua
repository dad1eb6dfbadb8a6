-- A program that a signal's handler ends.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local uv = require("luv")
local process = require("syscheck.lib.process")

-- Calls f as soon as the loop runs, so while a program does.
local function meanwhile(f)
   local timer = uv.new_timer()
   timer:start(0, 0, function()
      timer:close()
      f()
   end)
end

TestStop = {}

function TestStop:test_the_program_that_runs_is_ended()
   meanwhile(function()
      process.stop("it was interrupted")
   end)
   local ended = process.run("sleep", { "1000" }, { timeout_ms = 600000 })
   lu.assertEquals({ ended.given_up, ended.signal, ended.timed_out, ended.stuck },
      { "it was interrupted", 15, nil, false })
end

function TestStop:test_nothing_runs_nothing_happens()
   process.stop("it was interrupted")
   lu.assertEquals(process.run("true", {}, { timeout_ms = 600000 }).given_up, nil)
end

-- What a signal ended has exit code 0.
function TestStop:test_a_lock_that_was_waited_for_is_not_taken()
   local path = os.tmpname()
   local held = assert(process.lock(path, 60))
   meanwhile(function()
      process.stop("it was interrupted")
   end)
   lu.assertNil((process.lock(path, 600)))
   held()
   os.remove(path)
end

TestStreams = {}

-- More than a pipe holds: writing to it would end us by SIGPIPE.
function TestStreams:test_input_that_is_not_read()
   local result = process.run("true", {}, { timeout_ms = 600000, input = ("x"):rep(8 * 1048576) })
   lu.assertEquals({ result.code, result.signal }, { 0, 0 })
end

function TestStreams:test_standard_output_to_a_descriptor()
   local path = os.tmpname()
   local fd = assert(uv.fs_open(path, "w", 384)) -- 0600
   local result = process.run("sh", { "-c", 'echo "$LC_ALL"; echo no >&2' }, { timeout_ms = 600000, stdout = fd,
      env = { "LC_ALL=x" } })
   uv.fs_close(fd)
   lu.assertEquals({ result.out, result.err, assert(io.open(path)):read("a") }, { "", "no\n", "x\n" })
   os.remove(path)
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
