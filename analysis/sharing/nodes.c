/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/sharing/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/yaml/yamldoc.h"

#define LIST_MAX 65536 /* bytes of a cpulist */

void sh_nodes_free(struct sh_nodes *nodes)
{
	free(nodes->cpu);
	free(nodes->thread);
	free(nodes->cpus);
	*nodes = (struct sh_nodes){ 0 };
}

static bool begin(struct sh_nodes *nodes)
{
	*nodes = (struct sh_nodes){ .cpu = calloc(SH_NUMBERS, sizeof(*nodes->cpu)), .thread = calloc(SH_NUMBERS, sizeof(*nodes->thread)),
				    .cpus = calloc(SH_NUMBERS, sizeof(*nodes->cpus)) };
	return nodes->cpu && nodes->thread && nodes->cpus;
}

static void end(struct sh_nodes *nodes)
{
	for (uint32_t i = 0; i < SH_NUMBERS; i++)
		if (nodes->cpu[i])
			nodes->cpus[nodes->ncpus++] = i;
}

/* ---- lists ---- */

enum list { LIST_GOOD, LIST_BAD, LIST_TWICE };

static const char *number(const char *text, uint32_t *n)
{
	const char *at = text;

	for (*n = 0; *at >= '0' && *at <= '9' && *n < SH_NUMBERS; at++)
		*n = *n * 10 + (uint32_t)(*at - '0');
	return at > text && *n < SH_NUMBERS ? at : NULL;
}

/* "0-3,8": those are @node's. */
static enum list add_list(uint16_t *of, const char *text, uint32_t node)
{
	for (;; text++) {
		uint32_t from, to;

		text = number(text, &from);
		to = from;
		if (text && *text == '-')
			text = number(text + 1, &to);
		if (!text || to < from)
			return LIST_BAD;
		for (; from <= to; from++) {
			if (of[from])
				return LIST_TWICE;
			of[from] = (uint16_t)(node + 1);
		}
		if (*text != ',')
			return *text ? LIST_BAD : LIST_GOOD;
	}
}

/* ---- YAML ---- */

struct raw_node {
	struct sh_nodes *nodes;
	uint32_t number;
	bool any;
};

static bool read_list(struct yd_reader *r, const yaml_node_t *node, uint16_t *of, uint32_t number)
{
	const char *text;

	if (node->type == YAML_SEQUENCE_NODE) {
		for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
			const yaml_node_t *item = yd_node(r, *i);

			if (item->type != YAML_SCALAR_NODE)
				return yd_bad(r, item, "a number, or a range as 0-3, belongs here");
			if (!read_list(r, item, of, number))
				return false;
		}
		return true;
	}
	text = yd_text(r, node);
	if (*r->error)
		return false;
	switch (add_list(of, text, number)) {
	case LIST_BAD:
		return yd_bad(r, node, "numbers from 0 to %d and ranges belong here, as 0-3,8", SH_NUMBERS - 1);
	case LIST_TWICE:
		return yd_bad(r, node, "one of these numbers is listed twice");
	case LIST_GOOD:
		break;
	}
	return true;
}

static bool read_cpus(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct raw_node *raw = to;

	raw->any = true;
	return read_list(r, node, raw->nodes->cpu, raw->number);
}

static bool read_threads(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct raw_node *raw = to;

	raw->any = true;
	return read_list(r, node, raw->nodes->thread, raw->number);
}

static bool read_nodes(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	static const struct yd_key keys[] = {
		{ "cpus", read_cpus, 0, false },
		{ "threads", read_threads, 0, false },
		{ NULL, NULL, 0, false },
	};
	struct sh_nodes *nodes = to;

	if (node->type != YAML_SEQUENCE_NODE)
		return yd_bad(r, node, "a list belongs here");
	for (const yaml_node_item_t *i = node->data.sequence.items.start; i < node->data.sequence.items.top; i++) {
		const yaml_node_t *at = yd_node(r, *i);
		struct raw_node raw = { nodes, nodes->n, false };

		if (nodes->n == SH_NODES)
			return yd_bad(r, at, "more than %d nodes", SH_NODES);
		if (!yd_mapping(r, at, keys, &raw))
			return false;
		if (!raw.any)
			return yd_bad(r, at, "a node needs 'cpus:' or 'threads:'");
		nodes->n++;
	}
	return nodes->n || yd_bad(r, node, "at least one node belongs here");
}

static bool read_file(struct yd_reader *r, const yaml_node_t *root, void *arg)
{
	static const struct yd_key keys[] = { { "nodes", read_nodes, 0, true }, { NULL, NULL, 0, false } };
	struct sh_nodes *nodes = arg;

	if (nodes->n)
		return yd_bad(r, root, "there is more than one document");
	return yd_mapping(r, root, keys, nodes);
}

bool sh_nodes_read(struct sh_nodes *nodes, const char *text, size_t bytes, char *error, size_t room)
{
	size_t n;

	if (!begin(nodes)) {
		snprintf(error, room, "no memory");
		sh_nodes_free(nodes);
		return false;
	}
	if (yd_documents(text, bytes, error, room, read_file, nodes, &n) && nodes->n) {
		end(nodes);
		return true;
	}
	if (!*error)
		snprintf(error, room, "it is empty: 'nodes:' belongs there");
	sh_nodes_free(nodes);
	return false;
}

/* ---- this machine ---- */

static bool read_line(const char *path, char *text, size_t room)
{
	FILE *f = fopen(path, "re");
	bool good = f && fgets(text, (int)room, f);

	if (f)
		fclose(f);
	if (good)
		text[strcspn(text, "\n")] = '\0';
	return good;
}

bool sh_nodes_here(struct sh_nodes *nodes, const char *dir)
{
	char *text = malloc(LIST_MAX), path[4096];
	bool good = begin(nodes) && text;

	for (uint32_t i = 0; good && i < SH_NODES; i++) {
		snprintf(path, sizeof(path), "%s/node%u/cpulist", dir, i);
		if (!read_line(path, text, LIST_MAX))
			continue;
		/* one that has memory alone has no list; what the kernel says is not taken apart if it is odd */
		if (*text && add_list(nodes->cpu, text, i) == LIST_BAD)
			continue;
		nodes->n = i + 1;
	}
	free(text);
	if (!good) {
		sh_nodes_free(nodes);
		return false;
	}
	nodes->n = nodes->n ? nodes->n : 1;
	end(nodes);
	return true;
}

uint32_t sh_node(const struct sh_nodes *nodes, uint32_t number)
{
	if (number < SH_NUMBERS && nodes->thread[number])
		return nodes->thread[number] - 1u;
	if (nodes->ncpus)
		return nodes->cpu[nodes->cpus[number % nodes->ncpus]] - 1u;
	return number % nodes->n;
}
