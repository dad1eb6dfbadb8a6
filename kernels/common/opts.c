#include "opts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "version.h"

#define SECONDS_LOW 0.05
#define SECONDS_HIGH 600.0

/* A decimal number from low to high and nothing else; false otherwise. */
static bool parse_number(const char *text, double low, double high, double *value)
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

void opts_show(char *out, size_t size, const char *text)
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

	if (parse_number(text, low, high, value))
		return true;
	opts_show(shown, sizeof(shown), text);
	snprintf(error, ERROR_SIZE, "%s: want a number from %g to %g, not \"%s\"", name, low, high, shown);
	return false;
}

static bool take_text(const struct opts_extra *x, const char *text, char error[ERROR_SIZE])
{
	char shown[40], names[160] = "";
	size_t length = 0;

	*x->text = text;
	if (x->choices == NULL && text[0] != '\0')
		return true;
	for (size_t i = 0; x->choices && x->choices[i]; i++) {
		if (strcmp(text, x->choices[i]) == 0)
			return true;
		/* snprintf returns what it would have needed. */
		if (length < sizeof(names))
			length += (size_t)snprintf(names + length, sizeof(names) - length, "%s%s", i ? ", " : "",
						   x->choices[i]);
	}
	opts_show(shown, sizeof(shown), text);
	snprintf(error, ERROR_SIZE, "%s: want %s, not \"%s\"", x->name, x->choices ? names : "a value", shown);
	return false;
}

static bool take(const struct opts_extra *x, const char *text, char error[ERROR_SIZE])
{
	if (x->text)
		return take_text(x, text, error);
	return x->value && take_number(x->name, text, x->low, x->high, x->value, error);
}

static const struct opts_extra *find(const struct opts_extra *list, const char *name, size_t length)
{
	for (; list && list->name; list++)
		if (strlen(list->name) == length && strncmp(name, list->name, length) == 0)
			return list;
	return NULL;
}

bool opts_parse(struct opts *opts, const struct opts_extra *extra, int argc, char **argv, char error[ERROR_SIZE])
{
	const struct opts_extra common[] = {
		{ .name = "--seconds", .low = SECONDS_LOW, .high = SECONDS_HIGH, .value = &opts->seconds },
		{ .name = "--cpus", .text = &opts->cpus },
		{ .name = "--widen", .text = &opts->widen },
		{ .name = "--cgroup", .text = &opts->cgroup },
		{ .name = "--help", .flag = &opts->help },
		{ .name = "--version", .flag = &opts->version },
		{ 0 },
	};
	char shown[40];

	for (int i = 1; i < argc; i++) {
		const char *arg = argv[i], *equals = strchr(arg, '='), *value;
		size_t length = equals ? (size_t)(equals - arg) : strlen(arg);
		const struct opts_extra *found = find(common, arg, length);

		found = found ? found : find(extra, arg, length);
		if (!found) {
			opts_show(shown, sizeof(shown), arg);
			snprintf(error, ERROR_SIZE, "%s \"%s\" (see --help)",
				 arg[0] == '-' ? "unknown option" : "no operand is wanted, got", shown);
			return false;
		}
		if (found->flag && equals) {
			snprintf(error, ERROR_SIZE, "%s takes no value", found->name);
			return false;
		}
		if (found->flag) {
			*found->flag = true;
			continue;
		}
		value = equals ? equals + 1 : argv[++i];
		if (value == NULL) {
			snprintf(error, ERROR_SIZE, "%s: a value is missing", found->name);
			return false;
		}
		if (!take(found, value, error))
			return false;
	}
	return true;
}

void opts_print(const struct opts *opts, const char *name, const char *what, const struct opts_extra *extra)
{
	if (opts->version) {
		printf("syscheck %s %s\n", name, syscheck_version);
		return;
	}
	printf("usage: %s [OPTION]...\n%s Prints one JSON object on one line.\n\n", name, what);
	printf("  --seconds S        time box, set-up included (%g to %g, default %g)\n", SECONDS_LOW, SECONDS_HIGH,
	       opts->seconds);
	printf("  --cpus LIST        CPUs to use, like 0-3,7 (default: all that are allowed)\n");
	printf("  --widen LIST       CPUs to use where fewer are allowed; what is refused stays out\n");
	printf("  --cgroup DIR       cgroup to join where a cpuset keeps it from these\n");
	for (; extra && extra->name; extra++) {
		char left[40];

		snprintf(left, sizeof(left), "%s%s", extra->name,
			 extra->flag ? "" : extra->value ? " N" : extra->choices ? " NAME" : " PATH");
		printf("  %-18s %s\n", left, extra->help);
	}
	printf("  --help, --version\n\n"
	       "Exit status: 0 measured and verified, 1 measured and wrong, 2 could not run.\n"
	       "See syscheck-kernels(8).\n");
}
