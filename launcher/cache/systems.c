/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/cache/cache.h"
#include "base/array.h"
#include "launcher/common/caches.h"
#include "launcher/common/files.h"
#include "launcher/common/message.h"
#include "launcher/common/units.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE (1 << 20)

extern const char cache_shipped[], cache_shipped_end[] __attribute__((visibility("hidden")));

static int parse(struct cache_systems *list, const char *what, const char *text, size_t bytes)
{
	char error[CACHE_ERROR_MAX];

	if (cache_systems_parse(list, text, bytes, error))
		return 0;
	msg_error("%s: %s", what, error);
	return EXIT_USAGE;
}

static int add_shipped(struct cache_systems *list)
{
	return parse(list, "the systems that are shipped", cache_shipped, (size_t)(cache_shipped_end - cache_shipped));
}

/* ---- this machine ---- */

static int add_host(struct cache_systems *list)
{
	char *text = host_here();
	int status = EXIT_USAGE;

	if (text)
		status = parse(list, "this machine's caches", text, strlen(text));
	else
		msg_error("this machine does not tell its caches; --system=NAME or --system=FILE describes others");
	free(text);
	return status;
}

/* ---- files ---- */

static int add_file(struct cache_systems *list, const char *path)
{
	int status = EXIT_USAGE;
	size_t n;
	char *text = files_text(path, MAX_FILE, &n);

	if (text)
		status = parse(list, path, text, n);
	else if (errno == ENOENT && !strchr(path, '/'))
		msg_error("%s: neither a system ('sonde cache --list' shows them) nor a file", path);
	else if (errno == EFBIG)
		msg_error("%s: larger than 1 MiB", path);
	else
		msg_error("%s: %m", path);
	free(text);
	return status;
}

/* ---- names ---- */

/* Moves one system from @all to @list.  False: no memory. */
static int move(struct cache_systems *list, struct cache_systems *all, size_t i)
{
	if (!array_room(list->v, list->room, list->n + 1)) {
		msg_error("no memory");
		return EXIT_USAGE;
	}
	list->v[list->n++] = all->v[i];
	all->v[i] = all->v[--all->n];
	return 0;
}

int systems_add(struct cache_systems *list, const char *word)
{
	struct cache_systems all = { 0 };
	size_t i = 0;
	int status;

	if (strcmp(word, "host") == 0)
		return add_host(list);
	status = add_shipped(&all);
	while (i < all.n && strcmp(all.v[i].name, word) != 0)
		i++;
	if (!status)
		status = i < all.n ? move(list, &all, i) : add_file(list, word);
	cache_systems_free(&all);
	return status;
}

int systems_add_all(struct cache_systems *list)
{
	char *text = host_here(), error[CACHE_ERROR_MAX];
	int status = add_shipped(list);

	if (!status && text && !cache_systems_parse(list, text, strlen(text), error))
		msg_warn("this machine's caches: %s", error);
	free(text);
	return status;
}

/* ---- in words ---- */

static void describe_level(const struct cache_level *l, bool tlb, FILE *out)
{
	char size[UNITS_MAX], policy[CACHE_POLICY_MAX];

	cache_policy_name(l, policy);
	units_bytes(tlb ? l->line : l->lines * l->line, size);
	units_text(out, l->name, 0, true);
	if (tlb)
		fprintf(out, " %" PRIu64 " pages of %s", l->lines, size);
	else
		fprintf(out, " %s", size);
	if (l->ways == l->lines)
		fputs(" fully associative", out);
	else
		fprintf(out, " %" PRIu64 "-way", l->ways);
	if (!tlb)
		fprintf(out, " %" PRIu64 " B lines", l->line);
	if (l->policy != CACHE_LRU)
		fprintf(out, " %s", policy);
	if (l->holds != CACHE_ANY)
		fprintf(out, " %s", cache_holds_name(l->holds));
	if (l->through)
		fputs(" write-through", out);
	if (l->prefetch)
		fprintf(out, " with %s prefetching", cache_prefetch_name(l->prefetch));
	if (l->shared > 1)
		fprintf(out, " for %" PRIu64 " cores", l->shared);
	if (l->latency != CACHE_NO_LATENCY)
		fprintf(out, " in %" PRIu64 " cycles", l->latency);
}

void systems_describe(const struct cache_system *s, FILE *out)
{
	for (unsigned int i = 0; i < cache_levels(s); i++) {
		if (i)
			fputs(", ", out);
		describe_level(&s->level[i], i >= s->ncaches, out);
	}
	if (s->memory != CACHE_NO_LATENCY)
		fprintf(out, ", memory in %" PRIu64 " cycles", s->memory);
}
