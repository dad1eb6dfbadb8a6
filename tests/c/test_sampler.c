/* The agent beside the extern step: it runs, and ends with who started it. */
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sampler.h"

static char dir[] = "/tmp/sampler.XXXXXX";
static char agent[64], said[64];

static int make(void **state)
{
	(void)state;
	umask(022);
	if (mkdtemp(dir) == NULL)
		return 1;
	snprintf(agent, sizeof(agent), "%s/agent", dir);
	snprintf(said, sizeof(said), "%s/said", dir);
	return 0;
}

static int remove_all(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static void script(const char *text)
{
	int fd = open(agent, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	assert_true(fd >= 0);
	assert_true(dprintf(fd, "#!/bin/bash\n%s\n", text) > 0);
	close(fd);
	unlink(said);
}

static void moment(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
}

static void wait_for_words(char *out, size_t size)
{
	FILE *f = NULL;

	out[0] = '\0';
	for (int i = 0; i < 1000 && out[0] == '\0'; i++) {
		moment();
		f = fopen(said, "r");
		if (f == NULL)
			continue;
		if (fgets(out, (int)size, f) == NULL)
			out[0] = '\0';
		fclose(f);
	}
}

static void it_runs_until_it_is_stopped(void **state)
{
	char text[512], want[64];
	pid_t pid;

	(void)state;
	snprintf(text, sizeof(text), "echo \"$1 $SLURM_JOB_ID $SLURMD_NODENAME ${HOME-}\" >%s.new; mv %s.new %s; sleep 1009 & wait",
		 said, said, said);
	script(text);
	pid = sampler_start(agent, "n1", 17);
	assert_true(pid > 0);
	wait_for_words(want, sizeof(want));
	assert_string_equal(want, "sample 17 n1 \n");
	sampler_stop(pid);
	/* It, and what it started. */
	assert_int_equal(kill(pid, 0), -1);
	for (int i = 0; i < 500 && kill(-pid, 0) == 0; i++)
		moment();
	assert_int_equal(kill(-pid, 0), -1);
	/* Once more does nothing, nor does one that never began. */
	sampler_stop(pid);
	sampler_stop(0);
	sampler_stop(-ENOENT);
}

/* A step's groups below `top`, made by Slurm's names; the agent is to be in `out` of them. */
static void leaves(const char *top, const char *line_of, const char *const groups[5], const char *out)
{
	char path[5][128], text[512], line[512] = "";
	pid_t pid;
	FILE *f;

	for (int i = 0; i < 5; i++) {
		snprintf(path[i], sizeof(path[i]), "%s/sampler_%d%s", top, (int)getpid(), groups[i]);
		if (mkdir(path[i], 0755) < 0 && i == 0)
			skip(); /* no such hierarchy here, or not root */
	}
	snprintf(text, sizeof(text), "grep '%s' /proc/$$/cgroup >%s.new; mv %s.new %s; exec sleep 1011", line_of, said, said,
		 said);
	script(text);
	pid = fork();
	if (pid == 0) {
		snprintf(text, sizeof(text), "%s/cgroup.procs", path[4]);
		f = fopen(text, "w");
		if (f == NULL || fputs("0", f) < 0 || fclose(f) != 0 || sampler_start(agent, "n1", 17) < 0)
			_exit(1);
		pause();
	}
	wait_for_words(line, sizeof(line));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 500 && access(path[0], F_OK) == 0; i++) {
		for (int k = 4; k >= 0; k--)
			rmdir(path[k]);
		moment();
	}
	assert_int_equal(access(path[0], F_OK), -1);
	snprintf(text, sizeof(text), ":/sampler_%d%s\n", (int)getpid(), out);
	assert_non_null(strstr(line, text));
}

/* Slurm waits for all that is in the step's groups before the plugin could end it. */
static void it_is_in_none_of_the_jobs_groups(void **state)
{
	static const char *const v1[] = { "", "/uid_0", "/uid_0/job_17", "/uid_0/job_17/step_1", "/uid_0/job_17/step_extern" };

	(void)state;
	leaves("/sys/fs/cgroup/freezer", "freezer", v1, "");
}

static void it_is_in_none_of_them_in_v2(void **state)
{
	static const char *const v2[] = { "", "/system", "/job_17", "/job_17/step_extern", "/job_17/step_extern/slurm" };

	(void)state;
	leaves(access("/sys/fs/cgroup/unified", F_OK) == 0 ? "/sys/fs/cgroup/unified" : "/sys/fs/cgroup", "^0:", v2,
	       "/system");
}

static void it_ends_with_its_parent(void **state)
{
	char text[512], words[32];
	pid_t parent, pid;

	(void)state;
	snprintf(text, sizeof(text), "echo $$ >%s.new; mv %s.new %s; exec sleep 1010", said, said, said);
	script(text);
	parent = fork();
	if (parent == 0) {
		sampler_start(agent, "n1", 17);
		pause();
		_exit(0);
	}
	wait_for_words(words, sizeof(words));
	pid = atoi(words);
	assert_true(pid > 0);
	assert_int_equal(kill(pid, 0), 0);
	assert_int_equal(kill(parent, SIGKILL), 0);
	assert_int_equal(waitpid(parent, NULL, 0), parent);
	/* A zombie until its new parent looks; then it is gone. */
	for (int i = 0; i < 500 && kill(pid, 0) == 0; i++) {
		char path[64], stat[128] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
		f = fopen(path, "r");
		if (f == NULL)
			return;
		if (fgets(stat, sizeof(stat), f) == NULL)
			stat[0] = '\0';
		fclose(f);
		if (strstr(stat, ") Z ") != NULL)
			return;
		moment();
	}
	assert_int_equal(kill(pid, 0), -1);
}

static void what_cannot_run(void **state)
{
	char longer[400];
	pid_t pid;

	(void)state;
	memset(longer, 'n', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	assert_int_equal(sampler_start(agent, longer, 17), -ENAMETOOLONG);
	pid = sampler_start("/nonexistent", "n1", 17);
	assert_true(pid > 0);
	moment();
	sampler_stop(pid);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), -1);
}

static void only_roots_file_wants_it(void **state)
{
	char link[64];

	(void)state;
	assert_false(sampler_wanted("/nonexistent", getuid()));
	script("true");
	assert_true(sampler_wanted(agent, getuid()));
	assert_false(sampler_wanted(agent, getuid() + 1));
	assert_int_equal(chmod(agent, 0666), 0);
	assert_false(sampler_wanted(agent, getuid()));
	assert_int_equal(chmod(agent, 0644), 0);
	snprintf(link, sizeof(link), "%s/link", dir);
	assert_int_equal(symlink(agent, link), 0);
	assert_false(sampler_wanted(link, getuid()));
	assert_false(sampler_wanted(dir, getuid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_runs_until_it_is_stopped),
		cmocka_unit_test(it_is_in_none_of_the_jobs_groups),
		cmocka_unit_test(it_is_in_none_of_them_in_v2),
		cmocka_unit_test(it_ends_with_its_parent),
		cmocka_unit_test(what_cannot_run),
		cmocka_unit_test(only_roots_file_wants_it),
	};

	return cmocka_run_group_tests(tests, make, remove_all);
}
