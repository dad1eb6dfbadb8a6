--- Which CPUs a value was measured on, against those that a limit is for. Pure.
--
-- Same are those that leave out the same cores: a node that has lost a core is still compared
-- with its class. What says nothing of its CPUs (a baseline from before) is of the whole node.
local cpus = {}

local WHOLE = { left_out = "" }

--- Of a class in a baseline.
-- @return { left_out, list, count, of }; left_out nil: not known
function cpus.of_class(c)
   return c.cpus or WHOLE
end

--- What stands for a set: the same text, the same CPUs.
function cpus.key(c)
   return c.left_out or "only " .. c.list
end

--- Whether a value may be compared with a limit.
-- @param measured { list, count, of, left_out, jobs } (docs/records.md), or nil
-- @param limit its `cpus` is from of_class; without: one of the policy, which means the CPUs that jobs get
function cpus.fit(measured, limit)
   if not measured then
      return not limit.cpus or limit.cpus.left_out == ""
   elseif limit.cpus then
      return measured.left_out == limit.cpus.left_out or (not limit.cpus.left_out and measured.list == limit.cpus.list)
   end
   return measured.jobs == true
end

--- Whether two classes of baselines are of the same CPUs.
function cpus.alike(a, b)
   return cpus.key(cpus.of_class(a)) == cpus.key(cpus.of_class(b))
end

--- What a baseline keeps of a record's CPUs; nil where the record does not name them.
function cpus.kept(c)
   return c.list and { list = c.list, count = c.count, of = c.of, left_out = c.left_out } or nil
end

--- In words: "CPUs 0-3 (4 of 64 cores)"; memory that was left out is named.
function cpus.words(c)
   if not c.list then
      return "all cores"
   end
   local memory = (c.left_out or ""):match("memory ([%d,-]+)$")
   return ("CPUs %s%s%s"):format(#c.list > 60 and c.list:sub(1, 60) .. "..." or c.list,
      c.count and c.of and c.count < c.of and (" (%d of %d cores)"):format(c.count, c.of) or "",
      memory and (", without the memory of node %s"):format(memory) or "")
end

--- Why a value is not rated.
-- @param limit that does not fit, or nil: none does
function cpus.why(measured, limit)
   if limit and limit.cpus then
      return ("measured on %s, the baseline is of %s"):format(cpus.words(measured or WHOLE), cpus.words(limit.cpus))
   end
   return ("measured on %s, which are not those that jobs get"):format(cpus.words(measured))
end

--- What a baseline's class may say. @return why not, or nil
function cpus.wrong(c)
   if c == nil then
      return nil
   elseif type(c) ~= "table" or type(c.list) ~= "string" or not c.list:find("^%d[%d,-]*$")
      or c.left_out ~= nil and (type(c.left_out) ~= "string" or c.left_out:find("[^%d,; memory-]")) then
      return "cpus wants list, and left_out as a list"
   end
   for _, field in ipairs({ "count", "of" }) do
      if c[field] ~= nil and (type(c[field]) ~= "number" or c[field] < 1 or c[field] % 1 ~= 0) then
         return ("cpus.%s is not a number from 1"):format(field)
      end
   end
end

return cpus
