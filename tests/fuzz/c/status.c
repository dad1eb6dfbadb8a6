/* spank/status: the prolog's file, and the directory it is in by plugstack.conf. */
#include "fuzz.h"

#include "status.h"

static void path_of(const char *dir, const char *node, size_t room)
{
	char *out = malloc(room);

	WANT(out != NULL);
	if (status_path(out, room, dir, node, 4294967295u, ".steps") == 0) {
		WANT(strlen(out) < room);
		WANT(strcmp(out + strlen(out) - strlen("/4294967295.steps"), "/4294967295.steps") == 0);
	}
	free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = text_of(data, size), *line;
	struct status st;

	/* Not terminated: the parser is given a length. */
	char *bytes = malloc(size ? size : 1);

	WANT(bytes != NULL);
	if (size > 0)
		memcpy(bytes, data, size);
	if (status_parse(&st, bytes, size) == 0)
		WANT(st.level > LEVEL_INVALID && st.level < LEVEL_COUNT && st.name != NULL);
	want_line(st.line, sizeof(st.line));
	free(bytes);

	line = strchr(text, '\n');
	if (line != NULL)
		*line++ = '\0';
	path_of(text, line, 64);
	path_of(text, line, size % 97 + 1);
	free(text);
	return 0;
}
