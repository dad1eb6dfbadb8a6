--- What stands between slurmd and the checker: the site's own script first, as before, then ours, which can only make
-- the prolog fail by saying that the node is bad. What is not there fails nothing. Pure.
local wrapper = require("syscheck.doctor.facts.wrapper")

local scripts = {}

local function quoted(path)
   return "'" .. path:gsub("'", "'\\''") .. "'"
end

-- As doctor/facts/wrapper.lua and the documentation have it.
local CALL = { prolog = "%s || [ $? -ne 1 ] || exit 1", epilog = "%s || true" }

--- The script that Prolog= or Epilog= names.
-- @param stage "prolog" or "epilog"
-- @param ours path of the checker's own
-- @param site path of the site's own, nil where it has none
-- @param calls the site's own runs ours already
function scripts.text(stage, ours, site, calls)
   local out = { "#!/bin/sh", wrapper.MARK }
   local function put(line)
      out[#out + 1] = line
   end
   if site then
      put(("# The site's own %s first, with its environment, output and exit code as without this."):format(stage))
      put(quoted(site))
      put(stage == "prolog" and not calls and "code=$?; [ $code -eq 0 ] || exit $code" or "code=$?")
   end
   if not calls then
      put(stage == "prolog" and "# Only 1 says that the node is bad: where the file is not there, the job starts."
         or "# An epilog that fails drains the node: this never does.")
      put(CALL[stage]:format(quoted(ours)))
   end
   put(site and (stage == "epilog" or calls) and "exit $code" or "exit 0")
   return table.concat(out, "\n") .. "\n"
end

--- Whether a text is such a script, of any version.
function scripts.is_ours(text)
   return text:find(wrapper.MARK, 1, true) ~= nil
end

--- A Lua pattern for glob(3)'s * and ?; nil for patterns that are more than that.
function scripts.pattern(glob)
   if glob:find("[%[%]{}\\]") then
      return nil
   end
   return "^" .. glob:gsub("%p", "%%%0"):gsub("%%%*", ".*"):gsub("%%%?", ".") .. "$"
end

--- The name of ours among a directory's scripts: slurmd runs them from the last to the first (prep_script_slurmd.c
-- pushes each in front, in the order of bytes), so that ours runs last when it sorts first.
-- @param glob of their names, such as *.sh
-- @param names list of what is in the directory
-- @return name; or nil where the pattern allows none
function scripts.name_in(glob, names)
   local pattern = scripts.pattern(glob)
   for _, word in ipairs({ "00-syscheck", "0-syscheck", "0+syscheck" }) do
      local name = glob:gsub("%*", word, 1):gsub("%*", "")
      local first = pattern and name:find("^%w") and name:match(pattern) ~= nil
      for _, other in ipairs(first and names or {}) do
         if other ~= name and other:match(pattern) and other:sub(1, 1) ~= "." and other < name then
            first = false
         end
      end
      if first then
         return name
      end
   end
end

return scripts
