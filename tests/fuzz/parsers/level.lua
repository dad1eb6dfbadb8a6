-- policy/level and policy/submission: what a user asks for, in slurmctld and in the prolog. The C plugin reads
-- the same inputs.
local oracle = require("oracle")
local level = require("syscheck.policy.level")
local policy = require("syscheck.policy.policy")
local submission = require("syscheck.policy.submission")

local site = policy.default()
site.partitions.gpu = { floor = "quick", default = "quick", ceiling = "quick" }
site.shared = "refuse"

local function seeds()
   local out = {}
   for line in io.lines("tests/fixtures/levels.tsv") do
      for word in line:gmatch("[^\t]+") do
         out[#out + 1] = word
      end
   end
   return out
end

local function run(input)
   local got, err = level.parse(input)
   err = not got and err or nil
   assert(oracle.value_or_line(got, err, 200) == nil or level.is_valid(got), "no level")
   local names = submission.partitions(input, "batch")
   local allowed, message = submission.check(site, { asked = input, partitions = names, account = input, qos = input,
      is_whole = function(name)
         return name ~= "gpu"
      end })
   if not allowed or message then
      oracle.line(message, 2000)
   end
   allowed, message = submission.check(site, { asked = "full", partitions = names, component = 3, account = input })
   if not allowed or message then
      oracle.line(message, 2000)
   end
end

return { run = run, seeds = seeds, max = 120 }
