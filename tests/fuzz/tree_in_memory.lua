--- A file system that is one text: "@@ PATH" and the lines of that file. Reading it needs no disk, so that a
-- million hostile machines take minutes. It stands in for io.open and luv's file calls, below the modules
-- that are looked at.
local tree = require("tree")
local uv = require("luv")

local memory = {}

local contents, folders = {}, {}
local real_open = io.open

local MAX_PIECE = 2500

-- One file more, and the folders above it.
local function put(path, text)
   contents[path] = text
   while true do
      local above, name = path:match("^(.*)/([^/]*)$")
      if not above or #path > 500 then
         return
      end
      local known = folders[above]
      if not known then
         folders[above] = { name, [name] = true }
      elseif not known[name] then
         known[name] = true
         known[#known + 1] = name
      else
         return
      end
      path = above
   end
end

--- Takes a text for the file system from now on.
function memory.use(text)
   contents, folders = {}, {}
   local at = 1
   while true do
      local _, stop, path = text:find("^@@ ([^\n]*)\n", at)
      if not path then
         local after = text:find("\n@@ ", at, true)
         if not after then
            return
         end
         at = after + 1
      else
         local after = text:find("\n@@ ", stop, true)
         put(path, text:sub(stop + 1, after or #text))
         at = after and after + 1 or #text + 1
      end
   end
end

--- The text of a tree in tests/fixtures/machines, a piece for each folder that is below one of these.
-- @return list of texts
function memory.pieces(names, prefixes)
   local out = {}
   for _, name in ipairs(names) do
      local by_prefix, paths, all, lines = {}, {}, {}, {}
      local function finish()
         local text = table.concat(lines, "\n") .. "\n"
         for _, path in ipairs(paths) do
            local file = "@@ " .. path .. "\n" .. text
            all[#all + 1] = file
            for _, prefix in ipairs(prefixes or {}) do
               if path:find(prefix, 1, true) == 1 then
                  by_prefix[prefix] = (by_prefix[prefix] or "") .. file
               end
            end
         end
      end
      for line in io.lines("tests/fixtures/machines/" .. name .. ".tree") do
         local mark, path, text = line:match("^(@@?) (%S+) ?(.*)$")
         if mark then
            finish()
            paths, lines = tree.expand(path, {}), { mark == "@" and text or nil }
         else
            lines[#lines + 1] = line
         end
      end
      finish()
      -- A small input is mutated where it matters, and read a million times.
      by_prefix.all = table.concat(all)
      for _, piece in pairs(by_prefix) do
         out[#out + 1] = #piece <= MAX_PIECE and piece or piece:sub(1, MAX_PIECE):match("^.*\n") or nil
      end
   end
   table.sort(out)
   return out
end

-- ---- what is called ----

local File = {}
File.__index = File

function File:read(what)
   local text, at = self.text, self.at
   if what == "a" then
      self.at = #text + 1
      return text:sub(at)
   elseif at > #text then
      return nil
   elseif what == "l" then
      local stop = text:find("\n", at, true) or #text + 1
      self.at = stop + 1
      return text:sub(at, stop - 1)
   end
   self.at = at + what
   return text:sub(at, at + what - 1)
end

function File.close()
   return true
end

--- Puts the calls in place of the real ones.
function memory.install()
   io.open = function(path, ...) -- luacheck: ignore 122
      local text = contents[path]
      if text then
         return setmetatable({ text = text, at = 1 }, File)
      elseif folders[path] then
         return setmetatable({ text = "", at = 1 }, File)
      elseif path:find("^tests/") then
         return real_open(path, ...)
      end
      return nil, path .. ": No such file or directory"
   end
   local function stat(path)
      if type(path) == "table" then
         path = path.path
      end
      local text = contents[path]
      -- The owner and the mode are what they should be: what is fuzzed is behind that look.
      if text then
         return { type = "file", size = #text, nlink = 1, uid = 0, gid = 0, mode = 33184, ino = #path, dev = 1,
            mtime = { sec = 1 } }
      elseif folders[path] then
         return { type = "directory", size = 0, nlink = 2 + #folders[path], uid = 0, gid = 0, mode = 16877, ino = 1,
            dev = 1, mtime = { sec = 1 } }
      end
      return nil, "ENOENT: no such file or directory: " .. path, "ENOENT"
   end
   uv.fs_stat, uv.fs_lstat, uv.fs_fstat = stat, stat, stat
   uv.fs_access = function(path)
      return contents[path] ~= nil or folders[path] ~= nil
   end
   uv.fs_scandir = function(path)
      local names = folders[path:match("^(.-)/*$")]
      return names and { names = names, at = 0 }
   end
   uv.fs_scandir_next = function(scan)
      scan.at = scan.at + 1
      return scan.names[scan.at]
   end
   uv.fs_open = function(path)
      if contents[path] then
         return { path = path, text = contents[path], at = 1 }
      end
      return nil, "ENOENT: no such file or directory: " .. path, "ENOENT"
   end
   uv.fs_read = function(fd, size, offset)
      local at = offset and offset >= 0 and offset + 1 or fd.at
      fd.at = at + size
      return fd.text:sub(at, at + size - 1)
   end
   uv.fs_close = function()
      return true
   end
   uv.fs_unlink, uv.fs_write = uv.fs_close, uv.fs_close
end

return memory
