--- What runs of `syscheck fabric` found of a node, from the store's detail; damage is nothing. Pure.
local sorted = require("syscheck.lib.sorted")

local finding = {}

local function text(value)
   return type(value) == "string" and value or nil
end

--- @param detail { findings, rail, between } of a record
-- @param status, says_record status and text of the record: beyond a limit, where nothing was found, is a finding, too
-- @return list of { rail, alltoall, switch, between = true: only such shows it,
--   key = the same in each run that finds it (a link of an uplink and links lost are one fault that
--   looks now like this, now like that), own = the node is at fault, leaf, from, to, dir (of files), text }
function finding.all(detail, status, says_record)
   local out, rail, between = {}, math.type(detail.rail) and math.tointeger(detail.rail), detail.between == true or nil
   for _, one in ipairs(type(detail.findings) == "table" and detail.findings or {}) do
      local kind, says = text(type(one) == "table" and one.kind or nil), text(type(one) == "table" and one.text or nil)
      if kind and says then
         local leaf, from, to = text(one.leaf), text(one.from), text(one.to)
         if from and to and to < from then
            from, to = to, from
         end
         local dir = text(one.dir)
         local on = not dir and rail or nil
         out[#out + 1] = { own = one.own == true, leaf = leaf, from = from, to = to, dir = dir, text = says, rail = on,
            alltoall = kind == "leaf_overloaded" or nil, switch = kind == "leaf_switch" or nil, between = between,
            key = table.concat({ (between and "between " or "") .. kind:gsub("^uplink_.*", "uplink"), leaf or "",
               from or "", to or "", dir or on }, " ") }
      end
   end
   if #out == 0 and (status == "warn" or status == "fail") and text(says_record) then
      out[1] = { own = true, text = says_record, rail = rail, key = "limits " .. (rail or "") }
   end
   return out
end

-- What is between shards is seen by a run between them, which rates no node, or by one that had all of them at once.
local function can_tell(f, run)
   if f.between and run.between then
      return true
   end
   return run.status ~= "unknown" and not (f.between and run.shard)
end

--- Whether a run that does not have a finding says that it is over: it measured the node by the same rail, compared its
-- leaf's uplink, switch or all-to-all, the pair met, or files were written in the same directory.
-- @param f of finding.all
-- @param node its name
-- @param run { status, rail, uplinks, switch, alltoall, shard, between, partners = list, io, as in the record }
function finding.is_over(f, node, run)
   if f.dir then
      return run.io == f.dir
   elseif run.rail ~= f.rail or not can_tell(f, run) then
      return false
   elseif f.alltoall then
      return run.alltoall == true
   elseif f.switch then
      return run.switch == true
   elseif f.leaf then
      return run.uplinks == true or run.between == true
   elseif not (f.from and f.to) then
      return true
   end
   local other = f.from == node and f.to or f.from
   for _, name in ipairs(type(run.partners) == "table" and run.partners or {}) do
      if name == other then
         return true
      end
   end
   return false
end

--- What a run looked at, as is_over takes it.
-- @param detail of its record in the store
function finding.looked(detail, status)
   return { status = status, rail = detail.rail, uplinks = detail.uplinks, switch = detail.switch,
      alltoall = detail.alltoall, shard = detail.shard, between = detail.between,
      partners = detail.partners, io = detail.io }
end

--- Goes on from what stood before a run.
-- @param open key -> { f = of all, text, since, last, runs }: what stood
-- @param run { time, findings = of all, is_over = function(f) -> true: the run, which does not find it, says so }
-- @return the same after it; list of those of `all` that are new; list of those that are over, in the order of keys
function finding.follow(open, run)
   local now, new, over = {}, {}, {}
   for _, f in ipairs(run.findings) do
      local before = open[f.key]
      now[f.key] = { f = f, text = f.text, since = before and before.since or run.time, last = run.time,
         runs = before and before.runs + 1 or 1 }
      new[#new + 1] = not before and f or nil
   end
   for _, key in ipairs(sorted(open)) do
      local before = open[key]
      if not now[key] and run.is_over(before.f) then
         over[#over + 1] = before.f
      else
         now[key] = now[key] or before
      end
   end
   return now, new, over
end

return finding
