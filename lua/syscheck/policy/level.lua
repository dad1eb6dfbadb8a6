--- Check levels: their order, how a user's word becomes one, what a job gets.
-- Pure; plain Lua that runs on 5.1 to 5.4, because job_submit loads it. The C
-- plugin parses the same grammar; both are tested from tests/fixtures/levels.tsv.
local printable = require("syscheck.lib.printable")
local spelling = require("syscheck.lib.spelling")

local level = {}

--- Levels, cheapest first.
level.NAMES = { "none", "passive", "quick", "full" }

local RANK = {}
for i, name in ipairs(level.NAMES) do
   RANK[name] = i
end

local DEFAULT = "quick" -- `--syscheck` alone
local VERBOSE = "verbose" -- behind a level: a line of each node
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

-- ASCII letters only: string.lower goes by the locale, and slurmctld's may be any.
local function lower(text)
   return (text:gsub("[A-Z]", function(c)
      return string.char(c:byte() + 32)
   end))
end

local LONGEST = 16 -- "passive,verbose"

--- A request as it travels from the plugin: a level, or one with ",verbose" behind it, in letters of either case.
-- @return level, as NAMES has it, whether a line of each node is wanted; nil for anything else
function level.of_request(value)
   if type(value) ~= "string" or #value > LONGEST then
      return nil
   end
   value = lower(value)
   if RANK[value] then
      return value, false
   elseif value == VERBOSE then
      return DEFAULT, true
   end
   local name = value:match("^(%l+)," .. VERBOSE .. "$")
   if RANK[name or ""] then
      return name, true
   end
end

--- A user's value: a request, or nothing.
-- @param value string, or nil for an option without an argument
-- @return level, whether a line of each node is wanted; or nil and a message without prefix
function level.parse(value)
   if value == nil or value == "" or value == "(null)" then
      return DEFAULT, false
   end
   local name, verbose = level.of_request(value)
   if name then
      return name, verbose
   end
   -- Of a long one no more than spelling looks at.
   local word = #value > 2 * LONGEST and value or lower(value)
   local near = spelling.nearest(word:match("^(.+)," .. VERBOSE .. "$") or word, level.NAMES)
   return nil, ('unknown level "%s"%s (%s%s)'):format(printable.safe(value, MAX_SHOWN),
      near and (', did you mean "%s"?'):format(near) or "", table.concat(level.NAMES, ", "),
      value:find(",", 1, true) and ", each also with ," .. VERBOSE or "")
end

--- What a job gets on this node.
-- @param asked level the user asked for, or nil
-- @param bounds { floor, default, ceiling } of the partition
-- @param node { shared = why other jobs may run here, in words; nil: this one alone does,
--   fresh = what nobody asked for is skipped, why = so, in words }
-- @param from where floor and ceiling are from, see bounds.of; nil: the partition
-- @return level, and why it is not what was asked or set (nil when it is)
function level.decide(asked, bounds, node, from)
   local want = asked or bounds.default
   local got = level.at_least(want, bounds.floor) and want or bounds.floor
   got = level.at_least(bounds.ceiling, got) and got or bounds.ceiling
   local note
   if got ~= want then
      local bound = level.at_least(got, want) and "floor" or "ceiling"
      local of = from and from[bound][1] or "partition"
      note = ("%s %s, the %s's %s is %s"):format(want, asked and "asked" or "is the default",
         of == "qos" and "QOS" or of, bound, got)
   end
   if level.is_active(got) and node.shared then
      return "passive", ("%s needs the whole node; %s"):format(got, node.shared)
   end
   -- Who asked for less than the floor did not ask for kernels.
   if level.is_active(got) and not (asked and level.is_active(asked)) and node.fresh then
      return "passive", node.why or "the last pass is fresh"
   end
   return got, note
end

return level
