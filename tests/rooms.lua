#!/usr/bin/env lua5.4
--- The rooms of the tree: which may use which, and what a pure one may not reach. `make
-- lint` holds every require and every #include between kernels against this one table.
--   rooms.lua             check the tree below the current directory
--   rooms.lua --lua51     list the files that have to compile on Lua 5.1 to 5.4
local rooms = {}

-- Room: the rooms that it may use, beside itself. In the order of the data's way, after what
-- all of them need.
local ALL = { "lib", "policy", "catalogue", "hardware", "counters", "verdict", "measure", "spool", "slurm", "node" }
rooms.USES = {
   lib = {},
   counters = {},
   catalogue = { "counters" },
   policy = { "catalogue", "lib" },
   job_submit = { "policy" },
   hardware = { "lib", "counters" },
   verdict = { "catalogue", "lib" },
   measure = { "lib", "policy", "catalogue", "hardware", "counters", "verdict" },
   spool = { "lib", "policy", "catalogue" },
   slurm = { "lib", "policy", "verdict", "spool" },
   node = { "lib", "policy", "catalogue", "hardware", "counters", "verdict", "spool", "slurm" },
   prolog = ALL,
   epilog = ALL,
   bound = {},
   agent = { "prolog", "epilog", "lib" },
   fabric = { "lib", "catalogue", "policy", "verdict", "spool", "slurm" },
   store = { "lib", "catalogue", "verdict", "spool" },
   html = { "lib" },
   questions = { "lib", "catalogue", "policy", "verdict", "store", "html" },
   doctor = { "prolog", "epilog", table.unpack(ALL) },
   setup = { "lib", "policy", "slurm", "doctor" },
   cmd = { "store", "questions", "nhc", "doctor", "setup", "fabric", "html", table.unpack(ALL) },
   nhc = { "lib", "policy" },
   ask = { "lib", "questions", "cmd" },
   main = { "lib", "cmd" },
}

-- What reaches no file, process, clock or C module, nor does what it uses: a folder, or a file.
rooms.PURE = {
   "fabric/explain", "fabric/inventory", "fabric/judge", "fabric/latency", "fabric/leaves", "fabric/loss",
   "fabric/merge", "fabric/net", "fabric/nodes", "fabric/patterns", "fabric/rates", "fabric/rating",
   "fabric/said", "fabric/samples", "fabric/schedule", "fabric/session", "fabric/shards", "fabric/storage",
   "fabric/suspects", "fabric/trials", "fabric/words", "policy", "counters",
   "catalogue", "verdict", "doctor/rules", "doctor/facts/submit", "doctor/facts/wrapper", "lib/digest", "lib/fnv",
   "lib/hostlist", "lib/lazy", "lib/parts", "lib/plot", "lib/printable", "lib/prometheus", "lib/random", "lib/sorted",
   "lib/spelling",
   "lib/statistics", "lib/time", "lib/unicode", "lib/units", "node/budget", "node/series",
   "setup/diff", "setup/document", "setup/lines", "setup/plan", "setup/scripts", "setup/stages", "setup/submit",
   "slurm/environment", "slurm/storm", "slurm/conf", "slurm/switches",
   "html", "nhc", "questions/clusters", "questions/jobid", "questions/job/alike", "questions/job/records",
   "questions/job/peers",
   "questions/job/remarks", "questions/job/waits", "questions/job/page",
   "questions/job/pictures", "questions/run", "questions/node/page",
   "questions/node/story", "questions/node/spark", "questions/finding", "questions/fleet/fabric",
   "questions/fleet/files", "questions/fleet/logic", "questions/fleet/course", "questions/fleet/drift",
   "questions/fleet/page",
   "questions/noise/chain", "questions/noise/curve", "questions/noise/logic", "questions/noise/page",
   "questions/noise/predict",
   "questions/noise/simulate", "questions/noise/sources", "questions/noise/tail", "questions/noise/verify",
   "questions/noise/without",
   "questions/noise/words", "questions/prometheus/logic", "questions/drains/logic", "questions/suspects/logic",
   "questions/suspects/page", "questions/suspects/hours", "questions/suspects/daily", "questions/suspects/several",
   "questions/suspects/racks", "questions/suspects/uplinks",
   "questions/why/page",
   "questions/why/candidates", "questions/why/causes", "questions/why/checks", "questions/why/conditions",
   "questions/why/expected", "questions/why/explained", "questions/why/logic", "questions/why/neighbours",
   "questions/why/odds", "questions/why/parts", "questions/why/reference", "questions/why/stats",
   "questions/why/weights", "questions/why/without", "questions/why/words", "questions/why/work", "store/runs" }

-- What slurmctld loads has to run on Lua 5.1 to 5.4, so what it uses has to, too.
rooms.LUA51 = { "job_submit", "policy", "catalogue/metrics", "lib/printable", "lib/sorted", "lib/spelling" }

local MAX_LINES = 400

-- Names by which pure code would reach a file, a clock or a module that is not looked at here.
local IMPURE = { "io", "os", "package%.loaded", "debug", "print", "dofile", "loadfile", "_G", "_ENV" }

local function is_in(list, name)
   for _, one in ipairs(list) do
      if name == one or name:sub(1, #one + 1) == one .. "/" then
         return true
      end
   end
   return false
end

local function room_of(name)
   return name:match("^[^/]+")
end

-- lua/syscheck/policy/level.lua, prolog/prolog.lua, lua/main.lua -> policy/level, prolog, main
local function name_of(path)
   return path:match("^lua/syscheck/(.+)%.lua$") or path:match("^(prolog)/.+%.lua$") or path:match("^(epilog)/.+%.lua$")
      or path:match("^lua/([%w_]+)%.lua$")
end

-- "syscheck.policy.level" -> policy/level; what prolog/ and epilog/ are installed as
local function target_of(module)
   local name = module:match("^syscheck%.(.+)$"):gsub("%.", "/")
   local of = { health = "prolog", ended = "prolog", stepend = "epilog",
      sample = "epilog" }
   return of[name] or name
end

-- Why a module of ours may not be required, or nil.
local function wrong_arrow(name, target)
   local from, to = room_of(name), room_of(target)
   if not rooms.USES[to] then
      return ("%s stands in no room: see tests/rooms.lua"):format(target)
   elseif from ~= to and not is_in(rooms.USES[from], to) then
      return ("%s/ may use %s; not %s"):format(from, table.concat(rooms.USES[from], ", "), target)
   elseif is_in(rooms.LUA51, name) and not is_in(rooms.LUA51, target) then
      return ("%s runs on Lua 5.1 to 5.4, %s need not"):format(name, target)
   elseif is_in(rooms.PURE, name) and not is_in(rooms.PURE, target) then
      return ("%s is pure, %s is not"):format(name, target)
   end
end

-- A line of code without its strings and its comment. os.date with a format in UTC and a time
-- reaches no clock.
local function code_of(line)
   return (line:gsub('os%.date%("![^"]*", ', "("):gsub("\\.", "")
      :gsub('"[^"]*"', '""'):gsub("'[^']*'", "''"):gsub("%-%-.*$", ""))
end

local function check_lua(path, text, say)
   local name = name_of(path)
   if not name or not rooms.USES[room_of(name)] then
      say(0, "stands in no room: see tests/rooms.lua")
      return 0
   end
   local number, arrows = 0, 0
   local pure = is_in(rooms.PURE, name) and name .. " is pure (no file, process, clock, C module): no "
   for line in text:gmatch("([^\n]*)\n") do
      number = number + 1
      local code = code_of(line)
      if code:find("[\"']") then
         for module in line:gmatch("[\"'](syscheck%.[%w_.]+)[\"']") do
            arrows = arrows + 1
            local wrong = wrong_arrow(name, target_of((module:gsub("%.$", ""))))
            if wrong then
               say(number, wrong)
            end
         end
         for other in line:gmatch("require%s*%(?%s*[\"']([%w_.]+)[\"']") do
            if pure and not other:find("^syscheck%.") then
               say(number, pure .. other)
            end
         end
      end
      -- lib/lazy hands on names that are looked at where they are written.
      if pure and name ~= "lib/lazy" and code:gsub('require%(""', ""):find("%f[%w_.:]require%f[^%w_]") then
         say(number, pure .. 'require but as require("name")')
      end
      for _, word in ipairs(pure and IMPURE or {}) do
         -- A key of a table is none of these.
         if (code .. " "):gsub("[%w_]+%s*=%f[^=]", ""):find("%f[%w_.:]" .. word .. "%f[^%w_]") then
            say(number, pure .. word)
         end
      end
   end
   if number > MAX_LINES then
      say(number, ("a file has at most %d lines"):format(MAX_LINES))
   end
   return arrows
end

-- kernels/dgemm/size.c: dgemm may include its own and common/; common/ its own; so may the plugin.
local function check_kernel(path, text, say, users)
   local kernel = path:match("^kernels/([^/]+)/") or path:match("^(spank)/") or path:match("^(lua)/")
   if not kernel then
      say(0, "stands in no kernel's folder")
      return 0
   end
   local number, arrows = 0, 0
   for line in text:gmatch("([^\n]*)\n") do
      number = number + 1
      local include = line:match('^%s*#%s*include%s+"([^"]+)"')
      if include then
         arrows = arrows + 1
         local folder, file = include:match("^([^/]+)/(.+)$")
         folder = folder or kernel
         file = (file or include):gsub("%.h$", "")
         if folder ~= kernel and folder ~= "common" or include:find("..", 1, true) then
            say(number, ("%s may include its own folder%s, not %s"):format(path:match("^(.+)/"),
               kernel == "common" and "" or " and common/", include))
         elseif folder == "common" then
            users[file] = users[file] or {}
            users[file][kernel == "common" and "common/" .. path:match("([^/]+)%.%w+$") or kernel] = true
         end
      end
   end
   return arrows
end

-- What of common/ fewer than two kernels, or one and the plugin, use, by way of others of common/, too.
local function check_common(files, users, complain)
   local function kernels_of(file, seen, out)
      for user in pairs(users[file] or {}) do
         local through = user:match("^common/(.+)$")
         if not through then
            out[user] = true
         elseif not seen[through] then
            seen[through] = true
            kernels_of(through, seen, out)
         end
      end
      return out
   end
   for path in pairs(files) do
      local file = path:match("^kernels/common/(.+)%.h$")
      if file then
         local n, only = 0, nil
         for kernel in pairs(kernels_of(file, { [file] = true }, {})) do
            n, only = n + 1, kernel
         end
         if n < 2 then
            complain(path, 1, ("common/ is for what two or more kernels use; this one: %s"):format(only or "none"))
         end
      end
   end
end

-- Rooms that need each other, by the table itself.
local function check_table(complain)
   local state = {}
   local function visit(room, trail)
      if state[room] == "open" then
         complain("tests/rooms.lua", 0, "rooms need each other: " .. trail .. room)
      elseif not state[room] then
         state[room] = "open"
         for _, use in ipairs(rooms.USES[room] or {}) do
            visit(use, trail .. room .. ", ")
         end
         state[room] = "done"
      end
   end
   for room in pairs(rooms.USES) do
      visit(room, "")
   end
end

--- Checks a tree.
-- @param files { path = text }: *.lua below lua/, prolog/, epilog/; *.c and *.h below kernels/ and spank/
-- @return list of "path:line: rule", sorted; how many requires and includes were looked at
function rooms.check(files)
   local found, arrows, users = {}, 0, {}
   local function complain(path, line, text)
      found[#found + 1] = ("%s:%d: %s"):format(path, line, text)
   end
   for path, text in pairs(files) do
      local check = path:find("%.lua$") and check_lua or check_kernel
      arrows = arrows + check(path, text, function(line, rule)
         complain(path, line, rule)
      end, users)
   end
   check_common(files, users, complain)
   check_table(complain)
   table.sort(found)
   return found, arrows
end

--- The files of the tree below the current directory, as check() takes them.
function rooms.read()
   local files = {}
   local list = assert(io.popen("find lua prolog epilog kernels spank -name '*.lua' -o -name '*.[ch]'"))
   for path in list:lines() do
      local file = assert(io.open(path))
      files[path] = file:read("a")
      file:close()
   end
   list:close()
   return files
end

local function main(what)
   local files = rooms.read()
   if what == "--lua51" then
      local names = {}
      for path in pairs(files) do
         local name = name_of(path)
         names[#names + 1] = name and is_in(rooms.LUA51, name) and path or nil
      end
      table.sort(names)
      print(table.concat(names, "\n"))
      return 0
   end
   local found, arrows = rooms.check(files)
   for _, line in ipairs(found) do
      print(line)
   end
   if #found == 0 then
      print(("rooms: good, %d arrows checked"):format(arrows))
   end
   return #found == 0 and 0 or 1
end

if arg[0]:find("^tests/rooms%.lua$") then
   os.exit(main(arg[1]))
end
return rooms
