#!/usr/bin/env lua5.4
--- Makes the dashboards and alert rules of dashboards.lua and alerts.lua.
--   lua5.4 etc/grafana/make.lua           writes etc/grafana/*.json, etc/prometheus/syscheck.rules.yml
--   lua5.4 etc/grafana/make.lua --check   exit 1 where one of them is not what it would write (make lint)
local DIR = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = DIR .. "/?.lua;" .. DIR .. "/../../lua/?.lua"
local output = require("syscheck.lib.output")
local sorted = require("syscheck.lib.sorted")

local LIST = output.list
local SCHEMA = 37 -- Grafana 9's
local WIDTH = 24

local STORE = { type = "postgres", uid = "${store}" }
local PROMETHEUS = { type = "prometheus", uid = "${prometheus}" }

-- Variables that a dashboard may have; the data sources are chosen, so no dashboard knows a site's.
local function chosen(label, name, kind)
   return { name = name, label = label, type = "datasource", query = kind, refresh = 1, hide = 0, regex = "",
      multi = false, includeAll = false, options = LIST() }
end

local function values(name, query, more)
   local one = { name = name, label = name, type = "query", datasource = PROMETHEUS, definition = query,
      query = { query = query, refId = name }, refresh = 2, sort = 1, hide = 0, regex = "", multi = false,
      includeAll = false, options = LIST() }
   for key, value in pairs(more or {}) do
      one[key] = value
   end
   return one
end

-- Any of them, at first all.
local ANY = { multi = true, includeAll = true, current = { selected = true, text = { "All" }, value = { "$__all" } } }
local VARIABLES = {
   cluster = values("cluster", "label_values(syscheck_fleet_nodes, cluster)", ANY),
   class = values("class", "label_values(syscheck_info, class)", ANY),
   node = values("node", "label_values(syscheck_info, instance)", { regex = "/^([^.:]+)/" }),
}

-- Columns of tables that are no plain numbers or texts.
local COLUMNS = { time = { unit = "dateTimeAsIso", width = 180 }, elapsed_s = { unit = "s" },
   usual_s = { unit = "s" },
   lost_s = { unit = "s" }, lost_node_s = { unit = "s" }, throttled_s = { unit = "s" },
   waited_for_io_s = { unit = "s" }, bandwidth = { unit = "Bps" }, lowest_bandwidth = { unit = "Bps" },
   dgemm = { unit = "flops" }, lowest_dgemm = { unit = "flops" }, noise = { unit = "percentunit" },
   share = { unit = "percentunit" },
   job_id = { unit = "none" }, times_usual = { unit = "none", decimals = 2 },
   node = { links = { { title = "node", url = "/d/syscheck-node/syscheck-node?var-node=${__value.raw}" } } } }
local COLORS = { fail = "red", unknown = "purple", warn = "orange", pass = "green", unrated = "blue" }
local STATUSES = { "fail", "unknown", "warn", "pass", "unrated" }

local function override(name, properties)
   local list = LIST()
   for _, id in ipairs({ "unit", "decimals", "links", "color", "custom.width" }) do
      list[#list + 1] = properties[id] and { id = id, value = properties[id] } or nil
   end
   return { matcher = { id = "byName", options = name }, properties = list }
end

local function overrides(panel)
   local list = LIST()
   for _, status in ipairs(panel.by_status and STATUSES or {}) do
      list[#list + 1] = override(status, { color = { mode = "fixed", fixedColor = COLORS[status] } })
   end
   -- In the order of the query's columns.
   local seen = {}
   for name in (panel.sql or ""):gmatch("[%w_]+") do
      local is = not seen[name] and COLUMNS[name]
      seen[name] = true
      list[#list + 1] = is and override(name, { unit = is.unit, decimals = is.decimals, links = is.links,
         ["custom.width"] = is.width }) or nil
   end
   return list
end

local LAST = { calcs = { "lastNotNull" }, fields = "", values = false }
local OPTIONS = {
   stat = function(panel)
      return { reduceOptions = LAST, colorMode = "value", graphMode = "none", justifyMode = "auto",
         orientation = "auto", textMode = panel.name and "name" or "auto" }
   end,
   bargauge = function()
      return { reduceOptions = LAST, displayMode = "basic", orientation = "horizontal", showUnfilled = true }
   end,
   timeseries = function()
      return { legend = { displayMode = "list", placement = "bottom", showLegend = true, calcs = LIST() },
         tooltip = { mode = "multi", sort = "desc" } }
   end,
   table = function()
      return { showHeader = true, footer = { show = false, reducer = { "sum" } } }
   end,
   text = function(panel)
      return { mode = "markdown", content = panel.text }
   end,
}

local function thresholds(panel)
   local steps = { { color = "green", value = -math.huge } } -- null in JSON
   steps[2] = panel.bad and { color = "red", value = panel.bad } or nil
   return { mode = "absolute", steps = steps }
end

local function custom(panel)
   if panel.type == "timeseries" then
      return { drawStyle = "line", lineWidth = 1, fillOpacity = panel.stack and 30 or 0, spanNulls = false,
         showPoints = panel.points and "auto" or "never",
         stacking = { mode = panel.stack and "normal" or "none", group = "A" } }
   elseif panel.type == "table" then
      return { align = "auto", displayMode = "auto", filterable = true }
   end
end

local function targets(panel)
   local list = LIST()
   -- rawSql is PostgreSQL's and MariaDB's, queryText SQLite's (docs/metrics.md).
   list[1] = panel.sql and { refId = "A", datasource = STORE, format = "table", rawQuery = true, editorMode = "code",
      rawSql = panel.sql, queryText = panel.sql, rawQueryText = panel.sql, queryType = "table", timeColumns = LIST() }
   for _, query in ipairs(panel) do
      local range = panel.type == "timeseries"
      list[#list + 1] = { refId = string.char(65 + #list), datasource = PROMETHEUS, editorMode = "code",
         expr = query[1], legendFormat = query[2] or "", range = range, instant = not range, format = "time_series" }
   end
   return list
end

local function make_panel(panel, id, x, y)
   return { id = id, title = panel.title, description = panel.what, type = panel.type,
      gridPos = { x = x, y = y, w = panel.w, h = panel.h }, datasource = panel.sql and STORE or panel[1] and PROMETHEUS,
      targets = targets(panel), options = OPTIONS[panel.type](panel),
      fieldConfig = { overrides = overrides(panel), defaults = { unit = panel.unit, min = panel.stack and 0 or nil,
         color = panel.type == "timeseries" and { mode = "palette-classic" } or { mode = "thresholds" },
         custom = custom(panel), thresholds = thresholds(panel) } } }
end

local function make_dashboard(given)
   local panels, x, y, tallest, has = LIST(), 0, 0, 0, {}
   for i, panel in ipairs(given) do
      if x + panel.w > WIDTH then
         x, y, tallest = 0, y + tallest, 0
      end
      panels[i] = make_panel(panel, i, x, y)
      x, tallest = x + panel.w, math.max(tallest, panel.h)
      has.prometheus, has.store = has.prometheus or panel[1], has.store or panel.sql
   end
   local variables = LIST()
   variables[1] = has.prometheus and chosen("Prometheus", "prometheus", "prometheus") or nil
   variables[#variables + 1] = has.store and chosen("Store", "store", "postgres") or nil
   for _, name in ipairs(given.variables) do
      variables[#variables + 1] = VARIABLES[name]
   end
   return { uid = "syscheck-" .. given.uid, title = "syscheck: " .. given.title, tags = { "syscheck" },
      schemaVersion = SCHEMA, version = 1, editable = true, graphTooltip = 1, refresh = "5m", timezone = "",
      time = { from = "now-7d", to = "now" }, templating = { list = variables }, annotations = { list = LIST() },
      links = { { type = "dashboards", title = "syscheck", tags = { "syscheck" }, asDropdown = true,
         includeVars = false, keepTime = true, targetBlank = false } },
      panels = panels }
end

-- JSON, two spaces a level, keys sorted.
local function pretty(value, indent)
   if type(value) ~= "table" or next(value) == nil then
      return output.json(value)
   end
   local inner, parts, is_list = indent .. "  ", {}, value[1] ~= nil
   for i, key in ipairs(is_list and value or sorted(value)) do
      parts[i] = is_list and inner .. pretty(key, inner)
         or ("%s%s: %s"):format(inner, output.json(key), pretty(value[key], inner))
   end
   return ("%s\n%s\n%s%s"):format(is_list and "[" or "{", table.concat(parts, ",\n"), indent, is_list and "]" or "}")
end

-- A text of one line, as YAML has it without escapes.
local function quoted(text)
   return "'" .. text:gsub("'", "''") .. "'"
end

local function make_rules(alerts)
   local out = { "# Alert rules: load by rule_files in prometheus.yml. Made by etc/grafana/make.lua of alerts.lua.",
      "groups:", "- name: syscheck", "  rules:" }
   local function line(text, ...)
      out[#out + 1] = text:format(...)
   end
   for _, alert in ipairs(alerts) do
      line("  - alert: %s", alert.name)
      line("    expr: %s", quoted(alert.expr))
      line("    for: %s", alert.after)
      line("    labels:")
      line("      severity: %s", alert.severity)
      for name, value in pairs(alert.labels or {}) do
         line("      %s: %s", name, quoted(value))
      end
      line("    annotations:")
      line("      summary: %s", quoted(alert.summary))
      line("      description: %s", quoted(alert.description))
   end
   return table.concat(out, "\n") .. "\n"
end

local function files()
   local out = { [DIR .. "/../prometheus/syscheck.rules.yml"] = make_rules(require("alerts")) }
   for _, dashboard in ipairs(require("dashboards")) do
      out[("%s/%s.json"):format(DIR, dashboard.uid)] = pretty(make_dashboard(dashboard), "") .. "\n"
   end
   return out
end

local function read(path)
   local file = io.open(path)
   local text = file and file:read("a")
   if file then
      file:close()
   end
   return text
end

local old = 0
for path, text in pairs(files()) do
   if arg[1] ~= "--check" then
      local file = assert(io.open(path, "w"))
      assert(file:write(text))
      assert(file:close())
   elseif read(path) ~= text then
      io.stderr:write(path, ": not what its definition says; run lua5.4 etc/grafana/make.lua\n")
      old = old + 1
   end
end
os.exit(old == 0 and 0 or 1)
