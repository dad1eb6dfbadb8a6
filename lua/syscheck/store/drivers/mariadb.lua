--- MariaDB (and MySQL), such as the one that slurmdbd uses.
local uv = require("luv")
local files = require("syscheck.lib.files")
local paths = require("syscheck.lib.paths")
local sql = require("syscheck.store.sql")

local mariadb = { kind = "mariadb", schemes = { "mariadb", "mysql" }, example = "mariadb://user@host/database",
   module = "MySQL", package = "lua-dbi-mysql" }

--- Types. Texts are bytes, compared as such: `Alice` is not `alice `.
mariadb.TYPES = { key = "BIGINT PRIMARY KEY", big = "BIGINT", int = "INT", number = "DOUBLE", text = "LONGBLOB",
   word = "VARBINARY(1024)", id = "BINARY(16)" }
mariadb.MARK = "`"
mariadb.KEY_IN = "CAST(? AS SIGNED)"
mariadb.KEY_OUT = "CAST(%s AS CHAR)"
mariadb.ID_IN = "UNHEX(?)"
mariadb.ID_OUT = "LOWER(HEX(%s))"
mariadb.TEXT_OUT = "CONVERT(%s USING utf8mb4)"
mariadb.WHOLE_INDEXES = true -- an index of some rows only is beyond it
mariadb.TABLE_END = " ENGINE=InnoDB"

mariadb.rewrite = sql.with_nulls

-- The file is root's, like the policy; a user who asks has his own in the environment.
local function password()
   local from_environment = os.getenv("MYSQL_PWD")
   local file = paths.sysconf .. "/syscheck/store.password"
   local stat = not from_environment and uv.fs_stat(file)
   if stat and uv.fs_access(file, "R") then
      if stat.mode & 63 ~= 0 then -- 0077
         return nil, file .. ": others may read it (chmod 600)"
      end
      return files.line(file) or ""
   end
   return from_environment or ""
end

function mariadb.connect(dbi, at)
   local secret, err = password()
   if not secret then
      return nil, err
   end
   -- An address that begins with / is a socket to LuaDBI.
   return dbi.Connect(mariadb.module, at.name, at.user, secret, at.options.socket or at.host or "localhost", at.port)
end

function mariadb.prepare(store)
   store.connection:autocommit(true)
   store:exec("SET NAMES utf8mb4")
   store:exec("SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'")
   -- What was committed before we took the lock must be seen.
   store:exec("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
end

function mariadb.begin(store)
   store.connection:autocommit(false)
end

function mariadb.commit(store)
   local done = store.connection:commit()
   store.connection:autocommit(true)
   if not done then
      error("commit failed; the server went away", 0)
   end
end

function mariadb.rollback(store)
   store.connection:rollback()
   store.connection:autocommit(true)
end

mariadb.MEANINGS = {
   { "Deadlock found", "another process was in the way", "busy" },
   { "Record has changed since last read", "another process was in the way", "busy" },
   { "Lock wait timeout", "locked by another process" },
   { "[Ss]erver has gone away", "the server went away" },
   { "Lost connection", "the server went away" },
   { "the server went away", "the server went away" },
   { "is full", "no space left on the server's disk" },
   { "No space left", "no space left on the server's disk" },
   { "read%-only", "read-only" },
   { "Table '[^']*' doesn't exist", "not a store of syscheck" },
}

function mariadb.size(store)
   local row = store:row("SELECT SUM(DATA_LENGTH + INDEX_LENGTH) + 0e0 FROM information_schema.tables "
      .. "WHERE TABLE_SCHEMA = DATABASE()")
   return row and row[1]
end

return mariadb
