package.path = "lua/?.lua;tests/bench/?.lua;" .. package.path
local store = require("syscheck.store.store")
local causes = require("syscheck.questions.why.causes")
local odds = require("syscheck.questions.why.odds")
local stats = require("syscheck.questions.why.stats")
local statistics = require("syscheck.lib.statistics")
local rows = require("syscheck.questions.why.rows")
local suspects = require("syscheck.questions.suspects.logic")
local data = require("syscheck.questions.suspects.read")
local world = require("world.world")
local SHARE = tonumber(os.getenv("SHARE") or 0.02)
local NEED = tonumber(os.getenv("NEED") or 10)
local tot = {bad=0, found=0, listed=0, right=0}
for _, seed in ipairs(arg) do
local truth = world.build(tonumber(seed), {jobs=10000}, function() end)
local db = assert(store.open("/var/tmp/work/db/why-"..seed..".db", {}))
local by, st = data.read(db, 0)
local runs = {}
for node, list in pairs(by) do for _, r in ipairs(list) do runs[r.key] = r end end
local c0=os.clock()
-- all rows by run
local reader = rows.new(db)
local by_run, per_class = {}, {}
for key in pairs(runs) do by_run[key] = {} end
local keys = {} for k in pairs(runs) do keys[#keys+1]=k end table.sort(keys)
for k, list in pairs(reader:of_runs(keys)) do by_run[k] = list end
-- class medians
for _, list in pairs(by_run) do for _, row in ipairs(list) do
  local c = per_class[row.class or 0] or {n=0}; per_class[row.class or 0]=c
  if c.n < 3000 then c.n=c.n+1
    for i, item in ipairs(causes.JOB) do local x = causes.scaled(item, row[item.name], row); if x then c[i]=c[i] or {}; table.insert(c[i], x) end end
  end
end end
for _, c in pairs(per_class) do for i in ipairs(causes.JOB) do if c[i] then c[i]=statistics.median(c[i]) end end end
local of, flagged, total = {}, {}, {}
for key, list in pairs(by_run) do
  for i, item in ipairs(causes.JOB) do if not item.shared then
    local xs = {}
    for _, row in ipairs(list) do local x = causes.scaled(item, row[item.name], row); if x then xs[#xs+1]=x end end
    table.sort(xs)
    local med = #xs >= 3 and xs[(#xs+1)//2] or -math.huge
    for _, row in ipairs(list) do
      local usual = math.max(med, per_class[row.class or 0][i] or -math.huge)
      local share = usual > -math.huge and causes.share(item, row, usual)
      if share and share >= SHARE then
        of[row.node] = of[row.node] or {}
        local g = of[row.node][item.group] or {}
        of[row.node][item.group] = g
        local one = g[key]
        if not one or one.share < share then g[key] = {share=math.min(.95,share), item=item, run=runs[key]} end
      end
    end
  end end
  for _, row in ipairs(list) do
    total[row.node] = (total[row.node] or 0) + 1
  end
end
local rate, all = {}, 0
for node, n in pairs(total) do all = all + n end
for node, gs in pairs(of) do for g, list in pairs(gs) do local n=0 for _ in pairs(list) do n=n+1 end; list.n=nil; rate[g]=(rate[g] or 0)+n; gs[g]={list=list,n=n} end end
local name = {}
for t in db:rows("SELECT n.id, n.name FROM node n") do name[t[1]] = t[2] end
local slowed = {}
for _, one in ipairs(truth.suspects) do slowed[one.node] = math.max(slowed[one.node] or 0, one.slowed) end
local found = {}
for node, gs in pairs(of) do for g, one in pairs(gs) do if one.n >= 3 then
  local q = (rate[g]-one.n+1)/(all-total[node]+2)
  local p = stats.binomial(one.n, total[node], q)
  local logs = {}
  for key, c in pairs(one.list) do logs[#logs+1]=odds.fit_of_many(c.run.e, c.run.y, c.share, c.item.range.wide, c.item.range.beyond) end
  local best, sum = -math.huge, 0
  local terms = {}
  for _, f in ipairs({.1,.3,.5,.7,.9}) do local s=0 for _, fit in ipairs(logs) do s=s+math.log(1-f+f*fit) end terms[#terms+1]=s best=math.max(best,s) end
  for _, s in ipairs(terms) do sum=sum+math.exp(s-best) end
  local harm = best+math.log(sum/5)
  local there = (tonumber(os.getenv("PRIOR") or 0.003))*odds.rarity(p)*(p > 0.05 and 0.1 or 1)
  local w = math.log(there/(1+there)) + harm
  if w >= math.log(NEED) then
    local f = found[node]
    if not f or f.w < w then found[node]={w=w,g=g,n=one.n,of=total[node],p=p,harm=harm} end
  end
end end end
-- and by time alone
for _, f in ipairs(suspects.find(by)) do if f.p < (tonumber(os.getenv("TIMEP") or 0.001)) then found[f.node] = found[f.node] or {w=f.score,g="time",n=#f.slow,of=f.runs,p=f.p,harm=0} end end
local listed,right,bad,got=0,0,0,0
for node, f in pairs(found) do listed=listed+1; local s=slowed[name[node]] or 0; if s>=3 then right=right+1 else if os.getenv("SHOW") then print("WRONG", name[node], f.g, ("w %.1f n %d of %d p %.2g harm %.1f slowed %d"):format(f.w,f.n,f.of,f.p,f.harm,s)) end end end
local id = {} for i, n in pairs(name) do id[n]=i end
for n, s in pairs(slowed) do if s>=15 then bad=bad+1; if found[id[n]] then got=got+1 elseif os.getenv("SHOW") then
   local gs={} for g, one in pairs(of[id[n]] or {}) do gs[#gs+1]=g..":"..one.n end
   for _, t in ipairs(truth.suspects) do if t.node==n and t.slowed==s then print("MISSED", n, t.group, t.kind, s, "runs", total[id[n]], table.concat(gs," ")) break end end end end end
print(seed, ("recall %d of %d, precision %d of %d; %.1f s CPU for %d rows"):format(got,bad,right,listed,os.clock()-c0, all))
tot.bad=tot.bad+bad tot.found=tot.found+got tot.listed=tot.listed+listed tot.right=tot.right+right
end
print(("ALL recall %.0f %% of %d, precision %.0f %% of %d"):format(100*tot.found/tot.bad, tot.bad, 100*tot.right/tot.listed, tot.listed))
