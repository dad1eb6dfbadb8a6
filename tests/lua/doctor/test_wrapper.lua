-- Which prologs of sites drain every node where ours is not there.
package.path = "lua/?.lua;" .. package.path
local lu = require("luaunit")
local wrapper = require("syscheck.doctor.facts.wrapper")

local OURS = "/l/libexec/syscheck/prolog"

-- Each is run by sh where ours is not there: what is seen must be what happens.
local CLOSED = {
   "OURS || exit 1",
   '"OURS" || exit 1',
   "OURS || { exit 1; }",
   "mkdir -p /tmp\nOURS || exit 1\nexit 0",
   "P=OURS\n$P || exit 1",
   'P="OURS"\n"${P}" || exit 1',
   "if ! OURS; then exit 1; fi",
   "[ -x OURS ] && OURS || exit 1",
   "exec OURS",
   "OURS",
   "OURS \n\n# done",
   "set -e\nOURS\nexit 0",
   "set -eu\nOURS\nexit 0",
   "OURS\nexit $?",
   "OURS; exit $?",
   "OURS\nrc=$?\nexit $rc",
   "OURS\nRC=$?\nif [ \"$RC\" -ne 0 ]; then\n\texit ${RC}\nfi\nexit 0",
   "OURS\n[ $? -eq 0 ] || exit 1",
   "OURS || exit $?",
   "OURS || { echo bad; exit 1; }",
   "OURS ||\n\texit 1",
   "OURS \\\n || exit 1",
   "OURS || rc=1\nexit ${rc:-0}",
   "if OURS; then :; else exit 1; fi",
}
local OPEN = {
   "OURS || [ $? -ne 1 ] || exit 1",
   "set -e\nOURS || [ $? -ne 1 ] || exit 1\nexit 0",
   "[ ! -x OURS ] || OURS || exit 1",
   "if [ -x OURS ]; then\n\tOURS || exit 1\nfi",
   "[ ! -e OURS ] && exit 0\nOURS || exit 1",
   "[ -x OURS ] || exit 0\nOURS || exit 1",
   "test -x OURS || exit 0\nexec OURS",
   "if [ -x OURS ]; then OURS || exit 1; fi",
   "OURS\nrc=$?\n[ $rc -eq 1 ] && exit 1\nexit 0",
   "OURS\nif [ $? -eq 1 ]; then exit 1; fi\nexit 0",
   "OURS\n[ $? -ne 1 ] || exit $?",
   "OURS || rc=1\nexit 0",
   "OURS || true",
   "OURS\nexit 0",
   "# OURS || exit 1",
   "true # OURS || exit 1",
   "P=OURS\n$P || true",
   "/l/other || true",
}

-- @return whether sh says that the job may not start
local function fails(script)
   local p = io.popen("sh 2>/dev/null <<'EOF'\n" .. script .. "\nEOF\necho $?")
   local code = p:read("a"):match("(%d+)%s*$")
   p:close()
   return code ~= "0"
end

TestWrapper = {}

function TestWrapper:test_what_is_seen_is_what_happens()
   for list, closed in pairs({ [CLOSED] = true, [OPEN] = false }) do
      for _, text in ipairs(list) do
         local script = "#!/bin/sh\n" .. text:gsub("OURS", OURS) .. "\n"
         lu.assertEquals(fails(script), closed, script)
         lu.assertEquals(wrapper.fails_closed(script, OURS) ~= nil, closed, script)
      end
   end
end

function TestWrapper:test_the_line()
   lu.assertEquals(wrapper.fails_closed("#!/bin/sh\ntrue\n" .. OURS .. " || exit 1\n", OURS), 3)
   lu.assertEquals(wrapper.fails_closed("#!/bin/sh -e\n" .. OURS .. "\nexit 0\n", OURS), 2)
   lu.assertNil(wrapper.fails_closed("", OURS))
end

function TestWrapper:test_what_is_called_and_not_there()
   local gone = "/usr/local/libexec/syscheck/prolog"
   local function missing(text)
      return wrapper.missing(text, "prolog", OURS, function(path)
         return path ~= gone and path ~= OURS
      end)
   end
   for _, text in ipairs({ gone, "'" .. gone .. "' || exit 1", "P=" .. gone .. "\n$P", "[ -x " .. gone .. " ] && x",
      "exec " .. gone .. ";", "if ! " .. gone .. "; then" }) do
      lu.assertEquals(missing("#!/bin/sh\n" .. text .. "\n"), gone, text)
   end
   lu.assertEquals(missing(OURS .. " || true"), OURS)
   -- The name of another file, a directory in a variable, a comment, one of two that is there.
   for _, text in ipairs({ "", "# " .. gone, "true # " .. gone, gone .. ".log", gone .. "/x", "$D" .. gone,
      "'/a b" .. gone .. "'", "/usr/libexec/syscheck/prolog", gone .. " || /opt/syscheck/prolog" }) do
      lu.assertNil(missing(text), text)
   end
end

os.exit(lu.LuaUnit.run("-o", "TAP"))
