#include "opts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECONDS_LOW 0.05
#define SECONDS_HIGH 600.0

bool opts_number(const char *text, double low, double high, double *value)
{
	char *end;
	double v;

	/* strtod would take white space, hex, "inf" and "nan", too. */
	if (text[0] == '\0' || strspn(text, "0123456789.eE+-") != strlen(text))
		return false;
	v = strtod(text, &end);
	if (*end != '\0' || !isfinite(v) || v < low || v > high)
		return false;
	*value = v;
	return true;
}

/* What a user typed, cut and harmless. */
static void show(char *out, size_t size, const char *text)
{
	size_t i;

	for (i = 0; text[i] != '\0' && i < size - 1; i++)
		out[i] = text[i];
	out[i] = '\0';
	for (i = 0; out[i] != '\0'; i++)
		if (out[i] < ' ' || out[i] > '~')
			out[i] = '?';
}

static bool take_number(const char *name, const char *text, double low, double high, double *value,
			char error[ERROR_SIZE])
{
	char shown[40];

	if (opts_number(text, low, high, value))
		return true;
	show(shown, sizeof(shown), text);
	snprintf(error, ERROR_SIZE, "%s: want a number from %g to %g, not \"%s\"", name, low, high, shown);
	return false;
}

bool opts_parse(struct opts *opts, const struct opts_extra *extra, size_t n_extra, int argc, char **argv,
		char error[ERROR_SIZE])
{
	char shown[40];

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *equals = strchr(arg, '=');
		size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
		const struct opts_extra *found = NULL;
		bool seconds = length == 9 && strncmp(arg, "--seconds", 9) == 0;
		bool cpus = length == 6 && strncmp(arg, "--cpus", 6) == 0;
		const char *value;

		if (strcmp(arg, "--help") == 0) {
			opts->help = true;
			continue;
		}
		if (strcmp(arg, "--version") == 0) {
			opts->version = true;
			continue;
		}
		for (size_t j = 0; j < n_extra; j++)
			if (strlen(extra[j].name) == length && strncmp(arg, extra[j].name, length) == 0)
				found = &extra[j];
		if (!seconds && !cpus && !found) {
			show(shown, sizeof(shown), arg);
			snprintf(error, ERROR_SIZE, "%s \"%s\" (see --help)",
				 arg[0] == '-' ? "unknown option" : "no operand is wanted, got", shown);
			return false;
		}
		value = equals ? equals + 1 : argv[++i];
		if (value == NULL) {
			snprintf(error, ERROR_SIZE, "%.*s: a value is missing", (int)length, arg);
			return false;
		}
		if (cpus) {
			opts->cpus = value;
		} else {
			double low = seconds ? SECONDS_LOW : found->low, high = seconds ? SECONDS_HIGH : found->high;

			if (!take_number(seconds ? "--seconds" : found->name, value, low, high,
					 seconds ? &opts->seconds : found->value, error))
				return false;
		}
	}
	return true;
}

void opts_print(const struct opts *opts, const char *name, const char *what, const struct opts_extra *extra,
		size_t n_extra)
{
	if (opts->version) {
		printf("syscheck %s %s\n", name, SYSCHECK_VERSION);
		return;
	}
	printf("usage: %s [OPTION]...\n%s Prints one JSON object on one line.\n\n", name, what);
	printf("  --seconds S        time box, set-up included (%g to %g, default %g)\n", SECONDS_LOW, SECONDS_HIGH,
	       opts->seconds);
	printf("  --cpus LIST        CPUs to use, like 0-3,7 (default: all that are allowed)\n");
	for (size_t i = 0; i < n_extra; i++)
		printf("  %-18s %s\n", extra[i].name, extra[i].help);
	printf("  --help, --version\n\n"
	       "Exit status: 0 measured and verified, 1 measured and wrong, 2 could not run.\n"
	       "See syscheck-kernels(8).\n");
}
