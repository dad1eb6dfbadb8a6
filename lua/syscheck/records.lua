--- Records: one JSON object a line in the node's spool. docs/records.md is the
-- contract.
local json = require("cjson.safe").new()
local uv = require("luv")
local files = require("syscheck.files")

json.encode_number_precision(14)
json.decode_invalid_numbers(false)
json.encode_sparse_array(true)
json.encode_invalid_numbers("null")

local records = {}

records.VERSION = 1
records.FILE = "records.jsonl"

local MAX_LINE = 1048576 -- a longer line is damage, not a record
local CHUNK = 262144

local PARTS = { "memory_gib", "dimms", "packages", "cores", "threads", "numa_nodes" }

-- What the node has, as far as it is known; 0 is "not known".
local function parts(inventory)
   local out = {}
   for _, name in ipairs(PARTS) do
      out[name] = inventory[name] ~= 0 and inventory[name] or nil
   end
   return next(out) and out or nil
end

--- What every record has.
-- @param kind "check" or "job"
-- @param node from node.open
-- @param inventory from inventory.read
-- @param snapshot counters, for the boot id
function records.new(kind, node, inventory, snapshot)
   return {
      v = records.VERSION,
      kind = kind,
      id = files.random_id(),
      cluster = os.getenv("SLURM_CLUSTER_NAME"),
      node = node.name,
      boot_id = snapshot.boot_id,
      time = records.time(os.time()),
      class = inventory.class,
      config = next(inventory.config) and inventory.config or nil,
      config_id = inventory.config_id,
      parts = parts(inventory),
      problems = #node.problems > 0 and node.problems or nil,
   }
end

--- RFC 3339, UTC.
function records.time(epoch)
   return os.date("!%Y-%m-%dT%H:%M:%SZ", epoch)
end

--- Runs of kernels as they are recorded: per-core values only where they may
-- explain something, as they are most of a record's size.
-- @param result from check.run
function records.runs(result)
   local runs = {}
   for i, run in ipairs(result.runs) do
      local kept = {}
      for k, v in pairs(run.result or {}) do
         if k ~= "cores" or result.status ~= "pass" then
            kept[k] = v
         end
      end
      runs[i] = {
         kernel = run.kernel,
         path = run.path,
         attempt = run.attempt,
         state = run.state,
         reason = run.reason,
         seconds = run.seconds,
         result = run.result and kept or nil,
      }
   end
   return #runs > 0 and runs or nil
end

--- Appends a record durably.
-- @return true; or nil and why
function records.append(spool, record)
   local line, err = json.encode(record)
   if not line then
      return nil, "record not encoded: " .. tostring(err)
   end
   local ok
   ok, err = files.mkdir(spool)
   if not ok then
      return nil, ("%s: %s"):format(spool, err)
   end
   return files.append(spool .. "/" .. records.FILE, line)
end

-- Lines of a file, in bounded memory; false for one that is too long. Plain finds
-- only, each byte looked at once: a pattern over a megabyte without a newline
-- would take the square of that.
local function lines(file)
   local rest, from, skipping = "", 1, false
   return function()
      while true do
         local to = rest:find("\n", from, true)
         if to then
            local line = rest:sub(from, to - 1)
            from = to + 1
            if not skipping then
               return line
            end
            skipping = false
         else
            rest, from = rest:sub(from), 1
            local too_long = #rest > MAX_LINE and not skipping
            if skipping or too_long then
               rest, skipping = "", true
            end
            local chunk = file:read(CHUNK)
            if too_long then
               rest = chunk or ""
               return false
            elseif not chunk then
               -- A torn line has no end; it may be a record all the same.
               local last = rest
               rest = ""
               return last ~= "" and last or nil
            end
            rest = rest .. chunk
         end
      end
   end
end

--- Reads records from spool directories.
-- @param dirs list of directories
-- @param on_bad function(file, line number, why) for what is not a record
-- @param want optional function(line) -> false to skip a line before decoding it
-- @return iterator of records
function records.read(dirs, on_bad, want)
   return coroutine.wrap(function()
      for _, dir in ipairs(dirs) do
         local path = dir .. "/" .. records.FILE
         local file, err = io.open(path, "rb")
         if not file and not err:find("No such file", 1, true) then
            on_bad(path, 0, (err:gsub("^.*: ", "")))
         elseif not file then
            -- Nothing was recorded yet; a directory that is not there is another matter.
            if not uv.fs_stat(dir) then
               on_bad(dir, 0, "no such directory")
            end
         else
            local number = 0
            for line in lines(file) do
               number = number + 1
               if line == false then
                  on_bad(path, number, "longer than 1 MiB")
               elseif line ~= "" and (not want or want(line)) then
                  local record = json.decode(line)
                  if type(record) ~= "table" or type(record.kind) ~= "string" or type(record.id) ~= "string"
                     or type(record.node) ~= "string" then
                     on_bad(path, number, "not a record")
                  elseif record.v ~= records.VERSION then
                     on_bad(path, number, ("version %s, this syscheck reads %d"):format(
                        tostring(math.tointeger(record.v) or record.v), records.VERSION))
                  else
                     coroutine.yield(record)
                  end
               end
            end
            file:close()
         end
      end
   end)
end

--- Spool directories behind a path with %n: one per node that has one.
-- @return list; and why it is empty, where the directories cannot be listed
function records.dirs(path)
   local head, tail = path:match("^(.*/)[^/]*%%n[^/]*(.*)$")
   if not head then
      return { path }
   end
   local before, after = path:match("^.*/([^/]*)%%n([^/]*)")
   local dirs = {}
   local ok, err = uv.fs_access(head, "R")
   if not ok then
      return dirs, tostring(err or head .. (uv.fs_stat(head) and ": permission denied" or ": no such directory"))
   end
   for _, name in ipairs(files.list(head)) do
      if name:sub(1, #before) == before and name:sub(-#after - 1):sub(2) == after then
         local dir = head .. name .. tail
         if uv.fs_stat(dir .. "/" .. records.FILE) then
            dirs[#dirs + 1] = dir
         end
      end
   end
   return dirs
end

return records
