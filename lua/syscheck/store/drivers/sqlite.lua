--- SQLite: a file, no server.
local uv = require("luv")
local files = require("syscheck.lib.files")
local paths = require("syscheck.lib.paths")

local sqlite = { kind = "sqlite", schemes = { "sqlite" }, example = "sqlite:///path", is_file = true,
   module = "SQLite3", package = "lua-dbi-sqlite3" }

local WAIT_MS = 10000 -- for another writer; a batch of ingest takes a tenth of a second
local MODE = 416 -- 0640

--- Types. REAL holds whole numbers as integers on disk, in as few bytes as they need, and
-- reads as a float: LuaDBI (0.7.2) cuts what reads as an integer to 32 bits.
sqlite.TYPES = { key = "INTEGER PRIMARY KEY", big = "INTEGER", int = "INTEGER", number = "REAL", text = "TEXT",
   word = "TEXT", id = "BLOB" }
sqlite.KEY_IN = "CAST(? AS INTEGER)"
sqlite.KEY_OUT = "CAST(%s AS TEXT)"
sqlite.ID_IN = "CAST(? AS BLOB)"
sqlite.ID_OUT = "LOWER(HEX(%s))"
sqlite.NEW_VIEW = { "DROP VIEW IF EXISTS %s", "CREATE VIEW %s AS %s" }
sqlite.LOCK = ""
sqlite.ROWS_PER_INSERT = 1 -- a call costs nothing here, and its result is one row's
sqlite.IGNORE = "OR IGNORE"

function sqlite.id(hex)
   return string.pack(">i8i8", tonumber(hex:sub(1, 16), 16), tonumber(hex:sub(17), 16))
end

-- Made by us, so that nobody ever sees it with other permissions; SQLite gives its
-- companions (-wal, -shm) the same.
local function make_file(path, group)
   local dir = path:match("^(.*)/")
   if dir ~= "" and not uv.fs_stat(dir) then
      local ok, err = files.mkdir(dir)
      if not ok then
         return nil, err
      end
      uv.fs_chmod(dir, 488) -- 0750
      if group then
         uv.fs_chown(dir, -1, group)
      end
   end
   local C = uv.constants
   local fd, err, code = uv.fs_open(path, C.O_RDWR + C.O_CREAT + C.O_EXCL + files.NOFOLLOW, MODE)
   if not fd then
      return code == "EEXIST" or nil, err
   end
   uv.fs_fchmod(fd, MODE)
   if group then
      uv.fs_fchown(fd, -1, group)
   end
   uv.fs_close(fd)
   return true
end

function sqlite.connect(dbi, at, options)
   local stat, err, code = uv.fs_stat(at.path)
   if not stat and options.create then
      stat, err = make_file(at.path, options.group)
   end
   if not stat then
      err = tostring(err):gsub("^E%u+: ", ""):gsub(": /.*$", "")
      return nil, err .. ((options.write or code ~= "ENOENT") and ""
         or "; syscheck ingest makes it, on the host that collects records")
   elseif stat ~= true and stat.type ~= "file" then
      return nil, "not a file"
   end
   -- 1, 2: SQLITE_OPEN_READONLY, READWRITE; LuaDBI names them in its module only.
   return dbi.Connect(sqlite.module, at.path, options.write and 2 or 1)
end

-- Gives the store to its group, also one that was made before the policy named it. Its directory
-- only where `make install` has made that for nothing else: another one is the site's to open.
local function share(path, group)
   local list, dir = { path, path .. "-wal", path .. "-shm" }, path:match("^(.*)/")
   list[4] = path == paths.store and dir or nil
   for _, name in ipairs(list) do
      local stat = uv.fs_lstat(name)
      if stat and stat.gid ~= group then
         uv.fs_lchown(name, -1, group)
      end
   end
end

-- A new file's mode changes by a lock that busy_timeout does not wait for: of several that
-- open it for the first time, all but one get "locked" at once.
local function use_wal(store)
   local give_up = uv.hrtime() + WAIT_MS * 1e6
   while true do
      local done, failure = pcall(store.row, store, "PRAGMA journal_mode = WAL")
      if done then
         return
      elseif failure.cause ~= "busy" or uv.hrtime() > give_up then
         error(failure, 0)
      end
      uv.sleep(math.random(5, 50))
   end
end

function sqlite.prepare(store, options)
   store.connection:autocommit(true)
   store:row(("PRAGMA busy_timeout = %d"):format(WAIT_MS))
   store:row("PRAGMA cache_size = -32768")
   store:row("PRAGMA temp_store = MEMORY")
   if options.write then
      use_wal(store)
      -- FULL: what is committed survives a power cut, so ingest may remove what it has read.
      -- Else it may be lost from the end backwards: the files' positions with the records.
      store:row("PRAGMA synchronous = " .. (options.lazy and "NORMAL" or "FULL"))
      -- 32 MB: a page that many batches change is written back once.
      store:row("PRAGMA wal_autocheckpoint = 8000")
      if options.group then
         share(store.path, options.group)
      end
   end
end

function sqlite.begin(store, write)
   store:exec(write and "BEGIN IMMEDIATE" or "BEGIN")
end

-- Connections that wrote stay open until the process ends: the last one to close would
-- remove -wal and -shm, and who may only read cannot make them anew.
local kept = {}

--- Makes what was committed lazily survive a power cut: a commit waits for all before it.
function sqlite.settle(store)
   store:row("PRAGMA synchronous = FULL")
   store:transaction(function()
      store:exec("UPDATE meta SET value = value WHERE name = 'batches'")
   end)
end

function sqlite.close(store)
   if store.write then
      pcall(store.row, store, "PRAGMA wal_checkpoint(TRUNCATE)")
      kept[#kept + 1] = store.connection
   else
      store.connection:close()
   end
end

-- Why a file cannot be opened or changed.
local function refused(path, write)
   if not uv.fs_access(path, "R") then
      return "cannot be opened by this user"
   end
   local fd, _, code = uv.fs_open(path, "r+", 0) -- access(2) as luv has it gives no reason
   if fd then
      uv.fs_close(fd)
   end
   if write then
      return code == "EROFS" and "its file system is read-only" or "read-only for this user"
   elseif code == "EROFS" then
      return "its file system is read-only and its -wal and -shm are gone; copy it to where they can be made"
   end
   return "its -wal and -shm are gone, and this user cannot make them; the next syscheck ingest does"
end

sqlite.MEANINGS = {
   { "database is locked", "locked: another process writes to it for more than " .. WAIT_MS // 1000 .. " s", "busy" },
   { "database table is locked", "locked by another process", "busy" },
   { "readonly database", refused },
   { "unable to open", refused },
   { "not a database", "not an SQLite file" },
   { "malformed", "damaged; restore it, or move it away and ingest again" },
   { "is full", "no space left on its disk" },
   { "disk I/O error", "its disk fails, or has no space left" },
   { "no such table", "not a store of syscheck" },
}

function sqlite.size(store)
   local total = 0
   for _, suffix in ipairs({ "", "-wal" }) do
      local stat = uv.fs_stat(store.path .. suffix)
      total = total + (stat and stat.size or 0)
   end
   return total
end

return sqlite
