/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that simulate together (analysis/cache/simulate.h), made for each round. */
#ifndef SONDE_TESTS_UNIT_ANALYSIS_CREW_H
#define SONDE_TESTS_UNIT_ANALYSIS_CREW_H

#include <pthread.h>
#include <stdlib.h>

#define CREW_MOST 16

struct crew_helper {
	pthread_t thread;
	void (*work)(void *arg, unsigned int slot);
	void *arg;
	unsigned int slot;
};

struct crew_help {
	struct crew_helper v[CREW_MOST];
	unsigned int n;
};

static void *crew_work(void *arg)
{
	struct crew_helper *h = arg;

	h->work(h->arg, h->slot);
	return NULL;
}

static void *crew_begin(unsigned int most, void (*work)(void *arg, unsigned int slot), void *arg)
{
	struct crew_help *help = calloc(1, sizeof(*help));

	while (help && help->n + 1 < most && help->n < CREW_MOST) {
		struct crew_helper *h = &help->v[help->n];

		*h = (struct crew_helper){ .work = work, .arg = arg, .slot = help->n + 1 };
		if (pthread_create(&h->thread, NULL, crew_work, h) != 0)
			break;
		help->n++;
	}
	return help;
}

static void crew_finish(void *arg)
{
	struct crew_help *help = arg;

	for (unsigned int i = 0; help && i < help->n; i++)
		pthread_join(help->v[i].thread, NULL);
	free(help);
}

#endif
