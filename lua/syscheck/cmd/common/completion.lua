--- Completion for bash and zsh, made from the parser: what it takes is what they offer. Pure.
--
-- argparse's own (get_bash_complete, get_zsh_complete) offers files for every value, options that are
-- hidden, and nothing behind a command's whole name.
local level = require("syscheck.policy.level")

local completion = {}

-- What a value can be, by its name in --help (of a command's argument its own); of other names nothing is offered.
local FILES, DIRS = { bash = "file", zsh = "_files" }, { bash = "directory", zsh = "_files -/" }
local VALUES = { FILE = FILES, URL = FILES, DIR = DIRS, DEST = DIRS, file = FILES, old = FILES, new = FILES,
   a = FILES, b = FILES, path = FILES, LEVEL = { words = level.NAMES } }

local function value_of(element)
   local name = element._argname or element._name
   name = type(name) == "table" and name[1] or name
   local words = element._choices
   return { name = name, of = words and { words = words } or VALUES[name] or {} }
end

-- "Check this machine now": the first sentence.
local function sentence(text)
   text = text or ""
   return text:match("^(.-)%.%s") or text:match("^(.-)%.?$")
end

-- A parser or command as a plain table.
local function read(parser, path)
   local out = { path = path, name = parser._name, options = {}, commands = {}, arguments = {},
      text = sentence(parser._summary or parser._description) }
   for _, o in ipairs(parser._options) do
      if not o._hidden then
         table.insert(out.options, { names = o._aliases, text = sentence(o._description), repeated = o._maxcount > 1,
            value = o._maxargs > 0 and value_of(o) or nil })
      end
   end
   for _, a in ipairs(parser._arguments) do
      table.insert(out.arguments, { value = value_of(a), repeated = a._maxargs == math.huge })
   end
   for _, c in ipairs(parser._commands) do
      if not c._hidden then
         table.insert(out.commands, read(c, path .. " " .. c._name))
      end
   end
   return out
end

local function each(node, f)
   f(node)
   for _, c in ipairs(node.commands) do
      each(c, f)
   end
end

-- All names of a list's items in one line.
local function names_of(list)
   local out = {}
   for _, item in ipairs(list) do
      out[#out + 1] = item.names and table.concat(item.names, " ") or item.name
   end
   return table.concat(out, " ")
end

local BASH = [==[
# bash completion of syscheck, written by make install.
_syscheck()
{
	local cur=${COMP_WORDS[COMP_CWORD]-} prev=${COMP_WORDS[COMP_CWORD - 1]-} at= words= kind= opts= i
	# --level=quick is three words here.
	if [[ $cur == '=' ]]; then
		cur=
	elif [[ $prev == '=' ]]; then
		prev=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	COMPREPLY=()
	for ((i = 1; i < COMP_CWORD; i++)); do
		case "$at ${COMP_WORDS[i]}" in
%s) at+=" ${COMP_WORDS[i]}" ;;
		esac
	done
	case $at in
%s
	esac
	case "$at $prev" in
%s
	esac
	if [[ $cur == -* ]]; then
		words=$opts kind=
	elif [[ -z $words$kind ]]; then
		words=$opts
	fi
	if [[ $kind == file || $kind == directory ]]; then
		compopt -o filenames 2>/dev/null
		mapfile -t COMPREPLY < <(compgen -A "$kind" -- "$cur")
	elif [[ $kind != none ]]; then
		mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
	fi
}
complete -F _syscheck syscheck
]==]

local function bash_value(value)
   if value.of.words then
      return ("words='%s' kind="):format(table.concat(value.of.words, " "))
   end
   return ("words= kind=%s"):format(value.of.bash or "none")
end

--- A script for bash (4.0 or newer).
-- @param parser of argparse
function completion.bash(parser)
   local paths, offers, values = {}, {}, {}
   each(read(parser, ""), function(node)
      if node.path ~= "" then
         paths[#paths + 1] = ("\t\t'%s'"):format(node.path)
      end
      local first = node.arguments[1]
      local offer = #node.commands > 0 and ("words='%s'"):format(names_of(node.commands))
         or first and first.value.of.bash and bash_value(first.value) or ""
      offers[#offers + 1] = ("\t'%s') opts='%s' %s ;;"):format(node.path, names_of(node.options), offer)
      for _, o in ipairs(node.options) do
         for _, name in ipairs(o.value and o.names or {}) do
            values[#values + 1] = ("\t'%s %s') %s ;;"):format(node.path, name, bash_value(o.value))
         end
      end
   end)
   return BASH:format(table.concat(paths, " | \\\n"), table.concat(offers, "\n"), table.concat(values, "\n"))
end

-- In single quotes.
local function quoted(text)
   return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- Where : and ] end it.
local function spec(text)
   return (text:gsub("[\\:%[%]]", "\\%0"))
end

local function zsh_value(value)
   return (":%s:%s"):format(spec(value.name), value.of.words and "(" .. table.concat(value.of.words, " ") .. ")"
      or value.of.zsh or "()")
end

local function zsh_option(o)
   local rest = ("[%s]%s"):format(spec(o.text), o.value and zsh_value(o.value) or "")
   local out = {}
   for i, name in ipairs(o.names) do
      -- Its other names not again, and behind --help nothing.
      local without = name:find("^%-%-?h") and "(- *)" or o.repeated and "*" or ("(%s)"):format(names_of({ o }))
      out[i] = quoted(without .. name .. (o.value and name:find("^%-%-") and "=" or "") .. rest)
   end
   return table.concat(out, " \\\n    ")
end

local GROUP = [[
  case $state in
  command)
    commands=(
%s
    )
    _describe -t commands command commands && ret=0 ;;
  rest)
    case $words[1] in
%s
    esac ;;
  esac
]]

local function zsh_function(node)
   local specs, commands, cases = {}, {}, {}
   for _, o in ipairs(node.options) do
      specs[#specs + 1] = zsh_option(o)
   end
   for _, a in ipairs(node.arguments) do
      specs[#specs + 1] = quoted((a.repeated and "*" or "") .. zsh_value(a.value))
   end
   local name = "_syscheck" .. node.path:gsub("%W", "_")
   for i, c in ipairs(node.commands) do
      commands[i] = "      " .. quoted(c.name .. ":" .. spec(c.text))
      cases[i] = ("    %s) %s_%s && ret=0 ;;"):format(c.name, name, c.name:gsub("%W", "_"))
   end
   if #commands > 0 then
      specs[#specs + 1] = "': :->command' '*:: :->rest'"
   end
   return ([[
%s()
{
  local curcontext=$curcontext state state_descr line ret=1
  local -A opt_args
  local -a commands
  _arguments -C -s -S \
    %s && ret=0
%s  return ret
}
]]):format(name, table.concat(specs, " \\\n    "),
      #commands > 0 and GROUP:format(table.concat(commands, "\n"), table.concat(cases, "\n")) or "")
end

--- A function file for zsh.
-- @param parser of argparse
function completion.zsh(parser)
   local out = { "#compdef syscheck\n# zsh completion of syscheck, written by make install.\n" }
   each(read(parser, ""), function(node)
      out[#out + 1] = zsh_function(node)
   end)
   out[#out + 1] = '_syscheck "$@"\n'
   return table.concat(out, "\n")
end

return completion
