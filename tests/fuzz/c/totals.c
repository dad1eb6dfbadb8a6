/* spank/totals: the file that the steps of a job add up in. A whole one has one length, so what is missing follows. */
#include "fuzz.h"

#include "totals.h"

#define END "\nend\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct totals totals, again, sum;
	char file[TOTALS_FILE_SIZE], out[TOTALS_FILE_SIZE], more[TOTALS_FILE_SIZE];
	char *bytes = text_of(data, size);

	(void)totals_parse(&totals, bytes, size);
	memset(file, '\n', sizeof(file));
	memcpy(file + sizeof(file) - strlen(END), END, strlen(END));
	memcpy(file, bytes, size < sizeof(file) ? size : sizeof(file));
	free(bytes);
	if (totals_parse(&totals, file, sizeof(file)) < 0)
		return 0;
	WANT(totals.name_len <= TOTALS_NAME_MAX && totals.version >= 0 && totals.version <= 2);
	/* There and back, which costs four times as much: of some. */
	if (size % 8 != 0)
		return 0;
	totals_format(out, &totals);
	WANT(memchr(out, '\0', sizeof(out)) == NULL && memcmp(out + sizeof(out) - 4, "end\n", 4) == 0);
	WANT(totals_parse(&again, out, sizeof(out)) == 0);
	totals_format(more, &again);
	WANT(memcmp(out, more, sizeof(out)) == 0);
	/* As a step's end adds its own. */
	sum = totals;
	totals_merge(&sum, &again);
	WANT(sum.steps >= totals.steps && sum.name_len <= TOTALS_NAME_MAX);
	for (int i = 0; i < CG_FIELDS; i++)
		WANT(sum.step.v[i] == cg_max(sum.step.v[i], totals.step.v[i]));
	totals_format(out, &sum);
	WANT(totals_parse(&again, out, sizeof(out)) == 0);
	return 0;
}
