--- The file that --html names: made new, or the caller's own written anew; never through a link.
local files = require("syscheck.lib.files")
local page = require("syscheck.html.page")
local printable = require("syscheck.lib.printable")
local report = require("syscheck.cmd.common.report")
local uv = require("luv")

local html_file = {}

local NEW = 420 -- 0644, less the umask
local MODE = 511 -- 0777: what of an existing file's mode is kept
local WORDS = { ENOENT = "no such directory", ENOTDIR = "no such directory", EACCES = "permission denied",
   EROFS = "read-only file system", ENOSPC = "no space left", EDQUOT = "over quota", ENAMETOOLONG = "name too long" }

local LONGEST = 238 -- of a name, behind which write() puts another 17 bytes
local HEAD = 4096

-- Whether there is a page of ours: root's --html must not take the place of a file that a host needs.
local function is_page(path)
   local text = files.regular(path, HEAD)
   return text ~= nil and (text == "" or text:find(page.MARK, 1, true) ~= nil)
end

-- What stands there may be written anew.
-- @return mode of the file; or nil and why not
local function looked_at(path)
   local dir, name = path:match("^(.*)/([^/]*)$")
   dir, name = dir == "" and "/" or dir or ".", name or path
   if #name > LONGEST then
      return nil, "name too long"
   end
   local stat, err, code = uv.fs_lstat(path)
   if not stat then
      if code ~= "ENOENT" then
         return nil, WORDS[code] or err
      end
      local stat_dir = uv.fs_stat(dir)
      if not stat_dir or stat_dir.type ~= "directory" then
         return nil, "no such directory"
      end
      return uv.fs_access(dir, "W") and NEW or nil, WORDS.EACCES
   elseif stat.type ~= "file" then
      return nil, ("exists, and is a %s, not a file"):format(stat.type)
   elseif stat.uid ~= uv.getuid() then
      return nil, "exists, and is not yours"
   elseif not is_page(path) then
      return nil, "exists, and is no page of syscheck's"
   end
   return stat.mode & MODE
end

--- A path as it was typed.
-- @return it; or nil and why nothing can be written there
function html_file.parse(path)
   if path == "-" then
      return path
   end
   local mode, err = looked_at(path)
   if path == "" or path:find("/$") then
      mode, err = nil, "want the name of a file"
   end
   if not mode then
      return nil, ("--html %s: %s"):format(printable.safe(path, 200), err)
   end
   return path
end

--- Adds --html, whose value is looked at before anything is measured or read.
function html_file.option(command)
   return command:option("--html", "Write a page with pictures, one file without script, to a new file or over an "
      .. "older page; - for standard output."):argname("FILE"):convert(html_file.parse)
end

--- Writes it: a file of a random name beside it, made new, takes its place. So whoever may write to the directory can
-- neither have another file written by us nor see half of one.
-- @param path of parse
-- @return exit code
function html_file.save(path, text)
   if path == "-" then
      local ok, err = io.stdout:write(text)
      if ok then
         ok, err = io.stdout:flush()
      end
      return ok and 0 or report.error(report.FAILED, "--html -: %s", err)
   end
   local mode, err = looked_at(path)
   local ok
   if mode then
      local code
      ok, err, code = files.write(path:find("^/") and path or "./" .. path, text, mode)
      err = WORDS[code] or err and WORDS[err:match("^E%u+")] or err
   end
   return ok and 0 or report.error(report.FAILED, "--html %s: %s", printable.safe(path, 200), err)
end

return html_file
