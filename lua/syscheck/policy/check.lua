--- What is wrong with a policy: keys that do not exist, values that may not be, what contradicts
-- itself. Pure; runs on 5.1 to 5.4, because job_submit loads it.
local level = require("syscheck.policy.level")
local printable = require("syscheck.lib.printable")
local schema = require("syscheck.policy.schema")
local sorted = require("syscheck.lib.sorted")
local spelling = require("syscheck.lib.spelling")

local check = {}

-- A number as key, a function, a table: named without their content.
local function key_name(key)
   return type(key) == "string" and printable.safe(key, 32) or tostring(key)
end

-- A value as it is shown: a text in quotes, a number without.
local function shown(value)
   if type(value) == "string" then
      return '"' .. printable.safe(value, 32) .. '"'
   elseif type(value) == "number" then
      return ("%.14g"):format(value)
   end
   return type(value) == "boolean" and tostring(value) or "a " .. type(value)
end

local MOST_NAMES = 16 -- of one table, in a line

-- ", did you mean "triad_gbs"?", by spelling or by beginning; else what there is, if that is little.
local function nearest(key, rules)
   if type(key) ~= "string" then
      return ""
   end
   local names = sorted(rules)
   local near = spelling.nearest(key, names)
   for _, name in ipairs(names) do
      near = near or (#key >= 3 and name:sub(1, #key) == key:lower() and name)
   end
   if near then
      return (', did you mean "%s"?'):format(near)
   end
   return #names <= MOST_NAMES and (" (%s)"):format(table.concat(names, ", ")) or ""
end

-- The trail as it is shown: "limits.triad_gbs".
local function joined(trail, count)
   local words = {}
   for i = 1, count do
      words[i] = printable.safe(trail[i], 32)
   end
   return table.concat(words, ".")
end

-- Adds a problem of what stands at these keys.
local function add(problems, trail, text, ...)
   local keys = {}
   for i, key in ipairs(trail) do
      keys[i] = tostring(key)
   end
   problems[#problems + 1] = { trail = keys, text = text:format(...) }
end

local check_keys

-- Of tables that each are good by `rules`; a name stands for { name = ... } where these say so.
local function check_list(value, rules, trail, problems)
   local n = 0
   for _ in pairs(type(value) == "table" and value or {}) do
      n = n + 1
   end
   if type(value) ~= "table" or n ~= #value or n > rules["*most"] then
      return add(problems, trail, "%s must be a list of at most %d tables { %s }; got %s", joined(trail, #trail),
         rules["*most"], table.concat(sorted(rules["*list"]), ", "), shown(value))
   end
   for i = 1, n do
      local one = value[i]
      trail[#trail + 1] = tostring(i)
      check_keys(rules["*name"] and type(one) == "string" and { name = one } or one, rules["*list"], trail, problems)
      for _, key in ipairs(rules["*must"]) do
         if type(one) == "table" and one[key] == nil then
            add(problems, trail, "%s has no %s", joined(trail, #trail), key)
         end
      end
      trail[#trail] = nil
   end
end

function check_keys(value, rules, trail, problems)
   local function problem(...)
      add(problems, trail, ...)
   end
   if type(rules) == "table" and rules["*later"] then
      rules = rules["*later"]()
   end
   if type(rules) == "table" and rules["*list"] then
      return check_list(value, rules, trail, problems)
   end
   if type(rules) == "function" then
      local want, near = rules(value)
      if want then
         problem("%s must be %s; got %s%s", joined(trail, #trail), want, shown(value),
            near and (', did you mean "%s"?'):format(near) or "")
      end
      return
   end
   if type(value) ~= "table" then
      problem("%s must be a table%s; got %s", joined(trail, #trail),
         rules["*any"] and " by name" or (" { %s }"):format(table.concat(sorted(rules), ", ")), shown(value))
      return
   end
   for key, inner in pairs(value) do
      local rule = rules["*any"] or rules[key]
      trail[#trail + 1] = tostring(key)
      if type(key) ~= "string" or not rule then
         problem("unknown key %s%s%s", #trail > 1 and joined(trail, #trail - 1) .. "." or "", key_name(key),
            nearest(key, rules))
      else
         check_keys(inner, rule, trail, problems)
      end
      trail[#trail] = nil
   end
end

-- What the contradiction is, of one entry of a table by name; nil when there is none.
local function contradiction(b, star, base)
   local function of(key)
      return b[key] or star[key] or base[key]
   end
   local floor, default, ceiling = of("floor"), of("default"), of("ceiling")
   for _, value in pairs({ floor, default, ceiling }) do
      if not level.is_valid(value) then
         return nil -- reported already
      end
   end
   local low, high = floor or "none", ceiling or "full"
   local middle = default or low
   if not (level.at_least(high, middle) and level.at_least(middle, low) and level.at_least(high, low)) then
      local inherited = {}
      for _, key in ipairs({ "floor", "default", "ceiling" }) do
         inherited[#inherited + 1] = not b[key] and of(key) and key or nil
      end
      return ("want floor <= default <= ceiling, got %s, %s, %s%s"):format(floor or "-", default or "-", ceiling or "-",
         #inherited > 0 and (" (not set here: %s)"):format(table.concat(inherited, ", ")) or "")
   end
end

local function check_bounds(given, problems)
   for _, kind in ipairs({ "partitions", "accounts", "qos" }) do
      local entries = type(given[kind]) == "table" and given[kind] or {}
      local star = type(entries["*"]) == "table" and entries["*"] or {}
      for name, b in pairs(entries) do
         local wrong = type(b) == "table" and contradiction(b, star, schema.DEFAULTS[kind]["*"] or {})
         -- Slurm separates names by commas: such a key would never match.
         if type(name) == "string" and (name == "" or #name > 256 or name:find("[%s%c,]")) then
            wrong = "no such name can exist in Slurm"
         end
         if wrong then
            add(problems, { kind, name }, "%s.%s: %s", kind, key_name(name), wrong)
         end
      end
   end
end

-- A value between them passes, so there has to be one.
local function check_limits(given, problems)
   for _, kind in ipairs({ "limits", "processes" }) do
      for name, l in pairs(type(given[kind]) == "table" and given[kind] or {}) do
         local min, max = type(l) == "table" and l.min, type(l) == "table" and l.max
         if type(min) == "number" and type(max) == "number" and min > max then
            add(problems, { kind, name }, "%s.%s: min %.14g is above max %.14g: no value is within", kind,
               key_name(name), min, max)
         end
      end
   end
end

-- A node that loses a DIMM changes its class: a key with the memory in it would
-- match no node that lacks some.
local function check_expect(given, problems)
   for key in pairs(type(given.expect) == "table" and given.expect or {}) do
      if type(key) == "string" and key:match("%-%d+g$") then
         add(problems, { "expect", key }, "expect.%s must not name the memory size: use the model", key_name(key))
      end
   end
end

--- Checks what a policy returned.
-- @return list of { trail = keys, text }, empty when it is good
function check.problems(given)
   local problems = {}
   check_keys(given, schema.KEYS, {}, problems)
   check_bounds(given, problems)
   check_limits(given, problems)
   check_expect(given, problems)
   return problems
end

return check
