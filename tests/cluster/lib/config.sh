# Configuration of the cluster: Slurm's files, and syscheck installed as a site does it.
# shellcheck shell=bash disable=SC2153

install_syscheck() {
	local text
	# One at a time: two clusters that start together would build in the same build/.
	(
		cgroup_enter daemons &&
			exec flock "$REPO" make -s -C "$REPO" install PREFIX="$DIR/prefix" SYSCONFDIR="$DIR/etc" \
				LOCALSTATEDIR="$DIR/var" RUNDIR="$DIR/run/syscheck/%n" DESTDIR=
	) </dev/null >"$DIR/log/install.out" 2>&1 || return 1
	text=$(<"$HERE/policy.lua")
	printf '%s\n' "${text//@DIR@/$DIR}" >"$DIR/etc/syscheck/policy.lua"
	cp "$DIR/prefix/share/syscheck/job_submit.lua" "$DIR/etc/job_submit.lua"
	echo "include $DIR/etc/slurm/plugstack.conf.d/*.conf" >"$DIR/etc/plugstack.conf"
}

write_cgroup_conf() {
	if is_v1; then
		printf '%s\n' "CgroupPlugin=cgroup/v1" "CgroupMountpoint=$DIR/cg"
	else
		# Without systemd's scopes: a slurmd of ours is no unit of its.
		printf '%s\n' "CgroupPlugin=cgroup/v2" "IgnoreSystemd=yes"
	fi
	printf '%s\n' "ConstrainCores=no" "ConstrainRAMSpace=no"
}

write_config() {
	local base controller last node
	base=$(port_base "$SLOT")
	last=$(node_letter)[1-$NODES]
	if [ "$MODE" = netns ]; then
		controller=$(subnet "$SLOT").1
	else
		controller=127.0.0.1
	fi
	write_cgroup_conf >"$DIR/etc/cgroup.conf"
	{
		echo "127.0.0.1 localhost"
		echo "$controller $(hostname -s)"
		if [ "$MODE" = netns ]; then
			for node in $(node_names); do
				echo "$(node_address "$node") $node"
			done
		fi
	} >"$DIR/nodes/hosts"
	cat >"$DIR/etc/slurm.conf" <<-CONF
	ClusterName=minicluster$SLOT
	SlurmctldHost=$(hostname -s)($controller)
	SlurmctldPort=$base
	SlurmUser=root
	AuthType=auth/munge
	# A requeued job is eligible one second after its credential has expired (22.05).
	# 5 is the least: slurm_cred.c takes less for 120.
	AuthInfo=socket=$DIR/munge/socket,cred_expire=5
	StateSaveLocation=$DIR/state
	SlurmdSpoolDir=$DIR/spool/%n
	SlurmctldPidFile=$DIR/run/slurmctld.pid
	SlurmdPidFile=$DIR/run/slurmd.%n.pid
	SlurmctldLogFile=$DIR/log/slurmctld.log
	SlurmdLogFile=$DIR/log/slurmd.%n.log
	ProctrackType=proctrack/cgroup
	TaskPlugin=task/cgroup
	JobAcctGatherType=jobacct_gather/$ACCOUNTING
	AccountingStorageType=accounting_storage/none
	MpiDefault=none
	SelectType=select/cons_tres
	SelectTypeParameters=CR_CPU
	SlurmdParameters=config_overrides
	ReturnToService=2
	JobRequeue=1
	KillWait=2
	# Prologs measure one after the other here, up to a minute.
	MessageTimeout=100
	BatchStartTimeout=100
	SlurmdTimeout=300
	SchedulerParameters=nohold_on_prolog_fail,batch_sched_delay=0,sched_interval=1,sched_min_interval=0,bf_interval=1
	LaunchParameters=use_interactive_step
	CONF
	if [ "$BARE" = 0 ]; then
		echo "include $DIR/etc/slurm/syscheck.conf" >>"$DIR/etc/slurm.conf"
	else
		echo "PrologFlags=Alloc" >>"$DIR/etc/slurm.conf"
	fi
	if [ "$LEAVES" -gt 0 ]; then
		echo "TopologyPlugin=topology/tree" >>"$DIR/etc/slurm.conf"
		write_topology_conf >"$DIR/etc/topology.conf"
	fi
	if [ "$MODE" = netns ]; then
		for node in $(node_names); do
			echo "NodeName=$node NodeAddr=$(node_address "$node") NodeHostname=$node Port=$((base + 1)) CPUs=$(machine_cpus) State=UNKNOWN"
		done
	else
		echo "NodeName=$last NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + NODES))] CPUs=$(machine_cpus) State=UNKNOWN"
	fi >>"$DIR/etc/slurm.conf"
	cat >>"$DIR/etc/slurm.conf" <<-CONF
	PartitionName=main Nodes=$last Default=YES OverSubscribe=EXCLUSIVE State=UP
	PartitionName=shared Nodes=$last OverSubscribe=NO State=UP
	CONF
}
