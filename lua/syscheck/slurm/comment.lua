--- Writes into a job's AdminComment which of its nodes were drained. The user's own Comment
-- is never touched.
local uv = require("luv")
local hostlist = require("syscheck.slurm.hostlist")
local printable = require("syscheck.lib.printable")
local storm = require("syscheck.slurm.storm")

local comment = {}

local SEPARATOR = " | "
local MAX_LENGTH = 1000 -- of the comment after which no more nodes are added
local MORE = "more nodes: sinfo -R"
local CALL_S, TRIES = 10, 4

--- What names one job alone. By the ID of a whole array or heterogeneous job, which is also
-- that of one of its parts, scontrol shows all of them, and an update changes all.
-- @param shown what `scontrol show job ID` prints
-- @return "4711_3", "4711+0", or the ID
function comment.name(shown, id)
   shown = "\n\n" .. shown
   local task = shown:match("\n\nJobId=" .. id .. " ArrayJobId=" .. id .. " ArrayTaskId=(%d+) ")
   local part = shown:match("\n\nJobId=" .. id .. " HetJobId=" .. id .. " HetJobOffset=(%d+) ")
   return task and id .. "_" .. task or part and id .. "+" .. part or id
end

--- The AdminComment in what `scontrol show job` prints.
-- @return text, "" without one; nil when it cannot be read for certain (a comment of several
--   lines, a job name that forges one): then it must not be overwritten
function comment.find(shown)
   local _, count = shown:gsub("\n *AdminComment=", "")
   if count == 0 then
      return shown:find("^JobId=%d") and "" or nil
   end
   local text, rest = shown:match("\n *AdminComment=([^\n]*)\n?(.*)$")
   if count > 1 or (rest:find("%S") and not rest:find("^%s*%u%w+[:/%w]*=")) then
      return nil
   end
   return printable.trimmed(text)
end

--- The comment with what it lacks of these entries; the same text when it lacks none.
function comment.add(text, entries)
   for _, entry in ipairs(entries) do
      if not text:find(entry, 1, true) then
         if #text + #entry > MAX_LENGTH then
            return text:find(MORE, 1, true) and text or text .. SEPARATOR .. MORE
         end
         text = text .. (text ~= "" and SEPARATOR or "") .. entry
      end
   end
   return text
end

--- What to write: of the job's nodes, those that stay drained for certain, up to this one
-- in the order. Whoever writes last then writes for the others, too.
function comment.entries(job, nodes, me)
   local mine, list = {}, {}
   for _, name in ipairs(hostlist.expand(job.nodelist or "") or {}) do
      mine[name] = true
   end
   for _, node in ipairs(nodes) do
      if node.ours and node ~= me and mine[node.name] and node.time and node.time >= me.time - 120
         and (node.time < me.time or (node.time == me.time and node.name < me.name)) then
         list[#list + 1] = node
      end
   end
   table.sort(list, function(a, b)
      return a.time ~= b.time and a.time < b.time or a.time == b.time and a.name < b.name
   end)
   list[#list + 1] = me
   for i, node in ipairs(list) do
      list[i] = ("syscheck drained %s: %s"):format(node.name, (node.reason:sub(#storm.PREFIX + 1):gsub("^%s+", "")))
   end
   return list
end

--- Writes it. Slurm has no append that two nodes could use at the same time
-- ("AdminComment+=" replaces, 22.05 to 26.05), so: read, add, write, and read again
-- until it is there.
-- @param calls see drain.lua
-- @return nil, or why it was not written
function comment.write(calls, job, nodes, me)
   local entries = comment.entries(job, nodes, me)
   local id = ("%d"):format(job.id)
   local name = id
   for _ = 1, TRIES do
      local shown, err = calls:scontrol({ "show", "job", name }, CALL_S)
      if shown and name == id then
         name = comment.name(shown, id)
         if name ~= id then
            shown, err = calls:scontrol({ "show", "job", name }, CALL_S)
         end
      end
      if not shown then
         return err
      end
      local text = comment.find(shown)
      if not text then
         return "the job's AdminComment cannot be read for certain"
      end
      local wanted = comment.add(text, entries)
      if wanted == text then
         return nil
      end
      local ok
      ok, err = calls:scontrol({ "update", "jobid=" .. name, "admincomment=" .. wanted }, CALL_S)
      if not ok then
         return err
      end
      -- Longer than another node takes from its reading to its writing.
      uv.sleep(math.random(200, 600))
   end
   return "overwritten by others again and again"
end

return comment
