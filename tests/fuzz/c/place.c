/* spank/place: /proc/PID/cgroup, then after a NUL /proc/self/mountinfo, for job 17. Root copies by the lengths. */
#include "fuzz.h"

#include "place.h"

static struct cg_places places;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const uint8_t *nul = memchr(data, '\0', size);
	const size_t len = nul != NULL ? (size_t)(nul - data) : size;
	char *cgroup = text_of(data, len);
	char *mounts = nul != NULL ? text_of(nul + 1, size - len - 1) : text_of(data, size);

	cg_locate(&places, cgroup, mounts, 17);
	WANT(places.version >= 0 && places.version <= 2);
	for (int i = 0; i < CG_HIERARCHIES; i++) {
		const struct cg_place *at = &places.at[i];

		WANT(strnlen(at->step, sizeof(at->step)) < sizeof(at->step));
		WANT(strnlen(at->own, sizeof(at->own)) < sizeof(at->own));
		WANT(at->job <= strlen(at->step));
		WANT(at->own[0] == '\0' || (at->own[0] == '/' && at->own_mount <= strlen(at->own)));
		if (at->step[0] == '\0')
			continue;
		WANT(places.version != 0);
		WANT(at->step[0] == '/' && at->mount >= 1 && at->mount <= at->job);
		WANT(strncmp(at->step + at->job, "/step_", 6) == 0);
		WANT(strstr(at->step + at->mount, "/..") == NULL);
	}
	free(cgroup);
	free(mounts);
	return 0;
}
