--- The page of `syscheck run`: has the noise kernel keep its detours, and writes what was measured.
local detours = require("syscheck.questions.run.detours")
local files = require("syscheck.lib.files")
local html_file = require("syscheck.cmd.common.html_file")
local paths = require("syscheck.lib.paths")
local run_page = require("syscheck.questions.run.page")
local show = require("syscheck.verdict.show")
local time = require("syscheck.lib.time")
local uv = require("luv")

local page = {}

--- Before the check.
-- @return directory of the detours; nil: they are not kept
function page.begin()
   local dir = os.getenv("TMPDIR") or ""
   return (uv.fs_mkdtemp((dir:find("^/") and dir or "/tmp") .. "/syscheck-XXXXXX"))
end

--- What the noise kernel is told.
-- @param dir of begin, or nil
function page.args(dir, attempt)
   return dir and { "--trace", ("%s/%d"):format(dir, attempt) } or {}
end

--- Removes what begin made.
function page.forget(dir)
   for _, name in ipairs(dir and files.list(dir) or {}) do
      uv.fs_unlink(dir .. "/" .. name)
   end
   if dir then
      uv.fs_rmdir(dir)
   end
end

local function read(path, seconds)
   local out, file = detours.new(seconds), io.open(path)
   for line in file and file:lines() or function() end do
      if not out:line(line) then
         break
      end
   end
   if file then
      file:close()
   end
   return out:answer()
end

--- After it.
-- @param path of --html
-- @param dir of begin
-- @param record of the check, with all that the kernels printed
-- @return exit code: 0 or that of html_file.save
function page.finish(path, dir, record)
   local trace, notes = nil, {}
   for _, one in ipairs(record.runs or {}) do
      if one.kernel == "noise" and dir then
         trace = read(("%s/%d"):format(dir, one.attempt), one.box_s) or trace
      elseif one.path then
         notes[#notes + 1] = (select(2, show.path(one)))
      end
   end
   page.forget(dir)
   record.made = { version = paths.version, time = time.show(os.time()) }
   return html_file.save(path, run_page(record, trace, notes))
end

return page
