// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Calls lead to stubs, which look at a word of the process (trampolines/mirror/first.h): an indirect jump for each call, which
 * costs more than counting it.  Once a function is instrumented in a process, entry and calls can lead straight to its copy:
 *
 *	call stub ──▶ jmp *word ──▶ copy		call copy
 *	entry: jmp stub					entry: jmp copy
 *
 * Nobody may be running what is written over.  So it is done only where the process has one thread, which waits for the answer
 * to its call.  That nothing else is written meanwhile, and no child is forked, follows.  Whether a call is to be written is
 * what the process's own memory says: both functions are instrumented in it, and the call leads to the stub as yet.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/mirror/first.h"
#include "injector/patch/session.h"

#define JUMP_SIZE 5
#define REL 4

struct look {
	struct inj_site site;
	uint8_t bytes[REL];
	uint64_t caller, callee; /* what their words say */
};

enum inj_status inj_straight_note(struct inj_mirrors *m, const struct inj_site *site)
{
	struct inj_first *callee = &m->first[site->callee];

	if (!array_room(m->sites, m->room_sites, m->nsites + 1))
		return INJ_MEMORY;
	m->sites[m->nsites] = *site;
	m->sites[m->nsites].next = callee->called;
	callee->called = (uint32_t)++m->nsites;
	return INJ_OK;
}

static uint32_t rel_to(uint64_t at, uint64_t to)
{
	return (uint32_t)(to - (at + REL));
}

/* Those that call it, and those that it calls. */
static struct look *all_of(const struct inj_mirrors *m, const struct inj_first *f, size_t *n)
{
	size_t most = f->nsites;
	struct look *v;

	for (uint32_t i = f->called; i; i = m->sites[i - 1].next)
		most++;
	v = calloc(most + 1, sizeof(*v));
	*n = 0;
	for (uint32_t i = f->called; v && i; i = m->sites[i - 1].next)
		v[(*n)++].site = m->sites[i - 1];
	for (uint32_t i = 0; v && i < f->nsites; i++)
		if (&m->first[m->sites[f->sites + i].callee] != f && m->first[m->sites[f->sites + i].callee].state == INJ_FIRST_COPIED)
			v[(*n)++].site = m->sites[f->sites + i];
	return v;
}

static enum inj_status look_at(struct inj_session *s, struct inj_target *t, struct look *v, size_t n)
{
	const struct inj_first *first = s->mirrors.first;
	struct inj_span *spans = malloc((3 * n + 1) * sizeof(*spans));
	enum inj_status status;
	uint32_t caller;

	if (!spans)
		return INJ_MEMORY;
	for (size_t i = 0; i < n; i++) {
		spans[3 * i] = (struct inj_span){ v[i].site.at, v[i].bytes, REL };
		/* of one that has no word: any */
		caller = v[i].site.caller == INJ_SITE_STARTED ? v[i].site.callee : v[i].site.caller;
		spans[3 * i + 1] = (struct inj_span){ first[caller].word, &v[i].caller, 8 };
		spans[3 * i + 2] = (struct inj_span){ first[v[i].site.callee].word, &v[i].callee, 8 };
	}
	status = inj_read_spans(t, spans, 3 * n);
	free(spans);
	return status;
}

static enum inj_status lead_calls(struct inj_session *s, struct inj_target *t, const struct look *v, size_t n)
{
	const struct inj_first *first = s->mirrors.first;
	enum inj_status status = INJ_OK;

	for (size_t i = 0; i < n && status == INJ_OK; i++) {
		const struct inj_first *callee = &first[v[i].site.callee];
		uint32_t was = rel_to(v[i].site.at, callee->stub), is = rel_to(v[i].site.at, callee->copy);

		if ((v[i].site.caller == INJ_SITE_STARTED || v[i].caller == first[v[i].site.caller].copy) && v[i].callee == callee->copy && memcmp(v[i].bytes, &was, REL) == 0 &&
		    (int64_t)(int32_t)is == (int64_t)(callee->copy - (v[i].site.at + REL)))
			status = inj_write(t, v[i].site.at, &is, REL);
	}
	return status;
}

static enum inj_status lead_entry(struct inj_target *t, const struct inj_first *f)
{
	uint64_t at = f->entry + JUMP_SIZE - REL;
	uint32_t was = rel_to(at, f->stub), is = rel_to(at, f->copy), now;
	enum inj_status status = inj_read(t, at, &now, REL);

	return status == INJ_OK && now == was ? inj_write(t, at, &is, REL) : status;
}

enum inj_status inj_straighten(struct inj_session *s, struct inj_target *t, struct inj_first *f)
{
	enum inj_status status;
	struct look *v;
	size_t n;

	/* from here on the thread goes to the copy, whatever becomes of us */
	status = inj_write(t, f->word, &f->copy, sizeof(f->copy));
	v = status == INJ_OK ? all_of(&s->mirrors, f, &n) : NULL;
	if (!v)
		return status;
	status = lead_entry(t, f);
	if (status == INJ_OK)
		status = look_at(s, t, v, n);
	if (status == INJ_OK)
		status = lead_calls(s, t, v, n);
	free(v);
	return status;
}
