--- slurm.conf and plugstack.conf, read as Slurm reads them. Pure: files come through
-- the functions that are given.
--
-- Slurm's rules that surprise (src/common/parse_config.c): a comment ends at no quote,
-- and goes before a continuation is looked for; `include` counts only at the beginning
-- of a line, relative to the including file's directory; one key a line, except on lines
-- that begin with NodeName and the like; of a key that is there twice the last one holds.
local slurmconf = {}

--- Where Slurm's own programs and slurmd keep slurm.conf, the second one a configless slurmd.
slurmconf.PLACES = { "/etc/slurm/slurm.conf", "/run/slurm/conf/slurm.conf", "/usr/local/etc/slurm.conf",
   "/opt/slurm/etc/slurm.conf" }

local MAX_FILES = 64
local MAX_DEPTH = 16
local MAX_BYTES = 33554432 -- of all files together
local MAX_PROBLEMS = 20

-- Keys whose line goes on with more pairs, and that may come many times.
local LINE_KEYS = { nodename = true, partitionname = true, downnodes = true, nodeset = true, switchname = true,
   slurmctldhost = true, frontendname = true }

local function directory(file)
   return file:match("^(.*)/[^/]*$") or "."
end

-- What a relative name in `file` means.
local function beside(file, name)
   return name:sub(1, 1) == "/" and name or directory(file) .. "/" .. name
end

-- The lines that Slurm sees, comments and continuations done: { text, number, last = number of its last line }.
local function lines_of(text)
   local out, at, number = {}, 1, 0
   local pending -- lines that go on, and the number of the first
   while at <= #text do
      local stop = text:find("\n", at, true) or #text + 1
      local line = text:sub(at, stop - 1)
      at, number = stop + 1, number + 1
      -- An escaped # is none; \\ is a backslash.
      local hash, from = nil, 1
      while true do
         from = line:find("[\\#]", from)
         if not from then
            break
         elseif line:sub(from, from) == "#" then
            hash = from
            break
         end
         from = from + 2
      end
      line = hash and line:sub(1, hash - 1) or line
      -- From the end: a search for its beginning takes the square of a line of backslashes.
      local slashes = line:reverse():match("^%s*(\\+)")
      local goes_on = slashes and #slashes % 2 == 1
      if goes_on then
         line = line:match("^(.*)\\%s*$")
      end
      pending = pending or { number = number }
      pending[#pending + 1] = line
      if not goes_on or at > #text then
         out[#out + 1] = { text = table.concat(pending), number = pending.number, last = number }
         pending = nil
      end
   end
   for _, line in ipairs(out) do
      line.text = line.text:gsub("\\(.?)", "%1")
   end
   return out
end

-- The next key=value from `at`: key, value, where to go on; nil when there is none.
local function pair(text, at)
   local key, stop = text:match("^%s*([%w_.]+)%s*[-*+/]?=%s*()", at)
   if not key then
      return nil
   end
   local value, after = text:match('^"([^"]*)"()', stop)
   if not value or not text:match("^%s", after) and after <= #text then
      value, after = text:match("^(%S+)()", stop)
   end
   if not value then
      return nil
   end
   return key, value, after
end

local Reader = {}
Reader.__index = Reader

function Reader:problem(file, line, text)
   if #self.problems < MAX_PROBLEMS then
      self.problems[#self.problems + 1] = { file = file, line = line, text = text }
   end
end

-- The text of a file that may still be read, or nil.
function Reader:take(file, depth, from)
   local why
   if self.open[file] then
      why = file .. " includes itself"
   elseif depth > MAX_DEPTH then
      why = ("%s: more than %d files deep"):format(file, MAX_DEPTH)
   elseif #self.files >= MAX_FILES then
      why = ("%s: more than %d files"):format(file, MAX_FILES)
   end
   local text
   if not why then
      text, why = self.read(file)
      if text and self.bytes + #text > MAX_BYTES then
         text, why = nil, ("%s: more than %d MiB in all"):format(file, MAX_BYTES // 1048576)
      end
   end
   if not text then
      self:problem(from and from.file or file, from and from.line, (from and "include: " or "") .. why)
      return nil, why
   end
   self.bytes = self.bytes + #text
   self.files[#self.files + 1] = file
   return text
end

function Reader:keep(key, value, file, line)
   local entry = { key = key, value = value, file = file, line = line.number, last = line.last }
   local name = key:lower()
   local all = self.all[name] or {}
   self.all[name] = all
   all[#all + 1] = entry
   self.values[name] = entry
   return entry
end

function Reader:line(file, line, depth)
   local text = line.text
   local include = text:match("^[Ii][Nn][Cc][Ll][Uu][Dd][Ee]%s+(%S+)")
   if include then
      local cluster = self.values.clustername
      include = include:gsub("%%c", function()
         return cluster and cluster.value:lower()
      end)
      self:file(beside(file, include), depth + 1, { file = file, line = line.number })
      return
   end
   local key, value, at = pair(text, 1)
   if not key then
      if text:find("%S") then
         self:problem(file, line.number, text:find("\0", 1, true) and "not text" or
            text:match("^%s+[Ii]nclude%s") and "include must begin the line" or "Slurm cannot read this line")
      end
      return
   end
   local entry = self:keep(key, value, file, line)
   if LINE_KEYS[key:lower()] then
      entry.more = {}
      while true do
         local name, more, after = pair(text, at)
         if not name then
            break
         end
         entry.more[name:lower()], at = more, after
      end
   end
   if text:find("%S", at) then
      self:problem(file, line.number, ("Slurm refuses what follows %s on its line (one key a line; quote spaces)")
         :format(key))
      -- Read all the same, so that one mistake is not reported as several.
      while not entry.more do
         local name, more, after = pair(text, at)
         if not name then
            break
         end
         self:keep(name, more, file, line)
         at = after
      end
   end
end

function Reader:file(file, depth, from)
   local text, why = self:take(file, depth, from)
   if not text then
      return nil, why
   end
   self.open[file] = true
   for _, line in ipairs(lines_of(text)) do
      self:line(file, line, depth)
   end
   self.open[file] = nil
   return true
end

local function reader(read)
   return setmetatable({ read = read, files = {}, problems = {}, open = {}, bytes = 0, all = {}, values = {} }, Reader)
end

--- Reads slurm.conf and what it includes.
-- @param file its path
-- @param read function(path) -> text; or nil and why
-- @return { file, values = by key in lower case: { key, value, file, line, last = where that line
--   ends, more = the line's other pairs }, all = by key: every such entry, files = list of paths that
--   were read, problems = list of { file, line, text } }; or nil and why when the file
--   itself cannot be read
function slurmconf.parse(file, read)
   local r = reader(read)
   local ok, err = r:file(file, 1)
   if not ok then
      return nil, err
   end
   return { file = file, values = r.values, all = r.all, files = r.files, problems = r.problems }
end

--- Value of a key, or nil.
function slurmconf.value(conf, key)
   local entry = conf.values[key:lower()]
   return entry and entry.value
end

--- The file that Slurm looks for beside slurm.conf.
-- @param name such as job_submit.lua
function slurmconf.beside(conf, name)
   return beside(conf.file, name)
end

--- Where plugstack.conf is.
function slurmconf.plugstack_file(conf)
   return slurmconf.value(conf, "PlugStackConfig") or slurmconf.beside(conf, "plugstack.conf")
end

--- Whether a comma separated list (PrologFlags=Alloc,Contain) holds an item, case ignored.
-- @return true or false, and the item's value where it has one (cred_expire=30)
function slurmconf.has(conf, key, item)
   for word in (slurmconf.value(conf, key) or ""):gmatch("[^,]+") do
      local name, value = word:match("^%s*([^=%s]+)%s*=?(.*)$")
      if name and name:lower() == item:lower() then
         return true, value ~= "" and value or nil
      end
   end
   return false
end

--- Seconds of a time-out; math.huge for INFINITE, nil for what is no number.
-- @param default what holds when the key is absent
function slurmconf.seconds(conf, key, default)
   local value = slurmconf.value(conf, key)
   if not value then
      return default
   elseif value:lower() == "infinite" or value:lower() == "unlimited" then
      return math.huge
   end
   return tonumber(value:match("^%d+$"))
end

local KINDS = { required = "required", optional = "optional", include = "include" }

function Reader:stack_file(file, glob, depth, from, out)
   local text = self:take(file, depth, from)
   if not text then
      return
   end
   self.open[file] = true
   local number = 0
   for line in (text .. "\n"):gmatch("(.-)\n") do
      number = number + 1
      local words = {}
      for word in line:gsub("#.*", ""):gmatch("%S+") do
         words[#words + 1] = word
      end
      local kind = KINDS[(words[1] or ""):lower()]
      if #words > 0 and (not kind or #words < 2) then
         self:problem(file, number, "Slurm ignores this line: want optional PLUGIN, or include FILES")
      elseif kind == "include" then
         for _, path in ipairs(glob(beside(file, words[2]))) do
            self:stack_file(path, glob, depth + 1, { file = file, line = number }, out)
         end
      elseif kind then
         out[#out + 1] = { kind = kind, path = words[2], args = { table.unpack(words, 3) }, file = file, line = number }
      end
   end
   self.open[file] = nil
end

--- Reads plugstack.conf and what it includes.
-- @param glob function(pattern) -> list of paths
-- @return { plugins = list of { kind, path, args, file, line }, files, problems }
function slurmconf.plugstack(file, read, glob)
   local r, plugins = reader(read), {}
   r:stack_file(file, glob, 1, nil, plugins)
   return { plugins = plugins, files = r.files, problems = r.problems }
end

return slurmconf
