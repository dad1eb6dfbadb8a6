/* What steps leave for the epilog: how it adds up, its text, its file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "totals.h"

static struct totals a, b, c;
static char text[TOTALS_FILE_SIZE];

/* One step's, as its slurmstepd has it. */
static void make_step(struct totals *t, uint64_t cpu, uint64_t peak)
{
	totals_clear(t);
	t->steps = 1;
	t->version = 2;
	t->step.v[CG_CPU_US] = cpu;
	t->step.v[CG_MEMORY_PEAK_BYTES] = peak;
}

static void set_job(struct totals *t, enum cg_field field, uint64_t group, uint64_t value)
{
	t->job[field] = (struct cg_cell){ .group = group, .value = value };
}

static uint64_t total(const struct totals *t, enum cg_field field)
{
	return t->job[field].past + t->job[field].value;
}

static void test_steps_add_up(void **state)
{
	(void)state;
	make_step(&a, 100, 4000);
	make_step(&b, 20, 9000);
	b.step.v[CG_OOM_KILLS] = 1;
	totals_merge(&a, &b);
	make_step(&b, 3, 5);
	b.tasks.v[CG_READ_BYTES] = 7;
	totals_merge(&a, &b);
	assert_int_equal(a.steps, 3);
	assert_int_equal(a.step.v[CG_CPU_US], 123);
	assert_int_equal(a.step.v[CG_MEMORY_PEAK_BYTES], 9000);
	assert_int_equal(a.step.v[CG_OOM_KILLS], 1);
	assert_int_equal(a.tasks.v[CG_READ_BYTES], 7);
	assert_true(a.step.v[CG_IO_SOME_US] == CG_UNKNOWN);
}

static void test_job_group(void **state)
{
	(void)state;
	totals_clear(&a);
	/* Two readings of one group: the later one holds the earlier. */
	make_step(&b, 1, 1);
	set_job(&b, CG_CPU_US, 11, 500);
	set_job(&b, CG_MEMORY_PEAK_BYTES, 12, 900);
	totals_merge(&a, &b);
	set_job(&b, CG_CPU_US, 11, 700);
	totals_merge(&a, &b);
	assert_int_equal(total(&a, CG_CPU_US), 700);
	/* In whatever order they come. */
	set_job(&b, CG_CPU_US, 11, 600);
	totals_merge(&a, &b);
	assert_int_equal(total(&a, CG_CPU_US), 700);
	/* Removed and made anew: it began at zero; a peak does not add up. */
	set_job(&b, CG_CPU_US, 13, 50);
	set_job(&b, CG_MEMORY_PEAK_BYTES, 14, 100);
	totals_merge(&a, &b);
	assert_int_equal(total(&a, CG_CPU_US), 750);
	assert_int_equal(total(&a, CG_MEMORY_PEAK_BYTES), 900);
	/* A step that could not read it takes nothing away. */
	make_step(&b, 1, 1);
	totals_merge(&a, &b);
	assert_int_equal(total(&a, CG_CPU_US), 750);
}

static void test_outer_quota(void **state)
{
	(void)state;
	totals_clear(&a);
	make_step(&b, 1, 1);
	b.outer = (struct cg_cell){ .group = 5, .value = 1300 };
	b.outer_begin = 1000;
	totals_merge(&a, &b);
	/* One that began before that and ended after it. */
	b.outer.value = 1500;
	b.outer_begin = 900;
	totals_merge(&a, &b);
	assert_int_equal(a.outer.value - a.outer_begin + a.outer.past, 600);
	/* slurmd was restarted under another group. */
	b.outer = (struct cg_cell){ .group = 6, .value = 10 };
	b.outer_begin = 4;
	totals_merge(&a, &b);
	assert_int_equal(a.outer.value - a.outer_begin + a.outer.past, 606);
}

static void stopped(bool sure, uint64_t ms)
{
	make_step(&b, 1, 1);
	b.sure = sure;
	b.stopped_ms = ms;
	totals_merge(&a, &b);
}

/* A step that its user has stopped is no job that was suspended. */
static void test_suspended(void **state)
{
	(void)state;
	totals_clear(&a);
	stopped(false, 3000);
	stopped(false, CG_UNKNOWN);
	stopped(false, 9000);
	assert_int_equal(a.stopped_ms, 9000);
	stopped(true, CG_UNKNOWN);
	assert_int_equal(a.stopped_ms, 9000);
	totals_clear(&a);
	stopped(false, 9000);
	stopped(true, 500);
	assert_int_equal(a.stopped_ms, 500);
	stopped(false, 7000);
	assert_int_equal(a.stopped_ms, 500);
	totals_clear(&a);
	stopped(true, 0);
	stopped(false, 7000);
	assert_int_equal(a.stopped_ms, 0);
}

static void test_identity(void **state)
{
	(void)state;
	totals_clear(&a);
	make_step(&b, 1, 1);
	totals_name(&b, "forged by an srun");
	b.array_job = 666, b.array_task = 6, b.restart = 66;
	totals_merge(&a, &b);
	make_step(&c, 1, 1);
	totals_name(&c, "job");
	c.sure = true;
	c.array_job = 17, c.array_task = 4;
	totals_merge(&a, &c);
	totals_merge(&a, &b);
	assert_int_equal(a.name_len, 3);
	assert_memory_equal(a.name, "job", 3);
	assert_int_equal(a.array_job, 17);
	assert_int_equal(a.array_task, 4);
	/* The batch step knows of none, so there was none. */
	assert_true(a.restart == TOTALS_NONE);
}

static void assert_same(const struct totals *x, const struct totals *y)
{
	assert_memory_equal(&x->step, &y->step, sizeof(x->step));
	assert_memory_equal(&x->tasks, &y->tasks, sizeof(x->tasks));
	for (int i = 0; i < CG_FIELDS; i++) {
		assert_true(x->job[i].value == y->job[i].value);
		assert_int_equal(x->job[i].past, y->job[i].past);
		assert_int_equal(x->job[i].group, y->job[i].group);
	}
	assert_int_equal(x->outer.value, y->outer.value);
	assert_int_equal(x->outer_begin, y->outer_begin);
	assert_int_equal(x->name_len, y->name_len);
	assert_memory_equal(x->name, y->name, x->name_len);
	assert_int_equal(x->version, y->version);
	assert_int_equal(x->steps, y->steps);
	assert_int_equal(x->sure, y->sure);
	assert_int_equal(x->array_job, y->array_job);
	assert_int_equal(x->array_task, y->array_task);
	assert_int_equal(x->restart, y->restart);
	assert_true(x->stopped_ms == y->stopped_ms);
	assert_true(x->energy_uj == y->energy_uj);
}

/* As much as there can be: it all fits. */
static void make_longest(struct totals *t)
{
	char name[TOTALS_NAME_MAX + 10];

	totals_clear(t);
	t->version = 2;
	t->steps = UINT32_MAX;
	t->sure = true;
	t->array_job = t->array_task = t->restart = UINT32_MAX - 1;
	memset(name, '\xff', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	totals_name(t, name);
	for (int i = 0; i < CG_FIELDS; i++) {
		t->step.v[i] = t->tasks.v[i] = UINT64_MAX - 1;
		t->job[i] = (struct cg_cell){ UINT64_MAX, UINT64_MAX, UINT64_MAX - 1 };
	}
	t->outer = (struct cg_cell){ UINT64_MAX, UINT64_MAX, UINT64_MAX - 1 };
	t->outer_begin = UINT64_MAX;
	t->stopped_ms = t->energy_uj = UINT64_MAX - 1;
}

static void test_text(void **state)
{
	(void)state;
	make_longest(&a);
	totals_format(text, &a);
	assert_int_equal(totals_parse(&b, text, sizeof(text)), 0);
	assert_same(&a, &b);
	assert_int_equal(b.name_len, TOTALS_NAME_MAX);

	totals_clear(&a);
	totals_format(text, &a);
	assert_int_equal(totals_parse(&b, text, sizeof(text)), 0);
	assert_same(&a, &b);

	make_step(&a, 5, 6);
	totals_name(&a, "a\nend\nsteps 99\n\"\x1b[31m");
	totals_format(text, &a);
	assert_int_equal(totals_parse(&b, text, sizeof(text)), 0);
	assert_same(&a, &b);
	assert_int_equal(b.steps, 1);
}

static void test_parse_refuses(void **state)
{
	const char *bad[] = {
		"step cpu_us -1\n",
		"step cpu_us\n",
		"step nothing 1\n",
		"step cpu_us 1x\n",
		"step cpu_us 18446744073709551616\n",
		"job cpu_us 1 2\n",
		"outer 1 2 3\n",
		"name 0\n",
		"name 6g\n",
		"name 6162 \n",
		"steps 4294967296\n",
		"version 3\n",
		"sure 2\n",
		"array 1\n",
		"unknown 1\n",
		"  \n",
	};

	(void)state;
	make_longest(&a);
	totals_format(text, &a);
	for (size_t len = 0; len < sizeof(text); len += 37)
		assert_int_equal(totals_parse(&b, text, len), -EINVAL);
	/* A bit of it changed: refused, or another number; never more than the file. */
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] ^= 0x10;
		totals_parse(&b, text, sizeof(text));
		assert_true(b.name_len <= TOTALS_NAME_MAX);
		text[i] ^= 0x10;
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		totals_clear(&a);
		totals_format(text, &a);
		memcpy(text + 100, "\n", 1);
		memcpy(text + 101, bad[i], strlen(bad[i]));
		if (totals_parse(&b, text, sizeof(text)) != -EINVAL)
			fail_msg("accepted: %s", bad[i]);
		assert_int_equal(b.steps, 0);
	}
	memset(text, 0, sizeof(text));
	assert_int_equal(totals_parse(&b, text, sizeof(text)), -EINVAL);
	memset(text, '\n', sizeof(text));
	assert_int_equal(totals_parse(&b, text, sizeof(text)), -EINVAL);
}

/* ---- the file ---- */

static char dir[64], path[80], other[80];

static int make_dir(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/test_totals.XXXXXX");
	if (mkdtemp(dir) == NULL)
		return -1;
	snprintf(path, sizeof(path), "%s/17.steps", dir);
	snprintf(other, sizeof(other), "%s/other", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	chmod(dir, 0700);
	unlink(path);
	rmdir(path);
	unlink(other);
	return rmdir(dir);
}

static int add(void)
{
	make_step(&a, 10, 20);
	return totals_add(dir, "17.steps", getuid(), &a);
}

static void read_back(struct totals *t)
{
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), sizeof(text));
	close(fd);
	assert_int_equal(totals_parse(t, text, sizeof(text)), 0);
}

static void test_file(void **state)
{
	struct stat sb;

	(void)state;
	assert_int_equal(add(), 0);
	assert_int_equal(add(), 0);
	read_back(&b);
	assert_int_equal(b.steps, 2);
	assert_int_equal(b.step.v[CG_CPU_US], 20);
	assert_int_equal(stat(path, &sb), 0);
	assert_int_equal(sb.st_mode & 0777, 0600);
	assert_int_equal(sb.st_size, TOTALS_FILE_SIZE);
}

static void test_file_damaged_begins_anew(void **state)
{
	(void)state;
	assert_int_equal(add(), 0);
	assert_int_equal(truncate(path, 100), 0);
	assert_int_equal(add(), 0);
	read_back(&b);
	assert_int_equal(b.steps, 1);
}

static void test_file_of_others_is_not_touched(void **state)
{
	int fd;

	(void)state;
	fd = open(other, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(symlink(other, path), 0);
	assert_int_equal(add(), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(link(other, path), 0);
	assert_int_equal(add(), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(add(), -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(add(), -EISDIR);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(add(), 0);
	assert_int_equal(chmod(path, 0620), 0);
	assert_int_equal(add(), -EPERM);
	assert_int_equal(chmod(path, 0600), 0);
	assert_int_equal(totals_add(dir, "17.steps", getuid() + 1, &a), -EPERM);
	/* A directory that others may write to: whose file is it? */
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(add(), -EPERM);
	assert_int_equal(totals_add("/nonexistent", "17.steps", getuid(), &a), -ENOENT);
}

/* A machine that is busy enough may keep the others from their turn. */
static int add_patiently(void)
{
	int rc;

	do
		rc = add();
	while (rc == -EAGAIN);
	return rc;
}

#define WRITERS 8
#define EACH 25

static void test_steps_that_end_together(void **state)
{
	pid_t pids[WRITERS];

	(void)state;
	for (int i = 0; i < WRITERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0) {
			int failed = 0;

			for (int n = 0; n < EACH; n++)
				failed |= add_patiently() != 0;
			_exit(failed);
		}
	}
	for (int i = 0; i < WRITERS; i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	read_back(&b);
	assert_int_equal(b.steps, WRITERS * EACH);
	assert_int_equal(b.step.v[CG_CPU_US], 10 * WRITERS * EACH);
}

/* Killed at any moment, a step leaves the file with it or without it. */
static void test_steps_that_are_killed(void **state)
{
	(void)state;
	assert_int_equal(add(), 0);
	for (int i = 0; i < 50; i++) {
		uint32_t before;
		pid_t pid;

		read_back(&b);
		before = b.steps;
		pid = fork();
		assert_true(pid >= 0);
		if (pid == 0) {
			for (;;)
				add();
		}
		usleep((useconds_t)(i * 37 % 1000));
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		read_back(&b);
		assert_true(b.steps >= before);
		assert_int_equal(b.step.v[CG_CPU_US], 10 * (uint64_t)b.steps);
	}
}

static void test_lock_is_not_waited_for_long(void **state)
{
	int fd;

	(void)state;
	assert_int_equal(add(), 0);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	assert_int_equal(add(), -EAGAIN);
	close(fd);
	assert_int_equal(add(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps_add_up),
		cmocka_unit_test(test_job_group),
		cmocka_unit_test(test_outer_quota),
		cmocka_unit_test(test_suspended),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_text),
		cmocka_unit_test(test_parse_refuses),
		cmocka_unit_test_setup_teardown(test_file, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_file_damaged_begins_anew, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_file_of_others_is_not_touched, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_steps_that_end_together, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_steps_that_are_killed, make_dir, remove_dir),
		cmocka_unit_test_setup_teardown(test_lock_is_not_waited_for_long, make_dir, remove_dir),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
