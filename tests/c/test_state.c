/* What is read of paths, mounts and processes. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
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

#define IS_LONG(text, wanted) procs_is_long_name(text, sizeof(text) - 1, wanted)

/* The kernel has cut each to "a-daemon-of-a-l". */
static void test_long_names(void **state)
{
	static const char long_name[] = "a-daemon-of-a-long-name";

	(void)state;
	assert_true(IS_LONG("/usr/sbin/a-daemon-of-a-long-name\0--x\0", long_name));
	assert_true(IS_LONG("a-daemon-of-a-long-name", long_name));
	assert_false(IS_LONG("/usr/sbin/a-daemon-of-a-longer-name\0", long_name));
	assert_false(IS_LONG("a-daemon-of-a-longer-name\0a-daemon-of-a-long-name\0", long_name));
	/* A script; one whose arguments name another. */
	assert_true(IS_LONG("/usr/bin/python3\0-u\0/opt/x/a-daemon-of-a-long-name\0--conf\0/etc/x\0", long_name));
	assert_false(IS_LONG("/bin/sh\0/opt/a-daemon-of-a-l\0a-daemon-of-a-long-name\0", long_name));
	/* A title. */
	assert_true(IS_LONG("a-daemon-of-a-long-name: conf /etc/x.conf", long_name));
	assert_false(IS_LONG("a-daemon-of-a-longest: worker a-daemon-of-a-long-name", long_name));
	/* Nothing says more than the kernel. */
	assert_true(IS_LONG("", long_name));
	assert_true(IS_LONG("\0\0  \0///\0:\0", long_name));
	assert_true(IS_LONG("some title of its own", long_name));
	assert_true(IS_LONG("1\0002\0003\0004\0005\0006\0007\0008\0a-daemon-of-a-longer-name\0", long_name));
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
	struct procs p = { .names = { "sshd", "a-daemon-of-a-l", "a-daemon-of-a-long-name", "none", "rcu_exp_gp_kthread_worker/0" },
		.n_names = 5, .users = true, .min_uid = 1, .root = root, .end = clock_now() + 20 };

	(void)state;
	assert_non_null(mkdtemp(root));
	put(root, "1", "systemd", 'S', "", 0);
	put(root, "7", "sshd", 'S', "", 0);
	put(root, "8", "sshd", 'S', "", 1000);
	put(root, "9", "a-daemon-of-a-lo", 'S', "", 5);
	put(root, "10", "a-daemon-of-a-l", 'S', "/usr/sbin/a-daemon-of-a-long-name", 5);
	put(root, "11", "a-daemon-of-a-l", 'S', "a-daemon-of-a-longer-name", 5);
	put(root, "12", "sshd", 'Z', "", 0);
	put(root, "14", "rcu_exp_gp_kthread_worker/0", 'S', "", 0);
	put(root, "15", "rcu_exp_gp_kthread_worker/1", 'S', "", 0);
	put(root, "self", "sshd", 'S', "", 0);
	tree_put(root, "proc/13/other", "gone");
	assert_true(procs_read(&p));
	assert_int_equal(p.answer.n_found, 5);
	for (int i = 0; i < p.answer.n_found; i++) {
		const struct procs_found *f = &p.answer.found[i];

		/* Of the short name are both, of the long one that has it. */
		assert_int_equal(f->count, f->of == 1 ? 2 : 1);
		assert_true((f->of == 0 && f->uid == 0 && f->pid == 7) || (f->of == 0 && f->uid == 1000 && f->pid == 8) ||
			    (f->of == 1 && f->uid == 5) || (f->of == 2 && f->uid == 5 && f->pid == 10) ||
			    (f->of == 4 && f->uid == 0 && f->pid == 14));
	}
	/* Half of them is no answer. */
	p.end = 0;
	assert_false(procs_read(&p));
	assert_int_equal(errno, ETIMEDOUT);
	assert_int_equal(tree_remove(root), 0);
	assert_false(procs_read(&p));
	assert_int_equal(errno, ENOENT);
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
	assert_true(waitpid(hanging.pid, NULL, 0) == hanging.pid || errno == ECHILD);
}

static void answers(void *what)
{
	memcpy(what, "yes", 4);
}

/* What was written in time counts, however late its parent looks. */
static void test_a_late_parent(void **state)
{
	char answer[4] = "no";
	struct apart a = { .name = "early", .work = answers, .what = answer, .answer = answer, .size = sizeof(answer) };
	struct apart *one[] = { &a };
	siginfo_t info;

	(void)state;
	assert_true(apart_start(&a));
	assert_int_equal(waitid(P_PID, (id_t)a.pid, &info, WEXITED | WNOWAIT), 0);
	assert_string_equal(answer, "no");
	apart_collect(one, 1, clock_now() - 1);
	assert_true(apart_answered(&a));
	assert_false(a.hangs);
	assert_string_equal(answer, "yes");
}

/* Fewer descriptors than are wanted: who could be started answers, nobody hangs. */
static void test_few_descriptors(void **state)
{
	struct apart list[20], *all[20];
	char answer[20][4];
	int answered = 0;
	struct rlimit before, few;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	few = (struct rlimit){ .rlim_cur = 16, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	for (int i = 0; i < 20; i++) {
		list[i] = (struct apart){ .name = "few", .work = answers, .what = answer[i], .answer = answer[i], .size = 4 };
		all[i] = &list[i];
		apart_start(&list[i]);
	}
	apart_collect(all, 20, clock_now() + 20);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	for (int i = 0; i < 20; i++) {
		assert_false(list[i].hangs);
		answered += apart_answered(&list[i]);
	}
	assert_true(answered >= 1 && answered <= 19);
}

/* Whoever is not to stay ends with its parent. */
static void test_ends_with_its_parent(void **state)
{
	char answer[4];
	struct apart a = { .name = "orphan", .work = sleeps, .answer = answer, .size = sizeof(answer) };
	int ends[2];
	pid_t parent, child = 0;

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
	parent = fork();
	if (parent == 0) {
		apart_start(&a);
		(void)!write(ends[1], &a.pid, sizeof(a.pid));
		pause();
	}
	assert_int_equal(read(ends[0], &child, sizeof(child)), sizeof(child));
	kill(parent, SIGKILL);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	assert_int_equal(waitpid(child, NULL, 0), child);
	close(ends[0]);
	close(ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mounts),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_a_prepared_proc),
		cmocka_unit_test(test_paths),
		cmocka_unit_test(test_no_answer),
		cmocka_unit_test(test_a_late_parent),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_ends_with_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
