--- The policy's keys: their defaults, what each may be.
-- Pure; runs on 5.1 to 5.4, because job_submit loads it.
local kinds = require("syscheck.policy.kinds")
local metrics = require("syscheck.catalogue.metrics")

local schema = {}

local number, one_of, path, list_of = kinds.number, kinds.one_of, kinds.path, kinds.list_of

--- What syscheck looks at itself where the policy names it: a list each, see policy/site.lua.
schema.SITE = { "filesystems", "files", "services", "processes", "links", "pcie", "clock", "leftovers", "load",
   "memory", "dmi" }

--- What holds where the file is silent. Also what a node falls back to when the
-- file cannot be used; therefore nothing here drains or measures.
schema.DEFAULTS = {
   mode = "observe",
   partitions = {
      ["*"] = { floor = "none", default = "passive", ceiling = "full" },
   },
   accounts = {},
   qos = {},
   shared = "passive",
   no_requeue = "cancel",
   limits = {},
   expect = {},
   tolerance = 0.10,
   budget = 0.01,
   max_drained = 0.10,
   window = 86400,
   resume_after = 2,
   health = { level = "quick", every = 86400, recheck = 300 },
   kernels = {},
   io_paths = {},
   deadline = { passive = 5, quick = 15, full = 60 },
   checks = {},
   traffic = { groups = false, perf = false },
   node_cpus = "threads",
   scontrol = "scontrol",
   spool_segment_mb = 8,
   spool_max_mb = 256,
   ship_keep_mb = 16,
   ship_timeout = 300,
   notify = { every = 60, timeout = 30, unknown_nodes = 3, unknown_share = 0.02 },
}

-- Those of logger(1), for records; the kernel's own is not for programs.
local FACILITIES = {}
for name in ("auth authpriv cron daemon ftp lpr mail news syslog user uucp"):gmatch("%l+") do
   FACILITIES[name] = true
end
for i = 0, 7 do
   FACILITIES["local" .. i] = true
end

--- Where `syscheck ship` moves a node's records to. @return nil when good, else what it must be
function schema.destination(v)
   local facility = type(v) == "string" and (v:match("^syslog:(%l[%l%d]*)$") or v:match("^syslog:(%l[%l%d]*)@/[^%c]+$"))
   if path(v) and v ~= "syslog" and not FACILITIES[facility] then
      return 'an absolute path or "syslog:FACILITY"'
   end
end

local function program(v)
   if type(v) ~= "string" or not v:match("^[%w/._+-]+$") then
      return "a program name or an absolute path"
   end
end

-- A program and its arguments, each as it is: no shell sees them.
local function command(v)
   local good, n = type(v) == "table" and path(v[1]) == nil, 0
   for _ in pairs(good and v or {}) do
      n = n + 1
   end
   for i = 1, n do
      good = good and type(v[i]) == "string" and #v[i] <= 1000 and not v[i]:find("%c")
   end
   if not good or n > 32 then
      return "a list of an absolute path and its arguments"
   end
end

local function node_cpus(v)
   if v ~= "threads" and v ~= "cores" and (type(v) ~= "number" or v < 1 or v % 1 ~= 0) then
      return '"threads", "cores" or a whole number of CPUs'
   end
end

-- Where the fleet's records go: a file, or a database without a password in its name.
local function store(v)
   if path(v) and (type(v) ~= "string" or #v > 1000 or not v:match("^%l+://[^%s%c]+$")) then
      return "an absolute path or a URL (postgresql://host/database)"
   end
end

local function group(v)
   if type(v) ~= "string" or not v:match("^[%w_][%w_.-]*$") or #v > 256 then
      return "a group's name"
   end
end

-- What the site calls this policy, in every record.
local function version(v)
   if type(v) ~= "string" or not v:match("^[%w._:+-]+$") or #v > 32 then
      return "a text of at most 32 letters, digits and . _ : + -"
   end
end

local a_level = one_of("none", "passive", "quick", "full")
local bounds = { floor = a_level, default = a_level, ceiling = a_level }
local limit = {
   min = number(0, 1e15),
   max = number(0, 1e15),
   tolerance = number(0, 1),
   action = one_of("fail", "warn", "off"),
   mode = one_of("observe", "enforce"),
}
-- A share of what peers do: 0.9, not 90.
local share_limit = { min = number(0, 1), action = limit.action, mode = limit.mode }
-- A counter has no kernel that could run a second time, so it never drains.
local counter_limit = { max = number(0, 1e15), action = one_of("warn", "off") }
-- Differences from the class are reported, or not.
local setting_limit = { action = one_of("warn", "off") }
local function box(v)
   if v ~= 0 and number(0.05, 30)(v) then
      return "0 (not run) or a number from 0.05 to 30"
   end
end

-- What a node has, of one value or of several that are right.
local function amount(v)
   local wrong = number(1, 1e9)
   for _, one in pairs(type(v) == "table" and #v > 0 and v or { v }) do
      if wrong(one) then
         return "a number from 1, or a list of such"
      end
   end
end

-- Keys of what is measured, and their defaults, as the catalogue has them.
local limits, kernels = {}, {}
local expected = { action = one_of("fail", "warn"), mode = one_of("observe", "enforce") }
for _, m in ipairs(metrics.LIST) do
   if m.setting then
      limits[m.name] = setting_limit
   elseif m.expected then
      expected[m.name] = amount
   else
      limits[m.name] = m.usual and share_limit or m.kernel and limit or counter_limit
   end
   schema.DEFAULTS.limits[m.name] = m.limit
end
for _, kernel in ipairs(metrics.KERNELS) do
   kernels[kernel.name], schema.DEFAULTS.kernels[kernel.name] = {}, kernel.seconds
   for at in pairs(kernel.seconds) do
      kernels[kernel.name][at] = box
   end
end

-- What most sites leave out is not loaded before each job.
local function later(key)
   return { ["*later"] = function()
      return require("syscheck.policy.site").KEYS[key]
   end }
end

schema.KEYS = {
   version = version,
   mode = one_of("observe", "enforce"),
   partitions = { ["*any"] = bounds },
   accounts = { ["*any"] = bounds },
   qos = { ["*any"] = bounds },
   shared = one_of("passive", "exclusive", "refuse"),
   no_requeue = one_of("cancel", "start", "requeue"),
   limits = limits,
   expect = { ["*any"] = expected },
   tolerance = number(0, 1),
   budget = number(0, 1),
   max_drained = number(0, 1),
   window = number(60, 31536000),
   resume_after = number(0, 1000),
   health = { level = one_of("none", "passive", "quick"), every = number(60, 31536000),
      recheck = number(1, 86400) },
   traffic = { groups = kinds.boolean, perf = kinds.boolean, sample_s = number(1, 3600) },
   kernels = kernels,
   io_paths = list_of(path, 8, "absolute paths"),
   -- The prolog entry's own bound is 74 s; what a deadline leaves is for scontrol.
   deadline = { passive = number(0.5, 30), quick = number(1, 60), full = number(1, 60) },
   baseline = path,
   store = store,
   store_group = group,
   spool = path,
   spool_segment_mb = number(0.01, 64),
   spool_max_mb = number(0.1, 65536),
   ship = schema.destination,
   ship_keep_mb = number(0, 65536),
   ship_timeout = number(1, 86400),
   notify = { program = command, every = number(0, 86400), timeout = number(1, 300),
      unknown_nodes = number(1, 1e6), unknown_share = number(0, 1) },
   state = path,
   run = path,
   lock = path,
   textfile = path,
   node_cpus = node_cpus,
   scontrol = program,
}
for _, key in ipairs(schema.SITE) do
   schema.KEYS[key] = later(key)
end
schema.KEYS.checks = later("checks")

return schema
