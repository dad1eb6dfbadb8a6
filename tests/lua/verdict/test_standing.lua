-- What a node is called between its checks.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local standing = require("syscheck.verdict.standing")

TestStanding = {}

function TestStanding:test_newest_and_measured()
   for _, case in ipairs({
      { nil, nil, nil }, { "pass", nil, "pass" }, { nil, "warn", "warn" }, { "pass", "pass", "pass" },
      -- Calm counters do not make a slow node well, nor rate one that nothing has rated.
      { "pass", "fail", "fail" }, { "pass", "unknown", "unknown" }, { "pass", "unrated", "unrated" },
      { "unrated", "pass", "pass" }, { "unrated", "unrated", "unrated" },
      { "warn", "pass", "warn" }, { "warn", "unrated", "warn" }, { "warn", "fail", "fail" },
      { "unknown", "pass", "unknown" }, { "unknown", "fail", "fail" }, { "fail", "pass", "fail" },
      { "maybe", "pass", "pass" }, { "maybe", 5, nil },
   }) do
      lu.assertEquals(standing.of(case[1], case[2]), case[3], tostring(case[1]) .. " " .. tostring(case[2]))
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
