--- The baseline as a file.
local json = require("cjson.safe").new()
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local baseline = lazy.require("syscheck.verdict.baseline")
local digest = require("syscheck.lib.digest")
local files = require("syscheck.lib.files")

json.decode_invalid_numbers(false)

local baseline_file = {}

local MAX_FILE = 16777216

--- Reads a baseline file.
-- @return baseline; or nil and why ("absent" in the third value when there is none); digest of the file
function baseline_file.read(path)
   local text, err = files.regular(path, MAX_FILE)
   if not text then
      -- One that is there and cannot be read, or is empty after a crash, is not absent.
      local _, _, code = uv.fs_stat(path)
      return nil, err, code == "ENOENT" and "absent" or nil
   end
   local value
   value, err = json.decode(text)
   if value ~= nil then
      value, err = baseline.accept(value)
   end
   return value, err and ("%s: %s"):format(path, err), nil, digest.of(text)
end

return baseline_file
