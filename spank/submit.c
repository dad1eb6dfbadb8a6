#include "submit.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "blank.h"
#include "level.h"

/* Of the command line that is looked through for a misplaced level: options come first. */
#define LINE_MAX_BYTES 16384

#define OPTION_ENV "SYSCHECK_LEVEL"
#define CHECKED_ENV "SYSCHECK_CHECKED"

/*
 * sbatch and salloc leave what they were asked in the job's environment: the
 * first is taken as the option itself by every srun, sbatch and salloc in the
 * job, the second is the job's SPANK_SYSCHECK.
 */
#define INHERITED_OPTION_ENV "SLURM_SPANK__SLURM_SPANK_OPTION_syscheck_syscheck"
#define INHERITED_LEVEL_ENV "SLURM_SPANK_SYSCHECK"

/* The name that the prolog sees, after Slurm put SPANK_ before it. */
#define PROLOG_ENV "SYSCHECK"

struct request {
	enum level level; /* LEVEL_INVALID: none */
	bool verbose;
};

static struct {
	struct request option; /* as it was given */
	bool bare; /* it was given without a level */
	bool parsed; /* all options are known: sbatch has read its script */
} ctx = { .option.level = LEVEL_INVALID };

static int on_option(int val, const char *arg, int remote);

struct spank_option syscheck_option = {
	.name = "syscheck",
	.arginfo = "[LEVEL[,verbose]]",
	.usage = "node check: none|passive|quick|full [quick]",
	.has_arg = 2,
	.val = 0,
	.cb = on_option,
};

static void say_refused(const char *source, const char *value)
{
	char text[LEVEL_REFUSAL_SIZE];

	level_refusal(text, sizeof(text), source, value);
	slurm_spank_log("%s", text);
}

/* A failure here ends the command, whether the plugin is required or optional. */
static int on_option(int val, const char *arg, int remote)
{
	struct request *option = &ctx.option;

	(void)val;
	option->level = level_from_option(arg, &option->verbose);
	ctx.bare = arg == NULL;
	if (option->level != LEVEL_INVALID || remote)
		return 0;
	say_refused("--syscheck", arg);
	return -1;
}

static bool is_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Where sbatch looks for a script, srun and salloc for a command. */
static bool is_file(const char *word)
{
	char path[PATH_MAX];
	const char *dirs = getenv("PATH");

	if (is_regular(word))
		return true;
	if (strchr(word, '/') != NULL)
		return false;
	for (size_t len; dirs != NULL && *dirs != '\0'; dirs += len + (dirs[len] == ':')) {
		len = strcspn(dirs, ":");
		if (len > 0 && len < sizeof(path) &&
		    snprintf(path, sizeof(path), "%.*s/%s", (int)len, dirs, word) < (int)sizeof(path) && is_regular(path))
			return true;
	}
	return false;
}

/* "--syscheck full job.sh": Slurm's own error, about a script or command called full, helps nobody. */
static void hint(void)
{
	char line[LINE_MAX_BYTES], text[BLANK_HINT_SIZE];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, line, sizeof(line));
	const char *word = size > 0 ? blank_word(line, (size_t)size, is_file) : NULL;

	if (fd >= 0)
		close(fd);
	if (word == NULL)
		return;
	blank_hint(text, sizeof(text), word);
	slurm_spank_log("%s", text);
}

/* An srun within an allocation starts a step: no prolog is to be asked anew. */
static bool is_step(void)
{
	return spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID") != NULL;
}

int submit_init(spank_t sp)
{
	/* What the surrounding job was asked is no request of this command's user. */
	unsetenv(INHERITED_OPTION_ENV);
	if (!is_step())
		unsetenv(INHERITED_LEVEL_ENV);

	if (spank_option_register(sp, &syscheck_option) != ESPANK_SUCCESS)
		slurm_debug("syscheck: the option cannot be registered");
	return 0;
}

static struct request from_environment(void)
{
	const char *value = getenv(OPTION_ENV);
	const char *checked = getenv(CHECKED_ENV);
	struct request request = { .level = LEVEL_INVALID };

	if (value == NULL || value[0] == '\0')
		return request;
	/* A job's steps find the level of its own check there: not a request either. */
	if (checked != NULL && strcmp(value, checked) == 0)
		return request;

	request.level = level_from_request(value, &request.verbose);
	if (request.level == LEVEL_INVALID) {
		say_refused(OPTION_ENV, value);
		/*
		 * The failure of an optional plugin is ignored here, and a
		 * variable has no callback that could fail. Nothing else may
		 * keep a job from being submitted with a misspelt request.
		 */
		exit(EXIT_FAILURE);
	}
	return request;
}

enum level submit_forwarded(void)
{
	return ctx.option.level;
}

int submit_post_opt(spank_t sp)
{
	struct request request = ctx.option;

	ctx.parsed = true;
	if (ctx.bare)
		hint();

	/*
	 * Without PrologFlags=Alloc the first step on a node starts the
	 * prolog there, with the environment of this srun: pass the job's
	 * request on.
	 */
	if (request.level == LEVEL_INVALID && is_step())
		request.level = level_from_request(getenv(INHERITED_LEVEL_ENV), &request.verbose);
	else if (request.level == LEVEL_INVALID)
		request = from_environment();

	if (request.level == LEVEL_INVALID)
		spank_job_control_unsetenv(sp, PROLOG_ENV);
	else if (spank_job_control_setenv(sp, PROLOG_ENV, level_request(request.level, request.verbose), 1) !=
		 ESPANK_SUCCESS)
		slurm_error("syscheck: the request does not reach the nodes");
	return 0;
}

int submit_exit(void)
{
	/* sbatch reads its script before it hands plugins their options: it found none. */
	if (!ctx.parsed)
		hint();
	return 0;
}
