--- Whether a parser's cost grows faster than its input: parts of inputs again and again, four times as long at
-- each step, and what one costs beside the one before. Bytes are the same on each machine; time is the least of
-- several, and counts: a pattern's backtracking is in C, where no hook sees it.
local growth = {}

local SIZES = { 1024, 4096, 16384 }
-- Four times as long: 4 is linear, 16 the square. A table that grows, and caches, make less than twice that.
local MOST = 11
-- Below these nothing is said: what is constant hides what grows.
local LEAST_S, LEAST_KB = 0.005, 2048

-- @return seconds, kB; or nil and the error
local function cost(run, input, times)
   local best, kb = math.huge, 0
   for _ = 1, times do
      collectgarbage()
      collectgarbage("stop")
      local before, began = collectgarbage("count"), os.clock()
      local err = run(input)
      best = math.min(best, os.clock() - began)
      kb = collectgarbage("count") - before
      collectgarbage("restart")
      if err then
         return nil, err
      end
   end
   return best, kb
end

local function stretched(input, from, to, size)
   local part = input:sub(from, to)
   return input:sub(1, to) .. part:rep((size - #input) // #part) .. input:sub(to + 1)
end

-- @return why it grows too fast, or nil; and the input
local function one(run, input, from, to)
   local less_s, less_kb, shorter
   for _, size in ipairs(SIZES) do
      local longer = stretched(input, from, to, size)
      local seconds, kb = cost(run, longer, 1)
      if not seconds then
         return kb, longer
      elseif shorter and kb >= LEAST_KB and kb > MOST * math.max(less_kb, LEAST_KB / 64) then
         return ("memory grows by %.0f where the input grows by 4"):format(kb / less_kb), longer
      elseif shorter and seconds >= LEAST_S and seconds > MOST * less_s then
         -- Once more, as other programs run here.
         seconds, less_s = cost(run, longer, 3), math.max(cost(run, shorter, 5), LEAST_S / 64)
         if seconds >= LEAST_S and seconds > MOST * less_s then
            return ("time grows by %.0f where the input grows by 4"):format(seconds / less_s), longer
         end
      end
      less_s, less_kb, shorter = seconds, kb, longer
   end
   return nil
end

--- Looks at parts of the corpus, a byte, a word, a line, until one is found.
-- @param run function(input) -> what went wrong, or nil
-- @param count how many
-- @param finding function(why, input)
function growth.look(run, corpus, count, finding)
   for _ = 1, #corpus > 0 and count or 0 do
      local input = corpus[math.random(#corpus)]
      if input ~= "" and #input <= SIZES[1] // 2 then
         local at = math.random(#input)
         local word, stop = input:find("[%w_]+", at)
         local line = (input:sub(1, at):find("\n[^\n]*$") or 0) + 1
         for _, part in ipairs({ { at, at }, { word or at, stop or at },
            { line, input:find("\n", line, true) or #input },
            { at, math.min(#input, at + math.random(12)) } }) do
            if part[2] >= part[1] then
               local why, longer = one(run, input, part[1], part[2])
               if why then
                  return finding(why, longer)
               end
            end
         end
         -- White space, and what opens without closing, where it stands.
         local blank = ({ " ", "\n", "\t ", "[", "(", "\"", "\\", "%", "..", "-", "0", "," })[math.random(12)]
         local with = input:sub(1, at) .. blank .. input:sub(at + 1)
         local why, longer = one(run, with, at + 1, at + #blank)
         if why then
            return finding(why, longer)
         end
      end
   end
end

return growth
