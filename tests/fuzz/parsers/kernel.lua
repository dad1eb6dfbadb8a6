-- measure/kernels: what a kernel prints, how it is judged and rated. First line: exit code and kernel.
local oracle = require("oracle")
local process = require("syscheck.lib.process")
local kernels = require("syscheck.measure.kernels")

local function seeds()
   return {
      '0 stream\n{"kernel":"stream","v":1,"version":"0.1.0","verified":true,"triad_gbs":185.25,"cores":[{"cpu":0,"gbs":1}]}\n',
      '1 dgemm\n{"kernel":"dgemm","verified":false,"error":"cpu 3: element 5 is 1, expected 2"}\n',
      '2 noise\nno memory\n', '0 io\n{"kernel":"io","verified":true,"write_gbs":-1,"read_gbs":null}\n',
      '1 numa\n{"kernel":"numa","verified":false,"error":5}\n', '0 stream\n[]\n', '0 stream\n{"kernel":["x"]}\n',
      '0 stream\n{"kernel":"stream","verified":true,"triad_gbs":1e999}\n', "9 x\n", "0 stream\n[[[[[[[[[[[[[[[[[[[[\n",
   }
end

local answer
process.run = function()
   return answer
end

local STATES = { ok = true, corrupt = true, unknown = true }

local function run(input)
   local code, name, out = input:match("^(%d) (%w%w?%w?%w?%w?%w?%w?%w?)\n(.*)$")
   code = tonumber(code)
   name = name or "stream"
   answer = { code = code or 0, signal = 0, out = out or input, err = code == 2 and out or "", seconds = 1 }
   local got = kernels.measure(name, 2, 60)
   assert(STATES[got.state], "state " .. tostring(got.state))
   if got.state == "ok" then
      assert(answer.code == 0 and got.result.verified == true and got.result.kernel == name, "what is not verified")
   elseif got.state == "corrupt" then
      assert(answer.code == 1 and got.result.verified == false and got.result.kernel == name, "corrupt by one witness")
      assert(not got.reason:find("[^ -~]") and #got.reason < 300, "a reason")
   else
      oracle.line(got.reason, 500)
   end
end

return { run = run, seeds = seeds, max = 3000 }
