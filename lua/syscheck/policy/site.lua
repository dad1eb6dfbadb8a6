--- Keys of what a site wants looked at beyond kernels and counters: own checks, file systems, services and so on.
-- Loaded only where a policy has one of them. Pure; runs on 5.1 to 5.4, because job_submit loads it.
local kinds = require("syscheck.policy.kinds")

local site = {}

local number, one_of, path = kinds.number, kinds.one_of, kinds.path

local MOST = 64 -- of a list

local function text(v)
   if type(v) ~= "string" or v == "" or #v > 255 or v:find("%c") then
      return "a text"
   end
end

local function texts(v)
   return text(v) and kinds.list_of(text, 16, "texts")(v) and "a text, or a list of at most 16" or nil
end

-- What becomes an argument, and is no option there.
local function name(v)
   if type(v) ~= "string" or #v > 63 or not v:match("^[%w_@.:][%w_@.:+/-]*$") then
      return "a name of at most 63 letters, digits and _@.:+/-"
   end
end

-- A hostlist, in which * stands for any characters, ? for one; with ! all others.
local function nodes(v)
   if type(v) ~= "string" or #v > 4096 or not v:match("^!?[%w_.*?,%[%]-]+$") then
      return 'a list of nodes: "n[1-4],gpu*"'
   end
end

local function user(v)
   if number(0, 4294967294)(v) and (type(v) ~= "string" or not v:match("^[%w_][%w_.-]*$") or #v > 64) then
      return "a user's name (of /etc/passwd) or number"
   end
end

local function mode_bits(v)
   if type(v) ~= "string" or not v:match("^0?[0-7][0-7][0-7][0-7]?$") then
      return 'an octal mode in quotes: "0644"'
   end
end

local function level(v)
   local wrong = one_of("passive", "quick", "full")
   return wrong(v) and kinds.list_of(wrong, 3, "levels")(v) and 'a level from which on it runs, or a list of levels'
      or nil
end

local COMMON = { action = one_of("fail", "warn", "off"), mode = one_of("observe", "enforce"), nodes = nodes }

-- A list of tables.
local function list(must, keys, may_be_name)
   for key, rule in pairs(COMMON) do
      keys[key] = keys[key] or rule
   end
   return { ["*list"] = keys, ["*must"] = must, ["*most"] = MOST, ["*name"] = may_be_name }
end

local share, amount = number(0, 100), number(0, 1e15)
local limit = { min = number(-1e15, 1e15), max = number(-1e15, 1e15), action = COMMON.action }

site.KEYS = {
   checks = { ["*any"] = { levels = level, seconds = number(0.1, 30), limits = { ["*any"] = limit },
      action = COMMON.action, mode = COMMON.mode, nodes = nodes } },
   filesystems = list({ "path" }, { path = path, type = texts, source = text, option = texts, writable = kinds.boolean,
      free_pct = share, free_gib = amount, inodes_pct = share, inodes = amount, mount = kinds.boolean }),
   files = list({ "path" }, { path = path, type = one_of("file", "directory", "character", "block", "fifo", "socket",
      "absent"), mode = mode_bits, owner = user, group = number(0, 4294967294), min_size = amount, newer_s = amount }),
   services = list({ "name" }, { name = name }, true),
   processes = list({ "name" }, { name = name, user = user, min = number(0, 1e6), max = number(0, 1e6) }, true),
   links = list({ "name" }, { name = name, rate = number(0, 1e6) }, true),
   pcie = list({ "kind" }, { kind = one_of("gpu", "infiniband", "ethernet", "nvme"), count = number(0, 1024),
      width = number(1, 64), speed = number(0, 1000) }),
   clock = list({}, { max_error_ms = amount }),
   leftovers = list({}, { min_uid = number(1, 4294967294), except = kinds.list_of(user, 64, "users") }),
   load = list({}, { one = amount, five = amount, fifteen = amount }),
   memory = list({}, { free_gib = amount, swap_gib = amount, swap_free_gib = amount }),
   dmi = list({ "name", "value" }, { name = one_of("bios_vendor", "bios_version", "bios_date", "bios_release",
      "board_name", "board_vendor", "board_version", "ec_firmware_release", "product_family", "product_name",
      "product_version", "sys_vendor"), value = texts }),
}

return site
