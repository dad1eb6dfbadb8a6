#include "pair.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "stamp.h"

#define PAGE 4096

void pair_deadline(struct pair *p, double seconds)
{
	p->wire.deadline = clock_now() + seconds + PAIR_GRACE_S;
}

bool pair_greet(struct pair *p, double wait, double seconds)
{
	MPI_Request send = MPI_REQUEST_NULL, receive = MPI_REQUEST_NULL;
	struct wire *w = &p->wire;

	if (p->buffers == NULL)
		p->buffers = calloc(1, sizeof(*p->buffers));
	if (p->buffers == NULL)
		return wire_called(w->error, "calloc", MPI_ERR_NO_MEM);
	w->deadline = clock_now() + wait;
	p->buffers->out[0] = w->round;
	if (!wire_receive(w, FABRIC_GREETING, &p->buffers->in[0], sizeof(p->buffers->in[0]), &receive) ||
	    !wire_send(w, FABRIC_GREETING, &p->buffers->out[0], sizeof(p->buffers->out[0]), &send) ||
	    !wire_wait(w, &receive) || !wire_wait(w, &send)) {
		pair_abandon(p, &receive, 1, &send, 1);
		return false;
	}
	if (p->buffers->in[0] != w->round)
		pair_wrong(p, "a greeting of another round");
	pair_deadline(p, seconds);
	return true;
}

void pair_wrong(struct pair *p, const char *what)
{
	if (p->wrong[0] == '\0')
		snprintf(p->wrong, sizeof(p->wrong), "%s", what);
}

unsigned char *pair_room(struct pair *p, struct buffer *b, size_t bytes, int messages)
{
	if (b->bytes < bytes || b->messages < messages) {
		/* Never smaller in one when larger in the other: rounds would take turns in filling it. */
		bytes = b->bytes > bytes ? b->bytes : bytes;
		messages = b->messages > messages ? b->messages : messages;
		free(b->at);
		*b = (struct buffer){ .at = aligned_alloc(PAGE, bytes * (size_t)messages), .bytes = bytes, .messages = messages };
		if (b->at == NULL) {
			*b = (struct buffer){ 0 };
			wire_called(p->wire.error, "aligned_alloc", MPI_ERR_NO_MEM);
			return NULL;
		}
		for (int i = 0; i < messages; i++)
			stamp_fill(b->at + (size_t)i * bytes, bytes);
	}
	return b->at;
}

void pair_abandon(struct pair *p, MPI_Request *receives, int n_receives, const MPI_Request *sends, int n_sends)
{
	if (!wire_drop(receives, n_receives, sends, n_sends))
		p->buffers = NULL;
}
