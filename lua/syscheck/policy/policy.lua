--- The site's policy: a Lua table in a file, read without trust, checked whole.
-- Pure (text in, table out); runs on 5.1 to 5.4, because job_submit loads it.
local level = require("syscheck.policy.level")
local policy_text = require("syscheck.policy.text")
local schema = require("syscheck.policy.schema")

local policy = {}

--- What holds where the file is silent. Also what a node falls back to when neither
-- the file nor a copy of it can be used; therefore nothing here drains or measures.
policy.DEFAULTS = schema.DEFAULTS

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

--- Reads and checks a policy.
-- @param text content of the file
-- @param name its path, for messages
-- @return policy with every default filled in, nil, and function(list of keys) -> the
--   line that sets it, nil where a default holds; or nil, one line that begins with
--   `file:line:` (the first problem, and how many more there are), and the list of
--   such lines, one for each problem
function policy.parse(text, name)
   local given, err = policy_text.evaluate(text, name)
   if not given then
      return nil, err, { err }
   end
   local problems, line_of = schema.check(given), policy_text.lines(text)
   if #problems > 0 then
      for _, p in ipairs(problems) do
         p.line = line_of(p.trail)
      end
      table.sort(problems, function(a, b)
         if a.line ~= b.line then
            return a.line < b.line
         end
         return a.text < b.text
      end)
      local lines = {}
      for i, p in ipairs(problems) do
         lines[i] = ("%s:%d: %s"):format(name, p.line, p.text)
      end
      return nil, lines[1] .. (#lines > 1 and (" (and %d more)"):format(#lines - 1) or ""), lines
   end
   return merge(policy.DEFAULTS, given), nil, function(trail)
      local at = given
      for _, key in ipairs(trail) do
         at = type(at) == "table" and at[key]
      end
      return at ~= nil and at ~= false and (line_of(trail)) or nil
   end
end

--- The defaults as a policy of their own.
function policy.default()
   return merge(policy.DEFAULTS, {})
end

-- Most specific first.
local KINDS = { { "account", "accounts" }, { "qos", "qos" }, { "partition", "partitions" } }

-- One bound of one account, QOS or partition: its own, else that of "*".
-- @return level or nil, key of the table it is from
local function entry(entries, name, key, fold)
   local own = name and entries[name]
   -- sacctmgr's names are lower case, whatever a user typed after -A or -q.
   if not own and name and fold then
      name = name:lower()
      own = entries[name]
   end
   if own and own[key] then
      return own[key], name
   end
   local star = entries["*"]
   if star and star[key] then
      return star[key], "*"
   end
end

--- What holds for a job: the highest floor and the lowest ceiling of its account, QOS
-- and partition; the default of the most specific of them that has one (account, QOS,
-- partition), moved between floor and ceiling. Where a floor is above a ceiling, the
-- ceiling wins: it is what the site is ready to spend.
-- @param job { partition, account, qos }, each a name or nil (unknown)
-- @return { floor, default, ceiling }, { floor = { kind, key of its table, table }, ... }:
--   where each is from
function policy.bounds(p, job)
   local floor, default, ceiling
   local from = {}
   for i = 1, #KINDS do
      local kind, entries = KINDS[i][1], p[KINDS[i][2]]
      local name = job[kind]
      local fold = kind ~= "partition"
      local f, fk = entry(entries, name, "floor", fold)
      local d, dk = entry(entries, name, "default", fold)
      local c, ck = entry(entries, name, "ceiling", fold)
      if kind == "partition" then
         local base = policy.DEFAULTS.partitions["*"]
         f, d, c = f or base.floor, d or base.default, c or base.ceiling
      end
      -- On equal terms the partition is named: it is what users know.
      if f and (not floor or level.at_least(f, floor)) then
         floor, from.floor = f, { kind, fk, KINDS[i][2] }
      end
      if c and (not ceiling or level.at_least(ceiling, c)) then
         ceiling, from.ceiling = c, { kind, ck, KINDS[i][2] }
      end
      if d and not default then
         default, from.default = d, { kind, dk, KINDS[i][2] }
      end
   end
   if not level.at_least(ceiling, floor) then
      floor, from.floor = ceiling, from.ceiling
   end
   if not level.at_least(default, floor) then
      default, from.default = floor, from.floor
   elseif not level.at_least(ceiling, default) then
      default, from.default = ceiling, from.ceiling
   end
   return { floor = floor, default = default, ceiling = ceiling }, from
end

return policy
