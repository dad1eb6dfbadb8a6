/* Where a step's cgroups are, in the kernel's text of both versions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "place.h"

#define V1_MOUNTS                                                                                        \
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"                            \
	"33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct\n"  \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"                     \
	"39 31 0:36 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n"                                \
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

#define V2_MOUNTS "29 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 master:1 - cgroup2 cgroup2 rw,nsdelegate\n"

static struct cg_places places;

static void assert_place(enum cg_hierarchy hierarchy, const char *step, const char *job)
{
	const struct cg_place *at = &places.at[hierarchy];

	assert_string_equal(at->step, step);
	assert_int_equal(at->job, strlen(job));
	assert_memory_equal(at->step, job, at->job);
}

static void test_locate_v2(void **state)
{
	const char *task = "0::/system.slice/n1_slurmstepd.scope/job_17/step_0/user/task_3\n";
	const char *stepd = "0::/system.slice/slurmstepd.scope/job_17/step_batch/slurm\n";

	(void)state;
	cg_locate(&places, task, V2_MOUNTS, 17);
	assert_int_equal(places.version, 2);
	assert_place(CG_UNIFIED, "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_17/step_0",
		     "/sys/fs/cgroup/system.slice/n1_slurmstepd.scope/job_17");
	assert_string_equal(places.at[CG_MEMORY].step, "");
	cg_locate(&places, stepd, V2_MOUNTS, 17);
	assert_place(CG_UNIFIED, "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_17/step_batch",
		     "/sys/fs/cgroup/system.slice/slurmstepd.scope/job_17");
}

static void test_locate_sluid(void **state)
{
	(void)state;
	cg_locate(&places, "0::/system.slice/slurmstepd.scope/sEHNQ1VF2A6C00/step_0/slurm\n", V2_MOUNTS, 17);
	assert_place(CG_UNIFIED, "/sys/fs/cgroup/system.slice/slurmstepd.scope/sEHNQ1VF2A6C00/step_0",
		     "/sys/fs/cgroup/system.slice/slurmstepd.scope/sEHNQ1VF2A6C00");
	cg_locate(&places, "0::/sEHNQ1VF2A6C0/step_0\n", V2_MOUNTS, 17);
	assert_int_equal(places.version, 0);
	cg_locate(&places, "0::/sEHNQ1VF2A6CI0/step_0\n", V2_MOUNTS, 17);
	assert_int_equal(places.version, 0);
}

static void test_locate_v2_namespace(void **state)
{
	(void)state;
	/* A container shows a part of the tree; blanks are escaped. */
	cg_locate(&places, "0::/a b/pod/job_5/step_1/slurm\n", "29 23 0:26 /a\\040b/pod /cg\\040x rw - cgroup2 none rw\n",
		  5);
	assert_place(CG_UNIFIED, "/cg x/job_5/step_1", "/cg x/job_5");
	/* Not within it. */
	cg_locate(&places, "0::/a/podium/job_5/step_1\n", "29 23 0:26 /a/pod /cg rw - cgroup2 none rw\n", 5);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
	cg_locate(&places, "0::/../job_5/step_1\n", V2_MOUNTS, 5);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
}

static void test_locate_v1(void **state)
{
	const char *text = "8:pids:/\n7:blkio:/\n6:freezer:/slurm_n1/uid_0/job_17/step_0\n"
			   "4:memory:/slurm_n1/uid_0/job_17/step_0/task_0\n"
			   "2:cpu,cpuacct:/node/quota\n1:name=systemd:/\n0::/init.scope\n";

	(void)state;
	cg_locate(&places, text, V1_MOUNTS, 17);
	assert_int_equal(places.version, 1);
	assert_place(CG_MEMORY, "/sys/fs/cgroup/memory/slurm_n1/uid_0/job_17/step_0",
		     "/sys/fs/cgroup/memory/slurm_n1/uid_0/job_17");
	/* Where the process is not in it, there may be one all the same. */
	assert_place(CG_BLKIO, "/sys/fs/cgroup/blkio/slurm_n1/uid_0/job_17/step_0",
		     "/sys/fs/cgroup/blkio/slurm_n1/uid_0/job_17");
	assert_string_equal(places.at[CG_CPU].own, "/sys/fs/cgroup/cpu,cpuacct/node/quota");
	assert_string_equal(places.at[CG_UNIFIED].step, "");
}

/* Root copies by these lengths: each is within its text. */
static void assert_lengths(void)
{
	for (int i = 0; i < CG_HIERARCHIES; i++) {
		const struct cg_place *at = &places.at[i];

		assert_true(at->job <= strlen(at->step));
		assert_true(at->step[0] == '\0' || at->mount <= at->job);
		assert_true(at->own[0] == '\0' || at->own_mount <= strlen(at->own));
	}
}

/* A mount may show the job's directory and no more, or only what is in it. */
static void test_locate_mounts_inside(void **state)
{
	const char *task = "0::/slurm/job_17/step_0/user/task_3\n";
	const char *mounts[] = {
		"29 23 0:26 /slurm/job_17/step_0 /x rw - cgroup2 none rw\n",
		"29 23 0:26 /slurm/job_17/step_0/user /x rw - cgroup2 none rw\n",
	};

	(void)state;
	cg_locate(&places, task, "29 23 0:26 /slurm/job_17 /x rw - cgroup2 none rw\n", 17);
	assert_place(CG_UNIFIED, "/x/step_0", "/x");
	assert_lengths();
	for (size_t i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		char both[512];

		/* Where the job's group is not to be seen nothing can be read of it. */
		cg_locate(&places, task, mounts[i], 17);
		assert_string_equal(places.at[CG_UNIFIED].step, "");
		assert_int_equal(places.at[CG_UNIFIED].job, 0);
		/* Another mount, behind it, shows it. */
		snprintf(both, sizeof(both), "%s%s", mounts[i], V2_MOUNTS);
		cg_locate(&places, task, both, 17);
		assert_place(CG_UNIFIED, "/sys/fs/cgroup/slurm/job_17/step_0", "/sys/fs/cgroup/slurm/job_17");
		assert_lengths();
	}
	cg_locate(&places, "4:memory:/job_5/step_0\n", "35 31 0:32 /job_5/step_0 /x rw - cgroup cgroup rw,memory\n", 5);
	assert_string_equal(places.at[CG_MEMORY].step, "");
	assert_lengths();
	/* No directory of root's is beside a relative point, or one without a name. */
	cg_locate(&places, "0::/job_5/step_0\n", "29 23 0:26 /job_5 x rw - cgroup2 none rw\n", 5);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
	cg_locate(&places, "0::/job_5/step_0\n", "29 23 0:26 /job_5  rw - cgroup2 none rw\n", 5);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
}

/* Where the process is and where its step is may be shown by two mounts. */
static void test_locate_two_mounts(void **state)
{
	const char *text = "4:memory:/slurm/job_17/step_0\n2:cpu,cpuacct:/quota\n";
	const char *mounts = "33 31 0:30 /quota /sys/fs/cgroup/quota-of-this-container rw - cgroup cgroup rw,cpu,cpuacct\n"
			     "34 31 0:30 /slurm /c rw - cgroup cgroup rw,cpu,cpuacct\n";

	(void)state;
	cg_locate(&places, text, mounts, 17);
	assert_string_equal(places.at[CG_CPU].own, "/sys/fs/cgroup/quota-of-this-container");
	assert_int_equal(places.at[CG_CPU].own_mount, strlen("/sys/fs/cgroup/quota-of-this-container"));
	assert_place(CG_CPU, "/c/job_17/step_0", "/c/job_17");
	assert_int_equal(places.at[CG_CPU].mount, strlen("/c"));
	assert_lengths();
}

static void test_locate_refuses(void **state)
{
	const char *none[] = {
		"",
		"\n",
		"garbage",
		"0::\n",
		"0::relative/job_17/step_0\n",
		"0::/job_17\n",
		"0::/job_17/\n",
		"0::/job_17/step_\n",
		"0::/job_17/step_/x\n",
		"0::/job_170/step_0\n",
		"0::/job_1/step_0\n",
		"0::/xjob_17/step_0\n",
		"0::/job_17x/step_0\n",
		"4:memory:/job_18/step_0\n",
		"4:memory\n",
	};
	char *longest = malloc(3 * CG_PATH_MAX);

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		cg_locate(&places, none[i], V2_MOUNTS V1_MOUNTS, 17);
		if (places.version != 0)
			fail_msg("found in \"%s\"", none[i]);
	}
	/* No mount, or lines that are none. */
	cg_locate(&places, "0::/job_17/step_0\n", "", 17);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
	cg_locate(&places, "0::/job_17/step_0\n", "1 2 3\n29 23 0:26 / /x rw\n29 23 0:26 / /x rw -\n 29\n\n", 17);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
	/* A mount point's name cannot forge a type: its blanks are escaped. */
	cg_locate(&places, "0::/job_17/step_0\n", "29 23 0:26 / /x\\040-\\040cgroup2\\040y rw - fuse.a b rw\n", 17);
	assert_string_equal(places.at[CG_UNIFIED].step, "");
	/* Too long for any path. */
	assert_non_null(longest);
	memset(longest, 'a', 3 * CG_PATH_MAX);
	memcpy(longest, "0::/", 4);
	memcpy(longest + 3 * CG_PATH_MAX - 40, "/job_17/step_0\n", 16);
	cg_locate(&places, longest, V2_MOUNTS, 17);
	assert_int_equal(places.version, 0);
	free(longest);
}

static struct cg_exit exits[3];

static void test_exits(void **state)
{
	const char *v1 = "9:name=systemd:/\n7:blkio:/slurm/uid_0/job_17/step_0\n4:memory:/slurm_n1/uid_0/job_17/step_extern\n"
			 "1:cpu,cpuacct:/slurm/uid_1000/job_17/step_extern/task_0\n0::/\n";

	(void)state;
	assert_int_equal(cg_exits(exits, 3, "0::/system.slice/slurmstepd.scope/job_17/step_extern/slurm\n", V2_MOUNTS, 17), 1);
	assert_string_equal(exits[0].above, "/sys/fs/cgroup/system.slice/slurmstepd.scope/system/cgroup.procs");
	assert_string_equal(exits[0].top, "/sys/fs/cgroup/cgroup.procs");
	assert_int_equal(cg_exits(exits, 3, "0::/s.scope/sEHNQ1VF2A6C00/step_extern/slurm\n", V2_MOUNTS, 17), 1);
	assert_string_equal(exits[0].above, "/sys/fs/cgroup/s.scope/system/cgroup.procs");
	assert_int_equal(cg_exits(exits, 3, v1, V1_MOUNTS, 17), 3);
	assert_string_equal(exits[0].above, "/sys/fs/cgroup/blkio/slurm/cgroup.procs");
	assert_string_equal(exits[1].above, "/sys/fs/cgroup/memory/slurm_n1/cgroup.procs");
	assert_string_equal(exits[2].above, "/sys/fs/cgroup/cpu,cpuacct/slurm/cgroup.procs");
	assert_string_equal(exits[2].top, "/sys/fs/cgroup/cpu,cpuacct/cgroup.procs");
	/* In none of this job's. */
	assert_int_equal(cg_exits(exits, 3, v1, V1_MOUNTS, 18), 0);
	assert_int_equal(cg_exits(exits, 3, "0::/system.slice/slurmd.service\n", V2_MOUNTS, 17), 0);
	assert_int_equal(cg_exits(exits, 3, "", V2_MOUNTS, 17), 0);
}

static void test_no_exit(void **state)
{
	const char *freezer = "6:freezer:/slurm/uid_0/job_17/step_extern\n";
	const char *v2 = "0::/slurmstepd.scope/job_17/step_extern/slurm\n";

	(void)state;
	assert_int_equal(cg_exits(exits, 3, freezer, V1_MOUNTS, 17), -1);
	assert_int_equal(cg_exits(exits, 0, v2, V2_MOUNTS, 17), -1);
	assert_int_equal(cg_exits(exits, 3, "0::/../slurmstepd.scope/job_17/step_extern/slurm\n", V2_MOUNTS, 17), -1);
	assert_int_equal(cg_exits(exits, 3, "nonsense\n", V2_MOUNTS, 17), -1);
	/* A mount that shows the job, and nothing above it. */
	assert_int_equal(cg_exits(exits, 3, v2, "29 23 0:26 /slurmstepd.scope/job_17 /cg rw - cgroup2 cgroup2 rw\n", 17), -1);
	assert_int_equal(cg_exits(exits, 3, v2, "29 23 0:26 /slurmstepd.scope /cg rw - cgroup2 cgroup2 rw\n", 17), 1);
	assert_string_equal(exits[0].above, "/cg/system/cgroup.procs");
	assert_string_equal(exits[0].top, "/cg/cgroup.procs");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_no_exit),
		cmocka_unit_test(test_locate_v2),
		cmocka_unit_test(test_locate_sluid),
		cmocka_unit_test(test_locate_v2_namespace),
		cmocka_unit_test(test_locate_v1),
		cmocka_unit_test(test_locate_mounts_inside),
		cmocka_unit_test(test_locate_two_mounts),
		cmocka_unit_test(test_locate_refuses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
