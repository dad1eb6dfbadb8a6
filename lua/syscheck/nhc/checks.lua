--- NHC's checks, one function each: what of it the policy can say. Pure.
--
-- Each takes a line's words and a table to fill, and returns nil, or why it could not be taken:
--   items    list of { key of the policy, item }
--   notes    list of what of the line is not taken
--   script   text for checks.d; todo: the same, and a hand is needed
local line = require("syscheck.nhc.line")
local scripts = require("syscheck.nhc.scripts")

local checks = {}

local options, not_known = line.options, line.not_known

-- A match string that is a plain text; nil: it is a pattern.
local function plain(text)
   return text and not text:find("^/.*/$") and not text:find("^[!{]") and not text:find("[*?%[]") and text or nil
end

local function add(out, key, item)
   table.insert(out.items, { key, item })
end

local function note(out, text, ...)
   table.insert(out.notes, text:format(...))
end

-- A bracketed expression for one mount option, as NHC's own example has it: /(^|,)vers=3(,|$)/
local function option_of(text)
   return plain(text) or text:match("^/%(%^|,%)([%w_=.]+)%(,|%$%)/$") or text:match("^/([%w_=.]+)/$")
end

local function mount(words, out, writable)
   local o, rest = options(words, "tsoOeEfF", "0rR")
   if not o then
      return not_known(rest)
   end
   local paths = {}
   for _, list in ipairs({ o.f or {}, o.F or {} }) do
      table.move(list, 1, #list, #paths + 1, paths)
   end
   -- The old form: mount point, source, type, options.
   if #paths == 0 then
      paths = { rest[1] }
      o.s, o.t, o.o = o.s or rest[2] and { rest[2] }, o.t or rest[3] and { rest[3] }, o.o or rest[4] and { rest[4] }
   else
      table.move(rest, 1, #rest, #paths + 1, paths)
   end
   for _, path in ipairs(paths) do
      if path:sub(1, 1) ~= "/" then
         return "no mount point to look at"
      end
      local item = { path = path, writable = writable, action = o["0"] and "warn" or nil }
      item.type = o.t and plain(o.t[1])
      item.source = o.s and plain(o.s[1])
      item.option = o.o and option_of(o.o[1])
      add(out, "filesystems", item)
      for _, pair in ipairs({ { "t", "type" }, { "s", "source" }, { "o", "option" } }) do
         if o[pair[1]] and not item[pair[2]] then
            note(out, "the %s %s is a pattern: not taken", pair[2], o[pair[1]][1])
         end
      end
   end
   if o.r or o.R or o.e or o.E then
      note(out, "nothing is mounted or run by a check")
   end
   return #paths == 0 and "no mount point to look at" or nil
end

function checks.check_fs_mount(words, out)
   return mount(words, out)
end

function checks.check_fs_mount_rw(words, out)
   return mount(words, out, true)
end

function checks.check_fs_mount_ro(words, out)
   return mount(words, out, false)
end

-- Of what is left: NHC takes devices for mount points, too.
local function left(words, out, is_used, of_inodes)
   local path, text = words[2], words[3]
   if not path or path:find("^/dev/") and not path:find("^/dev/shm") or path:sub(1, 1) ~= "/" then
      return "give the mount point instead of " .. tostring(path)
   end
   local n, unit
   if of_inodes and not (text or ""):find("%%$") then
      n, unit = line.count(text), ""
   else
      n, unit = line.size(text)
   end
   if not n or is_used and unit ~= "%" then
      return ("%s: only a share of it can be said"):format(tostring(text))
   end
   local field = of_inodes and (unit == "%" and "inodes_pct" or "inodes") or unit == "%" and "free_pct" or "free_gib"
   add(out, "filesystems", { path = path, mount = false, [field] = is_used and 100 - n or n })
end

function checks.check_fs_free(words, out)
   return left(words, out)
end

function checks.check_fs_used(words, out)
   return left(words, out, true)
end

function checks.check_fs_ifree(words, out)
   return left(words, out, false, true)
end

function checks.check_fs_iused(words, out)
   return left(words, out, true, true)
end

function checks.check_hw_cpuinfo(words, out)
   out.expect = { packages = tonumber(words[2]), cores = tonumber(words[3]), threads = tonumber(words[4]) }
   return not next(out.expect) and "no number" or nil
end

-- A size in GiB; nil: none, or a share, which NHC has none of.
local function gib(text)
   local n, unit = line.size(text)
   return unit == "GiB" and n or nil
end

function checks.check_hw_physmem(words, out)
   local low, high = gib(words[2]), gib(words[3])
   if not low or words[3] and not high then
      return "no size"
   elseif low < 1 then
      return "any size is good; the class's majority is what a node is compared with", true
   end
   -- As sold: the kernel keeps some of it for itself, which both allow for.
   if low % 1 ~= 0 or high and high % 1 ~= 0 then
      return "memory is compared as it is sold: memory_gib = ... in expect, see `syscheck run`"
   end
   out.expect = { memory_gib = high and high ~= low and { low, high } or low }
   note(out, "memory is compared as it is sold, no fudge is needed")
end

local function memory(field, of)
   return function(words, out)
      local low = gib(words[2])
      if not low then
         return ("%s is no size: give GiB"):format(tostring(words[2]))
      elseif low == 0 then
         return "any size is good", true
      end
      if words[4] then -- its fudge: a share, or a size
         local fudge, unit = line.size(words[4])
         if not fudge then
            return ("%s is no size"):format(words[4])
         end
         low = math.max(0, (unit == "%" and low / (1 + fudge / 100) or low - fudge) * 100 // 1 / 100)
      end
      add(out, "memory", { [field] = low, action = "fail" })
      if of then
         note(out, of)
      end
   end
end

checks.check_hw_physmem_free = memory("free_gib", "what is available counts, not only what is free")
checks.check_hw_mem_free = memory("free_gib", "of memory, without swap")
checks.check_hw_swap = memory("swap_gib", "more swap than that is no fault")
checks.check_hw_swap_free = memory("swap_free_gib")

function checks.check_hw_ib(words, out)
   local rate = tonumber(words[2])
   if not rate then
      return "no rate"
   end
   local name = words[3] and words[3]:gsub(":", "/") or "infiniband"
   add(out, "links", { name = name, rate = rate })
end

function checks.check_hw_eth(words, out)
   if not words[2] then
      return "no device"
   end
   add(out, "links", { name = words[2] })
   note(out, "ours has to be up, too")
end

function checks.check_ipoib_up(words, out)
   return checks.check_hw_eth(words, out)
end

-- Of DeepOps' and Azure's own checks, what the policy can say.
local function of_pcie(kind, field)
   return function(words, out)
      local n = tonumber(words[2])
      if not n or words[3] then
         return "no number, or more than one"
      end
      add(out, "pcie", { kind = kind, [field] = n })
   end
end

checks.check_gpu_count, checks.check_nv_gpu_count = of_pcie("gpu", "count"), of_pcie("gpu", "count")
checks.check_nv_pcie_link_width, checks.check_num_nvme_devices = of_pcie("gpu", "width"), of_pcie("nvme", "count")

function checks.check_num_numa_nodes(words, out)
   out.expect = { numa_nodes = tonumber(words[2]) }
   return not next(out.expect) and "no number" or nil
end

function checks.check_hw_mcelog()
   return "machine checks and each DIMM's errors are counted for every job", true
end

function checks.check_hw_gm()
   return "Myrinet has no equal"
end

function checks.check_ps_service(words, out)
   local o, rest = options(words, "udmeE", "0fSrcsk")
   local name = o and (o.d and o.d[1] or rest[1])
   local user = o and o.u and o.u[1]
   if not o then
      return not_known(rest)
   elseif not name or o.m or o.f or (user and not plain(user)) then
      return "a pattern, a whole command line or a negated user has no equal"
   end
   add(out, "processes", { name = name, user = user, max = (o.s or o.k) and 0 or nil,
      action = o["0"] and "warn" or nil })
   if o.S or o.r or o.c or o.s or o.k or o.e or o.E then
      note(out, "nothing is started or ended by a check: systemd's Restart= does that")
   end
end

function checks.check_ps_daemon(words, out)
   if not words[2] or words[4] then
      return "no name, or arguments, which have no equal"
   end
   add(out, "processes", { name = words[2], user = words[3] })
end

function checks.check_ps_blacklist(words, out)
   if not words[2] or words[4] or words[3] and not plain(words[3]) then
      return "a negated user or arguments have no equal"
   end
   add(out, "processes", { name = words[2], user = words[3], max = 0 })
end

function checks.check_ps_loadavg(words, out)
   local item = { one = tonumber(words[2]), five = tonumber(words[3]), fifteen = tonumber(words[4]), action = "fail" }
   if not (item.one or item.five or item.fifteen) then
      return "no number"
   end
   add(out, "load", item)
end

function checks.check_ps_kswapd()
   return "what waits for memory is counted for every job (reclaim), noise names who takes CPUs", true
end

local function leftovers(words, out)
   local dies = #words == 1
   for i = 2, #words do
      dies = dies or words[i] == "die"
      if words[i] == "kill" then
         note(out, "nothing is killed by a check")
      end
   end
   add(out, "leftovers", { action = dies and "fail" or nil })
end

checks.check_ps_unauth_users, checks.check_ps_userproc_lineage = leftovers, leftovers

local KINDS = { f = "file", d = "directory", c = "character", b = "block", p = "fifo", S = "socket" }

function checks.check_file_test(words, out)
   local o, rest = line.paths(words, "", "abcdefghkprstuwxOGLSN")
   if not o then
      return rest
   end
   for _, path in ipairs(rest) do
      local item = { path = path, min_size = o.s and 1 or nil, owner = o.O and "root" or nil, group = o.G and 0 or nil }
      for letter, kind in pairs(KINDS) do
         item.type = o[letter] and kind or item.type
      end
      add(out, "files", item)
   end
   for _, letter in ipairs({ "g", "h", "k", "t", "u", "L", "N" }) do
      if o[letter] then
         note(out, "-%s is not taken (see mode)", letter)
      end
   end
   if o.r or o.w or o.x then
      note(out, "-r, -w, -x are true for root")
   end
end

function checks.check_file_stat(words, out)
   local o, rest = line.paths(words, "DGMNOTUdgmnotu", "")
   if not o then
      return rest
   end
   local user = o.U and o.U[1] or o.u and tonumber(o.u[1])
   for _, path in ipairs(rest) do
      add(out, "files", { path = path, mode = o.m and o.m[1], owner = user, group = o.g and tonumber(o.g[1]),
         newer_s = o.n and tonumber(o.n[1]) })
   end
   for _, letter in ipairs({ "D", "G", "M", "N", "O", "T", "d", "o", "t" }) do
      if o[letter] then
         note(out, "-%s is not taken", letter)
      end
   end
end

function checks.check_file_contents(words, out)
   if not words[3] then
      return "no pattern"
   end
   out.script = scripts.contents(out.from, words[2], { table.unpack(words, 3) })
end

-- Options before a command, which may have options of its own.
local function command(words, out)
   local c, at = { seconds = 5, matches = {}, words = {} }, 2
   while words[at] and words[at]:find("^%-[trme]$") do
      local letter, value = words[at]:sub(2), words[at + 1] or ""
      if letter == "t" or letter == "r" then
         local n = tonumber(value)
         if not n or n < 0 or n > 1e6 then
            return ("%s %s is no number of use"):format(words[at], value)
         end
         c[letter == "t" and "seconds" or "status"] = tonumber(value)
      elseif letter == "m" then
         table.insert(c.matches, value)
      else
         for word in value:gmatch("%S+") do
            table.insert(c.words, word)
         end
      end
      at = at + 2
   end
   table.move(words, at, #words, #c.words + 1, c.words)
   if #c.words == 0 or words[at] and words[at]:find("^%-") then
      return not_known(words[at] or "without a command")
   end
   c.status = c.status and c.status // 1 | 0
   out.script, out.seconds = scripts.command(out.from, c), math.min(c.seconds + 1, 30)
end

checks.check_cmd_status, checks.check_cmd_output = command, command

function checks.check_net_ping(words, out)
   local o, rest = options(words, "iIWstcw", "")
   if not o or #rest == 0 or o.s or o.i or (o.I and not o.I[1]:find("^[%w_.:@-]+$")) then
      return o and "a host, and -I with a device: the rest has no equal" or not_known(rest)
   elseif o.W or o.t or o.c or o.w then
      note(out, "-W, -t, -c, -w are not taken: one packet, 1 s, and once more")
   end
   out.script, out.seconds = scripts.ping(out.from, rest, o.I and o.I[1]), math.min(2 + 2 * #rest, 30)
end

local DMI = { ["BIOS Information: Version"] = "bios_version", ["BIOS Information: Vendor"] = "bios_vendor",
   ["BIOS Information: Release Date"] = "bios_date", ["System Information: Product Name"] = "product_name",
   ["System Information: Manufacturer"] = "sys_vendor", ["System Information: Version"] = "product_version",
   ["Base Board Information: Product Name"] = "board_name", ["Base Board Information: Version"] = "board_version",
   ["Base Board Information: Manufacturer"] = "board_vendor" }

function checks.check_dmi_data_match(words, out)
   local field, value = (words[2] or ""):match("^(.-): ([^:]*)$")
   if #words ~= 2 or not DMI[field or ""] or not plain(value) then
      return "the firmware's text that the kernel does not keep (or a pattern); dimms and memory are compared by expect"
   end
   add(out, "dmi", { name = DMI[field], value = value })
end

return checks
