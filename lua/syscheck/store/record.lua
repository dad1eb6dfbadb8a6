--- A line of a spool -> what the store keeps of it. Pure. One fault makes the whole line bad:
-- half a record would be half the truth.
local json = require("cjson.safe").new()
local beside = require("syscheck.catalogue.beside")
local cache = require("syscheck.store.cache")
local delays = require("syscheck.catalogue.delays")
local fields = require("syscheck.catalogue.fields")
local fnv = require("syscheck.lib.fnv")
local lessons = require("syscheck.store.lessons")
local metrics = require("syscheck.catalogue.metrics")
local records = require("syscheck.spool.records")
local time = require("syscheck.lib.time")
local unicode = require("syscheck.lib.unicode")

local record = {}

local type = type -- looked up for each of forty values of a line

--- Columns of the store's tables before those of fields.JOB, fields.CHECK and fields.FABRIC, which the
-- writer fills in.
record.JOB_BASE, record.CHECK_BASE, record.FABRIC_BASE = 12, 15, 8

json.decode_invalid_numbers(false)
json.encode_sparse_array(true)

local NAME_BYTES = 1024 -- of what users name; the rest is cut
local WORD_BYTES = 256 -- of nodes, classes and the like: more is damage
local FIRST_S, LAST_S = 946684800, 4102444800 -- the years 2000 to 2100
local MOST = 1e18
local CLOCK_SET_S = 5 -- a job's two times differ by more from what elapsed: the clock was set
local DETAIL_BYTES = 65536 -- several times what any record of ours needs: a question reads all nodes'

-- Raises a line's fault; record.read catches it.
local function bad(format, ...)
   error({ format:format(...) }, 0)
end

-- + 0.0 makes 0 of -0, which PostgreSQL would keep.
local function number(value, name, low)
   if value == nil or value == json.null then
      return nil
   elseif type(value) ~= "number" then
      bad("%s is not a number", name)
   elseif value ~= value or value < low or value > MOST then
      bad("%s is out of range: %.14g", name, value)
   end
   return value + 0.0
end

-- Without what no database takes: bytes that are no UTF-8, and NUL.
local function clean(text)
   text = unicode.repair(text)
   -- Nearly none has one, and to look for it at each byte takes ten times as long.
   return text:find("\0", 1, true) and text:gsub("%z", "\u{FFFD}") or text
end

-- Strings that were found clean: classes, nodes, levels come again in every line, ten in each.
local known = cache.new(10000)

local function string_of(value, name)
   if value == nil or known:get(value) then
      return value
   elseif value == json.null then
      return nil
   elseif type(value) ~= "string" then
      bad("%s is not a string", name)
   end
   value = clean(value)
   if #value <= WORD_BYTES then
      known:put(value, true)
   end
   return value
end

local function word(value, name)
   value = string_of(value, name)
   if value and #value > WORD_BYTES then
      bad("%s is longer than %d bytes", name, WORD_BYTES)
   end
   return value
end

-- What a user may have chosen.
local function name_of(value, name)
   value = string_of(value, name)
   return value and unicode.cut(value, NAME_BYTES)
end

local function object(value, name)
   if value == json.null then
      return nil
   elseif value ~= nil and type(value) ~= "table" then
      bad("%s is not an object", name)
   end
   return value
end

local function time_of(text, name)
   local epoch = type(text) == "string" and time.parse(text)
   if not epoch then
      bad("%s is not a time in UTC", name)
   elseif epoch < FIRST_S or epoch >= LAST_S then
      bad("%s is out of range: %s", name, text)
   end
   return epoch
end

-- The fields of a job by the object that they are in: list of { first, second = keys of the
-- object, name = both; list of { key, name, index, low } }
local GROUPS = {}
do
   local by_path = {}
   for i, field in ipairs(fields.JOB) do
      local path = { table.unpack(field.path, 1, #field.path - 1) }
      local name = table.concat(path, ".")
      if not by_path[name] then
         assert(#path <= 2, "a field deeper than two objects")
         by_path[name] = { first = path[1], second = path[2], name = name }
         GROUPS[#GROUPS + 1] = by_path[name]
      end
      local group = by_path[name]
      group[#group + 1] = { key = field.path[#field.path], name = field.from, index = record.JOB_BASE + i,
         low = field.unit == "celsius" and -300 or 0 }
   end
end

-- A list with room for n values: grown one by one it would be moved six times.
local NOTHING = {}
local function empty(n)
   return { table.unpack(NOTHING, 1, n) }
end

-- Values of fields.JOB, by their place in the store's table.
local function job_values(r)
   local values = empty(record.JOB_BASE + #fields.JOB + 1)
   for i = 1, #GROUPS do
      local group, at = GROUPS[i], r
      if group.first then
         at = object(r[group.first], group.name)
         if at and group.second then
            at = object(at[group.second], group.name)
         end
      end
      for j = 1, at and #group or 0 do
         local field = group[j]
         local value = at[field.key]
         if value ~= nil then
            -- NaN is not below anything: it fails here, too.
            values[field.index] = type(value) == "number" and value >= field.low and value <= MOST and value + 0.0
               or number(value, field.name, field.low)
         end
      end
   end
   return values
end

local function text_of(value)
   local text = value and next(value) and json.encode(value)
   return text and clean(text) or nil
end

-- What has no column.
local function detail_of(value)
   local text = text_of(value)
   if text and #text > DETAIL_BYTES then
      return text_of({ problems = { ("details of %d bytes are not kept"):format(#text) } })
   end
   return text
end

local function nonempty(list)
   return type(list) == "table" and next(list) ~= nil and list or nil
end

-- @return nil where the record is of no job
local function job_of(r, from_s, to_s)
   local j = object(r.job, "job")
   if not j then
      return nil
   end
   local id = number(j.id, "job.id", 1)
   if not id or not math.tointeger(id) or id > 4294967295 then
      bad("job.id is not a job's number")
   end
   return {
      id = math.tointeger(id),
      restart = number(j.restart, "job.restart", 0),
      array_job_id = number(j.array_job_id, "job.array_job_id", 0),
      array_task_id = number(j.array_task_id, "job.array_task_id", 0),
      het_job_id = number(j.het_job_id, "job.het_job_id", 0),
      het_offset = number(j.het_offset, "job.het_offset", 0),
      user = name_of(j.user, "job.user"),
      name = name_of(j.name, "job.name"),
      account = name_of(j.account, "job.account"),
      partition = name_of(j.partition, "job.partition"),
      nodes = number(j.nodes, "job.nodes", 1),
      nodelist = type(j.nodelist) == "string" and fnv.of32(j.nodelist) or nil,
      batch = j.batch == true and 1 or nil,
      begin_s = from_s,
      end_s = to_s,
   }
end

-- When a job began and ended, by one clock. Where that was set meanwhile, by the clock of its begin:
-- the run's check has that one, too. A record without an elapsed time may have a begin.
local function span_of(r, row)
   local began = type(r.begin) == "table" and type(r.begin.time) == "string" and time.parse(r.begin.time)
   local from, to = row.begin_s, row.time_s
   if began and began >= FIRST_S and began < LAST_S then
      if from and math.abs(from - began) > CLOCK_SET_S then
         return began, began + math.floor(row.elapsed_s)
      end
      from = from or math.min(began, to)
   end
   return from or to, to
end

local READERS = {}

function READERS.job(r, row)
   row.elapsed_s = number(r.elapsed_s, "elapsed_s", 0)
   if row.elapsed_s and row.elapsed_s > LAST_S - FIRST_S then
      bad("elapsed_s is out of range: %.14g", row.elapsed_s)
   end
   -- A clock that was set back to its first year meanwhile had no such begin.
   row.begin_s = row.elapsed_s and math.max(FIRST_S, row.time_s - math.floor(row.elapsed_s))
   row.job = job_of(r, span_of(r, row))
   if not row.job then
      bad("no job in a job's record")
   end
   row.values = job_values(r)
   row.elapsed_s = fields.ran_s(r)
   local check = object(r.check, "check")
   row.check_id = check and type(check.id) == "string" and check.id:match("^%x+$") and check.id:lower() or nil
   local problems, errors, others = nonempty(r.problems), nonempty(r.errors), nonempty(r.others)
   local waits = object(r.saturation, "saturation") or {}
   local unknown, source = name_of(waits.unknown, "saturation.unknown"), word(waits.source, "saturation.source")
   if problems or errors or others or unknown or source then
      row.detail = detail_of({ problems = problems, errors = errors, others = others, others_more = r.others_more,
         saturation = (unknown or source) and { unknown = unknown, source = source } or nil })
   end
end

-- Of a metric in the table of its kind of record.
local PLACES = { check = {}, fabric = {} }
for i, field in ipairs(fields.CHECK) do
   PLACES.check[field.name] = record.CHECK_BASE + i
end
for i, field in ipairs(fields.FABRIC) do
   PLACES.fabric[field.name] = record.FABRIC_BASE + i
end

local PLAIN = { pass = true, unrated = true }

-- @param width of the table
-- @return values by their place in the store's table, the metrics of which details are kept, and { kernel = true } of
-- those that others disturbed
local function metric_values(r, width)
   local values, others, places, is_busy = empty(width), {}, PLACES[r.kind], {}
   for _, m in ipairs(object(r.metrics, "metrics") or {}) do
      if type(m) ~= "table" or type(m.name) ~= "string" then
         bad("metrics holds what is no metric")
      end
      local place = places[m.name]
      -- What others took a part of says nothing about the node.
      if place and not m.busy then
         values[place] = number(m.value, m.name, 0)
      elseif place and metrics.BY_NAME[m.name].kernel then
         is_busy[metrics.BY_NAME[m.name].kernel] = true
      end
      if not PLAIN[m.status] then
         others[#others + 1] = m
      end
   end
   return values, others, is_busy
end

-- What it teaches a baseline; nil where nothing differs from the row's own values.
local function taught_of(r, row)
   local places = PLACES[r.kind]
   local taught
   row.lesson, taught, row.measured = lessons.of(r, function(name)
      return row.values[places[name]]
   end)
   return taught
end

function READERS.check(r, row)
   row.job = job_of(r, row.time_s, row.time_s)
   row.trigger, row.level, row.asked = word(r.trigger, "trigger"), word(r.level, "level"), word(r.asked, "asked")
   row.status, row.action = word(r.status, "status"), word(r.action, "action")
   local others, is_busy
   row.values, others, is_busy = metric_values(r, record.CHECK_BASE + #fields.CHECK + 2)
   local values, more, noise = beside.of(r, is_busy)
   for name, value in pairs(values) do
      row.values[PLACES.check[name]] = value + 0.0
   end
   row.text = row.status ~= "pass" and name_of(r.text or r.reason, "text") or nil
   local drain, problems, note = nonempty(r.drain), nonempty(r.problems), name_of(r.note, "note")
   row.drain = drain
   local taught = taught_of(r, row)
   -- What others took all the time says nothing of the node.
   local sampled = not r.busy and delays.of(noise)
   if sampled then
      local kept, without = delays.split(sampled)
      row.delays, row.without = text_of(kept), text_of(without)
   end
   more.metrics, more.drain, more.problems, more.note = nonempty(others), drain, problems, note
   more.corrupt, more.taught = r.corrupt or nil, taught
   row.detail = next(more) and detail_of(more) or nil
end

function READERS.fabric(r, row)
   row.status, row.action = word(r.status, "status"), word(r.action, "action")
   local others
   row.values, others = metric_values(r, record.FABRIC_BASE + #fields.FABRIC + 2)
   row.text = row.status ~= "pass" and name_of(r.text, "text") or nil
   row.drain = nonempty(r.drain)
   row.detail = detail_of({ metrics = nonempty(others), drain = row.drain, findings = nonempty(r.findings),
      partners = nonempty(r.partners), uplinks = r.uplinks == true or nil, alltoall = r.alltoall == true or nil,
      switch = r.switch == true or nil, between = r.between == true or nil, shard = number(r.shard, "shard", 1),
      rail = number(r.rail, "rail", 1), allreduce_us = number(r.allreduce_us, "allreduce_us", 0),
      allreduce_steps = number(r.allreduce_steps, "allreduce_steps", 1), taught = taught_of(r, row),
      io = type(r.io) == "string" and r.io or nil })
end

function READERS.loss(r, row)
   row.records = number(r.lost_records, "lost_records", 0)
   row.bytes = number(r.lost_bytes, "lost_bytes", 0)
   row.reason = name_of(r.reason, "reason")
end

-- Which policy or baseline was in use: its digest, and what it says of its age.
local function file_of(r, name)
   local of = object(r[name], name)
   local hash, age = of and word(of.hash, name .. ".hash"), of and word(of.version or of.time, name .. ".version")
   return hash and hash:gsub(" .*", "") .. (age and " " .. age or "") or nil
end

local function take(r)
   if type(r) ~= "table" then
      bad("not a JSON object")
   elseif r.v ~= records.VERSION then
      bad("version %s, this syscheck reads %d", type(r.v) == "number" and ("%.14g"):format(r.v) or "missing",
         records.VERSION)
   end
   local reader = READERS[r.kind]
   if not reader then
      bad("neither job, check, fabric nor loss")
   elseif type(r.id) ~= "string" or #r.id ~= 32 or r.id:find("%X") then
      bad("id is not 32 hexadecimal digits")
   elseif type(r.node) ~= "string" or r.node == "" then
      bad("node is not a name")
   end
   local row = {
      kind = r.kind,
      id = r.id:lower(),
      cluster = word(r.cluster, "cluster") or "",
      node = word(r.node, "node"),
      time_s = time_of(r.time, "time"),
      class = word(r.class, "class"),
      config = word(r.config_id, "config_id"),
      boot = word(r.boot_id, "boot_id"),
      policy = file_of(r, "policy"),
      baseline = file_of(r, "baseline"),
      settings = type(r.config) == "table" and r.config or nil,
      -- Room for what follows, so that the table grows once.
      job = nil, values = nil, begin_s = nil, elapsed_s = nil, check_id = nil, drain = nil, detail = nil,
      key = nil, lesson = nil, measured = nil, delays = nil, without = nil,
   }
   row.key = row.time_s << 30 | tonumber(row.id:sub(1, 8), 16) >> 2
   reader(r, row)
   return row
end

--- Reads a line.
-- @return { kind, id = 32 hex digits, key, cluster, node, time_s, class, config, boot,
--   policy, baseline, lesson = text of lessons.of, measured = 1 where it has values,
--   settings = table or nil, job = nil or { id, restart, ..., begin_s, end_s }, and by kind:
--   begin_s, elapsed_s, check_id, values (of fields.JOB, from JOB_BASE + 1), detail;
--   trigger, level, asked, status, action, values (of fields.CHECK, from CHECK_BASE + 1), text, drain, detail, delays
--   and without = texts of delays.split;
--   records, bytes, reason }; or nil and why the line is bad
function record.read(line)
   local done, result = pcall(take, (json.decode(line)))
   if done then
      return result
   elseif type(result) == "table" then
      return nil, result[1]
   end
   return nil, "not a record" -- what no check above foresaw; never stops the rest
end

--- Settings of a configuration as text.
function record.settings(row)
   return text_of(row.settings)
end

return record
