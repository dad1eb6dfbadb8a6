#include "detours.h"

#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct periodic_event) == 2 * sizeof(uint64_t), "converted in place");

bool detours_init(struct detours *d, size_t room)
{
	/* The histogram's pages, too. */
	memset(d, 0, sizeof(*d));
	d->room = room;
	d->kept = malloc(room * sizeof(*d->kept));
	if (!d->kept)
		return false;
	/* Not zero: malloc and memset to zero would become a calloc, which touches nothing. */
	memset(d->kept, 0xff, room * sizeof(*d->kept));
	return true;
}

void detours_free(struct detours *d)
{
	free(d->kept);
	d->kept = NULL;
}

void detours_thin(struct detours *d)
{
	while (d->n > d->room / 2) {
		uint64_t least = UINT64_MAX;
		size_t n = 0;

		for (size_t i = 0; i < d->n; i++)
			if (d->kept[i].ticks[1] < least)
				least = d->kept[i].ticks[1];
		/* By an eighth: a source of one length goes as a whole or stays as a whole, mostly. */
		d->keep_from = least + least / 8 + 1;
		for (size_t i = 0; i < d->n; i++)
			if (d->kept[i].ticks[1] >= d->keep_from)
				d->kept[n++] = d->kept[i];
		d->n = n;
	}
}

struct periodic_event *detours_to_seconds(struct detours *d, const struct ticks_mark *mark, double rate)
{
	for (size_t i = 0; i < d->n; i++) {
		uint64_t start = d->kept[i].ticks[0], length = d->kept[i].ticks[1];

		d->kept[i].event = (struct periodic_event){
			.start = mark->raw + (double)(int64_t)(start - mark->ticks) / rate,
			.length = (double)length / rate,
		};
	}
	return &d->kept[0].event;
}
