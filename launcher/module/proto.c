/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/module/proto.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

static bool is_known(const struct proto_list *list, const char *symbol)
{
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].symbol, symbol) == 0)
			return true;
	}
	return false;
}

bool proto_add(struct proto_list *list, struct proto *p)
{
	if (is_known(list, p->symbol)) {
		proto_free(p);
		return true;
	}
	if (!array_one_more(list->v, list->n)) {
		proto_free(p);
		return false;
	}
	list->v[list->n++] = *p;
	return true;
}

bool proto_add_param(struct proto *p, char *decl, char *name, enum proto_class class)
{
	if (!decl || !name || !array_one_more(p->params, p->nparams)) {
		free(decl);
		free(name);
		return false;
	}
	p->params[p->nparams++] = (struct proto_param){ decl, name, class };
	return true;
}

bool proto_add_string(char ***list, size_t *n, const char *s)
{
	for (size_t i = 0; i < *n; i++) {
		if (strcmp((*list)[i], s) == 0)
			return true;
	}
	char *copy = strdup(s);
	if (!copy || !array_one_more(*list, *n)) {
		free(copy);
		return false;
	}
	(*list)[(*n)++] = copy;
	return true;
}

void proto_free(struct proto *p)
{
	for (size_t i = 0; i < p->nparams; i++) {
		free(p->params[i].decl);
		free(p->params[i].name);
	}
	free(p->params);
	free(p->symbol);
	free(p->id);
	free(p->ret);
	*p = (struct proto){ 0 };
}

static void free_strings(char **v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

void proto_list_free(struct proto_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		proto_free(&list->v[i]);
	free(list->v);
	free_strings(list->structs, list->nstructs);
	free_strings(list->headers, list->nheaders);
	*list = (struct proto_list){ 0 };
}
