--- ^C, SIGTERM and SIGHUP while a command measures: what runs is ended, and the command ends itself.
local uv = require("luv")
local files = require("syscheck.lib.files")
local process = require("syscheck.lib.process")

local interrupts = {}

local NUMBERS = { sigint = 2, sigterm = 15, sighup = 1 }

-- The mask of what is ignored, as by nohup: that stays so.
local function ignored()
   local text = files.read("/proc/self/status", 16384) or ""
   return tonumber(text:match("\nSigIgn:%s*(%x+)") or "0", 16)
end

--- Catches them from now on.
-- @return { why = function() -> "it was interrupted" or nil, see give_up of process.run; code = function() ->
--   exit status by which the command ends, or nil; close = function(), when nothing measures any more: they end the
--   process as ever }
function interrupts.open()
   local code
   local mask, signals = ignored(), {}
   for name, number in pairs(NUMBERS) do
      if mask >> (number - 1) & 1 == 0 then
         local signal = uv.new_signal()
         signal:start(name, function()
            code = code or 128 + number
            process.stop("it was interrupted")
         end)
         signal:unref()
         signals[#signals + 1] = signal
      end
   end
   return {
      why = function()
         return code and "it was interrupted"
      end,
      code = function()
         uv.run("nowait") -- one that came since a program ran last
         return code
      end,
      close = function()
         for _, signal in ipairs(signals) do
            signal:close()
         end
      end,
   }
end

return interrupts
