/*
 * The one JSON object of a kernel: built in memory, written at once, so that a
 * kernel that is killed leaves no half of it.
 */
#ifndef SYSCHECK_RESULT_H
#define SYSCHECK_RESULT_H

#include <stdbool.h>
#include <stddef.h>

struct result {
	char *text;
	size_t length, size;
	bool failed; /* out of memory at some point: nothing will be written */
	bool comma;
	bool wrong;  /* what was measured is; by kernel_begin */
};

/* Opens the object with the kernel's name, format version and program version. */
void result_begin(struct result *r, const char *kernel);

void result_number(struct result *r, const char *key, double value); /* NaN, inf: null */
void result_known(struct result *r, const char *key, double value);  /* NaN, inf: no key */
void result_integer(struct result *r, const char *key, long long value);
void result_string(struct result *r, const char *key, const char *value); /* NULL: null */
void result_bool(struct result *r, const char *key, bool value);

/* A list of objects: list_begin, then object_begin .. object_end for each, list_end; or of integers. */
void result_list_begin(struct result *r, const char *key);
void result_object_begin(struct result *r);
void result_object_end(struct result *r);
void result_list_integer(struct result *r, long long value);
void result_list_number(struct result *r, double value, int digits); /* so many that count; NaN, inf: null */
void result_list_end(struct result *r);

/* Closes the object and its line, writes it to fd; frees. False if that failed (errno). */
bool result_write(struct result *r, int fd);

#endif
