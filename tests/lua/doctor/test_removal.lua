-- What holds up a removal beside slurm.conf: what setup has changed here.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local tree = require("tree")

local root = tree.new()
package.loaded["syscheck.lib.paths"] = { version = "1", libexec = root .. "/libexec", data = root .. "/share",
   sysconf = root .. "/etc", plugin = root .. "/lib/spank_syscheck.so", state = root .. "/state" }
local elsewhere = {}
package.loaded["syscheck.doctor.facts.others"] = function()
   return elsewhere
end
local removal = require("syscheck.doctor.facts.removal")

TestRemoval = {}

-- The line about setup, or nil.
local function about_setup(part)
   for _, text in ipairs(removal.uses(part)) do
      if text:find(root .. "/state/setup says what `syscheck setup` has changed on this host", 1, true) then
         return text
      end
   end
end

function TestRemoval:tearDown()
   elsewhere = {}
   tree.remove(root)
end

function TestRemoval:test_setup_is_undone_first()
   lu.assertNil(about_setup("syscheck"))
   tree.put(root, "/state/setup/journal.json", "{}")
   lu.assertNotNil(about_setup("syscheck"))
   lu.assertNotNil(about_setup("all"))
   -- The plugin's: apt takes it away with an old Slurm.
   lu.assertNil(about_setup("syscheck-slurm"))
   lu.assertNil(about_setup("syscheck-store"))
end

function TestRemoval:test_another_installation_can_undo_it()
   tree.put(root, "/state/setup/journal.json", "{}")
   elsewhere = { { prefix = "/usr", version = "2" } }
   lu.assertNil(about_setup("all"))
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
