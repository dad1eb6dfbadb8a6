--- Runs one kernel executable and trusts nothing that it says.
local json = require("cjson.safe").new()
local uv = require("luv")
local paths = require("syscheck.lib.paths")
local process = require("syscheck.lib.process")

json.decode_invalid_numbers(false)
json.decode_max_depth(16)

local kernels = {}

local GRACE_S = 1.5 -- beyond its time box: start, set-up on a large machine
local START_S = 0.5 -- a box that ends later than so long before the deadline is not begun: it would be killed in it
local MAX_OUTPUT = 131072 -- of a record too long its lists are left out
-- OpenBLAS would start a thread for every CPU when it is loaded, and then
-- use none of them.
local ENV = "OPENBLAS_NUM_THREADS=1"
local AGENT = "SYSCHECK_AGENT=%d" -- the kernel ends with this process, however that ends
local MEASURED, WRONG, COULD_NOT = 0, 1, 2 -- exit codes, a contract with the kernels

-- What went wrong, as one printable line of bounded length.
local function one_line(text)
   text = (text:match("^[^\n]*") or ""):gsub("[^ -~]", "?")
   return #text > 200 and text:sub(1, 200) .. "..." or text
end

-- The same of what a kernel says, if it says anything.
local function worded(text)
   local line = type(text) == "string" and one_line(text) or ""
   return line:find("%S") and line or nil
end

local function judge(name, ended)
   if ended.given_up then
      return "unknown", ("%s: ended, as %s"):format(name, ended.given_up)
   elseif ended.stuck then
      return "unknown", ("%s: hangs in the kernel, left behind after %.1f s"):format(name, ended.seconds)
   elseif ended.timed_out then
      return "unknown", ("%s: killed after %.1f s"):format(name, ended.seconds)
   elseif ended.too_long then
      return "unknown", name .. ": too much output"
   elseif ended.code == nil or ended.signal ~= 0 then
      return "unknown", ("%s: ended by signal %s"):format(name, tostring(ended.signal))
   elseif ended.code == COULD_NOT then
      return "unknown", worded(ended.err) or name .. ": could not run"
   elseif ended.code ~= MEASURED and ended.code ~= WRONG then
      return "unknown", ("%s: exit code %d"):format(name, ended.code)
   end
   local line, rest = ended.out:match("^([^\n]*)\n(.*)$")
   if not line or rest ~= "" then
      return "unknown", ("%s: printed %s instead of one line of JSON: %s"):format(name,
         ended.out == "" and "nothing" or not line and "an unfinished line" or "several lines", one_line(ended.out))
   end
   local result = json.decode(line)
   if type(result) ~= "table" then
      return "unknown", ("%s: printed no JSON: %s"):format(name, one_line(line))
   elseif result.kernel ~= name then
      return "unknown", ("%s: its output names another kernel: %s"):format(name, one_line(tostring(result.kernel)))
   elseif ended.code == WRONG then
      -- Two witnesses for the gravest verdict: the exit code and the object.
      if result.verified ~= false then
         return "unknown", name .. ": exit code says wrong, its output does not"
      end
      return "corrupt", worded(result.error) or "verification failed", result
   elseif result.verified ~= true then
      return "unknown", name .. ": its output is not verified"
   end
   return "ok", nil, result
end

--- Runs a kernel.
-- @param name stream, dgemm, noise, numa, scaling, io
-- @param seconds its time box
-- @param left_s seconds until the check's deadline
-- @param more { args = list of further arguments, fd3 = descriptor to pass, give_up =
--   function() -> why nobody waits for the result, or nil }, or nil
-- @return { kernel, state = ok|corrupt|unknown, reason, result = decoded JSON,
--   seconds = wall time, box_s = its time box }
function kernels.measure(name, seconds, left_s, more)
   local function unknown(reason)
      return { kernel = name, state = "unknown", reason = reason, seconds = 0, box_s = seconds }
   end
   local why = more and more.give_up and more.give_up()
   if why then
      return unknown(("%s: not started, as %s"):format(name, why))
   elseif left_s < seconds + START_S then
      return unknown(name .. ": not started, the deadline is too near")
   end
   local limit = math.min(seconds * 1.5 + GRACE_S, left_s)
   local args = { "--seconds", ("%g"):format(seconds) }
   for _, arg in ipairs(more and more.args or {}) do
      args[#args + 1] = arg
   end
   local ended, err = process.run(paths.libexec .. "/" .. name, args,
      { timeout_ms = limit * 1000, max_output = MAX_OUTPUT, env = { ENV, AGENT:format(uv.os_getpid()) },
         fd3 = more and more.fd3, give_up = more and more.give_up })
   if not ended then
      return unknown(err)
   end
   local state, reason, result = judge(name, ended)
   return { kernel = name, state = state, reason = reason, result = result, seconds = ended.seconds, box_s = seconds }
end

return kernels
