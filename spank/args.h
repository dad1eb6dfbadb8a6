/* The plugin's arguments in plugstack.conf. Pure: no Slurm. */
#ifndef SYSCHECK_ARGS_H
#define SYSCHECK_ARGS_H

#include <stdbool.h>

struct args {
	const char *status_dir; /* where the prolog leaves its findings; "%n" is the node's name */
	const char *agent;      /* says at a step's end what was out of line; NULL: nobody does */
};

/* What holds without any argument. */
struct args args_default(void);

/* False, and nothing changed, if the argument is unknown or its value is not usable. */
bool args_set(struct args *args, const char *arg);

/* The defaults with every usable argument applied. */
struct args args_parse(int ac, char **av);

#endif
