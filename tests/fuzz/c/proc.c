/* kernels/noise/proc and common/result: /proc/interrupts and a thread's stat, whose names are others', into JSON. */
#include "fuzz.h"

#include <stdio.h>

#include "common/result.h"
#include "noise/proc.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int cpus[] = { 0, 2, 5 };
	const struct topo topo = { .n = 3, .cpus = cpus };
	char *text = text_of(data, size), *copy = text_of(data, size);
	struct thread thread = { .pid = 1, .cpu = -1 };
	struct result r;
	struct table t;

	result_begin(&r, "noise");
	table_parse(&t, text, &topo);
	for (size_t i = 0; i < t.n; i++) {
		WANT(strnlen(t.rows[i].name, sizeof(t.rows[i].name)) < sizeof(t.rows[i].name));
		result_string(&r, "name", t.rows[i].name);
	}
	table_free(&t);
	thread_parse(&thread, copy, size % 2 == 0);
	WANT(strnlen(thread.comm, sizeof(thread.comm)) < sizeof(thread.comm));
	result_string(&r, "comm", thread.comm);
	WANT(!r.failed);
	want_line(r.text, r.length + 1);
	free(r.text);
	free(text);
	free(copy);
	return 0;
}
