/* What the kernel `state` reads: mounts, processes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "state/mounts.h"
#include "state/procs.h"
#include "tree.h"

static const char MOUNTS[] = "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw,errors=remount-ro\n"
			     "30 22 0:40 / /home rw,nosuid shared:2 master:3 - nfs4 srv:/export/home rw,vers=4.2,hard\n"
			     "31 22 8:2 / /mnt/a\\040b rw - xfs /dev/sd\\134b ro\n"
			     "32 22 0:41 / /scratch rw - autofs systemd-1 rw,fd=41\n"
			     "33 32 0:42 / /scratch ro - lustre 10.0.0.1@o2ib:/scr rw,flock\n"
			     "34 22 0:43 / /bare rw - tmpfs tmpfs\n"
			     "35 22 0:43 / /torn rw";

static void test_mounts(void **state)
{
	static const struct {
		const char *path, *type, *source, *options;
		bool read_only;
	} cases[] = {
		{ "/", "ext4", "/dev/sda1", "rw,relatime,rw,errors=remount-ro", false },
		{ "/home", "nfs4", "srv:/export/home", "rw,nosuid,rw,vers=4.2,hard", false },
		{ "/home/", "nfs4", "srv:/export/home", "rw,nosuid,rw,vers=4.2,hard", false },
		{ "/mnt/a b", "xfs", "/dev/sd\\b", "rw,ro", true },
		{ "/scratch", "lustre", "10.0.0.1@o2ib:/scr", "ro,rw,flock", true },
		{ "/bare", "tmpfs", "tmpfs", "rw", false },
	};
	static const char *const none[] = { "/hom", "/home/x", "", "/torn", "/scratc" };
	struct mount_line m;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_true(mounts_find(&m, MOUNTS, cases[i].path));
		assert_string_equal(m.type, cases[i].type);
		assert_string_equal(m.source, cases[i].source);
		assert_string_equal(m.options, cases[i].options);
		assert_int_equal(m.read_only, cases[i].read_only);
	}
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		assert_false(mounts_find(&m, MOUNTS, none[i]));
	assert_false(mounts_find(&m, "", "/"));
	assert_false(mounts_find(&m, "\n\n1 2 3\n- - - - -\n", "/"));
}

/* No option is too long for its place. */
static void test_long_lines(void **state)
{
	char text[20000];
	struct mount_line m;
	int n = snprintf(text, sizeof(text), "1 2 3 / /x ");

	(void)state;
	memset(text + n, 'o', 9000);
	n += 9000;
	n += snprintf(text + n, sizeof(text) - (size_t)n, " - fs ");
	memset(text + n, 's', 9000);
	text[n + 9000] = '\0';
	assert_true(mounts_find(&m, text, "/x"));
	assert_string_equal(m.type, "fs");
	assert_int_equal(strlen(m.source), MOUNT_TEXT - 1);
	assert_int_equal(strlen(m.options), MOUNT_TEXT - 1);
}

static void test_names(void **state)
{
	char name[64];

	(void)state;
	assert_true(procs_name(name, "17 (munged) S 1 17 17 0"));
	assert_string_equal(name, "munged");
	assert_true(procs_name(name, "17 (a) R (b) S 1 17"));
	assert_string_equal(name, "a) R (b");
	assert_false(procs_name(name, "17 (munged) Z 1"));
	assert_false(procs_name(name, "17 munged S 1"));
	assert_false(procs_name(name, ""));
	assert_false(procs_name(name, ")("));
	assert_true(procs_in_job("0::/system.slice/slurmstepd.scope/job_12/step_0\n"));
	assert_true(procs_in_job("4:memory:/slurm/uid_1000/job_7\n"));
	assert_false(procs_in_job("0::/user.slice/job_x\n1:cpu:/job_\n"));
	assert_false(procs_in_job(""));
}

static void test_a_prepared_proc(void **state)
{
	char root[] = "/tmp/state.XXXXXX";
	struct procs p = { .names = { "sshd", "a-daemon-of-a-long-name", "none" }, .n_names = 3, .users = true, .min_uid = 1 };

	(void)state;
	assert_non_null(mkdtemp(root));
	tree_put(root, "proc/1/stat", "1 (systemd) S 0 1 1 0");
	tree_put(root, "proc/7/stat", "7 (sshd) S 1 7 7 0");
	tree_put(root, "proc/7/status", "Name:\tsshd\nUid:\t0\t0\t0\t0\n");
	tree_put(root, "proc/8/stat", "8 (sshd) S 7 8 8 0");
	tree_put(root, "proc/8/status", "Name:\tsshd\nUid:\t1000\t1000\t0\t0\n");
	tree_put(root, "proc/9/stat", "9 (a-daemon-of-a-lo) S 1 9 9 0");
	tree_put(root, "proc/10/stat", "10 (a-daemon-of-a-l) S 1 10 10 0");
	tree_put(root, "proc/10/cmdline", "/usr/sbin/a-daemon-of-a-long-name");
	tree_put(root, "proc/10/status", "Name:\tx\nUid:\t5\t5\t5\t5\n");
	tree_put(root, "proc/11/stat", "11 (a-daemon-of-a-l) S 1 11 11 0");
	tree_put(root, "proc/11/cmdline", "a-daemon-of-a-longer-name");
	tree_put(root, "proc/12/comm", "gone");
	tree_put(root, "proc/self/stat", "13 (sshd) S 1");
	assert_true(procs_read(&p, root));
	assert_int_equal(p.n_found, 3);
	for (int i = 0; i < p.n_found; i++) {
		const struct procs_found *f = &p.found[i];

		assert_int_equal(f->count, 1);
		assert_true((f->of == 0 && f->uid == 0 && f->pid == 7) || (f->of == 0 && f->uid == 1000 && f->pid == 8) ||
			    (f->of == 1 && f->uid == 5 && f->pid == 10));
	}
	assert_int_equal(tree_remove(root), 0);
	assert_false(procs_read(&p, root));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_a_prepared_proc),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
