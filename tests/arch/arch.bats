#!/usr/bin/env bats
# alone: it measures
# For make check-arch: kernels and plugin of another architecture, under the emulator $RUN_UNDER, built by
# $CC. What they find is right; an emulator's speed says nothing.
# shellcheck disable=SC2030,SC2031,SC2154

bats_require_minimum_version 1.5.0
load ../kernels

ROOT=$(cd "$BATS_TEST_DIRNAME/../.." && pwd)
K=$ROOT/build/kernels

# emulated KERNEL OPTION...: within whatever time it takes; the emulator compiles first
emulated() {
	local kernel=$1
	shift
	# shellcheck disable=SC2086 # a command and its options
	run_in_time timeout 300 $RUN_UNDER "$K/$kernel" "$@"
}

# measured KERNEL: one object, verified
measured() {
	[ "$status" -eq 0 ] || { echo "status $status: $output $stderr"; return 1; }
	[ -z "$stderr" ] || { echo "$stderr"; return 1; }
	[ "$(get 'r.kernel')" = "$1" ]
	[ "$(get 'r.verified')" = true ]
}

@test "they are of this architecture" {
	for file in "$ROOT"/build/spank/spank_syscheck.so "$K"/{stream,dgemm,noise,numa,scaling,io}; do
		[[ "$("${CC%gcc}readelf" -h "$file")" =~ Machine:\ +"$MACHINE" ]] || { echo "$file"; return 1; }
	done
}

@test "kernels: each measures, verifies and prints one object" {
	for kernel in stream dgemm noise numa scaling; do
		emulated "$kernel" --seconds 3
		measured "$kernel"
		[ "$(get 'r.threads >= 1 and #r.cpus > 0')" = true ]
	done
	emulated io --dir "$BATS_TEST_TMPDIR" --seconds 3 --max-mb 16
	measured io
}

@test "stream: what the compiler made of its loops is right, x86's instruction sets are refused" {
	emulated stream --isa generic --seconds 3
	measured stream
	[ "$(get 'r.isa')" = generic ]
	emulated stream --isa avx2 --seconds 1
	quiet_failure stream
}

@test "noise: both clocks, quanta of time and of work" {
	for options in "--clock system" "--clock auto" "--mode fwq" "--mode ftq"; do
		# shellcheck disable=SC2086 # two words
		emulated noise $options --seconds 1
		measured noise
	done
}

@test "dgemm: results are exact, and one flipped bit is exit 1" {
	cat >"$BATS_TEST_TMPDIR/wrong.c" <<-'C'
	#define _GNU_SOURCE
	#include <dlfcn.h>
	#include <stdint.h>
	#include <string.h>
	typedef void gemm(int, int, int, int, int, int, double, const double *, int, const double *, int, double, double *, int);
	void cblas_dgemm(int o, int ta, int tb, int m, int n, int k, double al, const double *a, int lda, const double *b,
			 int ldb, double be, double *c, int ldc)
	{
		static int calls;
		uint64_t bits;

		((gemm *)dlsym(RTLD_NEXT, "cblas_dgemm"))(o, ta, tb, m, n, k, al, a, lda, b, ldb, be, c, ldc);
		if (m == 256 || __atomic_fetch_add(&calls, 1, __ATOMIC_SEQ_CST) != 1) /* 256: a probe of a core's speed */
			return;
		memcpy(&bits, &c[5 * ldc + 7], 8);
		bits ^= 1;
		memcpy(&c[5 * ldc + 7], &bits, 8);
	}
	C
	"$CC" -shared -fPIC -o "$BATS_TEST_TMPDIR/wrong.so" "$BATS_TEST_TMPDIR/wrong.c"
	# shellcheck disable=SC2086 # a command and its options
	run --separate-stderr timeout 300 $RUN_UNDER -E "LD_PRELOAD=$BATS_TEST_TMPDIR/wrong.so" "$K/dgemm" --seconds 3
	[ "$status" -eq 1 ] || { echo "status $status: $output $stderr"; return 1; }
	[ "$(get 'r.verified')" = false ]
	[[ "$(get 'r.error')" =~ C\[5\]\[7\]\ is\ .*,\ expected\ -?[0-9]+$ ]]
}

@test "plugin: it can be loaded, and has what Slurm calls" {
	cat >"$BATS_TEST_TMPDIR/load.c" <<-'C'
	#include <dlfcn.h>
	#include <stdio.h>
	int main(int argc, char **argv)
	{
		void *plugin = dlopen(argv[1], RTLD_NOW);

		if (plugin == NULL) {
			puts(dlerror());
			return 1;
		}
		for (int i = 2; i < argc; i++)
			if (dlsym(plugin, argv[i]) == NULL)
				return printf("no %s\n", argv[i]), 1;
		return puts(dlsym(plugin, "plugin_type")) < 0;
	}
	C
	# What it calls is in the program that loads it, srun or slurmstepd.
	"${CC%gcc}nm" -D --undefined-only "$ROOT/build/spank/spank_syscheck.so" |
		sed -nE 's/.* ((slurm|spank)_[a-z_]+)$/int \1(void); int \1(void) { return 0; }/p' >>"$BATS_TEST_TMPDIR/load.c"
	"$CC" -rdynamic -o "$BATS_TEST_TMPDIR/load" "$BATS_TEST_TMPDIR/load.c" -ldl
	# shellcheck disable=SC2086 # a command and its options
	run $RUN_UNDER "$BATS_TEST_TMPDIR/load" "$ROOT/build/spank/spank_syscheck.so" plugin_name plugin_type plugin_version \
		slurm_spank_init slurm_spank_init_post_opt slurm_spank_task_init slurm_spank_task_exit slurm_spank_exit
	[ "$status" -eq 0 ] || { echo "$output"; return 1; }
	[ "$output" = spank ]
}
