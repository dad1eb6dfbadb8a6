--- The site's policy: a Lua table in a file, read without trust, checked whole.
-- Pure (text in, table out); runs on 5.1 to 5.4, because job_submit loads it.
local check = require("syscheck.policy.check")
local policy_text = require("syscheck.policy.text")
local schema = require("syscheck.policy.schema")

local policy = {}

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
   local problems, line_of = check.problems(given), policy_text.lines(text)
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
   return merge(schema.DEFAULTS, given), nil, function(trail)
      local at = given
      for _, key in ipairs(trail) do
         if type(at) ~= "table" then
            return nil
         end
         at = at[key]
      end
      return at ~= nil and line_of(trail) or nil
   end
end

--- Whether some limit drains: with "observe" for all, one may have "enforce" as its own mode.
function policy.enforces(p)
   if p.mode == "enforce" then
      return true
   end
   for _, rules in ipairs({ p.limits, p.expect }) do
      for _, rule in pairs(rules) do
         if rule.mode == "enforce" then
            return true
         end
      end
   end
   return false
end

--- The defaults as a policy of their own: what a node uses when neither the file nor a copy
-- of it can be.
function policy.default()
   return merge(schema.DEFAULTS, {})
end

return policy
