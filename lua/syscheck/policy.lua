--- The site's policy: a Lua table in a file, read without trust, checked whole.
-- Pure (text in, table out); runs on 5.1 to 5.4, because job_submit loads it.
local level = require("syscheck.level")

local policy = {}

--- What holds where the file is silent. Also what a node falls back to when the
-- file cannot be used; therefore nothing here drains or measures.
policy.DEFAULTS = {
   mode = "observe",
   partitions = {
      ["*"] = { floor = "none", default = "passive", ceiling = "full" },
   },
   limits = {
      noise_pct = { action = "warn" },
      latency_ns = { action = "warn" },
      best_gbs = { action = "off" },
      throttle_events = { max = 0, action = "warn" },
   },
   expect = {},
   tolerance = 0.10,
   budget = 0.01,
   max_drained = 0.10,
   window = 86400,
   resume_after = 2,
   health = { level = "quick", every = 86400, recheck = 300 },
   kernels = {
      stream = { quick = 2, full = 2 },
      dgemm = { quick = 1, full = 5 },
      noise = { quick = 0.5, full = 2 },
      numa = { full = 5 },
      scaling = { full = 5 },
      io = { full = 3 },
   },
   io_paths = {},
   deadline = { quick = 15, full = 60 },
   node_cpus = "threads",
   scontrol = "scontrol",
}

-- Schema: a function returns nil when the value is good, else what it must be.
local function number(low, high)
   return function(v)
      -- v ~= v: NaN compares false with both bounds.
      if type(v) ~= "number" or v ~= v or v < low or v > high then
         return ("a number from %g to %g"):format(low, high)
      end
   end
end

local function one_of(...)
   local names = { ... }
   return function(v)
      for _, name in ipairs(names) do
         if v == name then
            return nil
         end
      end
      local near = type(v) == "string" and level.suggest(v, names)
      return ('one of "%s"%s'):format(table.concat(names, '", "'), near and (', did you mean "%s"?'):format(near) or "")
   end
end

local function path(v)
   if type(v) ~= "string" or not v:match("^/[^%c]*$") or #v > 1000 then
      return "an absolute path"
   end
end

-- A list without holes, of at most `most` values that are good by `rule`.
local function list_of(rule, most, what)
   return function(v)
      local good, n = type(v) == "table", 0
      for _ in pairs(good and v or {}) do
         n = n + 1
      end
      for i = 1, n do
         good = good and rule(v[i]) == nil
      end
      if not good or n > most then
         return ("a list of at most %d %s"):format(most, what)
      end
   end
end

local function program(v)
   if type(v) ~= "string" or not v:match("^[%w/._+-]+$") then
      return "a program name or an absolute path"
   end
end

local function node_cpus(v)
   if v ~= "threads" and v ~= "cores" and (type(v) ~= "number" or v < 1 or v % 1 ~= 0) then
      return '"threads", "cores" or a whole number of CPUs'
   end
end

local a_level = one_of("none", "passive", "quick", "full")
local bounds = { floor = a_level, default = a_level, ceiling = a_level }
local limit = {
   min = number(0, 1e15),
   max = number(0, 1e15),
   tolerance = number(0, 1),
   action = one_of("fail", "warn", "off"),
}
-- A counter has no kernel that could run a second time, so it never drains.
local counter_limit = { max = number(0, 1e15), action = one_of("warn", "off") }
local function box(v)
   if v ~= 0 and number(0.05, 30)(v) then
      return "0 (not run) or a number from 0.05 to 30"
   end
end
local seconds, only_full = { quick = box, full = box }, { full = box }

-- What a node has, of one value or of several that are right.
local function amount(v)
   local wrong = number(1, 1e9)
   for _, one in pairs(type(v) == "table" and #v > 0 and v or { v }) do
      if wrong(one) then
         return "a number from 1, or a list of such"
      end
   end
end

local expected = {
   memory_gib = amount,
   dimms = amount,
   packages = amount,
   cores = amount,
   threads = amount,
   numa_nodes = amount,
   action = one_of("fail", "warn"),
}

local SCHEMA = {
   mode = one_of("observe", "enforce"),
   partitions = { ["*any"] = bounds },
   limits = { triad_gbs = limit, gflops = limit, noise_pct = limit, latency_ns = limit, best_gbs = limit,
      throttle_events = counter_limit },
   expect = { ["*any"] = expected },
   tolerance = number(0, 1),
   budget = number(0, 1),
   max_drained = number(0, 1),
   window = number(60, 31536000),
   resume_after = number(0, 1000),
   health = { level = one_of("none", "passive", "quick"), every = number(60, 31536000), recheck = number(1, 86400) },
   kernels = { stream = seconds, dgemm = seconds, noise = seconds, numa = only_full, scaling = only_full,
      io = only_full },
   io_paths = list_of(path, 8, "absolute paths"),
   -- The prolog entry's own bound is 75 s: a deadline, and two calls of scontrol that
   -- hang, 6 s each, have to end before.
   deadline = { quick = number(1, 60), full = number(1, 60) },
   baseline = path,
   spool = path,
   state = path,
   run = path,
   lock = path,
   node_cpus = node_cpus,
   scontrol = program,
}

local function sorted_keys(t)
   local keys = {}
   for k in pairs(t) do
      keys[#keys + 1] = tostring(k)
   end
   table.sort(keys)
   return keys
end

-- The line on which the innermost key of `trail` stands, found by looking for
-- each key in turn. Comments may fool it; it is a help, not a parser.
local function line_of(text, trail)
   local at = 1
   for _, key in ipairs(trail) do
      local plain = key:gsub("%p", "%%%0")
      local from = text:find("%f[%w_]" .. plain .. "%f[^%w_]%s*=", at)
         or text:find("%[%s*[\"']" .. plain .. "[\"']%s*%]%s*=", at)
      if not from then
         break
      end
      at = from
   end
   local _, newlines = text:sub(1, at):gsub("\n", "")
   return newlines + 1
end

-- A number as key, a function, a table: named without their content.
local function key_name(key)
   return type(key) == "string" and level.show(key) or tostring(key)
end

local function check(value, schema, trail, problems)
   local function problem(text)
      local copy = {}
      for i, key in ipairs(trail) do
         copy[i] = key
      end
      problems[#problems + 1] = { trail = copy, text = text }
   end
   local where = table.concat(trail, ".")
   if type(schema) == "function" then
      local want = schema(value)
      if want then
         problem(("%s must be %s"):format(where, want))
      end
      return
   end
   if type(value) ~= "table" then
      problem(("%s must be a table"):format(where == "" and "the policy" or where))
      return
   end
   for key, inner in pairs(value) do
      local rule = schema["*any"] or schema[key]
      trail[#trail + 1] = tostring(key)
      if type(key) ~= "string" or not rule then
         local near = type(key) == "string" and level.suggest(key, sorted_keys(schema))
         problem(("unknown key %s%s%s"):format(where ~= "" and where .. "." or "", key_name(key),
            near and (', did you mean "%s"?'):format(near) or ""))
      else
         check(inner, rule, trail, problems)
      end
      trail[#trail] = nil
   end
end

local function check_bounds(given, problems)
   if type(given.partitions) ~= "table" then
      return
   end
   local base = policy.DEFAULTS.partitions["*"]
   local star = type(given.partitions["*"]) == "table" and given.partitions["*"] or {}
   for name, b in pairs(given.partitions) do
      if type(b) == "table" then
         local function of(key)
            return b[key] or star[key] or base[key]
         end
         local floor, default, ceiling = of("floor"), of("default"), of("ceiling")
         if level.is_valid(floor) and level.is_valid(default) and level.is_valid(ceiling)
            and not (level.at_least(ceiling, default) and level.at_least(default, floor)) then
            problems[#problems + 1] = {
               trail = { "partitions", tostring(name) },
               text = ("partitions.%s: want floor <= default <= ceiling, got %s, %s, %s"):format(key_name(name),
                  floor, default, ceiling),
            }
         end
      end
   end
end

-- A node that loses a DIMM changes its class: a key with the memory in it would
-- match no node that lacks some.
local function check_expect(given, problems)
   for key in pairs(type(given.expect) == "table" and given.expect or {}) do
      if type(key) == "string" and key:match("%-%d+g$") then
         problems[#problems + 1] = {
            trail = { "expect", key },
            text = ("expect.%s must not name the memory size: use the model"):format(key_name(key)),
         }
      end
   end
end

-- Deep copy of `base` with `over` laid on it. Partitions are taken as given.
local function merge(base, over)
   local out = {}
   for k, v in pairs(base) do
      out[k] = type(v) == "table" and merge(v, {}) or v
   end
   for k, v in pairs(over) do
      out[k] = type(v) == "table" and merge(type(out[k]) == "table" and out[k] or {}, v) or v
   end
   return out
end

-- 5.1 has loadstring and setfenv, later ones load with a mode and a table. No
-- global is in reach of the file; bytecode is refused, as it can crash Lua.
local function load_chunk(text, name)
   if text:sub(1, 1) == "\27" then
      return nil, name .. ":1: bytecode, not Lua text"
   end
   if setfenv then -- luacheck: ignore 113
      local chunk, err = loadstring(text, "=" .. name) -- luacheck: ignore 113
      return chunk and setfenv(chunk, {}), err -- luacheck: ignore 113
   end
   return load(text, "=" .. name, "t", {})
end

local MAX_STEPS = 1e6 -- a policy is a table; more VM steps are a loop

-- Its own coroutine, so that the hook counts nothing but the file.
local function evaluate(chunk, name)
   local run = coroutine.create(chunk)
   debug.sethook(run, function()
      error(name .. ":0: runs too long; a policy is one table", 0)
   end, "", MAX_STEPS)
   local ok, value = coroutine.resume(run)
   if not ok then
      return nil, tostring(value)
   end
   return value
end

--- Reads and checks a policy.
-- @param text content of the file
-- @param name its path, for messages
-- @return policy with every default filled in; or nil and one line that begins
--   with `file:line:` (the first problem, and how many more there are)
function policy.parse(text, name)
   local chunk, err = load_chunk(text, name)
   if not chunk then
      return nil, err
   end
   local given
   given, err = evaluate(chunk, name)
   if err then
      return nil, err
   end
   if type(given) ~= "table" then
      return nil, name .. ":1: must return a table (return { ... })"
   end
   local problems = {}
   check(given, SCHEMA, {}, problems)
   check_bounds(given, problems)
   check_expect(given, problems)
   if #problems > 0 then
      for _, p in ipairs(problems) do
         p.line = line_of(text, p.trail)
      end
      table.sort(problems, function(a, b)
         if a.line ~= b.line then
            return a.line < b.line
         end
         return a.text < b.text
      end)
      return nil, ("%s:%d: %s%s"):format(name, problems[1].line, problems[1].text,
         #problems > 1 and (" (and %d more)"):format(#problems - 1) or "")
   end
   return merge(policy.DEFAULTS, given)
end

--- The defaults as a policy of their own.
function policy.default()
   return merge(policy.DEFAULTS, {})
end

--- @return { floor, default, ceiling } of a partition; unknown or nil: "*".
function policy.bounds(p, partition)
   local star = p.partitions["*"] or policy.DEFAULTS.partitions["*"]
   local base = merge(policy.DEFAULTS.partitions["*"], star)
   return merge(base, partition and p.partitions[partition] or {})
end

return policy
