/* A wall clock that is wrong by the seconds in a file, also of processes that run when it is stepped: for
 * /etc/ld.so.preload of one node, as the machine's own clock is everybody's. Clocks of the boot go on as they are. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#ifndef CLOCK_FILE
#define CLOCK_FILE "/etc/syscheck-faults-clock"
#endif

static long long offset_s(void)
{
	char text[32] = "";
	int before = errno, fd = open(CLOCK_FILE, O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		if (read(fd, text, sizeof text - 1) < 0)
			text[0] = '\0';
		close(fd);
	}
	errno = before;
	return atoll(text);
}

int clock_gettime(clockid_t id, struct timespec *at)
{
	static int (*real)(clockid_t, struct timespec *);

	if (!real)
		real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	int code = real(id, at);

	if (code == 0 && (id == CLOCK_REALTIME || id == CLOCK_REALTIME_COARSE))
		at->tv_sec += offset_s();
	return code;
}

int gettimeofday(struct timeval *restrict at, void *restrict zone)
{
	struct timespec now;

	(void)zone;
	if (clock_gettime(CLOCK_REALTIME, &now) != 0)
		return -1;
	at->tv_sec = now.tv_sec;
	at->tv_usec = now.tv_nsec / 1000;
	return 0;
}

time_t time(time_t *at)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (at)
		*at = now.tv_sec;
	return now.tv_sec;
}

/* A time to wait for was made by the wrong clock, and the kernel's wakes. Conditions of this clock only, as Slurm's are. */
int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
			   const struct timespec *restrict until)
{
	static int (*real)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
	struct timespec then = *until;

	if (!real)
		/* dlsym finds x86-64's oldest, which is another. */
		real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))
			dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
	if (!real)
		real = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *))
			dlsym(RTLD_NEXT, "pthread_cond_timedwait");
	then.tv_sec -= offset_s();
	return real(condition, mutex, &then);
}
