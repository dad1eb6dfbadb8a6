--- A node's lines: what every record has, and when it arrives. Pure.
local json = require("cjson").new()
local site = require("world.site")

local lines = {}

json.encode_number_precision(14)
json.encode_sparse_array(true)

function lines.stamp(at)
   return os.date("!%Y-%m-%dT%H:%M:%SZ", site.EPOCH + math.floor(at))
end

--- Seconds that a node's clock is off: it drifts, and is set now and then.
function lines.skew(node, at)
   return node.skew + node.drift * ((at / site.DAY) % 9)
end

local function merged(into, from)
   for name, value in pairs(from or {}) do
      into[name] = value ~= false and value or nil
   end
   return into
end

-- Settings have an ID by what they are: FNV-1a over them in order.
local function config_id(config)
   local names, hash = {}, 2166136261
   for name in pairs(config) do
      names[#names + 1] = name
   end
   table.sort(names)
   for _, name in ipairs(names) do
      local text = name .. "=" .. tostring(config[name])
      for i = 1, #text do
         hash = ((hash ~ text:byte(i)) * 16777619) & 0xFFFFFFFF
      end
   end
   return ("%08x"):format(hash)
end

-- Class, settings and parts by how many changes the node has seen.
local function identity(node, at)
   local n = 0
   for i, change in ipairs(node.changes) do
      n = change.at <= at and i or n
   end
   node.identities = node.identities or {}
   local found = node.identities[n]
   if not found then
      local config, parts = merged({}, node.class.config), merged({}, node.class.parts)
      local class = node.class.name
      for i = 1, n do
         merged(config, node.changes[i].config)
         merged(parts, node.changes[i].parts)
         class = node.changes[i].class or class
      end
      found = ('"class":"%s","config_id":"%s","config":%s,"parts":%s,'):format(class, config_id(config),
         json.encode(config), json.encode(parts))
      node.identities[n] = found
   end
   return found
end

local function boot(node, at)
   local id
   for _, one in ipairs(node.boots) do
      if one.at <= at then
         id = one.id
      end
   end
   return id
end

local HEAD = '{"v":1,"kind":"%s","id":"%s","cluster":"main","node":"%s","boot_id":"%s","time":"%s",%s'

--- Keeps a record until all are written.
-- @param at by the true clock
-- @param since when what it tells began: settings and boot are of then
function lines.put(s, r, node, kind, id, at, since, body)
   local line = HEAD:format(kind, id, node.name, boot(node, since), lines.stamp(at + lines.skew(node, at)),
      kind == "loss" and "" or identity(node, since)) .. json.encode(body):sub(2) .. "\n"
   local delay = r:uniform(0.5, 6)
   if r:chance(s.p.late) then
      delay = r:log(120, 100000)
   end
   if node.late then
      delay = delay + r:log(1800, 200000)
   end
   s.lines[#s.lines + 1] = { at + delay, line }
end

--- Writes them in order of arrival.
function lines.flush(s, write)
   table.sort(s.lines, function(a, b) return a[1] < b[1] or a[1] == b[1] and a[2] < b[2] end)
   for i, line in ipairs(s.lines) do
      write(line[2])
      s.lines[i] = false
   end
   s.lines = nil
end

--- "n[0001-0004,0007]"
-- @param nodes list of indices, in order
function lines.hostlist(s, nodes)
   local prefix, width, suffix = s.p.node_name:match("^(.-)%%(0?%d*)d(.*)$")
   local number, parts, i = "%" .. width .. "d", {}, 1
   while i <= #nodes do
      local j = i
      while nodes[j + 1] == nodes[j] + 1 do
         j = j + 1
      end
      parts[#parts + 1] = i == j and number:format(nodes[i]) or (number .. "-" .. number):format(nodes[i], nodes[j])
      i = j + 1
   end
   local list = table.concat(parts, ",")
   return prefix .. (#nodes > 1 and "[" .. list .. "]" or list) .. suffix
end

return lines
