--- PostgreSQL: libpq reads the URL, ~/.pgpass and the PG... environment itself.
local postgresql = { kind = "postgresql", schemes = { "postgresql", "postgres" },
   example = "postgresql://user@host/database", module = "PostgreSQL", package = "lua-dbi-postgresql" }

--- Types. double precision, as LuaDBI (0.7.2) cuts integers to 32 bits when it reads them.
postgresql.TYPES = { key = "bigint PRIMARY KEY", big = "bigint", int = "integer", number = "double precision",
   text = "text", word = 'text COLLATE "C"', id = "uuid" }
postgresql.KEY_IN = "CAST(? AS bigint)"
postgresql.KEY_OUT = "CAST(%s AS text)"
postgresql.ID_IN = "CAST(? AS uuid)"
postgresql.ID_OUT = "REPLACE(CAST(%s AS text), '-', '')"

-- Values go as text: a whole number must not look like 5.0.
function postgresql.bind(value)
   if math.type(value) == "float" then
      return math.tointeger(value) or ("%.17g"):format(value)
   end
   return value
end

function postgresql.connect(dbi, at)
   local uri = at.uri:gsub("^postgres:", "postgresql:")
   -- A question to a host that is gone must not take minutes.
   if not at.options.connect_timeout then
      uri = uri .. (uri:find("?", 1, true) and "&" or "?") .. "connect_timeout=10"
   end
   return dbi.Connect(postgresql.module, uri)
end

function postgresql.prepare(store)
   store.connection:autocommit(true)
   store:row("SELECT set_config('client_min_messages', 'warning', false), "
      .. "set_config('client_encoding', 'UTF8', false), set_config('lock_timeout', '60s', false)")
end

postgresql.MEANINGS = {
   { "deadlock detected", "another process was in the way", "busy" },
   { "could not serialize", "another process was in the way", "busy" },
   { "lock timeout", "locked by another process for more than 60 s" },
   { "database closed", "the server went away" },
   { "server closed the connection", "the server went away" },
   { "terminating connection", "the server went away" },
   { "could not receive data", "the server went away" },
   { "No space left", "no space left on the server's disk" },
   { "read%-only transaction", "read-only" },
   { "permission denied", "this user may not do that" },
   { 'relation "[%l_]+" does not exist', "not a store of syscheck" },
}

function postgresql.size(store)
   return store:row("SELECT CAST(pg_database_size(current_database()) AS double precision)")[1]
end

return postgresql
