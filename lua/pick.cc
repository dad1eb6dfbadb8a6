// What ingest keeps of a record's line, by a plan: decoded as a whole, a line is forty tables
// and a hundred strings, of which most are thrown away at once. simdjson parses; this picks.
//
// Nothing is judged here. A line that is in any way not as the plan expects it, good or
// bad, is left to the caller, who reads it with lua-cjson and says what is wrong with it.
//
//   pick = package.loadlib(PATH, "luaopen_syscheck_pick")().new({ most = NUMBER, plans = { KIND = { width = N, fields = TREE } } })
//   pick(text, FROM, TO) -> record, or nil; the line is text:sub(FROM, TO)
//
// KIND is the value of the line's "kind". The record is a table with what TREE names,
// and with values, an array of N slots. TREE has for each key one of
//   true                     a string or a number, kept under its key
//   { INDEX, LOW }           a number from LOW to most, kept in values[INDEX]
//   { object = TREE }        its slots
//   { table = TREE }         kept as a table under its key
//   { metrics = { NAME = INDEX } }   a list of { name, status, value }: the values, if each
//                            status is "pass" or "unrated"
//   false                    a line that has this key is left to the caller
// What it does not name is passed over.
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <unordered_map>

#include <lua.hpp>
#include <simdjson.h>

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

enum class Kind { scalar, slot, object, table, metrics, refuse };

struct Node {
	Kind kind = Kind::refuse;
	int index = 0;
	double low = 0;
	std::string key;
	std::unordered_map<std::string_view, std::unique_ptr<Node>> children; // views of their own keys
	unsigned seen = 0; // the last line that had it
};

struct Plan {
	std::string kind;
	int width = 0;
	Node fields;
};

struct Picker {
	simdjson::dom::parser parser;
	std::unique_ptr<char[]> text; // the line, and what simdjson may read behind it
	size_t room = 0;
	std::unordered_map<std::string_view, std::unique_ptr<Plan>> plans;
	double most = 0;
	unsigned line = 0;
};

const char *const NAME = "syscheck_pick";
const size_t DEEPEST = 1000; // lua-cjson's; simdjson's own is more
const size_t USUAL = 65536; // bytes of a line; the parser grows when there is a longer one

void read_tree(lua_State *L, int at, Node &node);

// The plan's word for a key, on the top of the stack.
void read_node(lua_State *L, Node &node)
{
	int at = lua_gettop(L);
	if (lua_isboolean(L, at)) {
		node.kind = lua_toboolean(L, at) ? Kind::scalar : Kind::refuse;
		return;
	}
	luaL_checktype(L, at, LUA_TTABLE);
	if (lua_geti(L, at, 1) == LUA_TNUMBER) {
		node.kind = Kind::slot;
		node.index = static_cast<int>(lua_tointeger(L, -1));
		lua_geti(L, at, 2);
		node.low = lua_tonumber(L, -1);
		return;
	}
	static const struct {
		const char *name;
		Kind kind;
	} WORDS[] = { { "object", Kind::object }, { "table", Kind::table }, { "metrics", Kind::metrics } };
	for (const auto &word : WORDS) {
		if (lua_getfield(L, at, word.name) == LUA_TTABLE) {
			node.kind = word.kind;
			read_tree(L, lua_gettop(L), node);
			return;
		}
	}
	luaL_error(L, "%s: no plan for key %s", NAME, node.key.c_str());
}

// A tree of keys; the names of metrics have indices only.
void read_tree(lua_State *L, int at, Node &node)
{
	luaL_checkstack(L, 8, NAME);
	lua_pushnil(L);
	while (lua_next(L, at)) {
		auto child = std::make_unique<Node>();
		child->key = lua_tostring(L, -2);
		if (node.kind == Kind::metrics)
			child->index = static_cast<int>(lua_tointeger(L, -1));
		else
			read_node(L, *child);
		std::string_view key = child->key;
		node.children.emplace(key, std::move(child));
		lua_settop(L, at + 1);
	}
}

// @return false: not as the plan expects it
bool number(const Picker &p, const Node &node, const element &value, int values, lua_State *L)
{
	double d = 0;
	if (value.get_double().get(d) || !(d >= node.low && d <= p.most))
		return false;
	lua_pushnumber(L, d + 0.0); // no -0, as in record.lua
	lua_rawseti(L, values, node.index);
	return true;
}

bool scalar(const element &value, lua_State *L)
{
	std::string_view text;
	double d = 0;
	if (!value.get_string().get(text))
		lua_pushlstring(L, text.data(), text.size());
	else if (!value.get_double().get(d))
		lua_pushnumber(L, d);
	else
		return false;
	return true;
}

bool metrics(const Picker &p, const Node &node, const element &list, int values, lua_State *L)
{
	simdjson::dom::array all;
	if (list.get_array().get(all))
		return false;
	for (const element &one : all) {
		object metric;
		if (one.get_object().get(metric))
			return false;
		std::string_view name, status;
		element value;
		bool has_name = false, has_value = false;
		for (const auto &field : metric) {
			if (field.key == "name") {
				has_name = true;
				if (field.value.get_string().get(name))
					return false;
			} else if (field.key == "status") {
				if (field.value.get_string().get(status))
					return false;
			} else if (field.key == "value") {
				has_value = true;
				value = field.value;
			}
		}
		if (!has_name || (status != "pass" && status != "unrated"))
			return false;
		const auto found = node.children.find(name);
		if (found == node.children.end())
			continue;
		if (!has_value) {
			// Of two of one name the second counts, also without a value.
			lua_pushnil(L);
			lua_rawseti(L, values, found->second->index);
		} else if (!number(p, *found->second, value, values, L)) {
			return false;
		}
	}
	return true;
}

// Fills the table at index `into` and the array at index `values`.
bool fill(const Picker &p, const Node &node, const object &from, int into, int values, lua_State *L)
{
	for (const auto &field : from) {
		const auto found = node.children.find(field.key);
		if (found == node.children.end())
			continue;
		Node &child = *found->second;
		object inner;
		switch (child.kind) {
		case Kind::scalar:
			lua_pushlstring(L, child.key.data(), child.key.size());
			if (!scalar(field.value, L))
				return false;
			lua_rawset(L, into);
			break;
		case Kind::slot:
			if (!number(p, child, field.value, values, L))
				return false;
			break;
		case Kind::object:
			// Of two of one name the second would count alone.
			if (child.seen == p.line || field.value.get_object().get(inner))
				return false;
			child.seen = p.line;
			if (!fill(p, child, inner, into, values, L))
				return false;
			break;
		case Kind::table:
			if (field.value.get_object().get(inner))
				return false;
			lua_pushlstring(L, child.key.data(), child.key.size());
			lua_createtable(L, 0, static_cast<int>(child.children.size()));
			if (!fill(p, child, inner, lua_gettop(L), values, L))
				return false;
			lua_rawset(L, into);
			break;
		case Kind::metrics:
			if (child.seen == p.line || !metrics(p, child, field.value, values, L))
				return false;
			child.seen = p.line;
			break;
		case Kind::refuse:
			return false;
		}
	}
	return true;
}

bool read_line(Picker &p, const char *line, size_t length, lua_State *L)
{
	if (length + simdjson::SIMDJSON_PADDING > p.room) {
		size_t room = 2 * (length + simdjson::SIMDJSON_PADDING);
		std::unique_ptr<char[]> text(new (std::nothrow) char[room]());
		if (!text)
			return false;
		p.text = std::move(text);
		p.room = room;
	}
	std::memcpy(p.text.get(), line, length);
	object record;
	std::string_view kind;
	if (p.parser.parse(p.text.get(), length, false).get_object().get(record) || record["kind"].get_string().get(kind))
		return false;
	const auto found = p.plans.find(kind);
	if (found == p.plans.end())
		return false;
	const Plan &plan = *found->second;
	p.line++;
	lua_createtable(L, 0, 24);
	lua_createtable(L, plan.width, 0);
	int values = lua_gettop(L), into = values - 1;
	if (!fill(p, plan.fields, record, into, values, L))
		return false;
	// A second "kind" would have been the one that counts.
	size_t n = 0;
	lua_getfield(L, into, "kind");
	const char *last = lua_tolstring(L, -1, &n);
	if (!last || std::string_view(last, n) != kind)
		return false;
	lua_settop(L, values);
	lua_setfield(L, into, "values");
	return true;
}

int pick(lua_State *L)
{
	auto *p = static_cast<Picker *>(lua_touserdata(L, lua_upvalueindex(1)));
	size_t length = 0;
	const char *text = luaL_checklstring(L, 1, &length);
	lua_Integer from = luaL_checkinteger(L, 2), to = luaL_checkinteger(L, 3);
	luaL_argcheck(L, from >= 1 && from <= to && static_cast<size_t>(to) <= length, 3, "not in the text");
	luaL_checkstack(L, 24, NAME);
	if (!read_line(*p, text + from - 1, static_cast<size_t>(to - from + 1), L)) {
		lua_settop(L, 1);
		lua_pushnil(L);
	}
	return 1;
}

int collect(lua_State *L)
{
	static_cast<Picker *>(lua_touserdata(L, 1))->~Picker();
	return 0;
}

int make(lua_State *L)
{
	luaL_checktype(L, 1, LUA_TTABLE);
	lua_settop(L, 1);
	auto *p = new (lua_newuserdatauv(L, sizeof(Picker), 0)) Picker;
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, collect);
	lua_setfield(L, -2, "__gc");
	lua_setmetatable(L, 2);
	if (p->parser.allocate(USUAL, DEEPEST))
		return luaL_error(L, "%s: out of memory", NAME);
	lua_getfield(L, 1, "most");
	p->most = luaL_checknumber(L, -1);
	lua_getfield(L, 1, "plans");
	int plans = lua_gettop(L);
	luaL_checktype(L, plans, LUA_TTABLE);
	lua_pushnil(L);
	while (lua_next(L, plans)) {
		int at = lua_gettop(L);
		auto plan = std::make_unique<Plan>();
		plan->kind = lua_tostring(L, at - 1);
		lua_getfield(L, at, "width");
		plan->width = static_cast<int>(lua_tointeger(L, -1));
		lua_getfield(L, at, "fields");
		plan->fields.kind = Kind::object;
		read_tree(L, lua_gettop(L), plan->fields);
		std::string_view kind = plan->kind;
		p->plans.emplace(kind, std::move(plan));
		lua_settop(L, at - 1);
	}
	lua_pushvalue(L, 2);
	lua_pushcclosure(L, pick, 1);
	return 1;
}

} // namespace

extern "C" __attribute__((visibility("default"))) int luaopen_syscheck_pick(lua_State *L)
{
	lua_createtable(L, 0, 1);
	lua_pushcfunction(L, make);
	lua_setfield(L, -2, "new");
	return 1;
}
