#!/usr/bin/env python3
"""What Grafana does with dashboards: fills in their variables, asks each query, and has something to show.
   grafana.py shape FILE...                    panels, targets and variables are whole
   grafana.py promql URL FILE...               each query of Prometheus gives a value, each variable has values
   grafana.py sql FROM_MS NODE COMMAND... -- FILE...   each query of the store, an argument after COMMAND, prints rows
Exit 1, and a line for each that does not."""
import json
import re
import subprocess
import sys
import time
import urllib.parse
import urllib.request

UNITS = {"short", "none", "s", "h", "Bps", "flops", "percentunit", "dateTimeAsIso"}
PROMETHEUS = {"$__range_s": "600", "$__range": "10m", "$__rate_interval": "1m", "${cluster}": "(c1|c2)",
              "$cluster": "(c1|c2)", "$class": "(epyc-9654-2s192c-768g|other)", "$node": "n7"}


def panels(paths):
    for path in paths:
        with open(path, encoding="ascii") as file:
            dashboard = json.load(file)
        for panel in dashboard["panels"]:
            for target in panel["targets"]:
                yield "%s: %s: %s" % (path.split("/")[-1], panel["title"], target["refId"]), dashboard, panel, target


def get(url, path, **query):
    with urllib.request.urlopen(url + path + "?" + urllib.parse.urlencode(query), timeout=20) as answer:
        return json.load(answer)["data"]


def promql(url, *paths):
    wrong = []
    variables = {}
    for name, dashboard, panel, target in panels(paths):
        for one in dashboard["templating"]["list"]:
            variables[one["name"]] = one
        if "expr" not in target:
            continue
        text = target["expr"]
        for variable, value in PROMETHEUS.items():
            text = text.replace(variable, value)
        if re.search(r"\$[^1]", text):
            wrong.append(name + ": a variable is left: " + text)
        elif panel["type"] == "timeseries":
            now = time.time()
            if not get(url, "/api/v1/query_range", query=text, start=now - 2, end=now, step=1)["result"]:
                wrong.append(name + ": nothing of " + text)
        elif not get(url, "/api/v1/query", query=text)["result"]:
            wrong.append(name + ": nothing of " + text)
    for one in variables.values():
        if one["type"] == "query":
            metric, label = re.fullmatch(r"label_values\((\w+), (\w+)\)", one["query"]["query"]).groups()
            values = get(url, "/api/v1/label/%s/values" % label, **{"match[]": metric})
            shown = [re.search(one["regex"].strip("/") or "(.*)", value).group(1) for value in values]
            if not shown or one["name"] == "node" and shown != ["n1", "n2", "n7"]:
                wrong.append("variable %s: %s" % (one["name"], shown))
    return wrong


def sql(start, node, *rest):
    split = rest.index("--")
    command, wrong, asked = list(rest[:split]), [], 0
    for name, _, _, target in panels(rest[split + 1:]):
        if "rawSql" not in target:
            continue
        text = target["rawSql"].replace("${__from}", start).replace("${__to}", str(int(time.time() * 1000)))
        text = text.replace("${node:sqlstring}", "'%s'" % node)
        text = text.replace("${class:sqlstring}", "'other','epyc-9654-2s192c-768g'")
        asked += 1
        answer = subprocess.run(command + [text], capture_output=True, text=True, check=False)
        if "$" in text or answer.returncode or answer.stderr or not answer.stdout.strip():
            wrong.append("%s: %s %s %s" % (name, answer.returncode, answer.stderr, text))
        if re.search(r"alice|\bbob\b|uid 1000", answer.stdout):
            wrong.append(name + ": names a user: " + answer.stdout[:300])
    return wrong if asked >= 7 else wrong + ["%d queries" % asked]


def overlap(a, b):
    return all(a[k] < b[k] + b[s] and b[k] < a[k] + a[s] for k, s in (("x", "w"), ("y", "h")))


def shape(*paths):
    wrong, uids = [], set()
    for path in paths:
        with open(path, encoding="ascii") as file:
            dashboard = json.load(file)
        list_of = dashboard["panels"]
        names = {v["name"] for v in dashboard["templating"]["list"]}

        def say(text, *values, path=path):
            wrong.append(path + ": " + text % values)
        if dashboard["uid"] in uids or "id" in dashboard or len(dashboard["uid"]) > 40:
            say("uid")
        uids.add(dashboard["uid"])
        if len({p["id"] for p in list_of}) != len(list_of):
            say("panel ids")
        for i, panel in enumerate(list_of):
            grid = panel["gridPos"]
            if grid["x"] + grid["w"] > 24 or any(overlap(grid, other["gridPos"]) for other in list_of[:i]):
                say("%s lies over another, or the edge", panel["title"])
            if panel["type"] == "text":
                continue
            defaults = panel["fieldConfig"]["defaults"]
            units = [p["value"] for o in panel["fieldConfig"]["overrides"] for p in o["properties"] if p["id"] == "unit"]
            named = panel["type"] == "table" or panel["options"].get("textMode") == "name"
            if not set(units + ([defaults["unit"]] if not named else [])) <= UNITS:
                say("%s: units %s", panel["title"], units)
            ids = [t["refId"] for t in panel["targets"]]
            if not ids or len(set(ids)) != len(ids):
                say("%s: refIds %s", panel["title"], ids)
            for target in panel["targets"]:
                for source in (panel["datasource"], target["datasource"]):
                    if source["uid"] not in ("${prometheus}", "${store}") or source["uid"][2:-1] not in names:
                        say("%s: a data source of its own: %s", panel["title"], source)
                used = set(re.findall(r"\$\{?([a-z]+)", target.get("expr", "") + target.get("rawSql", "")))
                if not used <= names:
                    say("%s: no variables %s", panel["title"], used - names)
    return wrong


if __name__ == "__main__":
    found = {"shape": shape, "promql": promql, "sql": sql}[sys.argv[1]](*sys.argv[2:])
    print("\n".join(found))
    sys.exit(1 if found else 0)
