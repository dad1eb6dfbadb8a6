--- Segments to the node's syslog: one message a record, by logger(1), which speaks to the
-- daemon's datagram socket. How far a segment is sent is kept beside it.
local json = require("cjson.safe").new()
local uv = require("luv")
local files = require("syscheck.lib.files")
local lines = require("syscheck.lib.lines")
local messages = require("syscheck.spool.messages")
local process = require("syscheck.lib.process")

local ship_syslog = {}
ship_syslog.__index = ship_syslog

local C = uv.constants
local SOCKET = "/dev/log"
local OFFSET = ".ship-offset"
local BATCH = 65536 -- bytes; after each the offset is written
local BATCH_TIMEOUT_MS = 60000

json.decode_invalid_numbers(false)

--- @param o see ship.run
-- @return target, or nil and why
function ship_syslog.open(o)
   local facility, socket = o.to:match("^syslog:([%w]+)@?(.*)$")
   socket = socket and socket ~= "" and socket or SOCKET
   local stat, err = uv.fs_stat(socket)
   if not stat or stat.type ~= "socket" then
      return nil, ("no syslog daemon there: %s"):format(err or socket .. ": not a socket")
   end
   return setmetatable({ spool = o.spool, socket = socket, facility = facility or "user" }, ship_syslog)
end

function ship_syslog:offset_of(name)
   local at = json.decode(files.read(self.spool .. "/" .. OFFSET, 4096) or "")
   return type(at) == "table" and at.segment == name and math.tointeger(at.offset) or 0
end

-- When it cannot be written some messages come twice, with the same ids: stored once.
function ship_syslog:remember(name, offset)
   files.write(self.spool .. "/" .. OFFSET, json.encode({ segment = name, offset = offset }), 384) -- 0600
end

-- @return true; or nil and why
function ship_syslog:log(batch)
   local logger, err = process.run("logger", { "--socket", self.socket, "--socket-errors=on", "--priority",
      self.facility .. ".info", "--tag", "syscheck", "--size", "16384" },
      { timeout_ms = BATCH_TIMEOUT_MS, in_group = true, input = table.concat(batch, "\n") .. "\n" })
   if not logger then
      return nil, err
   elseif logger.timed_out then
      return nil, ("%s takes no message"):format(self.socket)
   elseif logger.code ~= 0 or logger.signal ~= 0 then
      return nil, "logger: " .. (logger.err:gsub("^logger: ", ""):gsub("%s+", " "):sub(1, 200))
   end
   return true
end

--- Sends what of a segment was not sent.
-- @return bytes of it; or nil and why; and how many lines are no record
function ship_syslog:send(name)
   local fd, err = uv.fs_open(self.spool .. "/" .. name, C.O_RDONLY + files.NOFOLLOW, 0)
   if not fd then
      return nil, err
   end
   local sent, damaged = self:offset_of(name), 0
   local batch, bytes, size = {}, 0, 0
   local ok = true
   local function flush()
      if #batch > 0 then
         ok, err = self:log(batch)
      end
      if ok then
         self:remember(name, size)
      end
      batch, bytes = {}, 0
   end
   for line, offset in lines.of(fd) do
      size = offset
      if offset > sent then
         local record = line and json.decode(line)
         if type(record) == "table" and type(record.id) == "string" then
            for _, message in ipairs(messages.split(line, record.id)) do
               batch[#batch + 1] = message
               bytes = bytes + #message
            end
         elseif line ~= "" then
            damaged = damaged + 1
         end
         if bytes >= BATCH then
            flush()
            if not ok then
               break
            end
         end
      end
   end
   if ok then
      flush()
   end
   uv.fs_close(fd)
   return ok and size, err, damaged
end

return ship_syslog
