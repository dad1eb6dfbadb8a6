#!/bin/bash
# make bench-store: what the store costs. Records of a made-up fleet (store_gen.lua), half of
# them checks, half job records of a node, are made in pieces and ingested, so that the disk
# holds the store and two pieces; then it is asked. Writes build/bench/store.json.
#   store.sh [N [DIRECTORY]]    N records, default 1,000,000; files in DIRECTORY (default /tmp)
set -eu
cd "$(dirname "$0")/../.."
. tests/servers.bash
N=${1:-1000000}
NODES=1000
PIECE=100000 # records; 225 MB
ROUNDS=21
PREFIX=$PWD/build/prefix
OUT=$PWD/build/bench
W=$(mktemp -d "${2:-/tmp}/store-bench.XXXXXX")
PG=
declare -A R # figures

cleanup() {
	[ -z "$PG" ] || stop_server "$PG"
	rm -rf "$W" ${PG:+"$PG"}
}
trap cleanup EXIT

note() {
	R[$1]=$2
	printf '%-34s %s\n' "$3" "$2"
}

calc() {
	awk "BEGIN { printf \"%.4g\", ($1) }"
}

median() {
	sort -n | awk '{ v[NR] = $1 } END { printf "%.4g", v[int((NR + 1) / 2)] }'
}

# timed FORMAT COMMAND...: what time(1) says
timed() {
	/usr/bin/time -o "$W/time" -f "$1" "${@:2}" >"$W/stdout"
	cat "$W/time"
}

generate() {
	lua5.4 tests/bench/store_gen.lua "$(($1 / 2))" "$(($2 / 2))" "$NODES" 1 >"$W/records-$1.jsonl"
}

# import FILE: the sqlite3 shell, every line into a table of one column; seconds
import() {
	rm -f "$W"/plain.db*
	printf '%s\n' 'PRAGMA journal_mode=WAL;' 'PRAGMA synchronous=FULL;' 'CREATE TABLE line (text TEXT);' '.mode ascii' \
		'.separator "\037" "\n"' ".import $1 line" >"$W/import.sql"
	/usr/bin/time -o "$W/time" -f '%e %U %S' sqlite3 "$W/plain.db" <"$W/import.sql" >/dev/null
	cat "$W/time"
}

# extract: the shell again, from that table's lines into tables like the store's
extract() {
	lua5.4 - "$W/plain.db" >"$W/extract.sql" <<-'LUA'
	package.path = "lua/?.lua;" .. package.path
	local fields = require("syscheck.catalogue.fields")
	local function x(path) return ("json_extract(text, '$.%s')"):format(path) end
	local names, values = {}, {}
	for _, f in ipairs(fields.JOB) do
	   names[#names + 1] = f.name
	   values[#values + 1] = x(f.from)
	end
	local key = "(unixepoch(" .. x("time") .. ") << 30 | abs(random()) >> 33)"
	print("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; ATTACH '" .. arg[1] .. "' AS plain; BEGIN;")
	print("CREATE TABLE job_node (key INTEGER PRIMARY KEY, id BLOB, node TEXT, job, begin_s, elapsed_s, " .. table.concat(names, ", ")
	   .. "); CREATE INDEX a ON job_node (node, key); CREATE INDEX b ON job_node (job);")
	print("CREATE TABLE check_node (key INTEGER PRIMARY KEY, id BLOB, node TEXT, job, level, status, action); CREATE INDEX c ON check_node (node, key); CREATE INDEX d ON check_node (job);")
	print("INSERT OR IGNORE INTO job_node SELECT " .. key .. ", " .. x("id") .. ", " .. x("node") .. ", " .. x("job.id") .. ", 0, " .. x("elapsed_s")
	   .. ", " .. table.concat(values, ", ") .. " FROM plain.line WHERE " .. x("kind") .. " = 'job';")
	print("INSERT OR IGNORE INTO check_node SELECT " .. key .. ", " .. x("id") .. ", " .. x("node") .. ", " .. x("job.id") .. ", " .. x("level") .. ", "
	   .. x("status") .. ", " .. x("action") .. " FROM plain.line WHERE " .. x("kind") .. " = 'check'; COMMIT;")
	LUA
	rm -f "$W"/extract.db*
	/usr/bin/time -o "$W/time" -f '%e' sqlite3 "$W/extract.db" <"$W/extract.sql" >/dev/null
	cat "$W/time"
}

fill() {
	local at size ingest=0 cpu=0 import=0 import_cpu=0 extract=0 compared=0 own=0 peak=0 e u s m
	for ((at = 0; at < N; at += PIECE)); do
		size=$((N - at < PIECE ? N - at : PIECE))
		# Not beside ingest: the machine's CPUs may be threads of one core.
		generate "$at" "$size"
		read -r e u s m < <(timed '%e %U %S %M' "$PREFIX/bin/syscheck" ingest --store "$W/store.db" --bad "$W/bad" "$W/records-$at.jsonl")
		grep -q " $size new, 0 known; 0 bad" "$W/stdout" || { cat "$W/stdout"; return 1; }
		ingest=$(calc "$ingest + $e") cpu=$(calc "$cpu + $u + $s") peak=$((m > peak ? m : peak))
		# The shell's rates, of the first pieces and every tenth.
		if ((at / PIECE < 2 || at / PIECE % 10 == 0)); then
			own=$(calc "$own + $e") compared=$((compared + size))
			read -r e u s < <(import "$W/records-$at.jsonl")
			import=$(calc "$import + $e") import_cpu=$(calc "$import_cpu + $u + $s")
			[ "$at" != 0 ] || extract=$(extract)
		fi
		rm -f "$W/records-$at.jsonl" "$W"/plain.db* "$W"/extract.db*
	done
	note records "$N" "records (half are checks)"
	note ingest_per_s "$(calc "$N / $ingest")" "ingest, records/s"
	note ingest_cpu_us "$(calc "$cpu / $N * 1e6")" "ingest, us of CPU a record"
	note import_per_s "$(calc "$compared / $import")" "sqlite3 .import, records/s"
	note import_cpu_us "$(calc "$import_cpu / $compared * 1e6")" "sqlite3 .import, us of CPU a record"
	note ingest_vs_sqlite3 "$(calc "$import / $own")" "ingest / .import, same pieces"
	note extract_per_s "$(calc "$((N < PIECE ? N : PIECE)) / $extract")" "sqlite3 json_extract, records/s"
	note ingest_peak_mb "$(calc "$peak / 1024")" "ingest, most memory, MB"
}

sizes() {
	local jobs total checks
	sqlite3 "$W/store.db" 'PRAGMA wal_checkpoint(TRUNCATE)' >/dev/null
	jobs=$(sqlite3 "$W/store.db" 'SELECT COUNT(*) FROM job_node')
	total=$(stat -c %s "$W/store.db")
	checks=$(sqlite3 "$W/store.db" "SELECT SUM(pgsize) FROM dbstat WHERE name LIKE 'check_node%'")
	note bytes_per_record "$(calc "($total - $checks) / $jobs")" "bytes a job record, all but checks"
	note bytes_with_check "$(calc "$total / $jobs")" "bytes a job record and its check"
}

# ask KEY LABEL STORE COMMAND ARGUMENT...: in the process, as a process, memory; of
# PostgreSQL beside SQLite in turn, as the machine's speed may change between minutes
ask() {
	local key=$1 label=$2 store=$3 inside beside code i e m peak=0
	local stores=("$3")
	shift 3
	[ "$store" = "$W/store.db" ] || stores+=("$W/store.db")
	{
		read -r inside code
		read -r beside _ || true
	} < <(lua5.4 tests/bench/store_query.lua "$PREFIX" "$ROUNDS" "${stores[@]}" -- "$@")
	[ "${code:-9}" -le 1 ] || { echo "$label: exit $code"; return 1; }
	: >"$W/walls"
	TIMEFORMAT=%3R
	for ((i = 0; i < ROUNDS; i++)); do
		{ time "$PREFIX/bin/syscheck" "$@" --store "$store" >/dev/null; } 2>>"$W/walls" || true
	done
	m=$(/usr/bin/time -o "$W/time" -f %M "$PREFIX/bin/syscheck" "$@" --store "$store" >/dev/null; tail -n 1 "$W/time")
	e=$(calc "$(grep -E '^[0-9.]+$' "$W/walls" | median) * 1000")
	note "${key}_ms" "$inside" "$label, ms, median of $ROUNDS"
	note "${key}_process_ms" "$e" "$label, ms, whole process"
	[ -z "$beside" ] || note "${key}_ratio" "$(calc "$inside / $beside")" "${label}, / SQLite in turn"
	peak=$(calc "$m / 1024")
	[ "$(calc "$peak > ${R[peak_mb]:-0}")" != 1 ] || R[peak_mb]=$peak
}

# questions PREFIX LABEL STORE
questions() {
	local job node since
	job=$(sqlite3 "$W/store.db" 'SELECT CAST(job_id AS INTEGER) FROM run WHERE seen = 64 ORDER BY id LIMIT 1 OFFSET (SELECT COUNT(*) / 2 FROM run WHERE seen = 64)')
	node=n0500
	# A week of its records, which begin when the generator says.
	since=$(sqlite3 "$W/store.db" "SELECT strftime('%Y-%m-%dT%H:%MZ', (MAX(key) >> 30) - 7 * 86400, 'unixepoch') FROM job_node")
	ask "${1}job" "${2}job of 64 nodes" "$3" job "$job"
	ask "${1}node" "${2}node, 7 days" "$3" node "$node" --since "$since"
	ask "${1}why" "${2}why" "$3" why "$job"
}

# The same rows in PostgreSQL, by COPY.
postgresql() {
	local table columns
	PG=$(server_dir spg)
	start_postgresql "$PG" -c shared_buffers=1GB -c max_wal_size=8GB -c fsync=off
	: >"$W/records-none.jsonl"
	"$PREFIX/bin/syscheck" ingest --store "$PGURL" --bad "$W/bad" "$W/records-none.jsonl" >/dev/null
	for table in word node run job_node check_node config; do
		columns=$(sqlite3 "$W/store.db" "SELECT group_concat(CASE WHEN type = 'BLOB' THEN 'lower(hex(' || name || '))' ELSE '\"' || name || '\"' END, ', ') FROM pragma_table_info('$table')")
		psql -h "$PG" -U admin -d syscheck -XAtqc "SELECT indexdef || ';' FROM pg_indexes WHERE tablename = '$table' AND indexdef NOT LIKE '%UNIQUE%'" >"$W/indexes.sql"
		psql -h "$PG" -U admin -d syscheck -XAtqc "SELECT format('DROP INDEX %I;', indexname) FROM pg_indexes WHERE tablename = '$table' AND indexdef NOT LIKE '%UNIQUE%'" |
			psql -h "$PG" -U admin -d syscheck -Xq
		sqlite3 -csv "$W/store.db" "SELECT $columns FROM $table" | psql -h "$PG" -U admin -d syscheck -Xqc "COPY $table FROM STDIN (FORMAT csv)"
		psql -h "$PG" -U admin -d syscheck -Xq -f "$W/indexes.sql"
	done
	psql -h "$PG" -U admin -d syscheck -Xqc 'VACUUM ANALYZE'
	note pg_mb "$(calc "$(psql -h "$PG" -U admin -d syscheck -XAtqc 'SELECT pg_database_size(current_database())') / 1e6")" "PostgreSQL: size, MB"
	questions pg_ "PostgreSQL: " "$PGURL"
}

# CPU of a whole epilog: its shell, its counters, its record. The agent runs in the background, and bash
# counts it only once it has waited for it: the epilog's last line, with that.
epilog() {
	local i p=$W/p
	make -s install PREFIX="$p" SYSCONFDIR="$p/etc" LOCALSTATEDIR="$p/var" RUNDIR="$p/run" DESTDIR= >/dev/null
	TIMEFORMAT='%3U %3S'
	for ((i = 0; i < ROUNDS; i++)); do
		# shellcheck disable=SC2016
		{ time env -i PATH="$PATH" SLURM_JOB_ID=$((4711 + i)) SLURM_JOB_USER=alice SLURM_JOB_UID=1000 \
			SLURM_JOB_PARTITION=main SLURM_NODELIST=t1 SLURMD_NODENAME=t1 SLURM_CLUSTER_NAME=test \
			bash -c '. "$1"; bounded "$LIMIT" "$STAGE"; wait "$!"' bash "$p/libexec/syscheck/epilog" 2>/dev/null; } 2>&1 >/dev/null
	done | awk '{ print ($1 + $2) * 1000 }' >"$W/cpu"
	[ "$(grep -c '"kind":"job"' "$p/var/spool/syscheck/records.jsonl")" = "$ROUNDS" ]
	note epilog_cpu_ms "$(median <"$W/cpu")" "epilog, ms of CPU, counters included"
}

main() {
	if ! [[ $N =~ ^[0-9]{1,9}$ ]] || ((10#$N < 20000)); then
		echo "store.sh: N must be a number of records, 20000 or more (jobs of 64 nodes are asked about), not $N" >&2
		exit 2
	fi
	mkdir -p "$OUT"
	echo "$(date +%F), $(nproc) CPUs, load $(cut -d' ' -f1 /proc/loadavg), $N records of $NODES nodes"
	epilog # not while the disk takes in the store
	fill
	sizes
	R[peak_mb]=${R[ingest_peak_mb]}
	questions '' '' "$W/store.db"
	postgresql
	note peak_mb "${R[peak_mb]}" "most memory of any command, MB"
	for key in "${!R[@]}"; do
		printf '%s %s\n' "$key" "${R[$key]}"
	done | sort | awk 'BEGIN { printf "{" } { printf "%s\"%s\":%s", (NR > 1 ? "," : ""), $1, $2 } END { print "}" }' >"$OUT/store.json"
	echo "written to build/bench/store.json"
}

main
