--- The fleet's records in a database, reached through LuaDBI: SQLite, PostgreSQL, MariaDB.
-- Every value is bound; statements are this program's own (see store/sql.lua for how they
-- are written). What fails raises an error that prints as one line, which main.lua shows,
-- with exit code 3; `run` and `commit` return it.
local uv = require("luv")
local paths = require("syscheck.lib.paths")
local schema = require("syscheck.store.schema")
local sql = require("syscheck.store.sql")
local url = require("syscheck.store.url")

local store = {}
store.__index = store

local DRIVERS = { "sqlite", "postgresql", "mariadb" }
for _, name in ipairs(DRIVERS) do
   DRIVERS[name] = require("syscheck.store.drivers." .. name)
end

local MOST_STATEMENTS = 200 -- prepared ones kept; our own texts are fewer
local TRIES = 8 -- of a transaction that another one was in the way of

local Failure = {}
Failure.__index = Failure
Failure.__tostring = function(self)
   return self.text
end

--- Whether an error is one of a store's: tostring() is one line for people.
function store.is_failure(err)
   return getmetatable(err) == Failure
end

local function one_line(text)
   text = tostring(text):gsub("^Execute failed ", ""):gsub("^Failed to connect to database: ", "")
      :gsub("^Error %l+ statement[%l ]*: ", ""):gsub("^Error preparing statement handle: ", "")
      :gsub("%s+", " "):gsub("^ERROR: +", ""):gsub(" $", "")
   return text:gsub("[^ -~]", "?"):sub(1, 300)
end

-- Raises it. `cause` is "busy", "gone" or nil.
function store:fail(err)
   if store.is_failure(err) then
      error(err, 0)
   end
   local text, cause = self.driver.explain(one_line(err), self.write)
   error(setmetatable({ text = ("store %s: %s"):format(self.shown, text), cause = cause }, Failure), 0)
end

-- A prepared statement for a text: one that rests, else a new one.
function store:take(text)
   local resting = self.resting[text]
   if resting then
      self.resting[text] = nil
      self.count = self.count - 1
      return resting
   end
   local known = self.texts[text]
   if not known then
      known = sql.quote_names(text, self.driver.MARK)
      if self.driver.rewrite then
         local nulls
         known, nulls = self.driver.rewrite(known)
         self.nulls[text] = nulls or nil
      end
      self.texts[text] = known
   end
   local called, statement, err = pcall(self.connection.prepare, self.connection, known)
   if not called or not statement then
      self:fail(called and err or statement)
   end
   return statement
end

function store:rest(text, statement)
   if self.count >= MOST_STATEMENTS then
      self.resting, self.count = {}, 0
   end
   if not self.resting[text] then
      self.count = self.count + 1
   end
   self.resting[text] = statement
end

local function execute(self, statement, ...)
   local called, done, err = pcall(statement.execute, statement, ...)
   if not called or not done then
      self:fail(called and err or done)
   end
end

-- The same for a statement from take(). Closed when it fails: to SQLite it would still be
-- running, and beside a BEGIN that waited in vain no later transaction commits.
local function execute_taken(self, statement, ...)
   local done, failure = pcall(execute, self, statement, ...)
   if not done then
      pcall(statement.close, statement)
      error(failure, 0)
   end
end

-- Values as the driver wants them.
local function bound(self, ...)
   local values = table.pack(...)
   for i = 1, values.n do
      values[i] = self.driver.bind(values[i])
   end
   return values
end

-- What a driver read, with whole numbers whole and NULL nil again.
local function as_lua(row, with_nulls)
   if with_nulls then
      local n = #with_nulls
      for i = 1, n do
         if with_nulls:byte(i) == 49 then
            row[i] = nil
         end
      end
      row[n + 1] = nil
   end
   for i, value in next, row do
      if math.type(value) == "float" then
         row[i] = math.tointeger(value) or value
      end
   end
   return row
end

-- The last column, where it tells which others are NULL.
local function flags_of(self, text, row)
   if not self.nulls[text] then
      return nil
   end
   local last = 0
   for i in next, row do
      last = math.max(last, i)
   end
   return row[last]
end

--- Runs a query.
-- @param text SQL, `?` for each value
-- @return iterator of rows: arrays in the order of the columns, NULL is nil
function store:rows(text, ...)
   -- SQLite reads bound strings until the last row: `values` keeps them alive.
   local values = bound(self, ...)
   local statement = self:take(text)
   execute_taken(self, statement, table.unpack(values, 1, values.n))
   return function()
      if not statement then
         return nil
      end
      local called, row = pcall(statement.fetch, statement)
      if not called then
         self:fail(row)
      elseif not row then
         self:rest(text, statement)
         statement, values = nil, nil -- luacheck: ignore
         return nil
      end
      return as_lua(row, flags_of(self, text, row))
   end
end

--- @return the first row, or nil
function store:row(text, ...)
   local following = self:rows(text, ...)
   local first = following()
   if first then
      following() -- most often the end: the statement may rest, and holds no lock
   end
   return first
end

--- Runs a statement; raises what fails.
-- @return rows affected
function store:exec(text, ...)
   local values = bound(self, ...)
   local statement = self:take(text)
   execute_taken(self, statement, table.unpack(values, 1, values.n))
   local called, count = pcall(statement.affected, statement)
   self:rest(text, statement)
   return called and count or 0
end

--- Runs a statement.
-- @return rows affected; or nil and one line
function store:run(text, ...)
   local done, result = pcall(self.exec, self, text, ...)
   if not done then
      return nil, tostring(result)
   end
   return result
end

--- A statement for many calls with values that need no care (no float that is whole where
-- the column is an integer, no integer beyond 2^53).
-- @return function(values, n) -> rows affected
function store:prepared(text)
   local statement = self:take(text)
   return function(values, n)
      execute(self, statement, table.unpack(values, 1, n))
      return statement:affected()
   end
end

--- Begins a transaction: one that writes, where the store was opened for it.
function store:begin()
   self.driver.begin(self, self.write)
   return true
end

--- @return true; or nil and one line, and nothing is stored
function store:commit()
   local done, err = pcall(self.driver.commit, self)
   if not done then
      local _, failure = pcall(self.fail, self, err)
      return nil, tostring(failure)
   end
   return true
end

function store:rollback()
   pcall(self.driver.rollback, self)
end

--- Calls work() in a transaction, again where another process was in the way.
-- @param work function; what it keeps elsewhere has to bear being called twice
-- @return what work returned
function store:transaction(work)
   for try = 1, TRIES do
      local done, result = pcall(function()
         self:begin()
         local value = work()
         self.driver.commit(self)
         return value
      end)
      if done then
         return result
      end
      self:rollback()
      local _, failure = pcall(self.fail, self, result)
      if failure.cause ~= "busy" or try == TRIES then
         error(failure, 0)
      end
      uv.sleep(10 * try + math.random(0, 50))
   end
end

--- Waits until all that was committed is on disk; only where options.lazy was asked for.
-- Raises what fails.
function store:settle()
   if self.driver.settle then
      self.driver.settle(self)
   end
end

function store:close()
   self.resting, self.count = {}, 0
   self.driver.close(self)
   self.connection = nil
end

local function connect(at, options)
   local driver = DRIVERS[at.kind]
   local loaded, dbi = pcall(require, "DBI")
   if not loaded or not pcall(require, "dbd." .. driver.driver:lower()) then
      return nil, ("the driver is missing: install %s (LuaDBI for Lua 5.4)"):format(driver.package)
   end
   local called, connection, err = pcall(driver.connect, dbi, at, options)
   if not called or not connection then
      err = one_line(called and err or connection)
      return nil, (driver.explain(err, options.write))
   end
   return setmetatable({
      kind = at.kind,
      shown = at.shown,
      path = at.path,
      write = options.write,
      driver = driver,
      connection = connection,
      resting = {},
      texts = {},
      nulls = {},
      count = 0,
   }, store)
end

--- Opens a store.
-- @param where path or URL
-- @param options { write = bool, create = make it where there is none, group = id of a
--   group that may read it (SQLite), lazy = a commit need not wait for the disk (SQLite):
--   the caller calls settle }
-- @return store with `kind` ("sqlite", "postgresql", "mariadb") and `shown` (its name
--   without secrets); or nil and one line
function store.open(where, options)
   options = options or {}
   local at, err = url.parse(where)
   if not at then
      return nil, err
   end
   at.uri = where
   local self
   self, err = connect(at, options)
   if not self then
      return nil, ("store %s: %s"):format(at.shown, err)
   end
   local done, why = pcall(function()
      self.driver.prepare(self, options)
      return schema.check(self, options)
   end)
   if not done then
      done, why = pcall(self.fail, self, why)
   end
   if not done or why then
      pcall(self.connection.close, self.connection)
      return nil, tostring(why):find("^store ") and tostring(why) or ("store %s: %s"):format(at.shown, tostring(why))
   end
   return self
end

--- Where the store is: the option, $SYSCHECK_STORE, the policy, else below /var/lib.
function store.where(option, policy)
   return option or os.getenv("SYSCHECK_STORE") or policy and policy.store or paths.store
end

--- Adds the option that names the store.
function store.add_option(command)
   command:option("--store", "Store: an absolute path or a URL (default: $SYSCHECK_STORE, the policy's).")
      :argname("URL")
end

return store
