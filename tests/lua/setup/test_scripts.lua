-- What stands between slurmd and ours, run as slurmd runs it.
package.path = "lua/?.lua;tests/lua/?.lua;" .. package.path
local lu = require("luaunit")
local process = require("syscheck.lib.process")
local scripts = require("syscheck.setup.scripts")
local tree = require("tree")
local wrapper = require("syscheck.doctor.facts.wrapper")
local uv = require("luv")

TestScripts = {}

local dir

function TestScripts:setUp()
   dir = tree.new() .. "/it's one"
   assert(require("syscheck.lib.files").mkdir(dir))
end

function TestScripts:tearDown()
   tree.remove(dir:match("^(.*)/"))
end

local function put(name, text)
   local f = assert(io.open(dir .. "/" .. name, "w"))
   f:write(text)
   f:close()
   assert(uv.fs_chmod(dir .. "/" .. name, 493))
end

-- Exit code and output of the script between a site's own that ends with `theirs` and ours that ends with `ours`; nil:
-- is not there.
local function run(stage, theirs, ours, calls)
   local text = scripts.text(stage, dir .. "/ours", theirs and dir .. "/site", calls)
   put("between", text)
   for name, code in pairs({ site = theirs, ours = ours }) do
      put(name, ("#!/bin/sh\necho %s $JOB $#; echo err >&2; %s\n"):format(name, code))
   end
   for _, name in ipairs({ "site", "ours" }) do
      if (name == "site" and theirs or name == "ours" and ours or "away") == "away" then
         os.remove(dir .. "/" .. name)
      end
   end
   lu.assertNil(wrapper.fails_closed(text, dir .. "/ours"))
   local r = assert(process.run(dir .. "/between", {}, { timeout_ms = 5000, env = { "JOB=7" } }))
   return { r.code, (r.out:gsub("\n", "|")) }
end

function TestScripts:test_prolog()
   for _, c in ipairs({
      { "exit 0", "exit 0", { 0, "site 7 0|ours 7 0|" } },
      { "exit 3", "exit 0", { 3, "site 7 0|" } }, -- as without ours
      { "kill -9 $$", "exit 0", { 137, "site 7 0|" } },
      { "exit 0", "exit 1", { 1, "site 7 0|ours 7 0|" } },
      { "exit 0", "exit 2", { 0, "site 7 0|ours 7 0|" } },
      { "exit 0", "kill -9 $$", { 0, "site 7 0|ours 7 0|" } },
      { "exit 0", "away", { 0, "site 7 0|" } },
      { "away", "exit 0", { 127, "" } },
      { nil, "exit 1", { 1, "ours 7 0|" } },
      { nil, "away", { 0, "" } },
   }) do
      lu.assertEquals(run("prolog", c[1], c[2]), c[3], ("%s, %s"):format(c[1], c[2]))
   end
   lu.assertEquals(run("prolog", "exit 4", "exit 0", true), { 4, "site 7 0|" })
end

function TestScripts:test_epilog()
   for _, c in ipairs({
      { "exit 0", "exit 0", { 0, "site 7 0|ours 7 0|" } },
      { "exit 3", "exit 0", { 3, "site 7 0|ours 7 0|" } }, -- and it is recorded
      { "exit 0", "exit 1", { 0, "site 7 0|ours 7 0|" } },
      { "exit 0", "away", { 0, "site 7 0|" } },
      { "away", "exit 0", { 127, "ours 7 0|" } },
      { nil, "exit 1", { 0, "ours 7 0|" } },
   }) do
      lu.assertEquals(run("epilog", c[1], c[2]), c[3], ("%s, %s"):format(c[1], c[2]))
   end
end

function TestScripts:test_what_it_keeps()
   for _, stage in ipairs({ "prolog", "epilog" }) do
      lu.assertEquals(wrapper.keeps(scripts.text(stage, "/ours", "/it's/x y")), "/it's/x y")
      lu.assertNil(wrapper.keeps(scripts.text(stage, "/ours")))
   end
   lu.assertNil(wrapper.keeps("#!/bin/sh\n# The site's own prolog first\n'/x'\n"))
end

function TestScripts:test_names_in_a_directory()
   for _, c in ipairs({
      { "*", {}, "00-syscheck" },
      { "*.sh", { "50-x.sh" }, "00-syscheck.sh" },
      { "*", { "00-a" }, "0-syscheck" },
      { "*", { "0-a", "00-a" }, "0+syscheck" },
      { "*", { "+x" }, nil },
      { "*", { "00-syscheck", "z" }, "00-syscheck" },
      { "S*", { "S10" }, "S00-syscheck" },
      { "*.sh", { "!readme" }, "00-syscheck.sh" },
      { "[0-9]*", {}, nil },
   }) do
      lu.assertEquals(scripts.name_in(c[1], c[2]), c[3], c[1])
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
