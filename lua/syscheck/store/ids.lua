--- Numbers of texts (table word) and of new rows. Who holds the writers' lock gives them, nobody else meanwhile.
local cache = require("syscheck.store.cache")

local ids = {}
ids.__index = ids

local WORDS = 20000 -- kept in memory, at least

--- What a word gives away: nothing about anybody; who somebody is; what a job is called. In
-- PostgreSQL a user need not see others' (docs/store.md), and prune removes names of jobs
-- that are gone.
ids.PUBLIC, ids.PERSON, ids.JOB_NAME = 0, 1, 2

--- @param store opened for writing
function ids.new(store)
   return setmetatable({
      store = store,
      words = cache.new(WORDS), -- text -> id and how private it is
      free = {}, -- by table
   }, ids)
end

--- Forgets what another writer may have given away, or taken back.
function ids:forget()
   self.free = {}
end

--- Forgets the words, too: some of them may be gone.
function ids:clear()
   self:forget()
   self.words:clear()
end

--- @return a new row's id in a table
function ids:next(name)
   local id = self.free[name]
   if not id then
      local row = self.store:row(("SELECT MAX(id) FROM %s"):format(name))
      id = (row and row[1] or 0) + 1
   end
   self.free[name] = id + 1
   return id
end

--- @param private PUBLIC (default), PERSON or JOB_NAME; the least private use of a word counts
-- @return id of a text; nil for nil
function ids:word(text, private)
   if text == nil then
      return nil
   end
   private = private or ids.PUBLIC
   local known = self.words:get(text)
   if not known then
      local row = self.store:row("SELECT id, private FROM word WHERE text = ?", text)
      if row then
         known = row[1] << 2 | row[2]
      else
         local id = self:next("word")
         self.store:exec("INSERT INTO word (id, text, private) VALUES (?, ?, ?)", id, text, private)
         known = id << 2 | private
      end
      self.words:put(text, known)
   end
   if known & 3 > private then
      known = known & ~3 | private
      self.store:exec("UPDATE word SET private = ? WHERE id = ?", private, known >> 2)
      self.words:put(text, known)
   end
   return known >> 2
end

return ids
