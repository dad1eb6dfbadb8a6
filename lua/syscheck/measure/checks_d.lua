--- The site's own checks: programs in checks.d, in any language. Each prints one JSON object with `ok`, and ends with
-- 0 (good), 1 (bad) or 2 (could not run); nothing else that it does or says is trusted.
local json = require("cjson.safe").new()
local uv = require("luv")
local files = require("syscheck.lib.files")
local paths = require("syscheck.lib.paths")
local printable = require("syscheck.lib.printable")
local process = require("syscheck.lib.process")
local rating = require("syscheck.verdict.site")
local sorted = require("syscheck.lib.sorted")

json.decode_invalid_numbers(false)
json.decode_max_depth(16)

local checks_d = {}

local SECONDS = 2 -- time box, where the policy names none
local START_S = 0.2 -- nearer to the deadline none is begun
local STOP_S = 0.8 -- what process.run takes at most to end a program or to leave it behind
local MOST = 64
local MAX_OUTPUT = 65536
local MAX_VALUES = 32
-- In the state directory, by name: the process of what survived SIGKILL; slow = did not end within its time box.
local STATE = "checks.json"
local MOST_LINKS = 8 -- of a directory
local GOOD, BAD, COULD_NOT = 0, 1, 2

local RANK = { passive = 1, quick = 2, full = 3 }

-- What editors and package managers leave behind, and notes.
local function is_leftover(name)
   return name:find("^%.") or name:find("[~#]$") or name:find("%.rpm%l+$") or name:find("%.dpkg%-%l+$")
      or name:find("%.bak$") or name:find("%.swp$") or name == "README"
end

--- Names of what is in the directory.
-- @param dir default paths.checks
function checks_d.names(dir)
   local out = {}
   for _, name in ipairs(files.list(dir or paths.checks)) do
      out[#out + 1] = not is_leftover(name) and name or nil
   end
   return out
end

local function runs_at(levels, lvl)
   if type(levels) ~= "table" then
      return RANK[lvl] >= RANK[levels or "passive"]
   end
   for _, one in ipairs(levels) do
      if one == lvl then
         return true
      end
   end
   return false
end

-- Whether root alone decides what a directory has, or where a link leads. In a directory with the sticky bit (/tmp)
-- nobody can take away what is root's.
-- @return true; or false and why not. What a link says
local function is_closed(dir)
   local stat, err = uv.fs_lstat(dir)
   if not stat then
      return false, err
   elseif stat.uid ~= 0 and stat.uid ~= uv.getuid() then
      return false, dir .. ": not owned by root"
   elseif stat.type == "link" then
      return true, nil, uv.fs_readlink(dir)
   elseif stat.mode & 18 ~= 0 and stat.mode & 512 == 0 then -- 0022, 01000
      return false, dir .. ": writable by group or others (chmod go-w)"
   end
   return true
end

-- The same of each directory of a path, and of those that its links lead through: whoever may rename one of them says
-- what root runs.
local function is_closed_path(path)
   for _ = 1, MOST_LINKS do
      local at, target = path, nil
      while at ~= "" do
         local good, why, link = is_closed(at)
         local above = at:match("^(.*)/[^/]*$") or ""
         if not good then
            return false, why
         elseif link then -- of several, the one nearest to / stays, as the kernel follows it first
            target = (link:find("^/") and link or above .. "/" .. link) .. path:sub(#at + 1)
         end
         at = above
      end
      if not target then
         return true
      end
      path = target
   end
   return false, path .. ": too many links"
end

--- Whether root runs one.
-- @param dir default paths.checks
-- @return true; or false and why not
function checks_d.may_run(dir, name)
   dir = dir or paths.checks
   local path = dir .. "/" .. name
   local stat, err = uv.fs_lstat(path)
   if not stat then
      return false, err
   elseif stat.type ~= "file" then
      return false, ("%s: is a %s, not a file"):format(path, stat.type)
   elseif stat.mode & 73 == 0 then -- 0111
      return false, path .. ": not executable (chmod +x)"
   end
   local good, why = files.trusted(path)
   if good then
      good, why = is_closed_path(dir)
   end
   return good, why
end

-- JSON has 1e999, which is infinite here and nothing in a record.
local function is_kept(value)
   local kind = type(value)
   return kind == "boolean" or kind == "string" or kind == "number" and value - value == 0
end

-- What it says, as far as a record keeps it: numbers, booleans and short texts.
local function values_of(object)
   local out, n = {}, 0
   for _, key in ipairs(sorted(object)) do
      local value = object[key]
      if type(key) == "string" and #key <= 64 and key:find("^[%a_][%w_.-]*$") and n < MAX_VALUES and is_kept(value) then
         out[key], n = type(value) == "string" and printable.plain(value, 200) or value, n + 1
      end
   end
   return out
end

local function first_line(text)
   return printable.plain(text:match("^[^\n]*") or "", 120)
end

-- What it came to.
-- @return "good", "bad"; or nil and why it is not known. And its object
local function judge(ended)
   if ended.given_up then
      return nil, "ended, as " .. ended.given_up
   elseif ended.stuck then
      return nil, ("hangs in the kernel, left behind after %.1f s"):format(ended.seconds)
   elseif ended.timed_out then
      return nil, ("killed after %.1f s"):format(ended.seconds)
   elseif ended.too_long then
      return nil, "too much output"
   elseif ended.code == nil or ended.signal ~= 0 then
      return nil, "ended by signal " .. tostring(ended.signal)
   elseif ended.code == COULD_NOT then
      local said = first_line(ended.err)
      return nil, said:find("%S") and "could not run: " .. said or "could not run"
   elseif ended.code ~= GOOD and ended.code ~= BAD then
      return nil, ("exit code %d"):format(ended.code)
   end
   local line, rest = ended.out:match("^([^\n]*)\n?(.*)$")
   if rest ~= "" then
      return nil, "printed several lines instead of one of JSON: " .. first_line(line)
   end
   -- The decoder takes a NUL byte for the end.
   local object = utf8.len(line) and not line:find("\0", 1, true) and json.decode(line)
   if type(object) ~= "table" or line:find("^%s*%[") then
      return nil, line == "" and "printed nothing" or "printed no JSON object: " .. first_line(line)
   elseif type(object.ok) ~= "boolean" then
      return nil, "its object has no field ok that is true or false"
   elseif object.ok ~= (ended.code == GOOD) then
      -- Two witnesses: a script that dies half-way ends with 1, too.
      return nil, ("exit code %d, and its object says ok is %s"):format(ended.code, tostring(object.ok))
   end
   return object.ok and "good" or "bad", nil, values_of(object)
end

-- A number of the object beyond what the policy sets.
-- @return what it is to be rated as, see rating.entry; the limit's own action
local function beyond(rule, object)
   for _, key in ipairs(sorted(rule.limits or {})) do
      local limit, value = rule.limits[key], object[key]
      if limit.action == "off" then -- luacheck: ignore 542
         -- Not rated.
      elseif type(value) ~= "number" then
         return { unknown = ("%s is no number"):format(key) }
      elseif limit.min and value < limit.min then
         return { bad = ("%s %.4g < %.4g (policy)"):format(key, value, limit.min), value = value, limit = limit.min,
            op = "<" }, limit.action
      elseif limit.max and value > limit.max then
         return { bad = ("%s %.4g > %.4g (policy)"):format(key, value, limit.max), value = value, limit = limit.max,
            op = ">" }, limit.action
      end
   end
end

--- Why the interpreter of one's first line cannot be: execve() says no more of it than that something is not there.
-- @return text, or nil
function checks_d.no_interpreter(path)
   local name, cr = (files.regular(path, MAX_OUTPUT) or ""):match("^#![ \t]*(%S+)(\r?)")
   if not name or cr == "" and uv.fs_stat(name) then
      return nil
   end
   return ("its interpreter %s is not there%s"):format(printable.safe(name), cr ~= "" and " (its lines end with CR LF)"
      or "")
end

-- An earlier run that could not be killed is not joined by another.
local function hangs_still(known, name)
   local was = type(known[name]) == "table" and known[name] or {}
   local pid = type(was.pid) == "number" and math.tointeger(was.pid)
   local now = pid and process.stat(pid)
   return now and now.start == was.start
end

local Runner = {}
Runner.__index = Runner

function Runner:left_s()
   return self.until_s - uv.hrtime() / 1e9
end

-- Runs it.
-- @return see rating.entry, a limit's own action
function Runner:attempt(name, rule, attempt)
   local box = rule.seconds or SECONDS
   local run = { name = name, attempt = attempt, seconds = 0, box_s = box }
   self.runs[#self.runs + 1] = run
   local function unknown(why)
      run.state, run.reason = "unknown", ("check %s: %s"):format(printable.safe(name), why)
      return { unknown = run.reason }
   end
   local good, why = checks_d.may_run(self.dir, name)
   if not good then
      return unknown(why)
   elseif hangs_still(self.known, name) then
      return unknown("an earlier run still hangs, not started")
   elseif self:left_s() < START_S + STOP_S then
      return unknown("not started, the deadline is too near")
   end
   local ended, err = process.run(self.dir .. "/" .. name, {}, { timeout_ms = 1000 * math.min(box,
      self:left_s() - STOP_S), max_output = MAX_OUTPUT, give_up = self.node.give_up,
      env = { "SYSCHECK_LEVEL=" .. self.lvl, "SYSCHECK_NODE=" .. self.node.name } })
   if not ended then
      return unknown(checks_d.no_interpreter(self.dir .. "/" .. name) or err)
   end
   run.seconds = ended.seconds
   self:remember(name, ended)
   if ended.held and attempt == 1 then
      self.node:notice(("check %s: what it started holds its output, which costs its time box of %g s each time")
         :format(printable.safe(name), box))
   end
   local verdict, reason, object = judge(ended)
   if not verdict then
      return unknown(reason)
   end
   run.state, run.result = verdict == "good" and "ok" or "bad", object
   local said = type(object.text) == "string" and object.text:find("%S") and object.text
   if verdict == "bad" then
      return { bad = ("%s: %s"):format(name, said or "bad") }
   end
   local found, action = beyond(rule, object)
   if found then
      found.bad = found.bad and ("%s: %s"):format(name, found.bad)
      return found.unknown and unknown(found.unknown) or found, action
   end
   return { good = ("%s: %s"):format(name, said or "good") }
end

-- What took all of its time takes its turn behind the others from now on, until it does not.
function Runner:remember(name, ended)
   local now = ended.stuck and process.stat(ended.pid)
   local slow = ended.timed_out or ended.held or nil
   if slow or self.known[name] then
      self.known[name] = slow and { pid = now and ended.pid, start = now and now.start, slow = slow } or nil
      self.node:save_state(STATE, self.known)
   end
end

function Runner:entry(name, rule, attempt)
   local found, action = self:attempt(name, rule, attempt)
   return rating.entry("checks", name, { action = action or rule.action, mode = rule.mode }, found)
end

-- What is to run now: of what is there, and what the policy names and is not; what was slow last time comes last.
-- @param there list of names
local function plan(node, lvl, dir, there, known)
   local rules, names, seen = node.policy.checks, {}, {}
   for _, list in ipairs({ there, sorted(rules) }) do
      for _, name in ipairs(list) do
         local rule = rules[name] or {}
         if not seen[name] and rule.action ~= "off" and runs_at(rule.levels, lvl)
            and rating.is_for(rule.nodes, node.name) then
            names[#names + 1] = name
         end
         seen[name] = true
      end
   end
   if #names > MOST then
      node:notice(("%s: %d checks, the last %d of them are not run"):format(dir, #names, #names - MOST))
   end
   local out = {}
   for _, slow in ipairs({ false, true }) do
      for i = 1, math.min(#names, MOST) do
         if slow == (type(known[names[i]]) == "table") then
            out[#out + 1] = names[i]
         end
      end
   end
   return out
end

--- Runs those of a level, one after the other; a bad one once more.
-- @param node from node.open
-- @param until_s when all of them have ended (uv.hrtime)
-- @param dir default paths.checks
-- @return list of entries (verdict/site.lua), { [name of an entry] = its first rating } of those that ran twice,
--   list of { name, attempt, state = ok|bad|unknown, reason, result, seconds, box_s }
function checks_d.run(node, lvl, until_s, dir)
   local self = setmetatable({ node = node, lvl = lvl, until_s = until_s, dir = dir or paths.checks, runs = {},
      known = node:read_state(STATE) or {} }, Runner)
   local entries, first, there = {}, {}, checks_d.names(self.dir)
   local good, why = true, nil
   if there[1] then
      good, why = is_closed_path(self.dir)
   end
   if not good then -- said once, and not of each of them
      return { rating.entry("checks", "checks.d", {}, { unknown = why }) }, first,
         { { name = "checks.d", attempt = 1, seconds = 0, box_s = 0, state = "unknown", reason = why } }
   end
   for _, name in ipairs(plan(node, lvl, self.dir, there, self.known)) do
      local rule = node.policy.checks[name] or {}
      local entry = self:entry(name, rule, 1)
      if entry.status == "fail" then
         first[entry.name] = entry
         entry = self:entry(name, rule, 2)
      end
      entries[#entries + 1] = entry
   end
   return entries, first, self.runs
end

return checks_d
