# shellcheck shell=bash
# pmu DIR: a memory controller there, as the kernel describes Intel's, whose reads are page faults
pmu() {
	local event
	mkdir -p "$1/uncore_imc_0"/{events,format}
	echo 1 >"$1/uncore_imc_0/type"
	echo 0 >"$1/uncore_imc_0/cpumask"
	echo config:0-7 >"$1/uncore_imc_0/format/event"
	echo event=0x02 >"$1/uncore_imc_0/events/cas_count_read"
	echo event=0x08 >"$1/uncore_imc_0/events/cas_count_write"
	for event in read write; do
		echo 0.03125 >"$1/uncore_imc_0/events/cas_count_$event.scale"
		echo MiB >"$1/uncore_imc_0/events/cas_count_$event.unit"
	done
}
