--- What a node has and how it is set, against what it should have. Pure; a part of the
-- verdict.
local lazy = require("syscheck.lib.lazy")
local baseline = lazy.require("syscheck.verdict.baseline")
local metrics = require("syscheck.catalogue.metrics")

local parts = {}

--- Adds what the inventory is compared with: the policy's word, else the class majority's.
-- @param list limits of metric m, to fill
-- @param wanted from expect.of
-- @param of_class { parts, config } of the class that rates the node
-- @param rated_as its name, or nil
function parts.add_limit(list, m, wanted, of_class, rated_as)
   local right = wanted[m.name]
   local majority = of_class.parts and of_class.parts[m.name]
   if right then
      local among = type(right) == "table" and right or { right }
      list[#list + 1] = { bound = among[1], among = among, op = "=", source = "policy", action = wanted.action }
   elseif majority then
      list[#list + 1] = { bound = majority, among = { majority }, op = "=", source = "class " .. rated_as,
         majority = true, action = wanted.action }
   elseif m.setting then
      list[#list + 1] = { op = "=", source = rated_as and "class " .. rated_as, rated_as = rated_as,
         config = of_class.config, action = "warn" }
   end
end

-- A part of the inventory. One that is not known is not zero, and one
-- that exceeds the expectation is no defect: only a lack can fail.
local function rate_expected(m, value, limit)
   local out = { name = m.name, value = value, limit = limit.bound, op = limit.op, source = limit.source }
   local right, shown, lacks = false, {}, value ~= nil
   for i, one in ipairs(limit.among) do
      right = right or value == one
      lacks = lacks and value < one
      shown[i] = metrics.show(m, one, i == #limit.among)
   end
   local wanted = table.concat(shown, " or ")
   if value == nil then
      out.status, out.text = "unrated", ("%s not known here, expected %s"):format(m.label, wanted)
   elseif right then
      out.status, out.text = "pass", ("%s %s, as expected"):format(m.label, metrics.show(m, value, true))
   else
      out.status = lacks and limit.action == "fail" and "fail" or "warn"
      out.text = ("%s %s, %s %s"):format(m.label, metrics.show(m, value, true),
         limit.majority and "class majority" or "expected", wanted)
   end
   return out
end

-- Firmware's and other people's text.
local function clean(value)
   return (tostring(value):sub(1, 64):gsub("[^ -~]", "?"))
end

-- Settings that differ from those of most nodes of the class. What either does not
-- have is no difference.
local function rate_config(m, config, limit)
   local differ = {}
   for _, key in ipairs(baseline.SETTINGS) do
      local mine, theirs = config[key], limit.config and limit.config[key]
      if mine ~= nil and theirs ~= nil and tostring(mine) ~= tostring(theirs) then
         differ[#differ + 1] = ("%s %s (class majority %s)"):format(key, clean(mine), clean(theirs))
      end
   end
   return {
      name = m.name,
      status = #differ > 0 and "warn" or limit.config and next(limit.config) and "pass" or "unrated",
      value = #differ,
      source = limit.source,
      text = #differ > 0 and "config: " .. table.concat(differ, ", ") or "config as its class",
   }
end

-- A node that has become another one, or is none of those that the baseline knows.
local function rate_class(m, result, limit)
   local text = result.before and ("class %s, was %s at the last check"):format(clean(result.class),
      clean(result.before))
   if limit.rated_as and limit.rated_as == result.renamed then
      text = ("%s, in older versions %s, whose baseline only warns: syscheck baseline learn is due"):format(
         text or "class " .. clean(result.class), clean(limit.rated_as))
   elseif limit.rated_as and limit.rated_as ~= result.class then
      text = ("%s%s as %s"):format(text and text .. "; " or ("class %s not known, "):format(clean(result.class)),
         "rated", clean(limit.rated_as))
   end
   return { name = m.name, status = "warn", source = limit.source, text = text }
end

--- Rates one of the inventory's metrics.
-- @param result from parts.take
-- @param limit from parts.add_limit
function parts.rate(m, result, limit)
   if m.name == "class" then
      return rate_class(m, result, limit)
   elseif m.name == "config" then
      return rate_config(m, result.config, limit)
   end
   return rate_expected(m, result.value, limit)
end

--- The parts of an inventory that limits say something about, as results.
-- @param results to fill
-- @param history { class = of the last check }, or nil
function parts.take(results, inventory, limits, history)
   local class, config = limits.class[1], limits.config[1]
   -- A name that an update of syscheck changed is no other machine.
   local before = history and type(history.class) == "string" and history.class ~= inventory.class
      and history.class ~= inventory.class_before and history.class
   if class and (before or (class.rated_as and class.rated_as ~= inventory.class)) then
      results.class = { class = inventory.class, before = before or nil,
         renamed = inventory.class_before }
   end
   if config and config.config and next(config.config) then
      results.config = { config = inventory.config or {} }
   end
   for _, m in ipairs(metrics.LIST) do
      if m.expected and not m.setting and #limits[m.name] > 0 then
         local value = inventory[m.name]
         results[m.name] = { value = value ~= 0 and value or nil }
      end
   end
end

return parts
