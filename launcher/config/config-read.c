/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From YAML to struct config. */
#include "launcher/config/config.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/yaml/yamldoc.h"
#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/select/near.h"

#define MAX_TEXTS 64
#define MAX_RANK 1000000

static struct config_mark mark_of(const yaml_node_t *node)
{
	return (struct config_mark){ node->start_mark.line + 1, node->start_mark.column + 1 };
}

/* ---- lists of texts ---- */

bool config_texts_add(struct config_texts *t, const char *text, struct config_mark at)
{
	if (!array_room(t->v, t->room, t->n + 1) || !array_room(t->at, t->at_room, t->n + 1))
		return false;
	t->v[t->n] = strdup(text);
	t->at[t->n] = at;
	return t->v[t->n++];
}

void config_texts_free(struct config_texts *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->v[i]);
	free(t->v);
	free(t->at);
	*t = (struct config_texts){ 0 };
}

static bool read_one(struct yd_reader *r, const yaml_node_t *node, struct config_texts *t)
{
	char *text = NULL;
	bool good = yd_read_text(r, node, &text);

	if (good && t->n == MAX_TEXTS)
		good = yd_bad(r, node, "more than %d", MAX_TEXTS);
	if (good && !config_texts_add(t, text, mark_of(node)))
		good = yd_no_memory(r);
	free(text);
	return good;
}

/* One, or a list. */
static bool each_of(struct yd_reader *r, const yaml_node_t *node,
		    bool (*read)(struct yd_reader *r, const yaml_node_t *node, void *to), void *to)
{
	if (node->type != YAML_SEQUENCE_NODE)
		return read(r, node, to);
	if (node->data.sequence.items.start == node->data.sequence.items.top)
		return yd_bad(r, node, "an empty list");
	for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top;
	     item++)
		if (!read(r, yd_node(r, *item), to))
			return false;
	return true;
}

static bool read_item(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	return read_one(r, node, to);
}

static bool read_variable(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	const char *text = yd_text(r, node), *wrong;
	struct config_variable v;

	if (*r->error)
		return false;
	wrong = config_variable_parse(&v, text);
	if (wrong)
		return yd_bad(r, node, "'%.60s': %s", text, wrong);
	config_variable_free(&v);
	return read_one(r, node, to);
}

static bool read_variables(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	return each_of(r, node, read_variable, to);
}

static bool read_texts(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	return each_of(r, node, read_item, to);
}

/* ---- single values ---- */

static bool read_type(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct near_names near = { 0 };
	char hint[NEAR_MAX_TEXT];
	const char *text = yd_text(r, node);

	if (*r->error)
		return false;
	for (unsigned int i = 0; i < CONFIG_TYPES; i++) {
		struct function_name name = { .symbol = config_about[i].name };

		if (strcmp(text, config_about[i].name) == 0) {
			*(enum config_type *)to = (enum config_type)i;
			return true;
		}
		near_note(&near, text, NEAR_WORD, &name);
		function_name_free(&name);
	}
	near_text(&near, hint, sizeof(hint));
	return yd_bad(r, node, "no type is called '%.40s'%s", text,
		      near.n ? hint : "; `sonde config explain' lists them");
}

static bool read_place(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	const char *text = yd_text(r, node), *wrong;

	if (*r->error)
		return false;
	wrong = config_places_parse(to, text, mark_of(node));
	return !wrong || yd_bad(r, node, "'%.60s': %s", text, wrong);
}

static bool read_location(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	return each_of(r, node, read_place, to);
}

static bool read_output(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct config_entry *e = to;

	if (!yd_read_text(r, node, &e->output))
		return false;
	e->output_at = mark_of(node);
	if (strcmp(e->output, "trace") == 0) {
		free(e->output);
		e->output = NULL;
	}
	return true;
}

static bool read_sample(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct config_entry *e = to;
	struct sample_times times;

	if (!yd_read_text(r, node, &e->sample))
		return false;
	e->sample_at = mark_of(node);
	return sample_times_parse(e->sample, &times) ||
	       yd_bad(r, node, "'%.60s': not like burst:1ms,every:10ms or burst:1M,every:10M", e->sample);
}

static bool read_number(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	return yd_read_size(r, node, to) && (*(uint64_t *)to || yd_bad(r, node, "a number from 1 on belongs here"));
}

/* ---- when ---- */

/* "7", "7-9", "7-" */
static bool read_call(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct config_when *w = to;
	const char *text = yd_text(r, node);
	char *end = NULL;

	if (*r->error)
		return false;
	errno = 0;
	if (*text >= '1' && *text <= '9') {
		w->first = w->last = strtoull(text, &end, 10);
		if (*end == '-' && !end[1]) {
			w->last = UINT64_MAX;
			end++;
		} else if (*end == '-' && end[1] >= '1' && end[1] <= '9') {
			w->last = strtoull(end + 1, &end, 10);
		}
	}
	if (!end || *end || errno || w->last < w->first)
		return yd_bad(r, node, "'%.40s': not like 3, 3-5 or 3-", text);
	return true;
}

/* "n > 100" */
static bool read_argument(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	static const struct {
		const char *text;
		enum config_compare compare;
	} signs[] = { { "<=", CONFIG_LESS_EQUAL }, { ">=", CONFIG_GREATER_EQUAL }, { "==", CONFIG_EQUAL },
		     { "!=", CONFIG_UNEQUAL }, { "<", CONFIG_LESS }, { ">", CONFIG_GREATER } };
	struct config_when *w = to;
	const char *text = yd_text(r, node), *at = text + strcspn(text, " <>=!");
	size_t n = (size_t)(at - text), i = 0;
	char *end;

	if (*r->error)
		return false;
	at += strspn(at, " ");
	while (i < sizeof(signs) / sizeof(signs[0]) && strncmp(at, signs[i].text, strlen(signs[i].text)) != 0)
		i++;
	if (!n || n > YD_TEXT_MAX || i == sizeof(signs) / sizeof(signs[0]))
		return yd_bad(r, node, "'%.60s': not like 'n > 100'", text);
	at += strlen(signs[i].text);
	w->value = strtod(at, &end);
	if (end == at || *end || !isfinite(w->value))
		return yd_bad(r, node, "'%.60s': a number belongs after %s", text, signs[i].text);
	w->compare = signs[i].compare;
	free(w->argument);
	w->argument = strndup(text, n);
	return w->argument || yd_no_memory(r);
}

static bool read_rank(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct config_when *w = to;

	w->has_rank = true;
	return yd_read_size(r, node, &w->rank) &&
	       (w->rank <= MAX_RANK || yd_bad(r, node, "a rank from 0 on belongs here"));
}

static const struct yd_key when_keys[] = {
	{ "call", read_call, 0, false },
	{ "argument", read_argument, 0, false },
	{ "rank", read_rank, 0, false },
	{ "thread", read_number, offsetof(struct config_when, thread), false },
	{ NULL, NULL, 0, false },
};

static bool read_when(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct config_when *w = to;

	w->at = mark_of(node);
	return yd_mapping(r, node, when_keys, to);
}

/* ---- entries ---- */

static const struct yd_key entry_keys[] = {
	{ "type", read_type, offsetof(struct config_entry, type), true },
	{ "location", read_location, 0, true },
	{ "output", read_output, 0, false },
	{ "variables", read_variables, offsetof(struct config_entry, variables), false },
	{ "arguments", read_texts, offsetof(struct config_entry, arguments), false },
	{ "by", yd_read_text, offsetof(struct config_entry, by), false },
	{ "system", read_texts, offsetof(struct config_entry, systems), false },
	{ "top", read_number, offsetof(struct config_entry, top), false },
	{ "when", read_when, offsetof(struct config_entry, when), false },
	{ "sample", read_sample, 0, false },
	{ "limit", read_number, offsetof(struct config_entry, limit), false },
	{ NULL, NULL, 0, false },
};

static bool is_one_of(const char *word, const char *words)
{
	for (; *words; words += strlen(words) + 1)
		if (strcmp(words, word) == 0)
			return true;
	return false;
}

/* What a key says that entries of this type do not have; NULL: nothing. */
static const char *foreign_key(const struct config_entry *e)
{
	const struct {
		bool said;
		unsigned int key;
		const char *name;
	} keys[] = {
		{ e->variables.n, CONFIG_HAS_VARIABLES, "variables" },
		{ e->arguments.n, CONFIG_HAS_ARGUMENTS, "arguments" },
		{ e->by, CONFIG_HAS_BY, "by" },
		{ e->systems.n, CONFIG_HAS_SYSTEM, "system" },
		{ e->top, CONFIG_HAS_TOP, "top" },
		{ e->sample, CONFIG_HAS_SAMPLE, "sample" },
		{ e->limit, CONFIG_HAS_LIMIT, "limit" },
		{ e->when.first, CONFIG_HAS_CALLS, "when: call" },
		{ e->when.argument, CONFIG_HAS_CALLS, "when: argument" },
		{ e->when.thread, CONFIG_HAS_THREAD, "when: thread" },
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (keys[i].said && !(config_about[e->type].keys & keys[i].key))
			return keys[i].name;
	return NULL;
}

static bool has_when(const struct config_entry *e)
{
	return e->when.first || e->when.argument || e->when.thread;
}

static bool check_entry(struct yd_reader *r, const yaml_node_t *node, const struct config_entry *e)
{
	const struct config_about *about = &config_about[e->type];
	const char *foreign = foreign_key(e);

	if (foreign)
		return yd_bad(r, node, "%s has no '%s:'", about->name, foreign);
	if (e->by && !is_one_of(e->by, about->bys))
		return yd_bad(r, node, "%s: there is no 'by: %.40s'; `sonde config explain' lists what there is",
			      about->name, e->by);
	if (!e->output && (has_when(e) || e->limit || e->by || e->systems.n || e->top || e->variables.n))
		return yd_bad(r, node,
			      "the trace holds all that was recorded: '%s:' is for an entry with a text file as output",
			      has_when(e)    ? "when"
			      : e->limit     ? "limit"
			      : e->by	     ? "by"
			      : e->systems.n ? "system"
			      : e->top	     ? "top"
					     : "variables");
	for (size_t i = 0; i < e->nplaces; i++)
		if (e->places[i].kind == CONFIG_VARIABLE && (about->needs != CONFIG_MEMORY || !e->output))
			return yd_bad(r, node,
				      "'variable' is a location for types that are about memory accesses, with a text "
				      "file as output");
	return true;
}

static void free_entry(struct config_entry *e)
{
	for (size_t i = 0; i < e->nplaces; i++)
		config_place_free(&e->places[i]);
	free(e->places);
	config_texts_free(&e->variables);
	config_texts_free(&e->arguments);
	config_texts_free(&e->systems);
	free(e->output);
	free(e->by);
	free(e->when.argument);
	free(e->sample);
}

static bool same_output(const struct config *c, const char *output)
{
	for (size_t i = 0; i + 1 < c->n; i++)
		if (c->v[i].output && strcmp(c->v[i].output, output) == 0)
			return true;
	return false;
}

static bool read_entry(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	struct config *c = to;
	struct config_entry *e;

	if (c->n == CONFIG_MAX_ENTRIES)
		return yd_bad(r, node, "more than %d entries", CONFIG_MAX_ENTRIES);
	if (!array_room(c->v, c->room, c->n + 1))
		return yd_no_memory(r);
	e = &c->v[c->n++];
	*e = (struct config_entry){ .at = mark_of(node) };
	if (!yd_mapping(r, node, entry_keys, e) || !check_entry(r, node, e))
		return false;
	return !e->output || !same_output(c, e->output) ||
	       yd_bad(r, node, "output: another entry writes %.60s", e->output);
}

static bool read_entries(struct yd_reader *r, const yaml_node_t *node, void *to)
{
	return each_of(r, node, read_entry, to);
}

static const struct yd_key config_keys[] = {
	{ "instrumentation", read_entries, 0, true },
	{ "program", yd_read_text, offsetof(struct config, program), false },
	{ NULL, NULL, 0, false },
};

static bool read_config(struct yd_reader *r, const yaml_node_t *root, void *to)
{
	struct config *c = to;

	return c->n ? yd_bad(r, root, "a second document") : yd_mapping(r, root, config_keys, to);
}

/* ---- all of it ---- */

bool config_parse(struct config *c, const char *text, size_t bytes, char error[static CONFIG_ERROR_MAX])
{
	size_t n;
	bool good;

	*c = (struct config){ 0 };
	good = yd_documents(text, bytes, error, CONFIG_ERROR_MAX, read_config, c, &n);
	if (good && !n) {
		strcpy(error, "line 1, column 1: a mapping with 'instrumentation:' belongs here");
		good = false;
	}
	if (!good)
		config_free(c);
	return good;
}

void config_free(struct config *c)
{
	for (size_t i = 0; i < c->n; i++)
		free_entry(&c->v[i]);
	free(c->v);
	free(c->path);
	free(c->program);
	*c = (struct config){ 0 };
}

/* Once, whatever it is.  NULL: errno. */
static char *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = fd >= 0 ? malloc(CONFIG_MAX_BYTES + 1) : NULL;
	ssize_t n = 1;
	int err;

	for (*bytes = 0; text && n > 0 && *bytes <= CONFIG_MAX_BYTES; *bytes += n > 0 ? (size_t)n : 0)
		do
			n = read(fd, text + *bytes, CONFIG_MAX_BYTES + 1 - *bytes);
		while (n < 0 && errno == EINTR);
	if (text && (n < 0 || *bytes > CONFIG_MAX_BYTES)) {
		err = n < 0 ? errno : EFBIG;
		free(text);
		text = NULL;
		errno = err;
	}
	err = errno;
	if (fd >= 0)
		close(fd);
	errno = err;
	return text;
}

int config_read(struct config *c, const char *path)
{
	char error[CONFIG_ERROR_MAX], *text;
	size_t bytes;
	bool good;

	*c = (struct config){ 0 };
	text = read_file(path, &bytes);
	if (!text) {
		msg_error("cannot read %s: %s", path, strerror(errno));
		return EXIT_USAGE;
	}
	good = config_parse(c, text, bytes, error);
	free(text);
	if (!good) {
		msg_error("%s: %s", path, error);
		return EXIT_USAGE;
	}
	c->path = strdup(path);
	if (c->path)
		return 0;
	config_free(c);
	msg_error("no memory");
	return EXIT_USAGE;
}

int config_error(const struct config *c, const struct config_mark *at, const char *fmt, ...)
{
	char text[CONFIG_ERROR_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	msg_error("%s: line %zu, column %zu: %s", c->path, at->line, at->column, text);
	return EXIT_USAGE;
}
