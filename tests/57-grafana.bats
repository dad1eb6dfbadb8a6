#!/usr/bin/env bats
# Dashboards and alert rules: what they ask of a real Prometheus, that scrapes real node_exporters, and of real stores.
# shellcheck disable=SC2016,SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load helpers
load eventually
load servers

DASHBOARDS=("$BATS_TEST_DIRNAME"/../etc/grafana/*.json)
RULES=$BATS_TEST_DIRNAME/../etc/prometheus/syscheck.rules.yml

setup_file() {
	agent_install
	export W=$BATS_FILE_TMPDIR/w
	mkdir "$W"
	lua5.4 "$FIXTURES/ten_days.lua" >"$W/records.jsonl"
	NASTY=x lua5.4 "$FIXTURES/week.lua" >>"$W/records.jsonl"
	lua5.4 "$FIXTURES/lines.lua" 'check { cluster = "c1", node = "n7", time = ago(1), level = "quick", status = "unknown",
		action = "none", text = "busy, not rated: most by x (pid 4711, uid 1000)" }' >>"$W/records.jsonl"
}

setup() {
	PATH=$P/bin:$PATH
	PIDS=()
	PG='' MY=''
}

teardown() {
	[ "${#PIDS[@]}" = 0 ] || kill "${PIDS[@]}" 2>/dev/null || true
	[ -z "$PG" ] || { stop_server "$PG"; rm -rf "$PG"; }
	[ -z "$MY" ] || { stop_server "$MY" TERM; rm -rf "$MY"; }
}

@test "they are what their definition makes, and whole" {
	lua5.4 "$ROOT/etc/grafana/make.lua" --check
	"$ROOT/tests/grafana.py" shape "${DASHBOARDS[@]}"
	[ "${#DASHBOARDS[@]}" -eq 6 ]
	for name in "${DASHBOARDS[@]}" "$RULES"; do
		find "$P/share/syscheck/examples" -name "${name##*/}" | grep -q .
	done
}

# asks COMMAND...: each query of a store
asks() {
	"$ROOT/tests/grafana.py" sql "$(($(date +%s) - 864000))000" n7 "$@" -- "${DASHBOARDS[@]}"
}

@test "SQLite: each query of the store has rows, and names no user" {
	syscheck ingest --store "$W/s.db" "$W/records.jsonl"
	asks sqlite3 -readonly "$W/s.db"
	# n7 is what `suspects` finds there.
	syscheck suspects --store "$W/s.db" --csv | grep -q '^n7,'
}

@test "PostgreSQL: as a role that may read the views, and nothing else" {
	PG=$(server_dir spg)
	start_postgresql "$PG"
	syscheck ingest --store "$PGURL" "$W/records.jsonl"
	psql -h "$PG" -U admin -d syscheck -Xq -v ON_ERROR_STOP=1 -f "$ROOT/etc/store/postgresql-users.sql" \
		-c 'CREATE ROLE grafana LOGIN IN ROLE syscheck_grafana; CREATE ROLE stranger LOGIN'
	as() {
		psql -h "$PG" -U "$1" -d syscheck -XAtqc "$2" 2>&1
	}
	asks psql -h "$PG" -U grafana -d syscheck -XAtqc
	for table in word run job_node check_node node meta; do
		[[ $(as grafana "SELECT * FROM $table") == *"permission denied"* ]]
	done
	[[ $(as stranger 'SELECT * FROM syscheck_run') == *"permission denied"* ]]
	# Views that are made anew are still his to read.
	psql -h "$PG" -U admin -d syscheck -Xqc "UPDATE meta SET value = 'older' WHERE name = 'views'"
	syscheck ingest --store "$PGURL" "$W/records.jsonl"
	[ "$(as admin "SELECT value FROM meta WHERE name = 'views'")" != older ]
	[ "$(as grafana 'SELECT COUNT(*) FROM syscheck_node')" = 32 ]
}

@test "MariaDB: as an account that may read the views; one that may make none still ingests" {
	MY=$(server_dir smy)
	start_mariadb "$MY"
	root() {
		mariadb --no-defaults -S "$MY/s" -u root -D syscheck -BN -e "$1"
	}
	root "CREATE USER writer@localhost; GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, ALTER, INDEX, DROP ON syscheck.* TO writer@localhost"
	syscheck ingest --store "${MYURL/root@/writer@}" "$W/records.jsonl"
	[ "$(root "SELECT COUNT(*) FROM meta WHERE name = 'views'")" = 0 ]
	syscheck ingest --store "$MYURL" "$W/records.jsonl"
	root "CREATE USER grafana@localhost; GRANT SELECT ON syscheck_node TO grafana@localhost; GRANT SELECT ON syscheck_check TO grafana@localhost;
		GRANT SELECT ON syscheck_job TO grafana@localhost; GRANT SELECT ON syscheck_run TO grafana@localhost"
	asks mariadb --no-defaults -S "$MY/s" -u grafana -D syscheck -BN -e
	run mariadb --no-defaults -S "$MY/s" -u grafana -D syscheck -BN -e 'SELECT * FROM word'
	[[ $output == *denied* ]]
}

# started NAME COMMAND...: a server of ours on a port that is free; AT is its address
started() {
	local name=$1
	shift
	: >"$W/$name.log"
	"$@" --web.listen-address=127.0.0.1:0 >"$W/$name.log" 2>&1 3>&- &
	PIDS+=($!)
	eventually 20 grep -q 'msg="Listening on".* address=127' "$W/$name.log"
	AT=$(sed -n 's/.*msg="Listening on".* address=\(127[0-9.:]*\).*/\1/p' "$W/$name.log")
}

# Another check of each node: a counter that does not change shows no increase.
checked() {
	CHECKS=$((CHECKS + 1))
	SYSCHECK_LUA=$P/share/syscheck/lua lua5.4 "$FIXTURES/nodes_prom.lua" "$W/nodes" "$CHECKS"
	sleep 1
}

# Whether every query is answered.
answers() {
	checked
	"$ROOT/tests/grafana.py" promql "$1" "${DASHBOARDS[@]}" >"$W/unanswered"
}

# Whether each rule is evaluated, the one on the cap fires, and the one on unknown does not.
evaluated() {
	checked
	python3 - "$1" "$(grep -c -- '- alert:' "$RULES")" 2>"$W/rules" <<-'PYTHON'
		import json, sys, urllib.request
		rules = [r for g in json.load(urllib.request.urlopen(sys.argv[1]))["data"]["groups"] for r in g["rules"]]
		assert len(rules) == int(sys.argv[2]), len(rules)
		assert not [r for r in rules if r["health"] != "ok"], rules
		firing = {r["name"] for r in rules if r["state"] == "firing"}
		assert "SyscheckCapReached" in firing and "SyscheckUnknown" not in firing, firing
	PYTHON
}

@test "Prometheus: each query has a value, each variable its values, each rule is evaluated" {
	local node CHECKS=0
	mkdir -p "$W"/nodes/{n1,n2,n7}
	syscheck ingest --store "$W/p.db" "$W/records.jsonl"
	syscheck export prometheus --store "$W/p.db" --since 60d --output "$W/nodes/n1/syscheck-fleet.prom"
	{
		printf 'global: { scrape_interval: 1s, evaluation_interval: 1s }\nrule_files: [ %s ]\nscrape_configs:\n- job_name: node\n  static_configs:\n' \
			"$P/share/syscheck/examples/prometheus/syscheck.rules.yml"
		for node in n1 n2 n7; do
			started "$node" prometheus-node-exporter --collector.disable-defaults --collector.textfile --collector.textfile.directory="$W/nodes/$node"
			printf '  - { targets: [ "%s" ], labels: { instance: "%s:9100" } }\n' "$AT" "$node"
		done
	} >"$W/prometheus.yml"
	started prometheus prometheus --config.file="$W/prometheus.yml" --storage.tsdb.path="$W/tsdb"
	eventually 60 answers "http://$AT" || { cat "$W/unanswered"; tail -n 5 "$W/prometheus.log"; return 1; }
	eventually 60 evaluated "http://$AT/api/v1/rules" || { cat "$W/rules"; return 1; }
}

@test "alert rules: each is good, fires where it should, and nowhere else" {
	run promtool check rules "$RULES"
	[ "$status" -eq 0 ]
	run promtool test rules "$FIXTURES/alerts.yml"
	echo "$output"
	[ "$status" -eq 0 ]
	# None without a case.
	diff <(sed -n 's/^ *- alert: //p' "$RULES" | sort -u) <(sed -n 's/.*alertname: \([A-Za-z]*\).*/\1/p' "$FIXTURES/alerts.yml" | sort -u)
}
