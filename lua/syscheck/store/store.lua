--- The fleet's records in a database, reached through LuaDBI by one of store/drivers.lua's.
-- Every value is bound; statements are this program's own (see store/sql.lua for how they
-- are written). What fails raises an error that prints as one line, which main.lua shows,
-- with exit code 3; `run` returns it.
local uv = require("luv")
local drivers = require("syscheck.store.drivers")
local paths = require("syscheck.lib.paths")
local schema = require("syscheck.store.schema")
local sql = require("syscheck.store.sql")
local url = require("syscheck.store.url")

local store = {}
store.__index = store

local MOST_STATEMENTS = 200 -- cached; our own texts are fewer
local TRIES = 8 -- of a transaction that another one is in the way of

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

-- Raises it. `cause` is "busy" where another try may help.
function store:fail(err)
   if store.is_failure(err) then
      error(err, 0)
   end
   local text, cause = drivers.explain(self.driver, one_line(err), self.path, self.write)
   error(setmetatable({ text = ("store %s: %s"):format(self.shown, text), cause = cause }, Failure), 0)
end

-- A statement for a text: cached, else prepared. Out of the cache while it is used.
local function statement_for(self, text)
   local cached = self.cached[text]
   if cached then
      self.cached[text] = nil
      self.count = self.count - 1
      return cached
   end
   local rewritten = self.texts[text]
   if not rewritten then
      rewritten = sql.quote_names(text, self.driver.MARK)
      if self.driver.rewrite then
         local nulls
         rewritten, nulls = self.driver.rewrite(rewritten)
         self.nulls[text] = nulls or nil
      end
      self.texts[text] = rewritten
   end
   local called, statement, err = pcall(self.connection.prepare, self.connection, rewritten)
   if not called or not statement then
      self:fail(called and err or statement)
   end
   return statement
end

local function put_back(self, text, statement)
   if self.count >= MOST_STATEMENTS then
      self.cached, self.count = {}, 0
   end
   if not self.cached[text] then
      self.count = self.count + 1
   end
   self.cached[text] = statement
end

local function execute(self, statement, ...)
   local called, done, err = pcall(statement.execute, statement, ...)
   if not called or not done then
      self:fail(called and err or done)
   end
end

-- The statement for a text, executed, and the values as the driver wants them. Closed when it
-- fails: to SQLite it would still be running, and beside a BEGIN that waited in vain no later
-- transaction commits.
local function executed(self, text, ...)
   local values = table.pack(...)
   for i = 1, values.n do
      values[i] = self.driver.bind(values[i])
   end
   local statement = statement_for(self, text)
   local done, failure = pcall(execute, self, statement, table.unpack(values, 1, values.n))
   if not done then
      pcall(statement.close, statement)
      error(failure, 0)
   end
   return statement, values
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

-- The last column, where it says which others are NULL.
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
   local statement, values = executed(self, text, ...) -- luacheck: ignore values
   return function()
      if not statement then
         return nil
      end
      local called, row = pcall(statement.fetch, statement)
      if not called then
         self:fail(row)
      elseif not row then
         put_back(self, text, statement)
         statement, values = nil, nil
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
      following() -- most often the end: the statement is cached, and holds no lock
   end
   return first
end

--- Runs a statement; raises what fails.
-- @return rows affected
function store:exec(text, ...)
   local statement = executed(self, text, ...)
   local called, count = pcall(statement.affected, statement)
   put_back(self, text, statement)
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
   local statement = statement_for(self, text)
   return function(values, n)
      execute(self, statement, table.unpack(values, 1, n))
      return statement:affected()
   end
end

--- Calls work() in a transaction, again where another process was in the way.
-- @param work function; what it keeps elsewhere has to bear being called twice
-- @return what work returned
function store:transaction(work)
   for try = 1, TRIES do
      local done, result = pcall(function()
         self.driver.begin(self, self.write)
         local value = work()
         self.driver.commit(self)
         return value
      end)
      if done then
         return result
      end
      pcall(self.driver.rollback, self)
      local _, failure = pcall(self.fail, self, result)
      if failure.cause ~= "busy" or try == TRIES then
         error(failure, 0)
      end
      uv.sleep(10 * try + math.random(0, 50))
   end
end

--- Keeps all other writers out until the transaction ends. All rows at once: one now and another later is a
-- deadlock with a writer that has them in the other order.
-- @return table meta, values by name
function store:lock()
   local meta = {}
   for row in self:rows("SELECT name, value FROM meta" .. self.driver.LOCK) do
      meta[row[1]] = row[2]
   end
   return meta
end

--- Waits until all that was committed is on disk; only where options.lazy was asked for.
-- Raises what fails.
function store:settle()
   if self.driver.settle then
      self.driver.settle(self)
   end
end

function store:close()
   self.cached, self.count = {}, 0
   self.driver.close(self)
   self.connection = nil
end

local function connect(at, options)
   local driver = at.driver
   local loaded, dbi = pcall(require, "DBI")
   if not loaded or not pcall(require, "dbd." .. driver.module:lower()) then
      return nil, ("the driver is missing: install %s (LuaDBI for Lua 5.4)"):format(driver.package)
   end
   local called, connection, err = pcall(driver.connect, dbi, at, options)
   if not called or not connection then
      err = one_line(called and err or connection)
      return nil, (drivers.explain(driver, err, at.path, options.write))
   end
   return setmetatable({
      shown = at.shown,
      path = at.path,
      write = options.write,
      driver = driver,
      connection = connection,
      cached = {}, -- statements that nobody uses, by text
      count = 0, -- of those
      texts = {}, -- as the database has them, by text
      nulls = {},
   }, store)
end

--- Opens a store.
-- @param where path or URL
-- @param options { write = bool, create = make it where there is none, group = id of a
--   group that may read it (SQLite), lazy = a commit need not wait for the disk (SQLite):
--   the caller calls settle }
-- @return store with `driver` and `shown` (its name without secrets); or nil and one line
function store.open(where, options)
   options = options or {}
   local at, err = url.parse(where)
   if not at then
      return nil, err
   end
   local opened
   opened, err = connect(at, options)
   if not opened then
      return nil, ("store %s: %s"):format(at.shown, err)
   end
   local done, why = pcall(function()
      opened.driver.prepare(opened, options)
      return schema.check(opened, options)
   end)
   if not done then
      done, why = pcall(opened.fail, opened, why)
   end
   if not done or why then
      pcall(opened.connection.close, opened.connection)
      return nil, tostring(why):find("^store ") and tostring(why) or ("store %s: %s"):format(at.shown, tostring(why))
   end
   return opened
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
