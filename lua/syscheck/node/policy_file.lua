--- The policy as the agent reads it: trusted, checked, and with a copy of the last good
-- one to fall back to. docs/decisions.md says what may be done on a copy.
local digest = require("syscheck.lib.digest")
local files = require("syscheck.lib.files")
local policy = require("syscheck.policy.policy")
local policy_copy = require("syscheck.policy.copy")
local time = require("syscheck.lib.time")

local policy_file = {}

-- @return text, policy; or nil and why
local function read_good(file)
   local text, err = files.read_trusted(file)
   local parsed
   if text then
      parsed, err = policy.parse(text, file)
   end
   return parsed and text, parsed or err
end

-- @return policy, when it was taken, its text; or nil and why not
local function from_copy(copy)
   local content, err = files.read_trusted(copy)
   if not content then
      return nil, err
   end
   local text, taken = policy_copy.unwrap(content)
   if not text then
      return nil, copy .. ": damaged"
   end
   local parsed
   parsed, err = policy.parse(text, copy)
   return parsed, parsed and taken or err, text
end

-- Written only when it changed: a prolog in the good case reads one small file more.
local function keep_copy(copy, text)
   local old = files.read(copy)
   if old and policy_copy.is_of(old, text) then
      return true
   end
   return files.put(copy, policy_copy.wrap(text, time.show(os.time())), 384) -- 0600
end

--- Reads the site's policy.
-- @param file nil: the defaults
-- @param copy where the last good one is, or nil
-- @param keep whether to keep a copy of a good one
-- @return policy, what was wrong with the file or nil, and whether the policy is sound
--   all the same: a whole copy of one that was good, and not the defaults; digest of the text that is in use, nil: the
--   defaults
function policy_file.read(file, copy, keep)
   if not file then
      return policy.default()
   end
   local text, result = read_good(file)
   if text then
      if copy and keep then
         local ok, err = keep_copy(copy, text)
         if not ok then
            return result, ("no copy of it can be kept: %s: %s"):format(copy, err), true, digest.of(text)
         end
      end
      return result, nil, nil, digest.of(text)
   end
   if not copy then
      return policy.default(), result
   end
   local old, taken, of = from_copy(copy)
   if old then
      return old, ("%s; last good copy of %s is used"):format(result, taken), true, digest.of(of)
   end
   return policy.default(), ("%s; no good copy: %s"):format(result, taken)
end

return policy_file
