--- How counters grow from a snapshot to a later one: wrap-around and reset. A source has its
-- own `growth` where neither of these is right. Pure.
local growth = {}

--- What went back (a driver reset, iowait's own jitter) says nothing.
function growth.plain(before, now)
   return math.max(now - before, 0)
end

--- Counters that somebody may clear: what they show has come since then.
function growth.cleared(before, now)
   return now < before and now or now - before
end

return growth
