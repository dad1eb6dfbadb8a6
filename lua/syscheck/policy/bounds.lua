--- Floor, default and ceiling of a job's level. Pure; runs on 5.1 to 5.4, because job_submit
-- loads it.
local level = require("syscheck.policy.level")
local schema = require("syscheck.policy.schema")

local bounds = {}

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
-- @param p policy
-- @param job { partition, account, qos }, each a name or nil (unknown)
-- @return { floor, default, ceiling }, { floor = { kind, key of its table, table }, ... }:
--   where each is from
function bounds.of(p, job)
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
         local base = schema.DEFAULTS.partitions["*"]
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

return bounds
