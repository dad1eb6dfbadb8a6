--- Writes into a job's AdminComment which of its nodes were drained. The user's own Comment
-- is never touched.
local uv = require("luv")
local hostlist = require("syscheck.lib.hostlist")
local printable = require("syscheck.lib.printable")
local storm = require("syscheck.slurm.storm")

local comment = {}

local SEPARATOR = " | "
local MAX_LENGTH = 1000 -- of the comment after which no more nodes are added
local MORE = "more nodes: sinfo -R"
local CALL_S, TRIES = 10, 4

-- Nothing in this answer is a user's text: in that of scontrol a job whose name has lines of its
-- own writes an AdminComment like root. :0 is a field whole and unpadded.
local FORMAT = "JobID:12,ArrayJobID:12,ArrayTaskID:12,HetJobID:12,HetJobOffset:12,admin_comment:0"
local COLUMNS, WIDTH, TASK = 5, 12, 3
local NONE = "(null)" -- what printf makes of no comment

-- { job, array, task, het, offset; text = comment } of a line; nil where it is not one of FORMAT
local function row_of(line)
   local row = { text = line:sub(COLUMNS * WIDTH + 1) }
   for i = 1, COLUMNS do
      local field = line:sub((i - 1) * WIDTH + 1, i * WIDTH):match("^(.-) *$")
      -- Of an array that waits: "3-9".
      row[i] = (field == "N/A" or field:find(i == TASK and "^%d%S*$" or "^%d+$")) and field
      if not row[i] then
         return nil
      end
   end
   return row
end

--- A job in what squeue shows of it: a row for each task of an array and each component of a
-- heterogeneous job.
-- @param shown rows of FORMAT
-- @param id of the job, digits
-- @return what names this job alone, "4711_3", "4711+0" or the ID: by the ID of a whole array or
--   heterogeneous job, which is also that of one of its parts, an update changes all of them;
--   and its AdminComment, "" without one. Or nil where it cannot be read for certain (several
--   lines): then it must not be overwritten
function comment.find(shown, id)
   local mine, last, sure
   for line in shown:gmatch("([^\n]*)\n") do
      local row = row_of(line)
      if row and row[1] == id then
         mine, sure = row, not mine
      elseif not row and last == mine then
         sure = false
      end
      last = row or last
   end
   if not sure then
      return nil
   end
   local _, array, task, het, offset = table.unpack(mine)
   if het == id and offset == "N/A" then
      return nil
   end
   local name = task:find("^%d+$") and array == id and id .. "_" .. task or het == id and id .. "+" .. offset or id
   return name, mine.text ~= NONE and printable.trimmed(mine.text) or ""
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
   for _ = 1, TRIES do
      local shown, err = calls:squeue({ "--noheader", "--all", "--states=all", "--jobs=" .. id, "--Format=" .. FORMAT },
         CALL_S)
      if not shown then
         return err
      end
      local name, text = comment.find(shown, id)
      if not name then
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
