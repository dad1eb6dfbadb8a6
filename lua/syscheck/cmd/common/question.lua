--- What all questions share: their options, which store is asked, the error when it does not
-- answer, and printing.
local html_file = require("syscheck.cmd.common.html_file")
local output = require("syscheck.lib.output")
local paths = require("syscheck.lib.paths")
local report = require("syscheck.cmd.common.report")
local spool = require("syscheck.cmd.common.spool")
local store = require("syscheck.store.store")
local terminal = require("syscheck.lib.terminal")
local through_ask = require("syscheck.cmd.common.through_ask")
local time = require("syscheck.lib.time")
local uv = require("luv")

local question = {}

--- Adds --store.
function question.add_store(command)
   command:option("--store", "Store to ask: a file's absolute path, or postgresql:// or mariadb:// (default: "
      .. "$SYSCHECK_STORE, else the policy's, else the default file)."):argname("URL")
end

--- Adds --json, --csv, --html and --store.
function question.add_options(command)
   output.add_options(command, html_file.option(command))
   question.add_store(command)
end

--- Adds --since; its value is epoch seconds.
-- @param default as it would be typed
function question.add_since(command, default, what)
   command:option("--since", ("%s since then: %s (UTC)."):format(what, time.FORMS)):argname("TIME"):default(default)
      :convert(function(text)
         local at, err = time.point(text, os.time())
         return at, err and "--since: " .. err
      end)
end

--- Which store is meant.
-- @return URL or path, whether it was named (it is not just the default file)
function question.where(args, policy)
   -- A user who may ask only about his own jobs does not choose the store.
   local named = args.store or not args.only_user and os.getenv("SYSCHECK_STORE") or ""
   named = named ~= "" and named or policy.store
   return named or paths.store, named ~= nil
end

--- Whether there is a store to ask where nobody named one.
function question.has_default()
   local stat, _, code = uv.fs_stat(paths.store)
   return stat ~= nil or code == "EACCES"
end

local DENIED = { "permission denied", "cannot be opened by this user", "this user may not", "Access denied",
   "no password supplied", "password authentication failed", "Peer authentication failed" }

-- How much of a store's error says that its permissions keep this user out; nil where it is something else.
local function denied(err)
   for _, text in ipairs(DENIED) do
      local _, last = err:find(text, 1, true)
      if last then
         return last
      end
   end
end

-- The store's error; for a user whom its permissions keep out, who may ask and how. Root has no
-- better way, and who is here by ask took it.
-- @param refused why ask was not reached, or nil
local function explain(err, policy, args, refused)
   local last = denied(err)
   if last and args.only_user then
      return err .. ": who runs ask may not read it, see Who may ask in docs/operate.md"
   elseif last and uv.getuid() ~= 0 then
      local who = policy.store_group and "group " .. policy.store_group or "who may read it"
      local asked = through_ask.asks(args)
      local own = refused and ("; ask, for jobs of your own: %s (for your admin: Who may ask in docs/operate.md)")
         :format(refused) or asked and "; nobody else here (for your admin: Who may ask in docs/operate.md)"
         or "; about your own: syscheck job ID, syscheck why ID"
      return ("%s: root and %s may ask about every job%s"):format(err:sub(1, last), who, own)
   end
   return err
end

-- A store that does not let this user in: ask may.
local function failed(err, policy, args)
   local refused
   if denied(err) and through_ask.is_for(args, policy) then
      local code
      code, refused = through_ask.run(args)
      if code then
         return code
      end
   end
   return report.error(report.UNKNOWN, "%s", explain(err, policy, args, refused))
end

--- Opens the store and asks.
-- @param ask function(store, args) -> exit code
-- @param policy nil: this host's
-- @return exit code
function question.run(args, ask, policy)
   policy = policy or spool.node(args).policy
   local db, err = store.open(question.where(args, policy), {})
   if not db then
      return failed(err, policy, args)
   end
   local ok, code = xpcall(ask, debug.traceback, db, args)
   pcall(db.close, db)
   if ok then
      return code
   elseif not store.is_failure(code) then
      error(code, 0)
   end
   return failed(tostring(code), policy, args)
end

--- Prints an answer in the form that was asked for.
-- @param show { table = function(answer, color, as_utf8, width) -> text, json, csv = function(answer) -> text };
--   width: columns of the terminal, nil where there is none
-- @param page function(answer) -> text of the page that --html asks for, or nil; answer.made is filled in
-- @return exit code
function question.print(args, show, answer, page)
   local format = output.format(args)
   if args.html and not page then
      return report.error(report.USAGE, "--html: this answer has no page; it is a table, --json or --csv")
   elseif args.html then
      answer.made = { version = paths.version, time = time.show(os.time()) }
      return html_file.save(args.html, page(answer))
   end
   if format == "csv" then
      io.stdout:write(show.csv(answer))
   else
      print(show[format](answer, output.has_color(), output.has_utf8(), terminal.width()))
   end
   return 0
end

return question
