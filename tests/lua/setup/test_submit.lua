-- A site's job_submit.lua and ours behind it, on whatever Lua slurmctld has.
package.path = "lua/?.lua;tests/lua/?.lua;tests/lua/setup/?.lua;" .. package.path
local lu = require("luaunit")
local host = require("host")
local submit = require("syscheck.setup.submit")
local theirs = require("syscheck.doctor.facts.submit")

local OURS = "/opt/sc/share/job_submit.lua"
local FILE = "/etc/slurm/job_submit.lua"
local CONTROLLER = { name = "head" }

local SITE = [[
-- ours since 2017
syscheck = "a global of that name"
function slurm_job_submit(job_desc, part_list, submit_uid)
   if job_desc.account == "none" then
      slurm.log_user("no account")
      return slurm.ERROR
   end
   job_desc.comment = "site"
   return slurm.SUCCESS
end
function slurm_job_modify(job_desc)
   return job_desc.code
end
]]

local function compiles(text)
   return load(text, "=t", "t", {})
end

TestChain = {}

function TestChain:test_where_the_line_stands()
   for _, text in ipairs({ SITE, SITE .. "return slurm.SUCCESS\n", SITE .. "return slurm.SUCCESS",
      SITE .. "return 0 -- done\n\n",
      SITE:gsub("\n", "\r\n") .. "return slurm.SUCCESS\r\n", SITE .. "  return\n\t slurm.SUCCESS\n", SITE:sub(1, -2),
      SITE .. "if x then return slurm.SUCCESS end\n" }) do
      local chained = assert(submit.chain(text, OURS, compiles))
      lu.assertTrue(theirs.is_chained(chained, OURS))
      lu.assertFalse(theirs.is_chained(text, OURS))
      -- No byte of it is lost.
      local from, to = chained:find("%-%- syscheck setup: .-end end\r?\n")
      lu.assertEquals((chained:sub(1, from - 1) .. chained:sub(to + 1)):gsub("%s+$", ""), (text:gsub("%s+$", "")))
   end
end

function TestChain:test_what_cannot_be_chained()
   local text, err = submit.chain("function slurm_job_submit(\n", OURS, compiles)
   lu.assertNil(text)
   lu.assertStrContains(err, "t:")
   text, err = submit.chain("do return function() end end return (function()\n return 1 end)() x", OURS, compiles)
   lu.assertNil(text)
   lu.assertNotNil(err)
end

-- Not in a function, where each job would load it, nor in a comment.
function TestChain:test_which_return_it_is()
   local tail = "--[[\n   return nothing\n]]\n"
   local chained = assert(submit.chain(SITE .. "return slurm.SUCCESS\n" .. tail, OURS, compiles))
   lu.assertStrContains(chained, "end end\nreturn slurm.SUCCESS\n" .. tail)
   local text, err = submit.chain(SITE .. "slurm.log_info('up'); return slurm.SUCCESS\n", OURS, compiles)
   lu.assertNil(text)
   lu.assertStrContains(err, "no place for a line")
end

function TestChain:test_a_call_in_a_comment_is_none()
   lu.assertFalse(theirs.is_chained(("--[==[\ndofile(%q)\n]==]\n"):format(OURS), OURS))
   lu.assertTrue(theirs.is_chained(("--[[ old ]] dofile(%q)\n"):format(OURS), OURS))
end

function TestChain:test_what_slurmctld_could_not_load_without_ours()
   local copy = "-- job_submit.lua: refuses --syscheck levels\nreturn require(\"syscheck.policy.submission\")\n"
   for text, needs in pairs({ [("dofile(%q)\n"):format(OURS)] = true, [SITE .. submit.new(OURS)] = false,
      ['local s = require("syscheck.policy.submission")\n'] = true, [copy] = false, [SITE] = false,
      [copy .. ("dofile(%q)\n"):format(OURS)] = true, [("--[[\ndofile(%q)\n]]\n"):format(OURS)] = false,
      [("x = 1 -- dofile(%q)\n"):format(OURS)] = false, [("local ok = pcall (dofile, %q)\n"):format(OURS)] = false }) do
      lu.assertEquals(theirs.needs(text, OURS), needs, text)
   end
end

TestHost = { tearDown = host.remove }

function TestHost:test_the_sites_own()
   host.new("JobSubmitPlugins=lua\n")
   host.put(FILE, SITE .. "return slurm.SUCCESS\n", 420)
   local before = host.all()
   assert(host.write(CONTROLLER))
   lu.assertStrContains(host.text(FILE), SITE)
   lu.assertEquals(host.plan(CONTROLLER).changes, {})
   host.undo()
   lu.assertEquals(host.all(), before)
end

-- As after packages over an earlier `make install`: its lines name what is no longer.
function TestHost:test_lines_for_another_installation()
   for _, ending in ipairs({ "\n", "\r\n" }) do
      local own = (SITE .. "return slurm.SUCCESS\n"):gsub("\n", ending)
      local old = assert(submit.chain(own, "/usr/local/share/syscheck/job_submit.lua", compiles))
      host.new("JobSubmitPlugins=lua\n")
      host.put(FILE, own)
      assert(host.write(CONTROLLER))
      local new = host.text(FILE)
      host.undo()
      -- Doubled, too, as by a setup that did not see it.
      for _, text in ipairs({ old, (assert(submit.chain(old, OURS, compiles))) }) do
         host.put(FILE, text)
         local before = host.all()
         assert(host.write(CONTROLLER))
         lu.assertEquals(host.text(FILE), new)
         lu.assertEquals(host.plan(CONTROLLER).changes, {})
         host.undo()
         lu.assertEquals(host.all(), before)
      end
      -- From the first setup's to the second's, and back to the site's own.
      host.put(FILE, own)
      assert(host.write(CONTROLLER))
      host.put(OURS:gsub("share", "new"), host.text(OURS))
      local paths = require("syscheck.lib.paths")
      paths.data = "/opt/sc/new"
      assert(host.write(CONTROLLER))
      paths.data = "/opt/sc/share"
      lu.assertStrContains(host.text(FILE), "/opt/sc/new/job_submit.lua")
      lu.assertNil(host.text(FILE):find(OURS, 1, true))
      host.undo()
      lu.assertEquals(host.text(FILE), own)
      host.remove()
   end
   host.new("")
end

function TestHost:test_a_syntax_error()
   host.new("JobSubmitPlugins=lua\n")
   host.put(FILE, "function slurm_job_submit(\n")
   local before = host.all()
   local _, err = host.write(CONTROLLER)
   lu.assertStrContains(err, "/etc/slurm/job_submit.lua:")
   lu.assertStrContains(err, "slurmctld could not load it")
   lu.assertEquals(host.all(), before)
   host.put(FILE, "\27Lua compiled")
   _, err = host.write(CONTROLLER)
   lu.assertStrContains(err, "slurmctld could not load it")
end

function TestHost:test_one_that_sleeps_is_not_woken()
   host.new("")
   host.put(FILE, SITE)
   local _, err = host.write(CONTROLLER)
   lu.assertStrContains(err, "JobSubmitPlugins lacks lua: with it that file would come to life")
end

function TestHost:test_a_copy_of_ours()
   host.new("JobSubmitPlugins=lua\n")
   host.put(FILE, host.text(OURS))
   assert(host.write(CONTROLLER))
   lu.assertEquals(host.text(FILE), host.text(OURS))
   -- Older, or the site's lines are in it: they would be gone.
   local old = "-- job_submit.lua: refuses --syscheck levels\n" .. SITE
   host.put(FILE, old)
   local made = assert(host.write(CONTROLLER))
   lu.assertEquals(host.text(FILE), old)
   lu.assertStrContains(table.concat(made.notes, "\n"), "is a copy of ours that differs: left as it is")
end

function TestHost:test_marked_lines_by_hand()
   host.new("JobSubmitPlugins=lua\n")
   local text = SITE .. 'local submit = require("syscheck.policy.submission")\n'
   host.put(FILE, text)
   assert(host.write(CONTROLLER))
   lu.assertEquals(host.text(FILE), text)
end

-- What slurmctld does with the file, on each Lua that is here.
TestRun = {}

local SLURMCTLD = [==[
local file = ...
local said, out = {}, {}
slurm = { SUCCESS = 0, ERROR = -1, log_user = function(f, ...) said[#said + 1] = f:format(...) end,
   log_error = function(f, ...) out[#out + 1] = "E " .. f:format(...) end, log_info = function() end }
assert(assert(loadfile(file))() == 0 or FILE_SAYS_NOTHING)
local function submit(job)
   local code = tostring(slurm_job_submit(job, {}, 1000))
   out[#out + 1] = code .. " " .. table.concat(said, "|") .. " " .. tostring(job.comment)
   said = {}
end
submit({})
submit({ account = "none", spank_job_env = { [0] = "SYSCHECK=full" } })
submit({ spank_job_env = { [0] = "SYSCHECK=full" } })
out[#out + 1] = tostring(slurm_job_modify({ code = 7 })) .. " " .. tostring(slurm_job_modify({}))
print(table.concat(out, "\n"))
]==]

-- @return what each Lua printed, by its name
local function run(text, data)
   local dir = require("tree").new()
   local function put(name, content)
      local f = assert(io.open(dir .. "/" .. name, "w"))
      f:write(content)
      f:close()
   end
   os.execute(("mkdir -p '%s/d' '%s/etc/syscheck'"):format(dir, dir))
   local f = assert(io.open("lua/job_submit.lua"))
   put("d/job_submit.lua", (f:read("a"):gsub("@DATADIR@", data or dir .. "/d"):gsub("@SYSCONFDIR@", dir .. "/etc")
      :gsub("@LOCALSTATEDIR@", dir)))
   f:close()
   os.execute(("ln -s '%s/lua' '%s/d/lua'"):format(require("luv").cwd(), dir))
   put("etc/syscheck/policy.lua", 'return { partitions = { ["*"] = { ceiling = "quick" } } }\n')
   put("run.lua", SLURMCTLD)
   put("job_submit.lua", text(dir .. "/d/job_submit.lua"))
   local out = {}
   for _, lua in ipairs({ "lua5.1", "lua5.2", "lua5.3", "lua5.4" }) do
      local p = io.popen(("cd '%s' && command -v %s >/dev/null && %s run.lua job_submit.lua 2>&1"):format(dir, lua,
         lua))
      local said = p:read("a")
      p:close()
      out[lua] = said ~= "" and said:gsub("%%s", "") or nil
   end
   os.execute(("rm -rf '%s'"):format(dir))
   return out
end

local function each(out, want)
   lu.assertNotNil(out["lua5.4"])
   for lua, said in pairs(out) do
      lu.assertStrMatches(said, want, nil, nil, lua .. ": " .. said)
   end
end

function TestRun:test_the_sites_functions_run_first()
   each(run(function(file)
      return submit.chain(SITE .. "return slurm.SUCCESS\n", file, compiles)
   end), "0  site\n%-1 no account nil\n%-1 [^\n]*quick[^\n]* site\n7 0\n")
end

function TestRun:test_a_site_without_one()
   each(run(submit.new), "0  nil\n%-1 [^\n]*quick[^\n]* nil\n%-1 [^\n]*quick[^\n]* nil\n0 0\n")
end

function TestRun:test_ours_is_away()
   each(run(function()
      return submit.chain(SITE .. "return slurm.SUCCESS\n", "/nonexistent/job_submit.lua", compiles)
   end), "E syscheck: not loaded: [^\n]*\n0  site\n%-1 no account nil\n0  site\n7 nil\n")
end

function TestRun:test_loaded_twice()
   each(run(function(file)
      local text = submit.chain(SITE, file, compiles)
      return text .. ("dofile(%q)\nreturn 0\n"):format(file)
   end), "0  site\n%-1 no account nil\n%-1 [^|\n]*quick[^|\n]* site\n7 0\n")
end

function TestRun:test_where_globals_are_strict()
   each(run(function(file)
      return submit.chain("setmetatable(_G, { __index = function(_, name) error(\"no \" .. name) end })\n" .. SITE
         .. "return slurm.SUCCESS\n", file, compiles)
   end), "0  site\n%-1 no account nil\n%-1 [^\n]*quick[^\n]* site\n7 0\n")
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
