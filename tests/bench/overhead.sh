#!/bin/bash
# Part of make bench: what the prolog and epilog cost beyond their kernels' time boxes, beside
# what an empty script of the same languages costs in the same minute. Rounds are
# interleaved; medians with range. Nothing here is asserted: the machine is shared.
set -u
cd "$(dirname "$0")/../.." || exit 2
ROUNDS=${ROUNDS:-15}

dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make -s install PREFIX="$dir/p" SYSCONFDIR="$dir/etc" LOCALSTATEDIR="$dir/var" RUNDIR="$dir/run" DESTDIR=
printf '#!/bin/bash\ntimeout 75 lua5.4 -e ""\nexit 0\n' >"$dir/empty.sh"
chmod 755 "$dir/empty.sh"

# timed NAME COMMAND...: appends wall milliseconds and CPU milliseconds to $dir/NAME
timed() {
	local name=$1 t
	shift
	TIMEFORMAT='%R %U %S'
	t=$({ time "$@" >/dev/null 2>&1; } 2>&1)
	awk '{ printf "%.1f %.1f\n", $1 * 1000, ($2 + $3) * 1000 }' <<<"$t" >>"$dir/$name"
}

stage() {
	env -i SLURM_JOB_ID=1 SLURM_JOB_PARTITION=main SLURM_NODELIST=b SLURMD_NODENAME=b SPANK_SYSCHECK="$2" \
		SLURM_JOB_CPUS_PER_NODE="$(nproc --all)" "$dir/p/libexec/syscheck/$1"
}

# stats FILE COLUMN: "median min max"
stats() {
	awk -v c="$2" '{ print $c }' "$1" | sort -n | awk '{ v[NR] = $1 }
		END { m = NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2; print m, v[1], v[NR] }'
}

for _ in $(seq "$ROUNDS"); do
	timed empty "$dir/empty.sh"
	timed passive stage prolog passive
	timed epilog stage epilog passive
done
for _ in $(seq 5); do
	timed quick stage prolog quick
	stage epilog quick
done

# Of the quick checks: seconds beyond the kernels' boxes, and beyond what they took.
lua5.4 - "$dir/var/spool/syscheck/records.jsonl" >"$dir/beyond" <<'LUA'
for line in io.lines(arg[1]) do
	local r = require("cjson").decode(line)
	if r.kind == "check" and r.level == "quick" then
		print(("%.1f %.1f"):format((r.duration_s - r.box_s) * 1000, (r.duration_s - r.kernel_s) * 1000))
	end
end
LUA

echo "what checks cost, ms: median (min to max), $ROUNDS rounds"
row() {
	local m
	read -r -a m < <(stats "$2" "$3")
	printf '  %-52s %8.1f  (%.1f to %.1f)\n' "$1" "${m[@]}"
}
row "empty bash + lua, wall" "$dir/empty" 1
row "passive prolog, wall" "$dir/passive" 1
row "passive prolog, CPU" "$dir/passive" 2
row "epilog, wall" "$dir/epilog" 1
row "epilog, CPU" "$dir/epilog" 2
row "quick prolog, wall" "$dir/quick" 1
row "quick: agent beyond the kernels' time boxes" "$dir/beyond" 1
row "quick: agent beyond the kernels' own run time" "$dir/beyond" 2
read -r a _ < <(stats "$dir/empty" 1)
read -r p _ < <(stats "$dir/passive" 1)
awk -v a="$a" -v p="$p" 'BEGIN { printf "  passive / empty, wall: %.2f\n", p / a }'
read -r q _ < <(stats "$dir/beyond" 1)
awk -v q="$q" 'BEGIN { printf "{\"quick_overhead_s\":%.4f}\n", q / 1000 }'
