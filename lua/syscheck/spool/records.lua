--- Records: one JSON object a line in the node's spool. docs/records.md is the
-- contract.
local json = require("cjson.safe").new()
local uv = require("luv")
local lazy = require("syscheck.lib.lazy")
local files = require("syscheck.lib.files")
local journal = lazy.require("syscheck.spool.journal")
local lines = lazy.require("syscheck.lib.lines")
local metrics = require("syscheck.catalogue.metrics")
local segments = lazy.require("syscheck.spool.segments")
local time = require("syscheck.lib.time")

json.encode_number_precision(14)
json.decode_invalid_numbers(false)
json.encode_sparse_array(true)
json.encode_invalid_numbers("null")

local records = {}

records.VERSION = 1

-- What the node has, as far as it is known; 0 is "not known".
local function parts(inventory)
   local out = {}
   for _, name in ipairs(metrics.PARTS) do
      out[name] = inventory[name] ~= 0 and inventory[name] or nil
   end
   return next(out) and out or nil
end

--- What every record has.
-- @param kind "check" or "job" (a "loss" is append's own; a "fabric" record is of another node)
-- @param node from node.open
-- @param inventory from inventory.read
-- @param snapshot counters, for the boot id
function records.new(kind, node, inventory, snapshot)
   return {
      v = records.VERSION,
      kind = kind,
      id = files.random_id(),
      cluster = node:cluster(),
      node = node.name,
      boot_id = snapshot.boot_id,
      time = time.show(os.time()),
      class = inventory.class,
      config = next(inventory.config) and inventory.config or nil,
      config_id = inventory.config_id,
      parts = parts(inventory),
      policy = node.policy_id,
      baseline = node.baseline_id,
      problems = #node.problems > 0 and node.problems or nil,
   }
end

-- Bytes of a list of nodes; the environment's limit lets 128 kB of names that do not fold through.
local NODELIST_MAX = 4096

--- A job as its records have it.
-- @param job from environment.job, which stays as it is
function records.job(job)
   local out = {}
   for name, value in pairs(job) do
      out[name] = value
   end
   if #(job.nodelist or "") > NODELIST_MAX then
      out.nodelist = job.nodelist:sub(1, NODELIST_MAX):gsub(",[^,]*$", "") .. ",..."
   end
   return out
end

-- Measurements as they are recorded: per-core values only where they may explain
-- something, as they are most of a record's size.
local function measurements(result)
   local list = {}
   for i, measurement in ipairs(result.runs) do
      local kept = {}
      for k, v in pairs(measurement.result or {}) do
         if k ~= "cores" or result.status ~= "pass" then
            kept[k] = v
         end
      end
      list[i] = { result = measurement.result and kept }
      for _, field in ipairs({ "kernel", "path", "attempt", "state", "reason", "seconds", "box_s", "others" }) do
         list[i][field] = measurement[field]
      end
   end
   return #list > 0 and list or nil
end

--- The record of a check, but for what was done about it.
-- @param trigger "prolog", "health" or "run"
-- @param result from check.run
function records.check(trigger, node, inventory, result)
   local record = records.new("check", node, inventory, result.after)
   record.trigger = trigger
   for _, field in ipairs({ "level", "status", "reason", "corrupt", "text", "kernel_s", "box_s", "cpus", "traffic" }) do
      record[field] = result[field]
   end
   record.metrics = #result.metrics > 0 and result.metrics or nil
   record.runs = measurements(result)
   record.checks = result.checks
   record.busy = result.busy and { since = result.busy.since, checks = result.busy.checks, cpus = result.busy.cpus,
      most = result.busy.most }
   return record
end

--- The record of a node in a run of `syscheck fabric`, which another host makes.
-- @param by { cluster, node } of that host
-- @param rated of fabric/rating.lua
-- @param answer { seed, share, rail, nodes = how many were measured, job = its ID or nil }
-- @param action, drain as in a check's record
function records.fabric(by, rated, answer, action, drain)
   local record = { v = records.VERSION, kind = "fabric", id = files.random_id(), cluster = by.cluster,
      time = time.show(os.time()), by = by.node, seed = answer.seed, share = answer.share, nodes = answer.nodes,
      rail = answer.rail,
      allreduce_us = answer.patterns and answer.patterns.allreduce_us,
      allreduce_steps = answer.patterns and answer.patterns.allreduce_steps,
      job = answer.job and { id = math.tointeger(tonumber(answer.job)) }, action = action, drain = drain }
   for _, field in ipairs({ "node", "leaf", "class", "boot_id", "status", "text", "reason", "metrics", "runs",
      "findings", "partners", "uplinks", "switch", "alltoall", "shard", "between", "io" }) do
      local value = rated[field]
      record[field] = (type(value) ~= "table" or #value > 0) and value or nil
   end
   return record
end

-- What had to be dropped to keep this record, in a record of its own.
local function loss_line(record, id, lost_records, lost_bytes, reason)
   return (json.encode({
      v = records.VERSION,
      kind = "loss",
      id = id,
      cluster = record.cluster,
      node = record.node,
      boot_id = record.boot_id,
      time = time.show(os.time()),
      lost_records = lost_records,
      lost_bytes = lost_bytes,
      reason = reason,
   }))
end

-- A node of many cores and directories where all went wrong: what its kernels say without their lists.
local function shorten(record)
   for _, one in ipairs(record.runs or {}) do
      for key, value in pairs(one.result or {}) do
         one.result[key] = type(value) ~= "table" and value or nil
      end
   end
   for _, one in ipairs(record.checks or {}) do
      one.result = nil
   end
   record.problems = table.move(record.problems or {}, 1, #(record.problems or {}), 1, {})
   table.insert(record.problems, "the kernels' lists are left out, the record would have been too long")
   return json.encode(record)
end

-- A record as a line; nil and why there is none. One that is too long loses its kernels' lists.
local function line_of(record)
   local line, err = json.encode(record)
   if line and #line > lines.MAX then
      line, err = shorten(record)
   end
   if not line then
      return nil, "record not encoded: " .. tostring(err)
   elseif #line > lines.MAX then
      return nil, ("record of %d bytes, more than readers take"):format(#line)
   end
   return line
end

--- Appends records of several nodes durably: acknowledged is on disk.
-- @param limits policy, for the sizes of the spool
-- @param owner { cluster, node, boot_id } of the spool
-- @return how many; and why not the others
function records.append_all(spool, list, limits, owner)
   local texts, err, why = {}, nil, nil
   for _, record in ipairs(list) do
      texts[#texts + 1], why = line_of(record)
      err = err or why and ("%s: %s"):format(record.node, why)
   end
   local ok = #texts > 0
   if ok then
      ok, why = journal.append(spool, table.concat(texts, "\n"), limits, function(...)
         return loss_line(owner, ...)
      end)
   end
   return ok and #texts or 0, err or why
end

--- Appends a record durably: acknowledged is on disk. One that is too long loses its kernels' lists.
-- @param limits policy, for the sizes of the spool; nil: the defaults
-- @param also see journal.append
-- @return true; or nil and why
function records.append(spool, record, limits, also)
   local line, err = line_of(record)
   if not line then
      return nil, err
   end
   return journal.append(spool, line, limits or {}, function(...)
      return loss_line(record, ...)
   end, also)
end

--- Reads records from spool directories, oldest segment first.
-- @param dirs list of directories
-- @param on_bad function(file, line number, why) for what is not a record
-- @param want optional function(line) -> false to skip a line before decoding it
-- @return iterator of records
function records.read(dirs, on_bad, want)
   return coroutine.wrap(function()
      for _, dir in ipairs(dirs) do
         -- Nothing was recorded yet; a directory that is not there is another matter.
         local stat, err, code = uv.fs_stat(dir)
         if not stat then
            on_bad(dir, 0, code == "ENOENT" and "no such directory" or err)
         end
         for path, fd in segments.each(dir, function(file, why)
            on_bad(file, 0, why)
         end) do
            local number = 0
            for line in lines.of(fd) do
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
         end
      end
   end)
end

--- Spool directories behind a path with %n: one per node that has one.
-- @return list; why it is empty, where the directories cannot be listed; and the list of
--   the nodes' names, where the path has %n
function records.dirs(path)
   local head, tail = path:match("^(.*/)[^/]*%%n[^/]*(.*)$")
   if not head then
      return { path }
   end
   local before, after = path:match("^.*/([^/]*)%%n([^/]*)")
   local dirs, names = {}, {}
   local ok, err = uv.fs_access(head, "R")
   if not ok then
      return dirs, tostring(err or head .. (uv.fs_stat(head) and ": permission denied" or ": no such directory"))
   end
   for _, name in ipairs(files.list(head)) do
      if name:sub(1, #before) == before and name:sub(-#after - 1):sub(2) == after then
         local dir = head .. name .. tail
         if segments.any(dir) then
            dirs[#dirs + 1] = dir
            names[#names + 1] = name:sub(#before + 1, #name - #after)
         end
      end
   end
   return dirs, nil, names
end

return records
