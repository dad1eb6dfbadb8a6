#include "args.h"

#include <string.h>

#define STATUS_DIR "status_dir="
#define AGENT "agent="

struct args args_default(void)
{
	return (struct args){ .status_dir = "/run/syscheck" };
}

bool args_set(struct args *args, const char *arg)
{
	if (strncmp(arg, STATUS_DIR "/", sizeof(STATUS_DIR "/") - 1) == 0) {
		args->status_dir = arg + sizeof(STATUS_DIR) - 1;
		return true;
	}
	if (strncmp(arg, AGENT "/", sizeof(AGENT "/") - 1) == 0) {
		args->agent = arg + sizeof(AGENT) - 1;
		return true;
	}
	return false;
}

struct args args_parse(int ac, char **av)
{
	struct args args = args_default();

	for (int i = 0; i < ac; i++)
		args_set(&args, av[i]);
	return args;
}
