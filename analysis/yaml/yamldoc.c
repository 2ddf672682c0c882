/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/yaml/yamldoc.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool yd_bad(struct yd_reader *r, const yaml_node_t *node, const char *fmt, ...)
{
	va_list args;
	int n = snprintf(r->error, r->room, "line %zu, column %zu: ", node->start_mark.line + 1,
			 node->start_mark.column + 1);

	va_start(args, fmt);
	vsnprintf(r->error + n, r->room - (size_t)n, fmt, args);
	va_end(args);
	return false;
}

bool yd_no_memory(struct yd_reader *r)
{
	snprintf(r->error, r->room, "no memory");
	return false;
}

const yaml_node_t *yd_node(struct yd_reader *r, int index)
{
	return yaml_document_get_node(&r->doc, index);
}

/* ---- scalars ---- */

const char *yd_text(struct yd_reader *r, const yaml_node_t *node)
{
	if (node->type == YAML_SCALAR_NODE)
		return (const char *)node->data.scalar.value;
	yd_bad(r, node, "a value, not a list or a mapping, belongs here");
	return "";
}

bool yd_read_text(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	const char *text = yd_text(r, node);
	char **copy = to;

	if (*r->error)
		return false;
	if (!*text || strlen(text) > YD_TEXT_MAX)
		return yd_bad(r, node, "a text of 1 to %d bytes belongs here", YD_TEXT_MAX);
	free(*copy);
	*copy = strdup(text);
	return *copy || yd_no_memory(r);
}

bool yd_read_size(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	static const char units[] = "KMG";
	const char *text = yd_text(r, node), *at = text, *unit;
	uint64_t v = 0;

	for (; *at >= '0' && *at <= '9' && v < UINT64_C(1) << 40; at++)
		v = 10 * v + (uint64_t)(*at - '0');
	unit = at > text && *at ? strchr(units, *at) : NULL;
	for (ptrdiff_t k = unit ? unit - units + 1 : 0; k > 0 && v < UINT64_C(1) << 40; k--)
		v *= 1024;
	if (!*r->error && (at == text || at[unit != NULL] || v > UINT64_C(1) << 40))
		yd_bad(r, node, "'%.40s': a number as 64, 32K, 1M or 1G belongs here", text);
	*(uint64_t *)to = v;
	return !*r->error;
}

bool yd_word(struct yd_reader *r, const yaml_node_t *node, const char *const *words, unsigned int *index)
{
	const char *text = yd_text(r, node);

	for (*index = 0; words[*index]; ++*index)
		if (strcmp(text, words[*index]) == 0)
			return true;
	return false;
}

bool yd_choice(struct yd_reader *r, const yaml_node_t *node, const char *const *words, const char *what,
	       unsigned int *index)
{
	if (yd_word(r, node, words, index))
		return true;
	return *r->error ? false : yd_bad(r, node, "'%.40s': %s belongs here", yd_text(r, node), what);
}

/* ---- mappings ---- */

static bool read_pair(struct yd_reader *r, const yaml_node_pair_t *pair, const struct yd_key *keys, void *to,
		      unsigned int *seen)
{
	const yaml_node_t *name = yd_node(r, pair->key);
	const char *text = yd_text(r, name);

	if (*r->error)
		return false;
	for (unsigned int i = 0; keys[i].name; i++) {
		if (strcmp(text, keys[i].name) != 0)
			continue;
		if (*seen & 1u << i)
			return yd_bad(r, name, "%s is given twice", text);
		*seen |= 1u << i;
		return keys[i].read(r, yd_node(r, pair->value), (char *)to + keys[i].offset);
	}
	return yd_bad(r, name, "nothing is called '%.40s' here", text);
}

bool yd_mapping(struct yd_reader *r, const yaml_node_t *node, const struct yd_key *keys, void *to)
{
	unsigned int seen = 0;

	if (node->type != YAML_MAPPING_NODE)
		return yd_bad(r, node, "a mapping with '%s:' belongs here", keys[0].name);
	for (const yaml_node_pair_t *p = node->data.mapping.pairs.start; p < node->data.mapping.pairs.top; p++) {
		if (!read_pair(r, p, keys, to, &seen))
			return false;
	}
	for (unsigned int i = 0; keys[i].name; i++) {
		if (keys[i].needed && !(seen & 1u << i))
			return yd_bad(r, node, "'%s:' is missing", keys[i].name);
	}
	return true;
}

/* ---- documents ---- */

static bool syntax_error(const yaml_parser_t *p, char *error, size_t room)
{
	if (p->error == YAML_MEMORY_ERROR)
		snprintf(error, room, "no memory");
	else if (p->error == YAML_READER_ERROR)
		snprintf(error, room, "byte %zu: %s", p->problem_offset, p->problem);
	else
		snprintf(error, room, "line %zu, column %zu: %s", p->problem_mark.line + 1, p->problem_mark.column + 1,
			 p->problem);
	return false;
}

bool yd_documents(const char *text, size_t bytes, char *error, size_t room,
		  bool (*read)(struct yd_reader *r, const yaml_node_t *root, void *arg), void *arg, size_t *n)
{
	struct yd_reader r = { .error = error, .room = room };
	const yaml_node_t *root;
	bool good = true;
	yaml_parser_t p;

	*error = '\0';
	*n = 0;
	if (!yaml_parser_initialize(&p))
		return yd_no_memory(&r);
	yaml_parser_set_input_string(&p, (const unsigned char *)text, bytes);
	for (;;) {
		if (!yaml_parser_load(&p, &r.doc)) {
			good = syntax_error(&p, error, room);
			break;
		}
		root = yaml_document_get_root_node(&r.doc);
		if (root)
			good = read(&r, root, arg);
		yaml_document_delete(&r.doc);
		if (!root || !good)
			break;
		++*n;
	}
	yaml_parser_delete(&p);
	return good;
}
