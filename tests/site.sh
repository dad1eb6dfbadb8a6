#!/bin/bash
# A site as its admin made it by hand, without syscheck: a controller whose SlurmUser is not root, slurmdbd on MariaDB,
# three nodes, Prolog, Epilog and job_submit.lua of its own, which log, partitions for whole and for shared nodes. Each
# host has this machine's system on a disk of its own, that is gone with it: packages are installed there as on any other.
# Built of minicluster's parts.
#   site.sh up                 in $MINICLUSTER_DIR; minicluster run, status and down work there
#   site.sh run HOST COMMAND   on a host: head, n1, n2, n3
#   site.sh restart            slurmctld and all slurmd, as after systemctl restart
#   site.sh log                what the site's own scripts have logged
set -u
SELF=$(readlink -f "${BASH_SOURCE[0]}")
# shellcheck source=cluster/minicluster
. "$(dirname "$SELF")/cluster/minicluster"

SLURM_USER=slurm
CONF=/etc/slurm # on its hosts; made in $DIR/etc

# The directories of a host that are its own.
DISK=(usr etc var/lib var/spool var/log)

# disks_make HOST...: what each host has, this machine's and what is written to it
disks_make() {
	local host dir disk=$DIR/disks
	mkdir "$disk" && mount -t tmpfs -o mode=755 site "$disk" || return 1
	for host in "$@"; do
		for dir in "${DISK[@]}"; do
			mkdir -p "$disk/$host/$dir" "$disk/.$host/$dir"/{up,work}
			chmod --reference="/$dir" "$disk/.$host/$dir/up"
			mount -t overlay -o "lowerdir=/$dir,upperdir=$disk/.$host/$dir/up,workdir=$disk/.$host/$dir/work" overlay \
				"$disk/$host/$dir" || return 1
		done
		mkdir -p "$disk/$host/etc/slurm"
		cp -a "$DIR/etc/." "$disk/$host/etc/slurm/"
		cat "$DIR/nodes/hosts" >"$disk/$host/etc/hosts"
	done
}

# disks_mount HOST: here
disks_mount() {
	local dir
	for dir in "${DISK[@]}"; do
		mount --bind "$DIR/disks/$1/$dir" "/$dir" || return 1
	done
	# Outside, too, as there is no other way to have it inside.
	[ -d /run/syscheck ] || { mkdir -m 755 /run/syscheck && : >"$DIR/run/made"; }
	mount -t tmpfs -o mode=755 run /run/syscheck
}

# on HOST COMMAND...
on() {
	local host=$1
	shift
	[ "$host" != head ] || { holder_of switch && exec nsenter -t "$HOLDER" --mount --wd=/ -- "$@"; }
	is_node "$host" || die "no host \"$host\""
	node_exec "$host" "$@"
}

# The site's own, each with a line in the log.
site_scripts() {
	local name
	mkdir -p "$DIR/etc/site" "$DIR/log/site"
	chown "$SLURM_USER:" "$DIR/log/site"
	for name in prolog epilog; do
		# shellcheck disable=SC2016 # for the script to expand
		printf '#!/bin/bash\necho "%s job $SLURM_JOB_ID $SLURMD_NODENAME" >>%q\n' "$name" "$DIR/log/site/$name" \
			>"$DIR/etc/site/$name"
		chmod 755 "$DIR/etc/site/$name"
	done
	cat >"$DIR/etc/job_submit.lua" <<-LUA
	-- the site's own
	function slurm_job_submit(job_desc, part_list, submit_uid)
	   local log = io.open("$DIR/log/site/submit", "a")
	   log:write("submit ", tostring(submit_uid), "\n")
	   log:close()
	   if job_desc.account == "nobody" then
	      slurm.log_user("the site says no")
	      return slurm.ERROR
	   end
	   job_desc.comment = "seen by the site"
	   return slurm.SUCCESS
	end

	function slurm_job_modify(job_desc, job_rec, part_list, modify_uid)
	   return slurm.SUCCESS
	end

	return slurm.SUCCESS
	LUA
}

site_hosts() {
	local node
	echo "127.0.0.1 localhost"
	echo "$(subnet "$SLOT").1 $(hostname -s)"
	for node in $(node_names); do
		echo "$(node_address "$node") $node"
	done
}

# As such files look: a comment for this and that, nothing in an order of ours.
site_conf() {
	local base controller node
	base=$(port_base "$SLOT") controller=$(subnet "$SLOT").1
	cat >"$DIR/etc/slurm.conf" <<-CONF
	# slurm.conf of the site. Ask before you change it!
	ClusterName=site$SLOT
	SlurmctldHost=$(hostname -s)($controller)
	SlurmctldPort=$base
	SlurmUser=$SLURM_USER
	AuthType=auth/munge
	AuthInfo=socket=$DIR/munge/socket
	StateSaveLocation=$DIR/state/ctld
	SlurmdSpoolDir=$DIR/spool/%n
	SlurmctldPidFile=$DIR/state/ctld/pid
	SlurmdPidFile=$DIR/run/slurmd.%n.pid
	SlurmctldLogFile=$DIR/state/ctld/log
	SlurmdLogFile=$DIR/log/slurmd.%n.log

	# Our scripts
	  Prolog=$CONF/site/prolog   # mounts the scratch
	Epilog=$CONF/site/epilog
	JobSubmitPlugins=all_partitions,lua

	ProctrackType=proctrack/linuxproc
	TaskPlugin=task/none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SlurmdParameters=config_overrides
	SchedulerParameters=bf_interval=1,sched_interval=1,\\
	sched_min_interval=0
	ReturnToService=2
	include limits.conf

	AccountingStorageType=accounting_storage/slurmdbd
	AccountingStorageHost=127.0.0.1
	AccountingStoragePort=$((base + 900))
	AccountingStoragePass=$DIR/munge/socket
	CONF
	for node in $(node_names); do
		echo "NodeName=$node NodeAddr=$(node_address "$node") NodeHostname=$node Port=$((base + 1)) CPUs=$(machine_cpus) State=UNKNOWN"
	done >>"$DIR/etc/slurm.conf"
	# Without a last newline, as editors leave it.
	printf '%s\n%s' "PartitionName=whole Nodes=n[1-$NODES] Default=YES OverSubscribe=EXCLUSIVE MaxTime=60 DefaultTime=5 State=UP" \
		"PartitionName=shared Nodes=n[1-$NODES] OverSubscribe=NO MaxTime=60 DefaultTime=5 State=UP" >>"$DIR/etc/slurm.conf"
	printf 'MessageTimeout=20\r\nKillWait=2\r\n' >"$DIR/etc/limits.conf"
	printf '# none yet' >"$DIR/etc/plugstack.conf"
	cat >"$DIR/etc/slurmdbd.conf" <<-CONF
	AuthType=auth/munge
	AuthInfo=socket=$DIR/munge/socket
	DbdHost=localhost
	DbdPort=$((base + 900))
	SlurmUser=$SLURM_USER
	PidFile=$DIR/state/dbd.pid
	LogFile=$DIR/state/ctld/dbd.log
	StorageType=accounting_storage/mysql
	StorageHost=127.0.0.1
	StoragePort=$((base + 901))
	StorageUser=slurm
	StoragePass=site
	StorageLoc=slurm_acct_db
	CONF
	chown "$SLURM_USER:" "$DIR/etc/slurmdbd.conf"
	chmod 600 "$DIR/etc/slurmdbd.conf"
}

# Until a command works
wait_for() {
	local end=$((SECONDS + 30))
	until timeout 10 "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

start_database() {
	local dir=$DIR/state/db sql
	mkdir -m 700 "$dir"
	mariadb-install-db --no-defaults --user=root --datadir="$dir/data" --auth-root-authentication-method=normal \
		--skip-test-db --skip-log-bin >"$DIR/log/mariadb.out" 2>&1 || return 1
	start mariadb daemons mariadbd --no-defaults --user=root --datadir="$dir/data" --socket="$dir/s" \
		--bind-address=127.0.0.1 --port=$(($(port_base "$SLOT") + 901)) --innodb-flush-log-at-trx-commit=2 \
		--innodb-buffer-pool-size=64M --innodb-lock-wait-timeout=900
	sql="CREATE DATABASE slurm_acct_db; CREATE USER slurm@'%' IDENTIFIED BY 'site'; GRANT ALL ON slurm_acct_db.* TO slurm@'%'"
	wait_for mariadb --no-defaults -S "$dir/s" -u root -e 'SELECT 1' &&
		mariadb --no-defaults -S "$dir/s" -u root -e "$sql" &&
		start slurmdbd daemons env SLURM_CONF="$SLURM_CONF" slurmdbd -D &&
		wait_for sacctmgr -i show cluster
}

start_slurm() {
	local node
	# They are there.
	namespaces_create() { :; }
	start slurmctld daemons slurmctld -D
	for node in $(node_names); do
		node_start "$node" || return 1
	done
}

# All nodes, by this site's partition
site_idle() {
	local end=$((SECONDS + 30))
	until [ "$(timeout 5 sinfo -h -N -p whole -t idle -o %N 2>/dev/null | sort -u | wc -l)" = "$NODES" ]; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.2
	done
}

site_up() {
	local node
	MODE=netns NODES=3 BARE=1 LEAVES=0 RATE=200 KEEP_FAILED=${KEEP_FAILED:-0}
	needs
	claim_dir
	mkdir -p "$DIR"/{etc,munge,spool,log,run,nodes,state/ctld,var}
	claim_slot || fail_up "no slot"
	printf '%s\n' "MODE=$MODE" "NODES=$NODES" "SLOT=$SLOT" "BARE=$BARE" "LEAVES=$LEAVES" "RATE=$RATE" >"$DIR/settings"
	cgroup_create || fail_up "no cgroups"
	chown "$SLURM_USER:" "$DIR/state/ctld"
	write_cgroup_conf >"$DIR/etc/cgroup.conf"
	site_hosts >"$DIR/nodes/hosts"
	site_scripts
	site_conf
	# shellcheck disable=SC2046 # a word a node
	disks_make head $(node_names) && disks_mount head || fail_up "no disks"
	start_munge || fail_up "munged did not start"
	network_create || fail_up "no network"
	start_database || fail_up "slurmdbd did not start"
	for node in $(node_names); do
		namespaces_create "$node" && holder_of "$node" && nsenter -t "$HOLDER" --mount -- "$BASH" "$SELF" --disk "$node" || fail_up "$node has no disk"
	done
	start_slurm || fail_up "a node did not start"
	site_idle || fail_up "the nodes are not idle"
	echo "the site is up"
}

site_restart() {
	local name pid start keep=()
	load_settings
	while read -r name pid start; do
		case $name in
		slurmctld | slurmd.*) is_ours "$pid" "$start" && kill "$pid" && wait_gone "$pid:$start" ;;
		*) keep+=("$name $pid $start") ;;
		esac
	done <"$DIR/pids"
	printf '%s\n' "${keep[@]}" >"$DIR/pids.new"
	mv "$DIR/pids.new" "$DIR/pids"
	start_slurm || die "a node did not start"
	site_idle || die "the nodes are not idle"
}

DIR=${MINICLUSTER_DIR:?} SLOT=''
export SLURM_CONF=$CONF/slurm.conf
case ${1-} in
# What is mounted in there ends with the last process of it.
up) exec unshare --mount "$BASH" "$SELF" --up ;;
--up) site_up ;;
--disk) disks_mount "$2" ;;
run) load_settings && unset SLURM_CONF && on "${@:2}" ;;
restart) load_settings && on head "$BASH" "$SELF" --restart ;;
--restart) site_restart ;;
log) cat "$DIR"/log/site/* ;;
*) die "usage: site.sh up|run|restart|log" ;;
esac
