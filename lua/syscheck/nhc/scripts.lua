--- Programs for checks.d of what NHC does by commands: bash, with every word in single quotes. Pure.
local scripts = {}

--- A word that no shell changes.
function scripts.quote(word)
   return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function quoted(words)
   local out = {}
   for i, word in ipairs(words) do
      out[i] = scripts.quote(word)
   end
   return table.concat(out, " ")
end

local HEAD = [==[
#!/bin/bash
# %s
set -u

# says WORD...: text as JSON holds it
says() {
	local text=$*
	text=${text//[^[:print:]]/?}
	text=${text//\\/\\\\}
	printf '%%s' "${text//\"/\\\"}"
}
good() { printf '{"ok":true,"text":"%%s"}\n' "$(says "$@")"; exit 0; }
bad() { printf '{"ok":false,"text":"%%s"}\n' "$(says "$@")"; exit 1; }

# matches LINE PATTERN: as NHC's match strings do: /regular expression/, else a glob
matches() {
	local pattern=$2
	if [[ $pattern == /*/ ]]; then
		pattern=${pattern:1:${#pattern}-2}
		[[ $1 =~ $pattern ]]
	else
		# shellcheck disable=SC2053 # a glob
		[[ $1 == $pattern ]]
	fi
}
]==]

-- What has to be in a text, and what must not.
local WANTED = [==[
for pattern in "${wanted[@]}"; do
	found=0
	while IFS= read -r line || [ -n "$line" ]; do
		if matches "$line" "${pattern#!}"; then
			found=1
			break
		fi
	done <<<"$text"
	case $pattern in
	!*) [ "$found" = 0 ] || bad "%s: has a line that matches ${pattern#!}" ;;
	*) [ "$found" = 1 ] || bad "%s: no line matches $pattern" ;;
	esac
done
]==]

local function head(from)
   return HEAD:format((from:gsub("[%c]", "?")))
end

--- A command's exit status, and its output.
-- @param from what stands above it: where it comes from
-- @param c { seconds, status = number or nil, matches = list, words = list }
function scripts.command(from, c)
   local name = c.words[1]:gsub('[^%w_./-]', "?")
   return head(from) .. ("text=$(timeout %g %s 2>&1 </dev/null)\ncode=$?\n"):format(c.seconds, quoted(c.words))
      .. '[ "$code" -ne 124 ] || { echo "' .. name .. ': timed out" >&2; exit 2; }\n'
      -- Those of a shell for what it cannot run, unless the line means them.
      .. (c.status ~= 126 and c.status ~= 127 and '[[ $code -ne 126 && $code -ne 127 ]] || { echo "' .. name
         .. ': cannot be run" >&2; exit 2; }\n' or "")
      .. (c.status and ('[ "$code" -eq %d ] || bad "%s: exit status $code, expected %d"\n'):format(c.status, name,
         c.status) or "")
      .. (#c.matches > 0 and ("wanted=(%s)\n"):format(quoted(c.matches)) .. WANTED:format(name, name) or "")
      .. ('good "%s: as expected"\n'):format(name)
end

--- A file's lines.
function scripts.contents(from, file, wanted)
   local name = file:gsub('[^%w_./-]', "?")
   return head(from) .. ('text=$(cat -- %s) || exit 2\n'):format(scripts.quote(file))
      .. ("wanted=(%s)\n"):format(quoted(wanted)) .. WANTED:format(name, name)
      .. ('good "%s: as expected"\n'):format(name)
end

--- Hosts that have to answer; to one that ping itself cannot ask (no name, no right) exit code 2 is no answer.
-- @param device to ask from, or nil
function scripts.ping(from, hosts, device)
   local from_device = device and "-I " .. scripts.quote(device) .. " " or ""
   local ping = ("ping -n -c 1 -W 1 %s-- \"$host\" >/dev/null 2>&1"):format(from_device)
   return head(from) .. ("for host in %s; do\n\t%s || %s\n\tcode=$?\n"):format(quoted(hosts), ping, ping)
      .. '\t[ "$code" -le 1 ] || { echo "ping of $host: exit status $code" >&2; exit 2; }\n'
      .. '\t[ "$code" -eq 0 ] || bad "$host does not answer"\ndone\ngood "all answer"\n'
end

--- A place to begin, for what has to be written by hand: it ends as "could not run".
function scripts.to_do(from)
   return head(from) .. 'echo "not written yet" >&2\nexit 2\n'
end

return scripts
