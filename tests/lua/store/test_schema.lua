-- Columns that a store lacks, added while others add them.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
package.loaded["syscheck.store.views"] = { make = function() end }
local schema = require("syscheck.store.schema")

TestColumns = {}

-- A database that lacks columns and commits each change of a table by itself; `other` says whether somebody else has
-- just added the column that is asked for.
local function database(lacking, other)
   local db = { lacks = {}, tries = 0, driver = { TYPES = {} } }
   for _, name in ipairs(lacking) do
      db.lacks[name] = true
   end
   function db:row(text)
      if text:find("FROM meta", 1, true) then
         return { tostring(schema.VERSION) }
      end
      for name in pairs(self.lacks) do
         local table_name, column = name:match("(.*)%.(.*)")
         if text:find(" " .. table_name .. " t ", 1, true) and text:find("t%." .. column .. "%f[^%w_]") then
            error(("Unknown column 't.%s'"):format(column), 0)
         end
      end
   end
   function db:exec(text)
      local name = ("%s.%s"):format(text:match("ALTER TABLE (%S+) ADD COLUMN (%S+)"))
      if not self.lacks[name] or other(name) then
         self.lacks[name] = nil
         error("Duplicate column name '" .. name .. "'", 0)
      end
      self.lacks[name] = nil
   end
   function db:transaction(todo)
      self.tries = self.tries + 1
      return todo()
   end
   return db
end

local FIVE = { "job_node.oom_kills", "check_node.best_gbs", "run.batch", "loss.boot", "check_node.boot" }

function TestColumns:test_added_alone()
   local db = database(FIVE, function() end)
   lu.assertNil(schema.check(db, { write = true }))
   lu.assertEquals(next(db.lacks), nil)
   lu.assertEquals(db.tries, 1)
end

-- Each one is somebody else's: no try is the last one while the store gets on.
function TestColumns:test_another_is_always_first()
   local db = database(FIVE, function() return true end)
   lu.assertNil(schema.check(db, { write = true }))
   lu.assertEquals(next(db.lacks), nil)
end

function TestColumns:test_one_that_cannot_be_added_ends_it()
   local db = database(FIVE, function() end)
   function db.exec()
      error("permission denied", 0)
   end
   lu.assertErrorMsgEquals("permission denied", schema.check, db, { write = true })
   lu.assertEquals(db.tries, 3)
end

-- Nor does a database whose answers differ keep it up.
function TestColumns:test_more_and_less_of_them_ends_it_too()
   local db = database({ "run.batch" }, function() end)
   function db.exec()
      db.lacks["loss.boot"] = not db.lacks["loss.boot"] or nil
      error("Duplicate column name", 0)
   end
   lu.assertErrorMsgEquals("Duplicate column name", schema.check, db, { write = true })
   lu.assertTrue(db.tries <= 6)
end

function TestColumns:test_who_only_reads_is_told()
   lu.assertStrMatches(schema.check(database({ "run.batch" }, function() end), {}),
      "has no column batch yet; syscheck ingest brings it up to date")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
