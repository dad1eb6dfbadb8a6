--- Text for people: the user's line, tables. Names come from users: escaped here.
local level = require("syscheck.level")
local metrics = require("syscheck.metrics")

local render = {}

--- Any string as printable ASCII, at most max characters.
function render.safe(value, max)
   return level.show(tostring(value), max or 64)
end

-- "triad 61.3 GB/s", with the limit where it was broken; "n/a" where unmeasured.
local function part(m, rated)
   if rated.value == nil then
      return m.label .. (rated.corrupt and " WRONG RESULT" or " n/a")
   end
   local text = m.label .. " " .. metrics.show(m, rated.value, true)
   if (rated.status == "fail" or rated.status == "warn") and rated.limit and m.kernel then
      text = ("%s (limit %s)"):format(text, metrics.show(m, rated.limit))
   end
   return text
end

--- One line on a node's check, for its user.
-- @param node name
-- @param result from check.run
-- @param note why it is not what the user asked for, or nil
function render.line(node, result, note)
   local parts = {}
   for _, rated in ipairs(result.metrics) do
      local m = metrics.BY_NAME[rated.name]
      -- A node that has what it should have is not worth a user's line.
      if not m.expected then
         parts[#parts + 1] = part(m, rated)
      elseif rated.status ~= "pass" and rated.status ~= "unrated" then
         parts[#parts + 1] = rated.text
      end
   end
   local text = ("syscheck: %s %s %s"):format(render.safe(node), result.level, result.status)
   if #parts > 0 then
      text = text .. "  " .. table.concat(parts, "  ")
   end
   if note then
      text = text .. "  (" .. note .. ")"
   end
   return text
end

--- A table with aligned columns; numbers and "-" to the right.
-- @param rows list of lists of strings; the first is the head
function render.table(rows)
   local widths = {}
   for _, row in ipairs(rows) do
      for i, cell in ipairs(row) do
         widths[i] = math.max(widths[i] or 0, #cell)
      end
   end
   local lines = {}
   for _, row in ipairs(rows) do
      local cells = {}
      for i, cell in ipairs(row) do
         local right = rows[2] and (rows[2][i] or ""):match("^[%d.-]+$")
         cells[i] = right and (" "):rep(widths[i] - #cell) .. cell or cell .. (" "):rep(widths[i] - #cell)
      end
      lines[#lines + 1] = (table.concat(cells, "  "):gsub("%s+$", ""))
   end
   return table.concat(lines, "\n")
end

return render
