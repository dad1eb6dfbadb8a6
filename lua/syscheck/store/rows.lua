--- Puts rows into a table whose key is a time and a part of the record's id: a record that
-- is there already is left alone, and two records of one key get two keys.
local rows = {}
rows.__index = rows

local function marks(list)
   return "(" .. table.concat(list, ", ") .. ")"
end

-- "INSERT INTO t (columns) VALUES (...), (...)" for n rows
local function insert(self, n)
   local values = {}
   for i, column in ipairs(self.columns) do
      values[i] = column == "key" and self.store.driver.KEY_IN or column == "id" and self.store.driver.ID_IN or "?"
   end
   local all = {}
   for i = 1, n do
      all[i] = marks(values)
   end
   return ("INSERT %s INTO %s (%s) VALUES %s"):format(self.store.driver.IGNORE, self.table,
      table.concat(self.columns, ", "), table.concat(all, ", "))
end

--- @param store opened for writing
-- @param name of the table
-- @param columns its columns, beginning with key and id
function rows.new(store, name, columns)
   local new = setmetatable({ store = store, table = name, columns = columns }, rows)
   new.width = #columns
   -- LuaDBI (0.7.2) numbers at most 999 values.
   new.many = math.min(store.driver.ROWS_PER_INSERT, 999 // #columns)
   new.one = store:prepared(insert(new, 1))
   new.all = new.many > 1 and store:prepared(insert(new, new.many)) or nil
   new.find = ("SELECT %s FROM %s WHERE key = %s"):format(store.driver.ID_OUT:format("id"), name, store.driver.KEY_IN)
   new.queue, new.queued, new.taken = {}, 0, {}
   return new
end

--- Forgets what was not written: the transaction failed.
function rows:clear()
   self.queue, self.queued, self.taken = {}, 0, {}
end

local function stored_id(self, key)
   local row = self.store:row(self.find, ("%d"):format(key))
   return row and row[1]
end

-- One call a row, which says whether the key was free.
local function put_one(self, row, values)
   local key, hex = row.key, row.id
   values[2] = self.store.driver.id(hex)
   while true do
      values[1] = ("%d"):format(key)
      if self.one(values, self.width) == 1 then
         return key
      end
      local id = stored_id(self, key)
      if id == hex then
         return nil, key
      elseif not id then
         error(("%s: a row was neither stored nor is it there"):format(self.table), 0)
      end
      key = key + 1
   end
end

-- Many rows a call: their keys are looked at before.
local function put_queued(self, row, values)
   local key, hex = row.key, row.id
   while true do
      local id = self.taken[key] or stored_id(self, key)
      if not id then
         break
      elseif id == hex then
         return nil, key
      end
      key = key + 1
   end
   self.taken[key] = hex
   values[1], values[2] = ("%d"):format(key), self.store.driver.id(hex)
   local base, bind = self.queued * self.width, self.store.driver.bind
   for i = 1, self.width do
      self.queue[base + i] = bind(values[i])
   end
   self.queued = self.queued + 1
   if self.queued == self.many then
      self.all(self.queue, self.many * self.width)
      self:clear()
   end
   return key
end

--- Puts a row.
-- @param row { key, id }
-- @param values by column; the first two are set here
-- @return its key; or nil and the key under which it is stored already
function rows:put(row, values)
   return (self.all and put_queued or put_one)(self, row, values)
end

--- Writes what is queued.
function rows:flush()
   for i = 0, self.queued - 1 do
      self.one({ table.unpack(self.queue, i * self.width + 1, (i + 1) * self.width) }, self.width)
   end
   self:clear()
end

return rows
