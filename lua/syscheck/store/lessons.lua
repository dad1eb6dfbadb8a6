--- What a check teaches a baseline, in the store: what its values depend on (CPUs, time boxes, parts) is the same in
-- most rows and is kept once, in table config; its values differ from the row's own metrics in few, and stand in its
-- detail then.
local json = require("cjson.safe").new()
local cache = require("syscheck.store.cache")
local fields = require("syscheck.catalogue.fields")
local fnv = require("syscheck.lib.fnv")
local lesson = require("syscheck.verdict.lesson")
local metrics = require("syscheck.catalogue.metrics")
local schema = require("syscheck.store.schema")
local sorted = require("syscheck.lib.sorted")

local lessons = {}

json.decode_invalid_numbers(false)
json.encode_sparse_array(true)

-- Of a node, the newest; learning keeps 64 of each set of CPUs.
local MOST = 256

-- JSON with keys in order: the same object is the same text.
local function canonical(value)
   if type(value) ~= "table" then
      return json.encode(value)
   end
   local out = {}
   for i, key in ipairs(sorted(value)) do
      out[i] = ("%s:%s"):format(json.encode(key), canonical(value[key]))
   end
   return "{" .. table.concat(out, ",") .. "}"
end

local NOTHING = {}
local CPUS = { "list", "count", "of", "left_out", "jobs" }

local function cpus_of(one)
   local out = {}
   for _, name in ipairs(CPUS) do
      out[name] = one.cpus and one.cpus[name]
   end
   return next(out) and out or nil
end

local classes, texts = cache.new(1000), cache.new(1000)

-- Whether a class is one that teaches; looked up for each line.
local function is_of_class(kind, class)
   local known = kind == "check" and type(class) == "string" and classes:get(class)
   if known then
      return known == 1
   end
   local is = lesson.is_of_class(kind, class)
   if kind == "check" and type(class) == "string" then
      classes:put(class, is and 1 or 0)
   end
   return is
end

-- The text of what values depend on; most lines have one of a few.
local function text_of_about(about)
   local parts, key = about.parts or NOTHING, {}
   for i = 1, #metrics.PARTS do
      key[i] = parts[metrics.PARTS[i]] or "-"
   end
   for _, name in ipairs(about.cpus and CPUS or NOTHING) do
      key[#key + 1] = tostring(about.cpus[name])
   end
   for name, box_s in pairs(about.box or NOTHING) do
      key[#key + 1] = name
      key[#key + 1] = box_s
   end
   key = table.concat(key, "\0")
   local text = texts:get(key)
   if not text then
      text = canonical(about)
      texts:put(key, text)
   end
   return text
end

--- What the store keeps of a record's lesson.
-- @param r decoded record
-- @param value_of function(metric name) -> what the row's column has, or nil
-- @return text of what the values depend on, nil where the record teaches nothing; what its values are where the
--   columns have others, or who else disturbed it: { busy, values = { metric = value } }, else nil; 1 where it has any
function lessons.of(r, value_of)
   if not is_of_class(r.kind, r.class) then
      return nil
   end
   local one = lesson.of(r)
   local about, values, differ = { cpus = one.cpus and cpus_of(one), parts = next(one.parts) and one.parts or nil }, {},
      one.busy
   for _, m in ipairs(one.cpus and metrics.LIST or {}) do
      local value = m.kernel and one.values[m.name]
      if value then
         about.box = about.box or {}
         about.box[m.name], values[m.name] = value.box_s, value.value
      end
      differ = differ or m.kernel and (value and value.value) ~= value_of(m.name)
   end
   return text_of_about(about), differ and { busy = one.busy or nil, values = values } or nil, one.cpus and 1 or nil
end

local named = cache.new(1000)

--- Name of such a text among the store's words.
function lessons.name(text)
   local name = named:get(text)
   if not name then
      name = ("lesson %016x"):format(fnv.of64(text))
      named:put(text, name)
   end
   return name
end

local function table_of(value)
   return type(value) == "table" and value or {}
end

--- What such a text says; of damage nothing.
-- @return { cpus, parts, box = { metric = seconds } }
function lessons.about(text)
   local value = table_of(text and json.decode(text))
   return { cpus = value.cpus and table_of(value.cpus), parts = table_of(value.parts), box = table_of(value.box) }
end

-- The columns that a kernel measures, and a row's fields before them.
local FIRST = "c.key >> 30, c.class, %s, c.lesson, c.detail, "
local function select_of(name, list, config)
   local columns, measured = {}, {}
   for _, field in ipairs(list) do
      local m = metrics.BY_NAME[field.name]
      if m and m.kernel then
         columns[#columns + 1] = field.name
         measured[#measured + 1] = ("c.%s IS NOT NULL"):format(field.name)
      end
   end
   local any = table.concat(measured, " OR ")
   local from = (" FROM %s c WHERE c.node = ? AND c.key >= ? AND c.lesson IS NOT NULL"):format(name)
   local what = ("SELECT $id, %sc.%s"):format(FIRST:format(config), table.concat(columns, ", c."))
   local taught = from .. (" AND (%s OR c.detail LIKE '%%\"taught\":%%') ORDER BY c.key DESC LIMIT "):format(any)
   return { columns = columns, kind = name:match("^%l+"),
      newest = what .. from .. " ORDER BY c.key DESC LIMIT 1",
      taught = what .. taught .. MOST,
      latest = what .. taught .. 1,
      some = "SELECT c.key" .. taught,
      -- Of a store's earlier versions.
      before = ("SELECT c.class%s AND (%s) LIMIT 1"):format(from:gsub(" IS NOT NULL$", " IS NULL"), any) }
end
local CHECK, FABRIC = select_of("check_node", fields.CHECK, "c.config"), select_of("fabric_node", fields.FABRIC, "0")

-- A statement in the words of the store's database.
local function asked(store, text)
   return (text:gsub("%$id", (store.driver.ID_OUT:format("c.id"):gsub("%%", "%%%%"))))
end

-- Texts of table config, by a row's number; each is asked for once.
local function texts_of(store)
   local known = {}
   return function(id, decode)
      if id == nil then
         return decode(nil)
      elseif known[id] == nil then
         local row = store:row("SELECT c.text FROM config c WHERE c.id = ?", id)
         known[id] = decode(row and row[1])
      end
      return known[id]
   end
end

local function decoded(text)
   local value = text and json.decode(text)
   return type(value) == "table" and value or nil
end

-- A row as a lesson.
local function lesson_of(t, columns, node, words, text_of)
   local about, taught = text_of(t[5], lessons.about), table_of(t[6] and json.decode(t[6])).taught
   local one = { id = t[1], node = node, class = words(t[3]), values = {}, cpus = about.cpus, parts = about.parts,
      config = t[4] and text_of(t[4], decoded) or nil, busy = type(taught) == "table" and taught.busy == true }
   local other = type(taught) == "table" and table_of(taught.values)
   for i, name in ipairs(columns) do
      local value
      if other then
         value = other[name]
      else
         value = t[6 + i]
      end
      if about.box[name] and type(value) == "number" then
         one.values[name] = { value = value, box_s = about.box[name] }
      end
   end
   one.cpus = next(one.values) and one.cpus or nil
   return one.class and one or nil
end

local function words_of(store)
   local known = {}
   return function(id)
      if id and known[id] == nil then
         local row = store:row("SELECT w.text FROM word w WHERE w.id = ?", id)
         known[id] = row and row[1] or false
      end
      return id and known[id] or nil
   end
end

-- Nodes of a class, or all: list of { key, name }. One that several clusters have has its cluster's before it.
local function nodes_of(store, class)
   local list, names = {}, {}
   for t in store:rows("SELECT n.id, n.name, w.text, k.text FROM node n LEFT JOIN word w ON w.id = n.cluster "
      .. "LEFT JOIN word k ON k.id = n.class ORDER BY n.id") do
      names[t[2]] = (names[t[2]] or 0) + 1
      list[#list + 1] = { key = t[1], name = t[2], cluster = t[3] or "", class = t[4] }
   end
   local out = {}
   for _, node in ipairs(list) do
      if not class or node.class == class then
         node.name = names[node.name] > 1 and ("%s/%s"):format(node.cluster, node.name) or node.name
         out[#out + 1] = node
      end
   end
   return out
end

--- What rows' values depend on, by the number in their column `lesson`.
-- @return function(id or nil) -> as of about
function lessons.reader(store)
   local text_of = texts_of(store)
   return function(id)
      return text_of(id, lessons.about)
   end
end

--- The newest lessons of other nodes of a class, one a node, of at most so many nodes.
-- @param number of the class among the store's words
-- @param from epoch seconds
-- @param is_left_out function(name) -> true: not this one
-- @return list of lesson.of's
function lessons.of_class(store, number, from, most, is_left_out)
   local words, text_of, nodes, out = words_of(store), texts_of(store), {}, {}
   for t in store:rows("SELECT n.id, n.name FROM node n WHERE n.class = ? ORDER BY n.id", number) do
      nodes[#nodes + 1] = not is_left_out(t[2]) and { key = t[1], name = t[2] } or nil
   end
   -- Evenly over all of them: neighbours share a rack.
   local step = math.max(1, #nodes / most)
   for k = 0, math.min(most, #nodes) - 1 do
      local node = nodes[1 + math.floor(k * step)]
      local t = store:row(asked(store, CHECK.latest), node.key, schema.key(from))
      local one = t and lesson_of(t, CHECK.columns, node.name, words, text_of)
      out[#out + 1] = one and one.cpus and t[3] == number and one or nil
   end
   return out
end

--- Whether a class' nodes have at least so many measured checks.
function lessons.has(store, class, least)
   local count, key = 0, schema.key(0)
   for _, node in ipairs(nodes_of(store, class)) do
      for _, kind in ipairs({ CHECK, FABRIC }) do
         for _ in store:rows(kind.some .. least, node.key, key) do
            count = count + 1
         end
      end
      if count >= least then
         return true
      end
   end
   return false
end

--- Lessons of the store, for verdict/learning.lua: of each node in the order of time.
-- @param from epoch seconds
-- @param class of the nodes that are looked at, or nil
-- @param on_old function(), called where checks that an older version has stored are left out
-- @param on_node function(i, n), or nil
-- @return iterator
function lessons.each(store, from, class, on_old, on_node)
   local words, text_of, key = words_of(store), texts_of(store), schema.key(from)
   return coroutine.wrap(function()
      local nodes, told = nodes_of(store, class), false
      for i, node in ipairs(nodes) do
         for _, kind in ipairs({ CHECK, FABRIC }) do
            local list = {}
            for t in store:rows(asked(store, kind.taught), node.key, key) do
               list[#list + 1] = lesson_of(t, kind.columns, node.name, words, text_of)
            end
            for k = #list, 1, -1 do
               coroutine.yield(list[k])
            end
            -- Its parts and settings now: most checks measure nothing.
            local t = kind == CHECK and store:row(asked(store, kind.newest), node.key, key)
            local now = t and lesson_of(t, kind.columns, node.name, words, text_of)
            if now and (not list[1] or list[1].id ~= now.id) then
               coroutine.yield(now)
            end
            local before = not told and #list == 0 and store:row(kind.before, node.key, key)
            if before and lesson.is_of_class(kind.kind, words(before[1])) then
               told = true
               on_old()
            end
         end
         if on_node then
            on_node(i, #nodes)
         end
      end
   end)
end

return lessons
