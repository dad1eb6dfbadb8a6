#!/usr/bin/env lua5.4
-- Whether links between the pages lead to a page and a heading that are there: links.lua PAGE...

-- The anchor that is made of a heading.
local function anchor(heading)
   return (heading:lower():gsub("[^%w _-]", ""):gsub(" ", "-"))
end

local anchors = {} -- by page: set

-- nil where there is no such page.
local function anchors_of(page)
   local file = not anchors[page] and io.open(page)
   if file then
      anchors[page] = {}
      for line in file:lines() do
         local heading = line:match("^#+ (.*)$")
         if heading then
            anchors[page][anchor(heading)] = true
         end
      end
      file:close()
   end
   return anchors[page]
end

local bad = false
for _, page in ipairs(arg) do
   local number = 0
   for line in io.lines(page) do
      number = number + 1
      for target in line:gmatch("%]%(([^)%s]+)%)") do
         local path, id = target:match("^([^#]*)#?(.*)$")
         if not target:find("^%a+:") then
            path = path == "" and page or (page:match("^.*/") or "") .. path
            local set = anchors_of(path)
            if not set or id ~= "" and not set[id] then
               io.stderr:write(("%s:%d: %s leads nowhere\n"):format(page, number, target))
               bad = true
            end
         end
      end
   end
end
os.exit(not bad)
