/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/write/sites.h"

#include <stdlib.h>
#include <string.h>

static bool grow(struct tf_sites *s, uint32_t id)
{
	uint32_t room = s->room ? s->room : 256;
	struct tf_site *site;
	struct tf_site_more *more;

	if (id < s->room)
		return true;
	while (room <= id)
		room *= 2;
	site = realloc(s->site, room * sizeof *site);
	if (!site)
		return false;
	s->site = site;
	more = realloc(s->more, room * sizeof *more);
	if (!more)
		return false;
	s->more = more;
	memset(site + s->room, 0, (room - s->room) * sizeof *site);
	memset(more + s->room, 0, (room - s->room) * sizeof *more);
	s->room = room;
	return true;
}

enum sonde_trace_status tf_sites_init(struct tf_sites *s)
{
	*s = (struct tf_sites){ 0 };
	return grow(s, 0) ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

/* The first enter and the first leave of a function that one module records belong together. */
static void find_partner(struct tf_sites *s, uint32_t id, uint32_t head)
{
	struct tf_site *site = &s->site[id];
	unsigned wanted = SONDE_TRACE_ENTER + SONDE_TRACE_LEAVE - site->kind;

	if (site->kind == SONDE_TRACE_POINT)
		return;
	for (uint32_t other = head; other; other = s->more[other].next) {
		if (s->site[other].kind != wanted || s->site[other].partner != TF_NO_PARTNER ||
		    s->more[other].module != s->more[id].module)
			continue;
		s->site[other].partner = id;
		site->partner = other;
		return;
	}
}

enum sonde_trace_status tf_sites_add(struct tf_sites *s, uint32_t id, enum sonde_trace_kind kind,
				     uint32_t function, uint32_t module, const uint8_t *types,
				     unsigned n, uint32_t *head)
{
	struct tf_site *site;

	if (!grow(s, id))
		return SONDE_TRACE_E_NOMEM;
	site = &s->site[id];
	*site = (struct tf_site){ .function = function, .kind = (uint8_t)kind,
				  .nfields = (uint8_t)n, .words = (uint8_t)n,
				  .framed = kind == SONDE_TRACE_ENTER };
	s->more[id] = (struct tf_site_more){ .next = *head, .module = module };
	for (unsigned i = 0; i < n; i++) {
		s->more[id].types[i] = types[i];
		site->strings |= types[i] == SONDE_TRACE_STR;
	}
	find_partner(s, id, *head);
	*head = id;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_sites_add_probe(struct tf_sites *s, uint32_t enter, uint32_t function,
					   uint32_t probe, uint64_t entry)
{
	if (!grow(s, enter + 1))
		return SONDE_TRACE_E_NOMEM;
	s->site[enter] = (struct tf_site){ .function = function, .partner = enter + 1,
					   .kind = SONDE_TRACE_ENTER, .framed = true };
	s->site[enter + 1] = (struct tf_site){ .function = function, .partner = enter,
					       .kind = SONDE_TRACE_LEAVE, .framed = true };
	s->more[enter] = s->more[enter + 1] = (struct tf_site_more){ .probe = probe };
	s->more[enter].entry = entry;
	return SONDE_TRACE_OK;
}

void tf_sites_free(struct tf_sites *s)
{
	free(s->site);
	free(s->more);
	free(s->codes);
	free(s->exchanges);
	*s = (struct tf_sites){ 0 };
}
