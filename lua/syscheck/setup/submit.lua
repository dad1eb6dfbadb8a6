--- job_submit.lua: the site's own stays as it is, and loads ours, which then runs behind the site's functions. Pure.
local submit = {}

local MARK = "-- syscheck setup: refuses --syscheck levels that the policy does not allow"

-- @param file share/syscheck/job_submit.lua
local function block(file)
   return MARK .. "\n" .. ("do local ok, err = pcall(dofile, %q)\n"
      .. '   if not ok then slurm.log_error("%%s", "syscheck: not loaded: " .. tostring(err)) end end\n'):format(file)
end

-- What block() has made, for any path, up to the path and behind it.
local BLOCK = MARK:gsub("%p", "%%%0") .. "\r?\ndo local ok, err = pcall%(dofile, \"[^\"\n]*\"%)\r?\n"
   .. "   if not ok then slurm[^\n]*end end\r?\n"

--- The same text with the lines for this installation in place of those for another, once.
-- @return text; or nil where it has no such lines
function submit.moved(text, file)
   local ending = text:find("\r\n", 1, true) and "\r\n" or "\n"
   local new, done = block(file):gsub("\n", ending), false
   local after, n = text:gsub(BLOCK, function()
      local first = not done
      done = true
      return first and new or ""
   end)
   return n > 0 and after or nil
end

--- Where the site has none.
function submit.new(file)
   return "-- Written by `syscheck setup`: a site's own functions can take the place of these two.\n"
      .. "function slurm_job_submit(job_desc, part_list, submit_uid)\n   return slurm.SUCCESS\nend\n\n"
      .. "function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)\n   return slurm.SUCCESS\nend\n\n"
      .. block(file) .. "\nreturn slurm.SUCCESS\n"
end

--- Adds the lines.
-- @param text the site's own
-- @param compiles function(text) -> true; or nil and why
-- @return text; or nil and why
function submit.chain(text, file, compiles)
   local ok, err = compiles(text)
   if not ok then
      return nil, err
   end
   local ending = text:find("\r\n", 1, true) and "\r\n" or "\n"
   local added = block(file):gsub("\n", ending)
   local behind = text .. (text:sub(-1) == "\n" and "" or text == "" and "" or ending) .. added
   if compiles(behind) then
      return behind
   end
   -- Nothing may stand behind the last `return`: that of the file, and of no function or comment, where what is before
   -- it is whole.
   local at
   for place in ("\n" .. text):gmatch("\n()[ \t]*return%f[^%w_]") do
      at = compiles(text:sub(1, place - 2)) and place - 1 or at
   end
   local before = at and text:sub(1, at - 1) .. added .. text:sub(at)
   if before and compiles(before) then
      return before
   end
   return nil, "no place for a line behind its functions"
end

return submit
