#include "janitor.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* Says which program it was, should one ever be left by a crash of the machine. */
#define PREFIX ".syscheck-io-"
/* Two names and a flag. */
#define SHARED_SIZE (2 * JANITOR_NAME_SIZE + 1)

static void remove_dir(int dir, const char *name, const char *inside)
{
	const int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0 && inside[0] != '\0')
		unlinkat(fd, inside, 0);
	if (fd >= 0)
		close(fd);
	unlinkat(dir, name, AT_REMOVEDIR);
}

static _Noreturn void clean(int life, int dir, const struct janitor *j)
{
	sigset_t all;
	char byte = 0;
	int null;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, "io-janitor");
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = 0; null >= 0 && fd <= 2; fd++)
		dup2(null, fd);
	/* Ready. From here on the parent may make names. */
	if (null >= 0 && write(life, &byte, 1) == 1) {
		while (read(life, &byte, 1) < 0 && errno == EINTR)
			;
		if (j->name[0] != '\0' && *j->is_dir)
			remove_dir(dir, j->name, j->inside);
		else if (j->name[0] != '\0')
			unlinkat(dir, j->name, 0);
	}
	_exit(0);
}

bool janitor_start(struct janitor *j, int dir)
{
	int ends[2] = { -1, -1 };
	ssize_t n;
	char byte;

	*j = (struct janitor){ .pid = -1, .life = -1 };
	j->name = mmap(NULL, SHARED_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (j->name == MAP_FAILED) {
		j->name = NULL;
		return false;
	}
	j->inside = j->name + JANITOR_NAME_SIZE;
	j->is_dir = j->inside + JANITOR_NAME_SIZE;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
		goto fail;
	j->pid = fork();
	if (j->pid < 0)
		goto fail;
	if (j->pid == 0) {
		close(ends[0]);
		clean(ends[1], dir, j);
	}
	close(ends[1]);
	j->life = ends[0];
	do
		n = read(j->life, &byte, 1);
	while (n < 0 && errno == EINTR);
	if (n == 1)
		return true;
	janitor_end(j);
	errno = ECHILD;
	return false;
fail:
	if (ends[0] >= 0) {
		close(ends[0]);
		close(ends[1]);
	}
	munmap(j->name, SHARED_SIZE);
	j->name = NULL;
	return false;
}

static const char *new_name(char *name)
{
	unsigned char random[16];
	char *p = name + sizeof(PREFIX) - 1;

	if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
		return NULL;
	/* Half of a name, if the end comes in here, is the name of nothing. */
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(p + 2 * i, 3, "%02x", random[i]);
	for (size_t i = 0; i < sizeof(PREFIX) - 1; i++)
		name[i] = PREFIX[i];
	return name;
}

const char *janitor_name(struct janitor *j)
{
	*j->is_dir = 0;
	return new_name(j->name);
}

const char *janitor_new_dir(struct janitor *j)
{
	j->inside[0] = '\0';
	*j->is_dir = 1;
	return new_name(j->name);
}

void janitor_enter_dir(struct janitor *j, const char *name)
{
	j->inside[0] = '\0';
	*j->is_dir = 1;
	snprintf(j->name, JANITOR_NAME_SIZE, "%s", name);
}

const char *janitor_inside(struct janitor *j)
{
	return new_name(j->inside);
}

void janitor_forget(struct janitor *j)
{
	j->name[0] = '\0';
	j->inside[0] = '\0';
}

void janitor_end(struct janitor *j)
{
	if (j->name == NULL)
		return;
	close(j->life);
	while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
		;
	munmap(j->name, SHARED_SIZE);
	j->name = NULL;
}
