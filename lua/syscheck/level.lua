--- Check levels: their order, how a user's word becomes one, what a job gets.
-- Pure; plain Lua that runs on 5.1 to 5.4, because job_submit loads it. The C
-- plugin parses the same grammar; both are tested from tests/fixtures/levels.tsv.
local level = {}

--- Levels, cheapest first.
level.NAMES = { "none", "passive", "quick", "full" }

local RANK = {}
for i, name in ipairs(level.NAMES) do
   RANK[name] = i
end

local DEFAULT = "quick" -- `--syscheck` alone
local MAX_SUGGEST_LENGTH = 16
local MAX_SHOWN = 32

--- @return true for one of NAMES.
function level.is_valid(name)
   return type(name) == "string" and RANK[name] ~= nil
end

--- @return true when level a asks for at least as much as level b.
function level.at_least(a, b)
   return RANK[a] >= RANK[b]
end

--- @return true when the level runs kernels.
function level.is_active(name)
   return RANK[name] >= RANK.quick
end

local function higher(a, b)
   return RANK[a] >= RANK[b] and a or b
end

local function lower(a, b)
   return RANK[a] <= RANK[b] and a or b
end

--- Makes any bytes printable: what is not printable ASCII, and " and \, becomes
-- \xNN; more than max characters of input are cut.
-- @param max default 32
function level.show(value, max)
   max = max or MAX_SHOWN
   local cut = #value > max
   local text = value:sub(1, max):gsub('[%c\127-\255"\\]', function(c)
      return ("\\x%02x"):format(c:byte())
   end)
   return cut and text .. "..." or text
end

-- Optimal string alignment: edits and swaps of neighbours. Rows of small
-- integers, since both words are at most MAX_SUGGEST_LENGTH long.
local function distance(a, b)
   local before, row = nil, {}
   for j = 0, #b do
      row[j] = j
   end
   for i = 1, #a do
      local next_row = { [0] = i }
      for j = 1, #b do
         local same = a:byte(i) == b:byte(j)
         local d = math.min(next_row[j - 1] + 1, row[j] + 1, row[j - 1] + (same and 0 or 1))
         if before and j > 1 and a:byte(i) == b:byte(j - 1) and a:byte(i - 1) == b:byte(j) then
            d = math.min(d, before[j - 2] + 1)
         end
         next_row[j] = d
      end
      before, row = row, next_row
   end
   return row[#b]
end

--- The level a misspelled word probably meant, or nil: at most two edits, and
-- fewer than the word's own length (otherwise any short word is near).
function level.suggest(word, names)
   if #word > MAX_SUGGEST_LENGTH then
      return nil
   end
   local best, best_distance
   for _, name in ipairs(names or level.NAMES) do
      local d = distance(word:lower(), name)
      if d <= 2 and d < #name and d < #word and (not best or d < best_distance) then
         best, best_distance = name, d
      end
   end
   return best
end

--- A user's value to a level.
-- @param value string, or nil for an option without an argument
-- @return level, or nil and a message without prefix
function level.parse(value)
   if value == nil or value == "" or value == "(null)" then
      return DEFAULT
   end
   if RANK[value] then
      return value
   end
   local near = level.suggest(value)
   return nil, ('unknown level "%s"%s (%s)'):format(level.show(value),
      near and (', did you mean "%s"?'):format(near) or "", table.concat(level.NAMES, ", "))
end

--- What a job gets on this node.
-- @param asked level the user asked for, or nil
-- @param bounds { floor, default, ceiling } of the partition
-- @param node { owned = no other job runs here and this one holds every CPU,
--   fresh = what nobody asked for is skipped, why = so, in words }
-- @param from whose floor or ceiling it is, see policy.bounds; nil: the partition's
-- @return level, and why it is not what was asked or set (nil when it is)
function level.decide(asked, bounds, node, from)
   local want = asked or bounds.default
   local got = lower(higher(want, bounds.floor), bounds.ceiling)
   local note
   if got ~= want then
      local bound = level.at_least(got, want) and "floor" or "ceiling"
      local whose = from and from[bound][1] or "partition"
      note = ("%s %s, the %s's %s is %s"):format(want, asked and "asked" or "is the default",
         whose == "qos" and "QOS" or whose, bound, got)
   end
   if level.is_active(got) and not node.owned then
      return "passive", got .. " needs the whole node; other jobs may run here"
   end
   -- Who asked for less than the floor did not ask for kernels.
   if level.is_active(got) and not (asked and level.is_active(asked)) and node.fresh then
      return "passive", node.why or "the last pass is fresh"
   end
   return got, note
end

return level
