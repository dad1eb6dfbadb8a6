--- Where a store is: an absolute path, or a URL.
local drivers = require("syscheck.store.drivers")

local url = {}

local function unescape(text)
   return (text:gsub("%%(%x%x)", function(hex)
      return string.char(tonumber(hex, 16))
   end))
end

-- "a=1&b=2" -> { a = "1", b = "2" }
local function options(query)
   local out = {}
   for item in (query or ""):gmatch("[^&]+") do
      local name, value = item:match("^([%w_]+)=(.*)$")
      if not name then
         return nil
      end
      out[name] = unescape(value)
   end
   return out
end

local PASSWORD = "a store's URL must not hold a password, which every user would see in the list of processes; "
   .. "docs/store.md says where it goes"

--- Takes a store's name apart.
-- @return { driver, uri = text, shown = what messages may say, path (of a file), user, host, port, name = of the
--   database, options }; or nil and one line, which never holds a password
function url.parse(text)
   if text:find("^/") and not text:find("%c") then
      return { driver = drivers.BY_SCHEME.sqlite, uri = text, path = text, shown = text }
   end
   local scheme, rest = text:match("^(%a+)://(.*)$")
   local driver = drivers.BY_SCHEME[scheme]
   if not driver then
      return nil, "a store is " .. drivers.FORMS
   end
   local authority, path, query = rest:match("^([^/?]*)/?([^?]*)%??(.*)$")
   local login, address = authority:match("^(.*)@(.*)$")
   local args = options(query)
   if (login and login:find(":", 1, true)) or (args and (args.password or args.passwd)) then
      return nil, PASSWORD
   elseif not args then
      return nil, ("%s: what follows ? must be name=value"):format(scheme)
   elseif text:find("[%c%s]") then
      return nil, ("%s: a URL has no spaces"):format(scheme)
   end
   if driver.is_file then
      path = "/" .. unescape(path)
      if authority ~= "" or path == "/" or next(args) then
         return nil, ("%s: want %s:///absolute/path"):format(scheme, scheme)
      end
      return { driver = driver, uri = text, path = path, shown = path }
   end
   local host, port = (address or authority):match("^(.-):?(%d*)$")
   host = host:match("^%[(.*)%]$") or host
   if path == "" or path:find("/", 1, true) then
      return nil, ("%s: the URL names no database: %s://user@host/database"):format(scheme, scheme)
   end
   return {
      driver = driver,
      uri = text,
      user = login and unescape(login),
      host = host ~= "" and unescape(host) or nil,
      port = tonumber(port),
      name = unescape(path),
      options = args,
      shown = ("%s://%s/%s"):format(driver.kind, authority, path),
   }
end

return url
