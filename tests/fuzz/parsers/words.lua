-- What people type and others' text that is shown: job IDs (also through sudo), times, a store's URL, any text made
-- fit to print.
local oracle = require("oracle")
local asker = require("syscheck.questions.asker")
local jobid = require("syscheck.questions.jobid")
local output = require("syscheck.lib.output")
local printable = require("syscheck.lib.printable")
local time = require("syscheck.lib.time")
local unicode = require("syscheck.lib.unicode")
local url = require("syscheck.store.url")

local function seeds()
   return { "4711", "123_4", "123+1", "4711.batch", "job 4711 --json", "7d", "12h", "2026-11-01T08:00Z", "2026-02-30",
      "2026-11-01 08:00:01.5+02:30", "postgresql://u:p@h:5432/db?sslmode=require", "mysql://h/d", "sqlite:///a%20b",
      "/var/lib/x.db", "mariadb://[::1]:3306/d?password=x", "a\27[2Jb", "\u{FEFF}=cmd", "99999999999d" }
end

local NOW = 1763713414

local function run(input)
   local id, err = jobid.parse(input)
   if oracle.value_or_line(id, err, 400) then
      assert(jobid.parse(id.text).text == id.text, "a job ID's own text")
   end
   local words = {}
   for word in input:gmatch("%S+") do
      words[#words + 1] = word
   end
   local asked
   asked, err = asker.parse(words)
   oracle.value_or_line(asked, err, 400)
   local at
   at, err = time.point(input, NOW)
   if oracle.value_or_line(at, err, 400) then
      assert(math.type(at) == "integer" and at >= 0 and at <= NOW, "a point in time: " .. tostring(at))
      time.show(at)
   end
   time.parse(input)
   local place
   place, err = url.parse(input)
   -- What is said of a URL is the same whatever its password is.
   local before, password, after = input:match("^(%a+://[^/?:@%s%c]*:)(%w+)(@.*)$")
   if place == nil then
      oracle.line(err, 1000)
      assert(not password or select(2, url.parse(before .. "x" .. after)) == err, "a password is shown")
   else
      assert(not password, "a password is taken")
   end
   local safe = printable.safe(input)
   assert(not safe:find("[^ -~]"), "what is not printable")
   assert(not printable.plain(input):find("[^ -~]"), "what a terminal obeys")
   local repaired = unicode.repair(input)
   assert(utf8.len(repaired), "no UTF-8")
   local cut = unicode.cut(repaired, 10)
   assert(utf8.len(cut) and #cut <= 10 and repaired:sub(1, #cut) == cut, "a text that is cut")
   return output
end

return { run = run, seeds = seeds, max = 300 }
