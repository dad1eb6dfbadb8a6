#!/usr/bin/env lua5.4
--- Fuzzes one parser: mutates a corpus, keeps inputs that reach new lines, asks its oracle.
--   fuzz.lua PARSER INPUTS SEED OUT     one JSON line into OUT/lua-PARSER.json, findings into OUT/findings/
--   fuzz.lua PARSER FILE...             runs these inputs: to look at a finding
--   KEEP=1 fuzz.lua ...                 writes the smallest inputs that reach all its lines into the corpus
-- tests/fuzz/parsers/PARSER.lua returns
--   run(input)  calls the parser and asserts what must hold of its answer; any error is a finding
--   seeds()     list of inputs, beside those in tests/fuzz/corpus/{lua,c}/PARSER
--   max         bytes of an input, default 4096
--   grows       false: its inputs have one length, so that cost over length says nothing
-- A finding is an error, more instructions than any input of its length needs, or a cost that grows
-- faster than the input.
package.path = "lua/?.lua;tests/fuzz/?.lua;tests/lua/?.lua;" .. package.path
local growth = require("growth")
local mutate = require("mutate")

-- What C and Lua both parse they both read.
local CORPUS, OF_C = "tests/fuzz/corpus/lua/", "tests/fuzz/corpus/c/"
local STEP = 100000 -- instructions between two looks
-- No parser of ours needs so many for an input of a few kB.
local MOST_STEPS = 100
-- The hook for each line costs ten times what the parser does: all of the first inputs, then one in so many.
local ALL_COVERED, COVER_EACH = 5000, 10
-- What is slow is not mutated: a thousand others could be tried meanwhile.
local SLOW_S = 0.03
local KEPT_BYTES, KEPT_FILES = 9000, 40

-- A parser may put files in memory in its place.
local open = io.open

local function read(path)
   local file = open(path, "rb")
   local text = file and file:read("a")
   return text, file and file:close()
end

local function write(path, text)
   local file = assert(open(path, "wb"))
   file:write(text)
   file:close()
end

local function list(dir)
   local names = {}
   local pipe = io.popen(("ls -1 '%s' 2>/dev/null"):format(dir))
   for name in pipe:lines() do
      names[#names + 1] = dir .. "/" .. name
   end
   pipe:close()
   return names
end

-- FNV-1a, 64 bits: a file's name.
local function hash(text)
   local h = 0xcbf29ce484222325
   for i = 1, #text do
      h = (h ~ text:byte(i)) * 0x100000001b3
   end
   return ("%016x"):format(h)
end

-- ---- coverage: steps from a line to a line, in our own modules ----

local ids, next_id = setmetatable({}, { __mode = "k" }), 0
local files = {}
local edges, edge_count, lines, line_count = {}, 0, {}, 0
local fresh, last = {}, 0

local function id_of(func)
   local source = debug.getinfo(func, "S").source
   local id = false
   if source:find("^@lua/syscheck/") then
      id = files[source]
      if not id then
         next_id = next_id + 1
         id = next_id << 16
         files[source] = id
      end
   end
   ids[func] = id
   return id
end

local steps, ran_away = 0, false
local function on_count()
   steps = steps + 1
   if steps > MOST_STEPS then
      ran_away = true
      steps = 0
      error("more than " .. MOST_STEPS * STEP .. " instructions", 2)
   end
end

local getinfo = debug.getinfo
local function on_line(event, line)
   if event == "count" then
      return on_count()
   end
   local func = getinfo(2, "f").func
   local id = ids[func]
   if id == nil then
      id = id_of(func)
   end
   if id then
      local at = id | line
      local edge = last << 32 | at
      if not edges[edge] then
         fresh[#fresh + 1] = edge
         edges[edge] = true
         edge_count = edge_count + 1
         if not lines[at] then
            lines[at], line_count = true, line_count + 1
         end
      end
      last = at
   end
end

-- ---- one input ----

-- A hook is a coroutine's own.
local wrap = coroutine.wrap
function coroutine.wrap(func) -- luacheck: ignore 122
   local hook, mask, count = debug.gethook()
   return wrap(function(...)
      debug.sethook(hook, mask, count)
      return func(...)
   end)
end

local function where(err)
   return debug.traceback(tostring(type(err) == "table" and err[1] or err), 2)
end

-- @return what went wrong, or nil; whether it reached anything new
local function once(parser, input, cover)
   steps, ran_away, last = 0, false, 0
   if cover then
      fresh = {}
      debug.sethook(on_line, "l", STEP)
   else
      debug.sethook(on_count, "", STEP)
   end
   local ok, err = pcall(parser.run, input)
   debug.sethook()
   if ok and not ran_away then
      return nil, cover and #fresh > 0
   end
   -- The parser may have caught it.
   local why = ran_away and ("more than %d instructions"):format(MOST_STEPS * STEP) or tostring(err)
   if cover then
      -- Again without the hook for lines, which counts, and may itself fail where a policy has no strings. Any other
      -- error that does not come again hangs on an input before: a finding, too.
      local of_hook = ran_away or why:find("fuzz/fuzz.lua", 1, true)
      return once(parser, input, false) or not of_hook and why or nil
   end
   return why
end

-- What two findings of one cause have in common: where, and the words without what is quoted.
local function kind_of(err)
   return (err:match("^[^\n]*"):gsub('"[^"]*"', '""'):gsub("'[^']*'", "''"):gsub("%d%d%d+", "N"):sub(1, 160))
end

local function smaller(parser, input, kind)
   local size = #input // 2
   while size >= 1 do
      local at = 1
      while at <= #input do
         local less = input:sub(1, at - 1) .. input:sub(at + size)
         local err = once(parser, less, false)
         if err and kind_of(err) == kind then
            input = less
         else
            at = at + size
         end
      end
      size = size // 2
   end
   return input
end

-- ---- the corpus ----

-- The smallest inputs that reach all that the corpus reaches, up to a size.
local function keep(parser, dir, corpus)
   table.sort(corpus, function(a, b)
      return #a < #b or #a == #b and a < b
   end)
   edges, edge_count, lines, line_count = {}, 0, {}, 0
   os.execute(("mkdir -p '%s'"):format(dir))
   local before = {}
   for _, path in ipairs(list(dir)) do
      -- Findings that are fixed stay.
      if not path:find("/fixed-", 1, true) then
         before[path] = true
      end
   end
   local candidates = {}
   for _, input in ipairs(corpus) do
      local found = edge_count
      once(parser, input, true)
      if edge_count > found then
         candidates[#candidates + 1] = { input = input, gain = (edge_count - found) / (#input + 20) }
      end
   end
   table.sort(candidates, function(a, b)
      return a.gain > b.gain
   end)
   local bytes, n = 0, 0
   for _, one in ipairs(candidates) do
      if bytes + #one.input <= (parser.kept_bytes or KEPT_BYTES) and n < KEPT_FILES then
         bytes, n = bytes + #one.input, n + 1
         local path = dir .. "/" .. hash(one.input)
         before[path] = nil
         write(path, one.input)
      end
   end
   for path in pairs(before) do
      os.remove(path)
   end
   print(("%s: %d inputs, %d bytes kept"):format(dir, n, bytes))
end

local function main(name, ...)
   local parser = dofile(("tests/fuzz/parsers/%s.lua"):format(name))
   parser.max = parser.max or 4096
   local first = ...
   if first and not tonumber(first) then
      for _, path in ipairs({ ... }) do
         local ok, err = xpcall(parser.run, where, (assert(read(path), path)))
         print(path .. ": " .. (ok and "good" or err))
      end
      return 0
   end
   local inputs, seed, out = tonumber(first), tonumber((select(2, ...))), (select(3, ...))
   math.randomseed(seed)
   os.execute(("mkdir -p '%s/findings'"):format(out))
   local began, cpu = os.time(), os.clock()
   local dir = CORPUS .. name
   local corpus, kinds, findings = {}, {}, {}

   local function finding(err, input)
      local kind = kind_of(err)
      if kinds[kind] then
         kinds[kind] = kinds[kind] + 1
         return
      end
      kinds[kind] = 1
      local full = err
      if not ran_away and not err:find("grows", 1, true) then
         input = smaller(parser, input, kind)
         full = select(2, xpcall(parser.run, where, input)) or err
      end
      local path = ("%s/findings/lua-%s-%s"):format(out, name, hash(kind))
      write(path, input)
      findings[#findings + 1] = path
      io.stderr:write(("%s: FINDING %s\n   input: %s (%d bytes: %q)\n   %s\n"):format(name, kind, path, #input,
         input:sub(1, 120), tostring(full):gsub("\n", "\n   ")))
   end

   local function try(input, cover)
      local started = cover and os.clock()
      local err, new = once(parser, input, cover)
      if err then
         finding(err, input)
      elseif new and os.clock() - started < SLOW_S then
         corpus[#corpus + 1] = input
      end
   end

   local given = parser.seeds and parser.seeds() or {}
   for _, from in ipairs({ dir, OF_C .. name }) do
      for _, path in ipairs(list(from)) do
         given[#given + 1] = read(path)
      end
   end
   given[#given + 1] = ""
   table.sort(given, function(a, b)
      return #a < #b or #a == #b and a < b
   end)
   for _, input in ipairs(given) do
      try(input, true)
   end
   mutate.learn(given)
   local from = #corpus
   for i = 1, inputs - #given do
      local input = mutate.input(corpus, parser.max)
      try(input, i <= ALL_COVERED or i % COVER_EACH == 0)
   end
   if parser.grows ~= false then
      growth.look(function(input)
         return (once(parser, input, false))
      end, corpus, inputs >= 100000 and 60 or 2, finding)
   end
   if os.getenv("KEEP") then
      keep(parser, dir, corpus)
   end
   write(("%s/lua-%s.json"):format(out, name), ('{"parser":"%s","language":"Lua","inputs":%d,"seed":%d,"corpus":%d,'
      .. '"found":%d,"lines":%d,"edges":%d,"findings":%d,"seconds":%.1f,"wall_s":%d}\n'):format(name,
      math.max(inputs, #given), seed, #list(dir), #corpus - from, line_count, edge_count, #findings, os.clock() - cpu,
      os.time() - began))
   return #findings == 0 and 0 or 1
end

os.exit(main(table.unpack(arg)))
