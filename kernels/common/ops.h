/*
 * McCalpin's four operations on doubles, tuned: stores that bypass the caches, the
 * widest instruction set that this CPU has. Pure, but for the memory given.
 */
#ifndef SYSCHECK_OPS_H
#define SYSCHECK_OPS_H

#include <stddef.h>

/*
 * All arrays aligned to 64 bytes; n a multiple of 8. Each returns when its stores are
 * visible to other cores. A store that bypasses the caches saves the read of the line
 * that it fills; rates count 2, 2, 3 and 3 arrays all the same, as STREAM does.
 */
struct ops {
	const char *isa;    /* "avx512", "avx2", "sse2"; "generic": what the compiler gives */
	const char *stores; /* "nt" or "regular" */
	void (*copy)(double *restrict c, const double *restrict a, size_t n);                             /* c = a */
	void (*scale)(double *restrict b, const double *restrict c, double s, size_t n);                  /* b = s c */
	void (*add)(double *restrict c, const double *restrict a, const double *restrict b, size_t n);    /* c = a + b */
	void (*triad)(double *restrict a, const double *restrict b, const double *restrict c, double s,
		      size_t n);                                                                          /* a = b + s c */
};

/* For --isa. NULL-ended. */
extern const char *const ops_isas[];

/* The operations for an ISA of ops_isas, "auto" or NULL: the widest. NULL if this CPU does not have it. */
const struct ops *ops_choose(const char *isa);

#endif
