--- The databases that a store can be in. A new one is a file in drivers/ and a name in NAMES.
--
-- A driver is a table with
--   kind             its name in answers
--   schemes          list of those that its URLs may have
--   example          of such a URL
--   is_file          true: the URL names a file, and no server
--   module, package  LuaDBI's name of it, and the Debian package that has it
--   TYPES            column types by what schema.lua calls them: key, big (integers of 64 bits),
--                    int, number (double), text, word (at most 1024 bytes, compared as such), id
--   KEY_IN, ID_IN    how a key (decimal digits) and an id (from id()) are bound
--   KEY_OUT, ID_OUT  formats that make those of a column again: digits, 32 hex digits
--   MEANINGS         list of { pattern in its error, what we say or function(path, write) -> that, "busy"
--                    where another try may help }
--   connect(dbi, at, options) -> LuaDBI's connection; or nil and why. `at` is from url.parse and
--                    has uri, the URL itself; options are store.open's
--   prepare(store, options)   once after connect; raises
--   size(store) -> bytes on disk, or nil
-- and, where it differs from COMMON below, with what is there, and
--   settle(store)    waits until what was committed lazily is on disk; raises
--   rewrite(text) -> the text of a statement as it has to be here; true where each row ends in a
--                    column that says which others are NULL, see sql.with_nulls
--   WHOLE_INDEXES    true: an index of some rows only is beyond it
local drivers = {}

local NAMES = { "sqlite", "postgresql", "mariadb" }

local COMMON = {
   MARK = '"', -- around names
   TABLE_END = "", -- after CREATE TABLE
   TEXT_OUT = "%s", -- format that makes text of a column of type word or text
   NEW_VIEW = { "CREATE OR REPLACE VIEW %s AS %s" }, -- formats of name and SELECT: who may read it still may
   LOCK = " FOR UPDATE", -- after the SELECT that keeps other writers out
   IGNORE = "", -- in INSERT: a row whose key is taken is passed over. Else keys are looked up before
   ROWS_PER_INSERT = 20, -- each call is a round trip; fewer where columns are many
}

--- The value of an id, 32 hex digits, for ID_IN.
function COMMON.id(hex)
   return hex
end

--- Any value as it has to be bound. LuaDBI binds numbers as doubles: a larger one goes as text,
-- which the column's type makes whole again.
function COMMON.bind(value)
   if math.type(value) == "integer" and (value > 9007199254740992 or value < -9007199254740992) then
      return ("%d"):format(value)
   end
   return value
end

--- @param write whether the store was opened for writing
function COMMON.begin(store, write) -- luacheck: ignore write
   store:exec("BEGIN")
end

--- Raises what fails; nothing is stored then.
function COMMON.commit(store)
   store:exec("COMMIT")
end

function COMMON.rollback(store)
   store.connection:rollback()
end

function COMMON.close(store)
   store.connection:close()
end

--- Drivers by scheme.
drivers.BY_SCHEME = {}

local examples = {}
for i, name in ipairs(NAMES) do
   local driver = setmetatable(require("syscheck.store.drivers." .. name), { __index = COMMON })
   for _, scheme in ipairs(driver.schemes) do
      drivers.BY_SCHEME[scheme] = driver
   end
   examples[i] = driver.example
end

--- What names a store, for people.
drivers.FORMS = "an absolute path, " .. table.concat(examples, ", ", 1, #examples - 1) .. " or " .. examples[#examples]

--- @param path of a store that is a file
-- @return what an error of LuaDBI means, for people; and "busy" where another try may help
function drivers.explain(driver, err, path, write)
   for _, meaning in ipairs(driver.MEANINGS) do
      if err:find(meaning[1]) then
         return type(meaning[2]) == "function" and meaning[2](path, write) or meaning[2], meaning[3]
      end
   end
   return err
end

return drivers
