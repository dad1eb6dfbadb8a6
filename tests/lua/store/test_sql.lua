-- SQL for each kind of store.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local sql = require("syscheck.store.sql")

TestSql = {}

function TestSql:test_names()
   lu.assertEquals(sql.quote_names("SELECT key, r.user, check_key FROM run r WHERE name = 'user key' AND USER = 1",
      '"'),
      "SELECT \"key\", r.\"user\", check_key FROM run r WHERE \"name\" = 'user key' AND USER = 1")
end

function TestSql:test_nulls()
   for given, want in pairs({
      ["SELECT a, b.c AS d FROM t WHERE x = ?"] =
         "SELECT a, b.c AS d, CONCAT(( a) IS NULL, ( b.c ) IS NULL) FROM t WHERE x = ?",
      ["SELECT DISTINCT MAX(a, b) FROM t"] = "SELECT DISTINCT MAX(a, b), CONCAT(( MAX(a, b) ) IS NULL) FROM t",
      ["SELECT (SELECT x FROM y) FROM t"] = "SELECT (SELECT x FROM y), CONCAT(( (SELECT x FROM y) ) IS NULL) FROM t",
      ["SELECT 1"] = "SELECT 1, CONCAT(( 1) IS NULL) ",
      ["DELETE FROM t WHERE a IN (SELECT b FROM c)"] = "DELETE FROM t WHERE a IN (SELECT b FROM c)",
   }) do
      lu.assertEquals(sql.with_nulls(given), want)
   end
   lu.assertError(sql.with_nulls, "SELECT * FROM t")
   lu.assertError(sql.with_nulls, "SELECT ? FROM t")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
