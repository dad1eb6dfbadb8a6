-- store/record: a line of any node's spool, on its way into the store.
local oracle = require("oracle")
local record = require("syscheck.store.record")

local HEAD = '"v":1,"id":"0123456789abcdef0123456789abcdef","cluster":"c","node":"n1","boot_id":"b","time":'
   .. '"2026-11-21T08:00:00Z","class":"epyc-9654-2s192c-768g","config_id":"0123abcd"'

local function seeds()
   return {
      '{"kind":"job",' .. HEAD .. ',"elapsed_s":12.5,"job":{"id":4711,"restart":1,"array_job_id":4700,"array_task_id":3,'
         .. '"user":"u","name":"j\\u00fc\\u0000","account":"a","partition":"p","nodes":4,"het_job_id":1,"het_offset":0},'
         .. '"check":{"id":"0123456789abcdef0123456789abcdef"},"delta":{"throttle":{"package_count":3,"package_ms":7},'
         .. '"pressure":{"io_some_us":1},"nfs":{"ops":5,"op_ms":6,"bytes":7}},"end":{"limits":{"clock_mhz":3000,"power_w":'
         .. '200.5},"temperature":{"max_c":55}},"cgroup":{"cpu_us":5,"oom_kills":0},"others":[1,2],"others_more":3,'
         .. '"errors":[{"kind":"dimm","unit":"mc0/dimm1","corrected":5}],"problems":["policy: x"]}',
      '{"kind":"check",' .. HEAD .. ',"config":{"kernel":"6.1","dimms":"8x32g","max_mhz":3700},"trigger":"prolog","level":'
         .. '"quick","asked":"full","status":"fail","action":"drain","text":"triad 1 < 2","note":"n","corrupt":true,"metrics":'
         .. '[{"name":"triad_gbs","value":185.2,"status":"fail","limit":200,"op":"<","text":"t"},{"name":"gflops","value":'
         .. '1e3,"status":"pass"}],"drain":{"done":true,"reason":"syscheck: x"},"job":{"id":4711}}',
      '{"kind":"loss",' .. HEAD .. ',"lost_records":5,"lost_bytes":1234,"reason":"disk full"}',
      '{"kind":"check","metrics":null,"job":null,"v":2}', "[]", "null", '"x"', "{", '{"kind":["job"]}',
   }
end

local function text_fields(row, ...)
   for _, name in ipairs({ ... }) do
      oracle.clean(row[name], name)
   end
end

local function run(input)
   local row, err = record.read(input)
   if not oracle.value_or_line(row, err and err:gsub("[%c\127]", "?"), 1000) then
      return
   end
   assert(row.id:match("^%x+$") and #row.id == 32, "id")
   assert(math.type(row.key) == "integer" and math.type(row.time_s) == "integer", "key, time")
   text_fields(row, "cluster", "node", "class", "config", "detail", "text", "reason", "trigger", "level", "asked",
      "status", "action", "check_id")
   if row.job then
      assert(math.type(row.job.id) == "integer" and row.job.id >= 1 and row.job.id <= 4294967295, "job.id")
      text_fields(row.job, "user", "name", "account", "partition")
      oracle.number(row.job.restart, "restart", 0, 1e18)
      oracle.number(row.job.nodes, "nodes", 1, 1e18)
   end
   oracle.number(row.elapsed_s, "elapsed_s", 0, 4102444800)
   oracle.number(row.begin_s, "begin_s", 946684800 - 1, 4102444800)
   for key, value in pairs(row.values or {}) do
      assert(math.type(key) == "integer", "a value's place")
      oracle.number(value, "value", -300, 1e18)
   end
   assert(row.detail == nil or #row.detail <= 65536 * 3, "detail of " .. #(row.detail or ""))
   oracle.clean(record.settings(row), "settings")
end

return { run = run, seeds = seeds, max = 3000, kept_bytes = 12000 }
