-- How a store is named.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local url = require("syscheck.store.url")

TestUrl = {}

function TestUrl:test_urls()
   lu.assertEquals(url.parse("/a/b.db").path, "/a/b.db")
   lu.assertEquals(url.parse("sqlite:///a/b.db").path, "/a/b.db")
   local u = url.parse("mariadb://me%40here@db.example:3307/syscheck?socket=/run/s")
   lu.assertEquals({ u.driver.kind, u.user, u.host, u.port, u.name, u.options.socket },
      { "mariadb", "me@here", "db.example", 3307, "syscheck", "/run/s" })
   u = url.parse("postgresql:///syscheck?host=/run/postgresql")
   lu.assertEquals({ u.driver.kind, u.host, u.name }, { "postgresql", nil, "syscheck" })
   for _, bad in ipairs({ "", "x", "x.db", "http://a/b", "postgresql://h", "postgresql://u:p@h/d",
      "mariadb://u@h/d?password=p", "sqlite://h/x", "sqlite:///", "/a\nb" }) do
      local got, err = url.parse(bad)
      lu.assertNil(got, bad)
      lu.assertFalse(err:find("\n") ~= nil)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
