// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A configuration file: what is taken for one is whole, and a second reading says the same; of what is none, one line says why.
 *
 * Input: the file.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/config/config.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* It has what its kind needs, and what it was written as is a place again. */
static void check_place(const struct config_place *p)
{
	struct config_entry again = { 0 };

	REQUIRE(p->text && *p->text && p->at.line && p->at.column);
	switch (p->kind) {
	case CONFIG_FUNCTION:
	case CONFIG_VARIABLE:
	case CONFIG_LIBRARY:
		REQUIRE(p->name && *p->name && !p->file);
		break;
	case CONFIG_LOOP:
	case CONFIG_LINES:
		REQUIRE(p->file && *p->file && p->line && p->last >= p->line && !p->name);
		break;
	case CONFIG_ALL:
		REQUIRE(!p->file && !p->name);
		break;
	}
	/* but for further names after one of a function */
	if (!config_places_parse(&again, p->text, p->at)) {
		REQUIRE(again.nplaces == 1 && again.places[0].kind == p->kind);
		REQUIRE(!p->name || strcmp(again.places[0].name, p->name) == 0);
	}
	for (size_t i = 0; i < again.nplaces; i++)
		config_place_free(&again.places[i]);
	free(again.places);
}

static void check_variable(const char *text)
{
	struct config_variable v;

	REQUIRE(!config_variable_parse(&v, text));
	REQUIRE(*v.name && !v.function == (v.kind != CONFIG_IN_FUNCTION) && !v.file == (v.kind != CONFIG_AT_LINE) && !v.line == !v.file);
	REQUIRE(!v.function || *v.function);
	REQUIRE(!v.file || *v.file);
	config_variable_free(&v);
}

static void check_entry(const struct config_entry *e)
{
	REQUIRE(e->type < CONFIG_TYPES && e->nplaces && e->nplaces <= CONFIG_MAX_PLACES && e->at.line);
	for (size_t i = 0; i < e->nplaces; i++)
		check_place(&e->places[i]);
	for (size_t i = 0; i < e->variables.n; i++)
		check_variable(e->variables.v[i]);
	REQUIRE(!e->output || *e->output);
	REQUIRE(!e->when.argument == (e->when.compare == CONFIG_NO_ARGUMENT));
	REQUIRE(e->when.last >= e->when.first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char error[CONFIG_ERROR_MAX];
	struct config c;

	if (!config_parse(&c, (const char *)data, size, error)) {
		REQUIRE(*error && !c.v && !c.n && !c.program);
		return 0;
	}
	REQUIRE(c.n && c.n <= CONFIG_MAX_ENTRIES);
	for (size_t i = 0; i < c.n; i++)
		check_entry(&c.v[i]);
	config_free(&c);
	return 0;
}
