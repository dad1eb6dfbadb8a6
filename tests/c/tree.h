/* A prepared /sys or /proc below a directory of the test's own. */
#ifndef SYSCHECK_TEST_TREE_H
#define SYSCHECK_TEST_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A file below `root`, with the directories on the way. */
static inline void tree_put(const char *root, const char *path, const char *text)
{
	char at[512];
	FILE *f;

	snprintf(at, sizeof(at), "%s/%s", root, path);
	for (char *slash = at + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
		*slash = '\0';
		mkdir(at, 0700);
		*slash = '/';
	}
	f = fopen(at, "we");
	if (f == NULL)
		abort();
	fputs(text, f);
	fclose(f);
}

/* 0, or the exit status of rm. */
static inline int tree_remove(const char *root)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -r %s", root);
	return system(command);
}

#endif
