--- Metrics as text that Prometheus reads (exposition format 0.0.4, what node_exporter's textfile collector takes).
-- Pure. No timestamps: that collector refuses a file that has any.
local unicode = require("syscheck.lib.unicode")

local prometheus = {}

local MAX_VALUE = 128 -- bytes of a label's value: machines call themselves what they like
local ESCAPES = { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }

local function number(v)
   local whole = math.tointeger(v)
   return whole and ("%d"):format(whole) or ("%.12g"):format(v)
end

-- `{level="quick",status="pass"}`; an empty value is the same as no label, so it is left out.
local function labels(sample)
   local list = {}
   for i = 1, #sample, 2 do
      local value = unicode.cut(unicode.repair(sample[i + 1]), MAX_VALUE)
      list[#list + 1] = value ~= "" and ('%s="%s"'):format(sample[i], value:gsub('[\\"\n]', ESCAPES)) or nil
   end
   return #list > 0 and "{" .. table.concat(list, ",") .. "}" or ""
end

--- @param families list of { name, type = "gauge" or "counter", help, samples = list of { value = number, then name and
--   value of each label in turn } }; one without samples is left out, and so is a sample that is no finite number:
--   absent is not zero
function prometheus.text(families)
   local out = {}
   for _, family in ipairs(families) do
      local lines = {}
      for _, sample in ipairs(family.samples) do
         local v = sample.value
         if v and v == v and math.abs(v) ~= math.huge then
            lines[#lines + 1] = ("%s%s %s\n"):format(family.name, labels(sample), number(v))
         end
      end
      if #lines > 0 then
         out[#out + 1] = ("# HELP %s %s\n# TYPE %s %s\n"):format(family.name, family.help:gsub('[\\\n]', ESCAPES),
            family.name, family.type)
         out[#out + 1] = table.concat(lines)
      end
   end
   return table.concat(out)
end

return prometheus
