#!/bin/bash
# scripts.sh PHASE PACKAGE: what dpkg and rpm run at PHASE (postinst, prerm, postrm) of PACKAGE;
# nothing where there is nothing to do.
set -eu
phase=$1 package=$2 timers='' purge='' kept='' config=''
case $package in
syscheck)
	timers=syscheck-ship.timer
	purge='/run/syscheck /var/lib/syscheck /var/log/syscheck.log*'
	kept='/var/spool/syscheck /etc/syscheck'
	;;
syscheck-slurm)
	purge=/var/lib/syscheck-submit
	config=config
	;;
syscheck-store)
	timers='syscheck-ingest.timer syscheck-prune.timer syscheck-export.timer'
	kept=/var/lib/syscheck-store
	;;
*) exit 0 ;;
esac
text=$(<"$(dirname "$0")/scripts/$phase")
text=${text//@PACKAGE@/"$package"}
text=${text//@CONFIG@/"$config"}
text=${text//@TIMERS@/"$timers"}
text=${text//@PURGE@/"$purge"}
printf '%s\n' "${text//@KEPT@/"$kept"}"
