#!/bin/bash
# A Debian of another release in a directory, and commands run inside it: how the tests meet other
# Slurms, other architectures, a bare system. `root.sh --help` explains it.
set -u
PATH=/usr/sbin:/usr/bin:/sbin:/bin
export PATH LC_ALL=C
umask 022

HERE=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
SELF=$HERE/root.sh

usage() {
	cat <<-'TEXT'
	usage: root.sh make SUITE DIR [--arch ARCH]... [--setup GROUP]... [PACKAGE...]
	       root.sh run DIR [--tree] [--net] [--bind DIR]... [--] COMMAND...

	make  DIR becomes a minimal Debian of that SUITE (bookworm, trixie, forky, sid) with
	      PACKAGEs and those that setup.sh lists for each GROUP; --arch: its dpkg knows that
	      architecture, too. A DIR that was made with the same words is left as it is.
	      It takes the mirror of this machine's apt; exit 3 where that does not answer.
	      Made beside DIR and renamed: a killed one leaves no half of it.
	run   COMMAND inside, as root, with processes, mounts, /proc, /sys, /dev, /run, host name,
	      cgroups and network (only lo; --net: the machine's) of its own. All of that, and
	      what it wrote, goes when it ends or is killed; DIR stays as it was made.
	      --tree: in a copy of the project, /srv/syscheck
	      --bind: this machine's DIR, to be read, under the same name
	TEXT
}

die() {
	echo "root.sh: $*" >&2
	exit "${CODE:-1}"
}

# alone CGROUP OPTION... COMMAND...: in namespaces that end, with all that is in them, when this shell does, however
# it ends; in cgroups of that name, none: ''
alone() {
	(
		[ -z "$1" ] || cgroups_enter "$1"
		exec setpriv --pdeathsig KILL -- unshare --fork --kill-child --mount --pid "${@:2}"
	) <&0 &
	CHILD=$!
	trap 'kill -KILL "$CHILD" 2>/dev/null; exit 143' TERM INT HUP
	wait "$CHILD"
}

# --- make ---

# mirror: where this machine's apt has Debian from; no mirror's name stands in the project
mirror() {
	# shellcheck disable=SC2016 # apt's own names
	apt-get indextargets --format '$(ORIGIN) $(LABEL) $(SITE)' 'Created-By: Packages' |
		awk '$1 == "Debian" && $2 == "Debian" { print $3; exit }'
}

# apt_settings: how this machine's apt gets there: proxies, time-outs, old lists
apt_settings() {
	apt-config dump --no-empty --format '%F "%v";%n' |
		grep -E '^Acquire::((http|https)::|Retries |ForceIPv[46] |Check-Valid-Until )'
}

# The same for debootstrap, which does not read them.
proxies() {
	local scheme value
	for scheme in http https; do
		value=$(apt-config dump --no-empty --format '%v%n' "Acquire::$scheme::Proxy" | head -n 1)
		case $value in '' | DIRECT) ;; *) export "${scheme}_proxy=$value" ;; esac
	done
}

# bootstrap SUITE DIR MIRROR
bootstrap() {
	local script=/usr/share/debootstrap/scripts/$1 more=()
	# A release that is younger than this debootstrap.
	[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
	[[ $3 != https:* ]] || more=(--include=ca-certificates)
	alone '' --mount-proc debootstrap --variant=minbase "${more[@]}" "$1" "$2" "$3" "$script" || return 1
	echo "deb $3 $1 main" >"$2/etc/apt/sources.list"
	{
		apt_settings
		printf '%s\n' 'APT::Install-Recommends "0";' 'Acquire::Languages "none";'
	} >"$2/etc/apt/apt.conf.d/90machine"
	[ ! -d "$2/etc/ssl/certs" ] || cp /etc/ssl/certs/ca-certificates.crt "$2/etc/ssl/certs/"
	# No package's daemon starts in here.
	printf '#!/bin/sh\nexit 101\n' >"$2/usr/sbin/policy-rc.d"
	chmod 755 "$2/usr/sbin/policy-rc.d"
}

# packages DIR: make_root's archs, groups and packages
packages() {
	local arch
	for arch in "${archs[@]}"; do
		enter --keep "$1" dpkg --add-architecture "$arch" || return 1
	done
	cp "$HERE/setup.sh" "$1/root/" && enter --keep --net "$1" apt-get -qq update || return 1
	[ "${#groups[@]}" = 0 ] || enter --keep --net "$1" /root/setup.sh install "${groups[@]}" || return 1
	[ "${#packages[@]}" = 0 ] || enter --keep --net "$1" apt-get -qq -y install "${packages[@]}" || return 1
	enter --keep "$1" apt-get clean
}

make_root() {
	[ "$#" -ge 2 ] || { usage >&2; exit 2; }
	local suite=$1 dir=$2 words="$1 ${*:3}" archs=() groups=() packages=() from
	[[ $suite =~ ^[a-z]+$ ]] || die "\"$suite\" is no release of Debian"
	shift 2
	while [ "$#" -gt 0 ]; do
		case $1 in
		--arch) archs+=("${2:?}") && shift 2 ;;
		--setup) groups+=("${2:?}") && shift 2 ;;
		-*) die "unknown option $1" ;;
		*) packages+=("$1") && shift ;;
		esac
	done
	mkdir -p "$(dirname "$dir")" && dir=$(cd "$(dirname "$dir")" && pwd)/${dir##*/} || die "$dir cannot be made"
	# The list of a group changes.
	[ "${#groups[@]}" = 0 ] || words+=$'\n'$("$HERE/setup.sh" list "${groups[@]}")
	# Of two that want the same one the second waits.
	exec {LOCK}>"$dir.lock" && flock "$LOCK"
	[ ! -f "$dir/.made" ] || [ "$(<"$dir/.made")" != "$words" ] || return 0
	[ "$(id -u)" = 0 ] || die "must be root"
	command -v debootstrap >/dev/null || die "debootstrap not found: apt-get install debootstrap"
	from=$(mirror)
	[ -n "$from" ] || CODE=3 die "this machine's apt has no mirror of Debian"
	proxies
	rm -rf --one-file-system "$dir.new"
	echo "root.sh: making $dir, some minutes; what is done: $dir.log" >&2
	bootstrap "$suite" "$dir.new" "$from" >"$dir.log" 2>&1 ||
		{ tail -n 3 "$dir.log" >&2; CODE=3 die "$suite cannot be had from this machine's mirror"; }
	packages "$dir.new" >>"$dir.log" 2>&1 ||
		{ tail -n 3 "$dir.log" >&2; CODE=3 die "$suite lacks packages, or its mirror stopped"; }
	printf '%s\n' "$words" >"$dir.new/.made"
	[ ! -e "$dir" ] || rm -rf --one-file-system "$dir"
	mv "$dir.new" "$dir"
}

# --- run ---

# hierarchies: mount point, kind and options of this machine's cgroups, a line each
hierarchies() {
	awk '{ for (i = 7; $i != "-"; i++); if ($(i + 1) ~ /^cgroup2?$/ && !/name=/) print $5, $(i + 1), $(i + 3) }' \
		/proc/self/mountinfo
}

# cgroups_enter NAME: this shell goes to a group of that name in each; a cgroup namespace then has it as the root
cgroups_enter() {
	local dir kind options c
	while read -r dir kind options; do
		if [ "$kind" = cgroup2 ]; then
			for c in cpu memory pids cpuset io; do echo "+$c" >"$dir/cgroup.subtree_control"; done
		fi
		mkdir "$dir/$1"
		case ,$options, in
		*,cpuset,*) for c in cpus mems; do cat "$dir/cpuset.$c" >"$dir/$1/cpuset.$c"; done ;;
		esac
		echo "$BASHPID" >"$dir/$1/cgroup.procs"
	done < <(hierarchies) 2>/dev/null
}

# cgroups_mount ROOT
cgroups_mount() {
	local dir kind options c
	[ "$(stat -f -c %T /sys/fs/cgroup)" = cgroup2fs ] || mount -t tmpfs -o mode=755 tmpfs "$1/sys/fs/cgroup"
	while read -r dir kind options; do
		mkdir -p "$1$dir"
		if [ "$kind" = cgroup2 ]; then
			# Processes live in leaves only; what runs inside makes groups beside this one.
			mount -t cgroup2 cgroup2 "$1$dir" && mkdir -p "$1$dir/root.sh" && echo 0 >"$1$dir/root.sh/cgroup.procs"
			continue
		fi
		options=${options#r[wo],}
		mount -t cgroup -o "$options" cgroup "$1$dir"
		for c in ${options//,/ }; do
			[ -e "$1/sys/fs/cgroup/$c" ] || ln -s "${dir##*/}" "$1/sys/fs/cgroup/$c"
		done
	done < <(hierarchies)
}

# cgroups_remove NAME: a killed process leaves its group a moment later
cgroups_remove() {
	local dir try
	for try in {1..50}; do
		while read -r dir _; do
			find "$dir/$1" -depth -type d -exec rmdir {} +
		done < <(hierarchies) 2>/dev/null
		compgen -G "/sys/fs/cgroup/$1" >/dev/null || compgen -G "/sys/fs/cgroup/*/$1" >/dev/null || return 0
		sleep 0.1
	done
	echo "root.sh: the cgroups $1 are in use after $try tries" >&2
	return 1
}

# sweep DIR [SECONDS]: what ended runs left. They hold their lock as long as anything of them lives, which is waited for.
sweep() {
	local run lock
	for run in "$1".run.*; do
		[ -d "$run" ] || continue
		exec {lock}>"$run/lock"
		if flock -w "${2:-0}" "$lock"; then
			cgroups_remove "syscheck-root-${run##*.}" && rm -rf --one-file-system "$run"
		fi
		exec {lock}>&-
	done
}

# devices ROOT: a /dev with what programs use, and no disks
devices() {
	local name
	mount -t tmpfs -o mode=755 tmpfs "$1/dev"
	mkdir "$1"/dev/{pts,shm,mqueue}
	for name in null zero full random urandom tty kmsg fuse loop-control loop{0..7}; do
		[ ! -e "/dev/$name" ] || { : >"$1/dev/$name" && mount --bind "/dev/$name" "$1/dev/$name"; }
	done
	[ ! -d /dev/cpu ] || { mkdir "$1/dev/cpu" && mount --rbind /dev/cpu "$1/dev/cpu"; }
	mount -t devpts -o newinstance,ptmxmode=666,mode=620 devpts "$1/dev/pts"
	mount -t tmpfs -o mode=1777 tmpfs "$1/dev/shm"
	mount -t mqueue mqueue "$1/dev/mqueue"
	ln -s pts/ptmx "$1/dev/ptmx"
	ln -s /proc/self/fd "$1/dev/fd"
	ln -s /proc/self/fd/0 "$1/dev/stdin"
	ln -s /proc/self/fd/1 "$1/dev/stdout"
	ln -s /proc/self/fd/2 "$1/dev/stderr"
}

# A link like a machine's, with an address that nobody has (RFC 5737): names of hosts are not resolved where only lo has
# one. The machine's own network, where it is shared, has links.
network() {
	[ "$(ip -o link | wc -l)" = 1 ] || return 0
	ip link set lo up
	ip link add eth0 type veth peer name far0 && ip link set far0 up && ip address add 192.0.2.1/24 dev eth0 &&
		ip link set eth0 up
}

# inside DIR RUN WORK COUNT BIND... COMMAND...: the first process of the new namespaces. RUN: where what is written
# goes, none: into DIR.
inside() {
	local dir=$1 run=$2 work=$3 binds=("${@:5:$4}") root=$1 name passed=()
	shift $((4 + $4))
	if [ -z "$run" ]; then
		mount --bind "$dir" "$dir"
	else
		# In tmp and the tree files are the disk's own: tests look at devices and inodes.
		root=$run/root
		cd "$run" && mount -t overlay -o "lowerdir=../${dir##*/},upperdir=up,workdir=work" overlay root &&
			mount --bind tmp root/tmp && mount --bind vartmp root/var/tmp && mkdir -p root/srv/syscheck &&
			mount --bind tree root/srv/syscheck || die "no overlay of $dir can be mounted here"
	fi
	name=${dir##*/} && name=${name//[^a-z0-9]/-}
	hostname "$name"
	printf '%s\n' "127.0.0.1 localhost $name" >"$root/etc/hosts"
	cat /etc/resolv.conf >"$root/etc/resolv.conf" 2>/dev/null
	network
	mount -t proc proc "$root/proc" && mount -t sysfs sysfs "$root/sys" &&
		mount -t tmpfs -o mode=755 tmpfs "$root/run" && mkdir -m 1777 "$root/run/lock" || die "no /proc, /sys, /run for $dir"
	cgroups_mount "$root"
	devices "$root"
	for name in "${binds[@]}"; do
		mkdir -p "$root$name" && mount --bind "$name" "$root$name" && mount -o remount,bind,ro "$root$name" ||
			die "$name cannot be had inside"
	done
	cd "$root" && pivot_root . . && umount -l . && cd "$work" || die "$root cannot become the root"
	for name in TERM http_proxy https_proxy no_proxy CI V KEEP; do
		[ -z "${!name:-}" ] || passed+=("$name=${!name}")
	done
	# Not exec: this process waits for those that lost their parents.
	env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive \
		"${passed[@]}" "$@"
}

# enter [--keep] OPTION... DIR COMMAND...: --keep is make's: what is written stays
enter() {
	local keep=0 tree=0 work=/ dir run='' binds=() own=(--net)
	while [ "$#" -gt 0 ]; do
		case $1 in
		--keep) keep=1 && shift ;;
		--tree) tree=1 work=/srv/syscheck && shift ;;
		--net) own=() && shift ;;
		--bind) binds+=("$(readlink -f "${2:?}")") && shift 2 ;;
		--) shift && break ;;
		-*) die "unknown option $1" ;;
		*)
			[ -z "${dir:-}" ] || break
			dir=$(readlink -f "$1")
			shift
			;;
		esac
	done
	[ -n "${dir:-}" ] && [ "$#" -gt 0 ] || { usage >&2; exit 2; }
	[ -x "$dir/bin/bash" ] || die "there is no Debian in $dir: root.sh make"
	if [ "$keep" = 0 ]; then
		exec {LOCK}>"$dir.lock" && flock "$LOCK"
		sweep "$dir"
		run=$(mktemp -d "$dir.run.XXXXXX") && mkdir "$run"/{up,work,tree,root} && mkdir -m 1777 "$run"/{tmp,vartmp} &&
			chmod 755 "$run" && exec {RUN_LOCK}>"$run/lock" && flock "$RUN_LOCK" || die "nothing can be written beside $dir"
		exec {LOCK}>&-
		trap 'exec {RUN_LOCK}>&-; sweep "$RUN_OF" 10' EXIT
		RUN_OF=$dir
		own+=(--cgroup)
	fi
	if [ "$tree" = 1 ]; then
		(cd "$HERE/.." && git ls-files -z --cached --others --exclude-standard |
			tar --null --ignore-failed-read -cf - -T - 2>/dev/null) | tar -xf - -C "$run/tree" || die "the tree cannot be copied"
	fi
	alone "${run:+syscheck-root-${run##*.}}" --ipc --uts "${own[@]}" \
		"$BASH" "$SELF" --inside "$dir" "$run" "$work" "${#binds[@]}" "${binds[@]}" "$@"
}

main() {
	local command=${1:-}
	[ "$#" = 0 ] || shift
	case $command in
	make) make_root "$@" ;;
	run)
		[ "$(id -u)" = 0 ] || die "must be root"
		enter "$@"
		;;
	--inside) inside "$@" ;;
	-h | --help | help) usage ;;
	*)
		usage >&2
		exit 2
		;;
	esac
}

# On one line: bash reads no further, whatever becomes of this file meanwhile.
main "$@"; exit
