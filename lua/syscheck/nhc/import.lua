--- LBNL NHC's nhc.conf as a policy and programs for checks.d, each line accounted for. Pure.
local checks = require("syscheck.nhc.checks")
local line = require("syscheck.nhc.line")
local policy = require("syscheck.policy.policy")
local printable = require("syscheck.lib.printable")
local schema = require("syscheck.policy.schema")
local scripts = require("syscheck.nhc.scripts")
local site = require("syscheck.policy.site")
local sorted = require("syscheck.lib.sorted")

local import = {}

local MOST_LINES = 10000

-- A value as a policy has it, on one line.
local function literal(value)
   if type(value) == "string" then
      return '"' .. value:gsub('[\\"]', "\\%0"):gsub("%c", "?") .. '"'
   elseif type(value) == "number" then
      return ("%.14g"):format(value)
   elseif type(value) ~= "table" then
      return tostring(value)
   end
   local parts = {}
   for i, one in ipairs(value) do
      parts[i] = literal(one)
   end
   -- What it is of stands first.
   for pass = 1, 2 do
      for _, key in ipairs(#value == 0 and sorted(value) or {}) do
         if (key == "path" or key == "name") == (pass == 1) then
            parts[#parts + 1] = key .. " = " .. literal(value[key])
         end
      end
   end
   return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

-- What the policy says of an item, as it stands there; nil: it is good.
local function wrong(key, text)
   local good, err = policy.parse(("return { %s = { %s } }"):format(key, text), "item")
   return not good and err:gsub("^item:%d+: ", "") or nil
end

-- Settings of NHC itself.
local SETTINGS = {
   MARK_OFFLINE = 'observe or enforce: the policy\'s mode ("observe" as shipped)',
   TIMEOUT = "each check has a time box, all have the level's deadline",
   HOSTNAME = "names are Slurm's",
   NHC_RM = "it is Slurm",
}

-- Checks that NHC has and nothing here equals.
local NO_EQUAL = {}
for name in ([[check_dmi_raw_data_match check_fs_inodes check_fs_size check_hw_mem check_moab_sched check_moab_rm
   check_moab_torque check_net_socket check_nv_healthmon check_ps_cpu check_ps_mem check_ps_physmem
   check_ps_time]]):gmatch("%S+") do
   NO_EQUAL[name] = true
end

local function of_setting(entry, name)
   entry.kind, entry.to = "not", SETTINGS[name] or "a setting of NHC's own"
end

-- What of a line goes where.
-- @param out of import.read
-- @param entry { number, mask, command }, to fill: kind = policy|script|hand|not, to, notes
local function place(out, entry, nodes, got)
   local where, seen = {}, {}
   local function at(text)
      where[#where + 1], seen[text] = not seen[text] and text or nil, true
   end
   local function hand(why)
      entry.kind = "hand"
      table.insert(entry.notes, why)
   end
   entry.kind = got.script and "script" or "policy"
   local no_nodes = not nodes and ("which nodes %s are, the policy cannot say"):format(entry.mask)
   for _, pair in ipairs(got.items) do
      local key, item = pair[1], pair[2]
      item.nodes = nodes ~= "" and nodes or nil
      local text, list, most = literal(item), out.items[key], site.KEYS[key]["*most"]
      local off = no_nodes or wrong(key, text) or list.good == most and ("%d are as many as it takes"):format(most)
      at(key)
      list[#list + 1] = { number = entry.number, text = text, off = off or nil }
      list.good = (list.good or 0) + (off and 0 or 1)
      if off then
         hand(off)
      end
   end
   if got.expect then
      at('expect["*"]')
      local off = (no_nodes or nodes ~= "") and "expect is by hardware class, not by node"
         or wrong("expect", '["*"] = ' .. literal(got.expect))
      for _, key in ipairs(sorted(got.expect)) do
         off = off or out.expect[key] and ("line %d says it already"):format(out.expect[key].number)
      end
      for key, value in pairs(not off and got.expect or {}) do
         out.expect[key] = { number = entry.number, value = value }
      end
      if off then
         table.insert(out.expected_by_hand, { number = entry.number, value = got.expect, off = off })
         hand(off)
      end
   end
   if got.script then
      local name = ("nhc-%d-%s"):format(entry.number, got.name)
      at((no_nodes and "todo/" or "checks.d/") .. name)
      table.insert(no_nodes and out.todo or out.scripts, { name = name, text = got.script, seconds = got.seconds,
         nodes = nodes ~= "" and nodes or nil, number = entry.number })
      if no_nodes then
         hand(no_nodes)
      end
   end
   entry.to = table.concat(where, ", ")
end

-- A line that a hand has to finish: a place to begin.
local function to_do(out, entry, name, why)
   entry.kind = "hand"
   table.insert(entry.notes, why)
   local file = ("nhc-%d-%s"):format(entry.number, name:sub(1, 48))
   entry.to = "todo/" .. file
   table.insert(out.todo, { name = file, number = entry.number,
      text = scripts.to_do(("line %d of %s: %s"):format(entry.number, out.name, entry.shown)) })
end

local function take(out, entry)
   local setting = entry.command:match("^export%s+([%w_]+)=") or entry.command:match("^([%w_]+)=")
   if setting then
      return of_setting(entry, setting)
   end
   local words, shell = line.words(entry.command)
   local name = entry.command:match("^[%w_.-]+") or "line"
   if not words then
      return to_do(out, entry, name, ("a shell's text (%s), which is never run: write it by hand"):format(shell))
   elseif not words[1] then
      entry.kind, entry.to = "not", "nothing"
      return
   elseif NO_EQUAL[words[1]] then
      return to_do(out, entry, name, "nothing here equals it: write it by hand, where it is wanted")
   elseif not checks[words[1]] then
      return to_do(out, entry, name, "no check of NHC's own: a program for checks.d, to be written by hand")
   end
   local got = { items = {}, notes = entry.notes, name = words[1],
      from = ("line %d of %s: %s"):format(entry.number, out.name, entry.shown) }
   local why, not_needed = checks[words[1]](words, got)
   if not_needed then
      entry.kind, entry.to = "not", why
   elseif why then
      to_do(out, entry, name, why)
   else
      place(out, entry, line.nodes(entry.mask), got)
   end
end

--- Reads a configuration.
-- @param text of the file
-- @param name of the file, for what is written into programs
-- @return { lines = list of { number, shown, kind = policy|script|hand|not, to, notes }, comments = how many lines are
--   blank or a comment, items = { [key] = list }, expect, scripts and todo = lists of { name, text, seconds, nodes } };
--   or nil and why
function import.read(text, name)
   local out = { name = printable.safe(name:match("[^/]*$"), 60), lines = {}, comments = 0, items = {}, expect = {},
      expected_by_hand = {}, scripts = {}, todo = {} }
   for _, key in ipairs(schema.SITE) do
      out.items[key] = {}
   end
   if text:find("\0", 1, true) then
      return nil, "no text: it has a NUL byte"
   end
   local number = 0
   for one in (text:gsub("\r\n", "\n") .. "\n"):gmatch("(.-)\n") do
      number = number + 1
      local parsed = #one < 65536 and line.parse(one) or #one >= 65536 and {}
      if number > MOST_LINES then
         return nil, ("more than %d lines"):format(MOST_LINES)
      elseif not parsed then
         out.comments = out.comments + 1
      else
         local entry = { number = number, mask = parsed.mask, command = parsed.command, notes = {},
            shown = printable.plain(parsed.command or one, 200) }
         out.lines[#out.lines + 1] = entry
         if parsed.mask then
            entry.mask = printable.plain(parsed.mask, 100)
            take(out, entry)
         else
            entry.kind, entry.to = "hand", 'no line of NHC\'s: "nodes || check"'
         end
      end
   end
   -- The text ends with a newline: there is no line behind it.
   out.comments = out.comments - (text:find("\n$") and 1 or 0)
   return out
end

local function policy_lines(out, add)
   for _, key in ipairs(schema.SITE) do
      if #out.items[key] > 0 then
         add("   %s = {", key)
         for _, item in ipairs(out.items[key]) do
            add("      %s%s, -- line %d%s", item.off and "-- " or "", item.text, item.number,
               item.off and ": " .. printable.plain(item.off, 200) or "")
         end
         add("   },")
      end
   end
   local good, off = {}, {}
   for _, key in ipairs(sorted(out.expect)) do
      good[#good + 1] = ("%s = %s"):format(key, literal(out.expect[key].value))
   end
   for _, e in ipairs(out.expected_by_hand) do
      off[#off + 1] = ("      -- [\"model\"] = %s, -- line %d: %s"):format(literal(e.value), e.number, e.off)
   end
   if #good + #off > 0 then
      add("   expect = { -- by model, see `syscheck run`; \"*\": every node")
      if #good > 0 then
         add("      [\"*\"] = { %s, action = \"fail\" },", table.concat(good, ", "))
      end
      for _, text in ipairs(off) do
         add("%s", text)
      end
      add("   },")
   end
   if #out.scripts > 0 then
      add("   checks = {")
      for _, s in ipairs(out.scripts) do
         add("      [%s] = %s, -- line %d", literal(s.name),
            literal({ seconds = s.seconds or 5, nodes = s.nodes }), s.number)
      end
      add("   },")
   end
end

--- The policy's text. What needs a hand stands in it as a comment.
function import.policy(out)
   local lines = {}
   local function add(format, ...)
      lines[#lines + 1] = format:format(...)
   end
   add("-- From %s, by syscheck config import. Put what is wanted of it into the site's policy.", out.name)
   add("return {")
   add("   mode = \"observe\", -- until what it finds has been looked at; then \"enforce\"")
   policy_lines(out, add)
   add("}")
   return table.concat(lines, "\n") .. "\n"
end

local WORDS = { policy = "", script = "", hand = "needs a hand: ", ["not"] = "not taken: " }

--- What became of each line.
-- @return list of texts, { policy, script, hand, not } how many
function import.report(out)
   local texts, counts = {}, { policy = 0, script = 0, hand = 0, ["not"] = 0 }
   for _, e in ipairs(out.lines) do
      counts[e.kind] = counts[e.kind] + 1
      local mask = e.mask and e.mask ~= "*" and e.mask .. " || " or ""
      texts[#texts + 1] = ("line %d: %s%s -> %s%s%s"):format(e.number, mask, e.shown, WORDS[e.kind], e.to,
         #e.notes > 0 and " (" .. printable.plain(table.concat(e.notes, "; "), 300) .. ")" or "")
   end
   return texts, counts
end

return import
