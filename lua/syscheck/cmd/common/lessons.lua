--- Where a baseline is learned from: the store, or spool directories.
local learn = require("syscheck.verdict.learning")
local lessons = require("syscheck.store.lessons")
local progress = require("syscheck.lib.progress")
local report = require("syscheck.cmd.common.report")
local spool = require("syscheck.cmd.common.spool")
local store = require("syscheck.store.store")
local time = require("syscheck.lib.time")

local source = {}

local DAYS = 90

--- Adds --store, --since and the spool's options.
function source.add_options(command)
   command:option("--store", "Read the checks of the store: an absolute path or a URL; without one: "
      .. "$SYSCHECK_STORE, the policy's, or the default file."):args("?"):argname("URL")
   command:option("--since", ("Of the store: checks since then: %s (UTC; default: %dd)."):format(time.FORMS, DAYS))
      :argname("TIME"):convert(function(text)
         local at, err = time.point(text, os.time())
         return at, err and "--since: " .. err
      end)
   spool.add_options(command)
end

--- Opens the store that args.store asks for; the command ends where it cannot be.
function source.open(args, host, prefix)
   local db, err = store.open(store.where(args.store[1], host.policy), {})
   return db or report.stop(report.UNKNOWN, "%s%s", prefix, err)
end

--- Learns from a store.
-- @param since epoch seconds, or nil
-- @param class only of nodes of this class, or nil: all
-- @param complain function(format, ...)
-- @return as of learn.of
function source.of_store(db, since, class, complain, on_node)
   return learn.of(lessons.each(db, since or os.time() - DAYS * 86400, class, function()
      complain("the store has checks from before it kept what a baseline needs: they are left out")
   end, on_node))
end

local function of_spool(args, host)
   local meter, read, bytes = progress.amount("baseline"), 0, nil
   local records, where
   records, where, bytes = spool.records(args, host, function(line)
      read = read + #line + 1
      meter.to(read, bytes)
      -- A job's record teaches nothing, and decoding is what takes the time. Inside a
      -- string the quotes would be escaped.
      return not line:find('"kind":"job"', 1, true)
   end)
   local learned, left = learn.from(records)
   meter.clear()
   return learned, left, where
end

--- Learns from where args say.
-- @param db from open(), or nil: the spool
-- @return learned, left as of learn.of; text that names where from
function source.learn(args, host, db, complain)
   if not db then
      return of_spool(args, host)
   end
   local meter = progress.amount("baseline")
   local learned, left = source.of_store(db, args.since, nil, complain, meter.to)
   meter.clear()
   return learned, left, "store " .. db.shown
end

return source
