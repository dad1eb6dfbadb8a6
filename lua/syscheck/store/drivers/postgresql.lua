--- PostgreSQL: libpq reads the URL, ~/.pgpass and the PG... environment itself.
local postgresql = { kind = "postgresql", driver = "PostgreSQL", package = "lua-dbi-postgresql" }

--- Types. double precision, as LuaDBI (0.7.2) cuts integers to 32 bits when it reads them.
postgresql.TYPES = { key = "bigint PRIMARY KEY", big = "bigint", int = "integer", number = "double precision",
   text = "text", word = 'text COLLATE "C"', id = "uuid" }
postgresql.MARK = '"'
postgresql.KEY_IN = "CAST(? AS bigint)"
postgresql.KEY_OUT = "CAST(%s AS text)"
postgresql.ID_IN = "CAST(? AS uuid)"
postgresql.ID_OUT = "REPLACE(CAST(%s AS text), '-', '')"
postgresql.TABLE_END = ""
postgresql.LOCK = " FOR UPDATE"
postgresql.IGNORE = ""
postgresql.ROWS_PER_INSERT = 20 -- each call is a round trip; LuaDBI (0.7.2) numbers at most 999 values

function postgresql.id(hex)
   return hex
end

-- Values go as text: a whole number must not look like 5.0.
function postgresql.bind(value)
   if math.type(value) == "float" then
      return math.tointeger(value) or ("%.17g"):format(value)
   end
   return value
end

function postgresql.connect(dbi, at)
   local uri = at.uri:gsub("^postgres:", "postgresql:")
   -- Whoever asks a host that is gone must not wait for minutes.
   if not at.options.connect_timeout then
      uri = uri .. (uri:find("?", 1, true) and "&" or "?") .. "connect_timeout=10"
   end
   return dbi.Connect("PostgreSQL", uri)
end

function postgresql.prepare(store)
   store.connection:autocommit(true)
   store:row("SELECT set_config('client_min_messages', 'warning', false), "
      .. "set_config('client_encoding', 'UTF8', false), set_config('lock_timeout', '60s', false)")
end

function postgresql.begin(store)
   store:exec("BEGIN")
end

function postgresql.commit(store)
   store:exec("COMMIT")
end

function postgresql.rollback(store)
   store:exec("ROLLBACK")
end

function postgresql.close(store)
   store.connection:close()
end

local MEANINGS = {
   { "deadlock detected", "another process was in the way", "busy" },
   { "could not serialize", "another process was in the way", "busy" },
   { "lock timeout", "locked by another process for more than 60 s" },
   { "database closed", "the server went away", "gone" },
   { "server closed the connection", "the server went away", "gone" },
   { "terminating connection", "the server went away", "gone" },
   { "could not receive data", "the server went away", "gone" },
   { "No space left", "no space left on the server's disk" },
   { "read-only transaction", "read-only" },
   { "permission denied", "this user may not do that" },
}

function postgresql.explain(err)
   for _, meaning in ipairs(MEANINGS) do
      if err:find(meaning[1], 1, true) then
         return meaning[2], meaning[3]
      end
   end
   return err:find('relation "[%l_]+" does not exist') and "not a store of syscheck" or err
end

return postgresql
