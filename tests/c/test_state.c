/* What is read of paths, mounts and processes. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "native/mounts.h"
#include "native/path.h"
#include "native/procs.h"
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
	(void)state;
	assert_true(procs_alive("17 (munged) S 1 17 17 0"));
	assert_true(procs_alive("17 (a) Z (b) S 1 17"));
	assert_false(procs_alive("17 (munged) Z 1"));
	assert_false(procs_alive("17 (a) S (b) Z 1"));
	assert_false(procs_alive("17 munged S 1"));
	assert_false(procs_alive("17 (munged) "));
	assert_false(procs_alive(""));
	assert_false(procs_alive(")"));
	assert_true(procs_in_job("0::/system.slice/slurmstepd.scope/job_12/step_0\n"));
	assert_true(procs_in_job("4:memory:/slurm/uid_1000/job_7\n"));
	assert_false(procs_in_job("0::/user.slice/job_x\n1:cpu:/job_\n"));
	assert_false(procs_in_job(""));
	assert_true(procs_is_manager("0::/user.slice/user-1000.slice/user@1000.service/init.scope\n"));
	assert_false(procs_is_manager("0::/user.slice/user-1000.slice/user@1000.service/app.slice/run-1.service\n"));
	assert_false(procs_is_manager("0::/init.scope\n1:x:/user@1000.service/a\n"));
	assert_false(procs_is_manager("0::/init.scope\n"));
}

static void put(const char *root, const char *pid, const char *name, char status, const char *command, int uid)
{
	char path[64], text[128];

	snprintf(path, sizeof(path), "proc/%s/comm", pid);
	snprintf(text, sizeof(text), "%s\n", name);
	tree_put(root, path, text);
	snprintf(path, sizeof(path), "proc/%s/stat", pid);
	snprintf(text, sizeof(text), "%s (%s) %c 0 1 1 0", pid, name, status);
	tree_put(root, path, text);
	snprintf(path, sizeof(path), "proc/%s/cmdline", pid);
	tree_put(root, path, command);
	snprintf(path, sizeof(path), "proc/%s/status", pid);
	snprintf(text, sizeof(text), "Name:\t%s\nUid:\t%d\t%d\t%d\t%d\n", name, uid, uid, uid, uid);
	tree_put(root, path, text);
}

static void test_a_prepared_proc(void **state)
{
	char root[] = "/tmp/state.XXXXXX";
	struct procs p = { .names = { "sshd", "a-daemon-of-a-long-name", "none" }, .n_names = 3, .users = true, .min_uid = 1, .root = root };

	(void)state;
	assert_non_null(mkdtemp(root));
	put(root, "1", "systemd", 'S', "", 0);
	put(root, "7", "sshd", 'S', "", 0);
	put(root, "8", "sshd", 'S', "", 1000);
	put(root, "9", "a-daemon-of-a-lo", 'S', "", 5);
	put(root, "10", "a-daemon-of-a-l", 'S', "/usr/sbin/a-daemon-of-a-long-name", 5);
	put(root, "11", "a-daemon-of-a-l", 'S', "a-daemon-of-a-longer-name", 5);
	put(root, "12", "sshd", 'Z', "", 0);
	put(root, "self", "sshd", 'S', "", 0);
	tree_put(root, "proc/13/other", "gone");
	assert_true(procs_read(&p));
	assert_int_equal(p.answer.n_found, 3);
	for (int i = 0; i < p.answer.n_found; i++) {
		const struct procs_found *f = &p.answer.found[i];

		assert_int_equal(f->count, 1);
		assert_true((f->of == 0 && f->uid == 0 && f->pid == 7) || (f->of == 0 && f->uid == 1000 && f->pid == 8) ||
			    (f->of == 1 && f->uid == 5 && f->pid == 10));
	}
	assert_int_equal(tree_remove(root), 0);
	assert_false(procs_read(&p));
}

/* Each of them from a process of its own, with a lock and without. */
static void test_paths(void **state)
{
	char root[] = "/tmp/state.XXXXXX", file[64];

	(void)state;
	assert_non_null(mkdtemp(root));
	tree_put(root, "file", "12345");
	snprintf(file, sizeof(file), "%s/file", root);
	for (int locked = 0; locked < 2; locked++) {
		const char *locks = locked ? root : NULL;
		struct path list[] = { { .path = root, .locks = locks, .seconds = 20, .write = true },
			{ .path = file, .locks = locks, .seconds = 20 },
			{ .path = "/nowhere/x", .locks = locks, .seconds = 20 } };
		struct apart *aparts[] = { &list[0].apart, &list[1].apart, &list[2].apart };

		for (int i = 0; i < 3; i++)
			assert_true(path_start(&list[i]));
		apart_collect(aparts, 3, clock_now() + 20);
		for (int i = 0; i < 3; i++)
			assert_string_equal(path_state(&list[i]), "answered");
		assert_int_equal(list[0].answer.write_error, 0);
		assert_int_equal(list[1].answer.size, 5);
		assert_int_equal(list[2].answer.error, ENOENT);
	}
	assert_int_equal(tree_remove(root), 0);
}

static void sleeps(void *what)
{
	(void)what;
	pause();
}

static void dies(void *what)
{
	(void)what;
	raise(SIGKILL);
}

/* Whoever hangs or ends holds nobody up, and has not answered. */
static void test_no_answer(void **state)
{
	char answer[8] = "before";
	struct apart hanging = { .name = "hanging", .work = sleeps, .answer = answer, .size = sizeof(answer) };
	struct apart dying = { .name = "dying", .work = dies, .answer = answer, .size = sizeof(answer) };
	struct apart *both[] = { &hanging, &dying };

	(void)state;
	assert_true(apart_start(&hanging));
	assert_true(apart_start(&dying));
	apart_collect(both, 2, clock_now() + 0.2);
	assert_true(hanging.hangs);
	assert_false(dying.hangs);
	assert_false(apart_answered(&hanging) || apart_answered(&dying));
	assert_string_equal(answer, "before");
	/* It was killed, as it was not to stay. */
	assert_int_equal(waitpid(hanging.pid, NULL, 0), hanging.pid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_a_prepared_proc),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_no_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
