// SPDX-License-Identifier: GPL-3.0-or-later
/* Rows by what was accessed: what they are called, and how many accesses have names. */
#include "launcher/memory/memory.h"

#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launcher/common/units.h"
#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

static bool is_variable(const struct nm_variable *v)
{
	return v->how >= NM_BY_SYMBOL && v->kind != NM_AMBIGUOUS;
}

static char *variable_name(const struct nm_name *name, bool field)
{
	const struct nm_variable *v = name->variable;
	char *text;
	int n;

	if (!is_variable(v))
		n = asprintf(&text, "[%s]", *v->name ? v->name : nm_kind_word(v->kind));
	else
		n = asprintf(&text, "%s%s%s%s", v->name, field ? name->path : "", v->scope ? " in " : "", v->scope ? v->scope : "");
	return n < 0 ? NULL : text;
}

static char *group_name(const struct nm_variable *v, const char *text)
{
	char *made;

	if (text)
		return strdup(text);
	return asprintf(&made, "[%s]", is_variable(v) || !*v->name ? nm_kind_word(v->kind) : v->name) < 0 ? NULL : made;
}

char *memory_accessed_name(const struct nm_name *name, enum memory_by by)
{
	switch (by) {
	case MEMORY_BY_ALLOCATION:
		return name->variable->kind == NM_HEAP ? variable_name(name, false) : group_name(name->variable, NULL);
	case MEMORY_BY_TYPE:
		return group_name(name->variable, name->variable->element);
	default:
		return variable_name(name, by == MEMORY_BY_FIELD);
	}
}

struct memory_accessed memory_accessed(const struct nm_name *name, enum memory_by by)
{
	const struct nm_variable *v = name->variable;

	if (by == MEMORY_BY_TYPE)
		return (struct memory_accessed){ .type = v->element };
	if (by == MEMORY_BY_ALLOCATION && v->kind != NM_HEAP)
		return (struct memory_accessed){ 0 };
	return (struct memory_accessed){
		.kind = nm_kind_word(v->kind), .how = nm_how_word(v->how), .type = by == MEMORY_BY_FIELD ? name->type : v->type,
		.object = v->object, .scope = v->scope, .file = v->file, .line = v->line, .callers = by == MEMORY_BY_ALLOCATION ? v->callers : NULL,
	};
}

void memory_print_accessed(const struct memory_key *key, FILE *out)
{
	if (!key->kind || *key->name == '[')
		return;
	fprintf(out, "  (%s", key->kind);
	if (key->type) {
		fputs(", ", out);
		units_text(out, key->type, 0, true);
	}
	if (key->file) {
		fputs(", ", out);
		units_text(out, path_basename(key->file), 0, true);
		fprintf(out, ":%d", key->line);
	}
	putc(')', out);
}

/* ---- how many have names ---- */

void memory_named_add(struct memory_named *named, const struct nm_name *name, uint64_t accesses)
{
	named->n[name->variable->how][!is_variable(name->variable)] += accesses;
	named->ambiguous += name->variable->kind == NM_AMBIGUOUS ? accesses : 0;
}

static void put_hows(const struct memory_named *named, bool other, uint64_t all, FILE *out)
{
	const char *before = other ? "; without: " : ", by ";
	char share[UNITS_MAX];

	for (unsigned int how = NM_HOWS; how-- > 0;) {
		if (!named->n[how][other])
			continue;
		units_percent(memory_percent(named->n[how][other], all), share);
		fprintf(out, "%s%s %s", before, other && !how ? "nothing known" : nm_how_word(how), share);
		before = ", ";
	}
}

void memory_print_named(const struct memory_named *named, uint64_t all, FILE *out)
{
	uint64_t sum = 0;
	char share[UNITS_MAX];

	for (unsigned int how = 0; how < NM_HOWS; how++)
		sum += named->n[how][0];
	units_percent(memory_percent(sum, all), share);
	fprintf(out, "\naccesses with the name of a variable or allocation: %s", share);
	put_hows(named, false, all, out);
	put_hows(named, true, all, out);
	putc('\n', out);
	if (!named->ambiguous)
		return;
	units_percent(memory_percent(named->ambiguous, all), share);
	fprintf(out, "ambiguous: %s: the trace does not order them against malloc and free in other threads\n", share);
}

void memory_json_named(struct tf_buf *b, const struct memory_named *named)
{
	tf_json_key(b, "named_accesses");
	tf_buf_byte(b, '{');
	for (unsigned int how = NM_BY_NOTHING; how < NM_HOWS; how++) {
		if (how)
			tf_buf_byte(b, ',');
		tf_json_quoted(b, nm_how_word(how));
		tf_buf_byte(b, ':');
		tf_json_number(b, named->n[how][0] + named->n[how][1]);
	}
	tf_buf_byte(b, '}');
	tf_json_uint(b, "ambiguous_accesses", named->ambiguous);
}
