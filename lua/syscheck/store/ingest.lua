--- Spool files -> store.
local json = require("cjson").new()
local uv = require("luv")
local files = require("syscheck.lib.files")
local record = require("syscheck.store.record")
local spoolfile = require("syscheck.store.spoolfile")
local writer = require("syscheck.store.writer")

local ingest = {}
ingest.__index = ingest

-- Lines: some MB, and a tenth of a second during which others wait. Fewer would write the
-- same pages of the indexes more often.
local BATCH = 4000
local BATCH_BYTES = 8388608 -- of lines, and of what is reported of bad ones: lines may be of 1 MiB
local SHOWN = 16384 -- bytes of a bad line that are kept

--- @param store opened for writing
-- @param options { bad = file for bad lines, remove = delete closed files that are stored,
--   on_bad = function(path, line, why), on_progress = function(offset in the file that is read) or nil,
--   notices = of notices.open, or nil }
function ingest.new(store, options)
   return setmetatable({
      store = store,
      writer = writer.new(store, options.notices),
      options = options,
      rows = {},
      bad = {},
      open = {}, -- files of this batch, by path
      lines = 0,
      bytes = 0,
      measured = {}, -- classes of which checks were stored that measured something
      count = { files = 0, records = 0, new = 0, bad = 0, removed = 0, unreadable = 0 },
   }, ingest)
end

local function printable(text)
   return (text:gsub("[^ -~]", function(c)
      return ("\\x%02x"):format(c:byte())
   end))
end

-- Bad lines are on disk before the store knows that they were read.
local function write_bad(self)
   if #self.bad == 0 then
      return
   end
   local dir = self.options.bad:match("^(.*)/")
   if dir and dir ~= "" and not uv.fs_stat(dir) and files.mkdir(dir) then
      uv.fs_chmod(dir, 488) -- 0750
   end
   local ok, err = files.append(self.options.bad, table.concat(self.bad, "\n"))
   if not ok then
      error({ file_error = ("bad lines cannot be written: %s"):format(err) }, 0)
   end
   self.bad = {}
end

-- Writes what was read so far.
local function flush(self)
   local list = {}
   for _, file in pairs(self.open) do
      list[#list + 1] = { path = file.path, inode = file.inode, head = file.head, offset = file.at, lines = file.line,
         size = file.size, bad = file.bad }
   end
   if #list == 0 then
      return
   end
   write_bad(self)
   self.count.new = self.count.new + self.writer:write({ rows = self.rows, files = list })
   self.count.records = self.count.records + #self.rows
   for _, file in pairs(self.open) do
      -- A file with bad lines stays: somebody may want to know what they were.
      if file.done and file.closed and file.bad == 0 and self.options.remove then
         if uv.fs_unlink(file.path) then
            self.count.removed = self.count.removed + 1
            self.store:run("DELETE FROM file WHERE path = ?", file.path)
         end
      end
   end
   self.rows, self.open, self.lines, self.bytes = {}, {}, 0, 0
   -- Hardly anything of a batch is left: looking through the memory now is cheap.
   collectgarbage()
end

local function complain(self, file, why, text)
   file.bad = file.bad + 1
   self.count.bad = self.count.bad + 1
   local entry = json.encode({ file = printable(file.path), line = file.line, reason = printable(why),
      text = printable((text or ""):sub(1, SHOWN)) })
   self.bad[#self.bad + 1], self.bytes = entry, self.bytes + #entry
   self.options.on_bad(file.path, file.line, why)
end

-- Where an earlier ingest stopped. In doubt it is read again: what is known is not stored
-- twice, but what is passed over is lost.
local function find_position(self, file)
   file.bad = 0
   if not file.head then
      return
   end
   local best
   for row in self.store:rows("SELECT offset, lines, bad, path, inode FROM file WHERE head = ?", file.head) do
      if spoolfile.was(file, row[4], row[5]) and row[1] <= file.size and (not best or row[1] > best[1]) then
         best = row
      end
   end
   if best and spoolfile.begins_line(file, best[1]) then
      spoolfile.seek(file, best[1], best[2])
      file.bad = best[3]
   end
end

local function read(self, file)
   find_position(self, file)
   self.open[file.path] = file
   while true do
      local line, torn = spoolfile.next(file)
      if line == nil then
         break
      elseif line == false then
         complain(self, file, "longer than 1 MiB")
      elseif line ~= "" then
         local row, why = record.read(line)
         if row then
            self.rows[#self.rows + 1] = row
            if row.measured then
               self.measured[row.class] = true
            end
         else
            complain(self, file, torn and "half a line: " .. why or why, line)
         end
      end
      self.lines, self.bytes = self.lines + 1, self.bytes + #(line or "")
      if self.lines >= BATCH or self.bytes >= BATCH_BYTES then
         flush(self)
         if self.options.on_progress then
            self.options.on_progress(file.at)
         end
         self.open[file.path] = file
      end
   end
   file.done = true
end

--- Reads a file to its end. What it holds is stored when flush() returns, or before.
-- @return true; or nil and why it cannot be read
function ingest:file(path)
   if #path > 1000 then
      return nil, path:sub(1, 60) .. "...: the name is too long"
   end
   local file, err = spoolfile.open(path)
   if not file then
      self.count.unreadable = self.count.unreadable + 1
      return nil, err
   end
   local done, why = pcall(read, self, file)
   spoolfile.close(file)
   if not done and type(why) == "table" and why.file_error then
      return nil, why.file_error
   elseif not done then
      error(why, 0)
   end
   self.count.files = self.count.files + 1
   return true
end

ingest.flush = flush

return ingest
