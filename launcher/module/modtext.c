/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of a new module. */
#include "launcher/module/modnew.h"
#include "sonde/abi.h"

#include <string.h>

static const char *field_macro(enum proto_class class)
{
	switch (class) {
	case PROTO_I32:
		return "SONDE_I32";
	case PROTO_I64:
		return "SONDE_I64";
	case PROTO_U32:
		return "SONDE_U32";
	case PROTO_U64:
		return "SONDE_U64";
	case PROTO_F64:
		return "SONDE_F64";
	case PROTO_PTR:
		return "SONDE_PTR";
	case PROTO_NONE:
	case PROTO_VOID:
		break;
	}
	return NULL;
}

/* A text between the quotes of a C string. */
static void write_quoted(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fputc('\\', out);
		fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
	}
	fputc('"', out);
}

static bool has_parameter(const struct proto *f, const char *name)
{
	for (size_t i = 0; i < f->nparams; i++) {
		if (strcmp(f->params[i].name, name) == 0)
			return true;
	}
	return false;
}

static const char *result_name(const struct proto *f)
{
	return has_parameter(f, "result") ? "result_" : "result";
}

static void write_parameters(FILE *out, const struct proto *f)
{
	fputc('(', out);
	for (size_t i = 0; i < f->nparams; i++)
		fprintf(out, "%s%s", i ? ", " : "", f->params[i].decl);
	fputs(f->nparams ? ")" : "void)", out);
}

static void write_head(FILE *out, const struct proto *f)
{
	if (strcmp(f->symbol, f->id) == 0)
		fprintf(out, "SONDE_WRAP(%s, %s, ", f->ret, f->id);
	else
		fprintf(out, "SONDE_WRAP_SYMBOL(%s, %s, \"%s\", ", f->ret, f->id, f->symbol);
	write_parameters(out, f);
	fputs(")\n{\n", out);
}

static void write_enter(FILE *out, const struct proto *f)
{
	int n = 0;

	fputs("\tsonde_enter(", out);
	for (size_t i = 0; i < f->nparams && n < SONDE_MAX_FIELDS; i++) {
		const char *macro = field_macro(f->params[i].class);
		const char *name = f->params[i].name;

		if (!macro)
			continue;
		/* Headers begin names with underscores to stay out of our way, not to mean something. */
		fprintf(out, "%s%s(\"%s\", %s)", n++ ? ",\n\t\t    " : "", macro,
			name + strspn(name, "_"), name);
	}
	fputs(");\n", out);
}

static void write_call(FILE *out, const struct proto *f)
{
	fprintf(out, "SONDE_REAL(%s)(", f->id);
	for (size_t i = 0; i < f->nparams; i++)
		fprintf(out, "%s%s", i ? ", " : "", f->params[i].name);
	fputs(");\n", out);
}

static void write_function(FILE *out, const struct proto *f)
{
	const char *result = result_name(f);
	const char *macro = field_macro(f->ret_class);
	bool star = f->ret[strlen(f->ret) - 1] == '*';

	write_head(out, f);
	write_enter(out, f);
	if (f->ret_class == PROTO_VOID) {
		fputc('\t', out);
		write_call(out, f);
		fputs("\tsonde_leave();\n}\n", out);
		return;
	}
	fprintf(out, "\t%s%s%s = ", f->ret, star ? "" : " ", result);
	write_call(out, f);
	if (macro)
		fprintf(out, "\tsonde_leave(%s(\"result\", %s));\n", macro, result);
	else
		fputs("\tsonde_leave();\n", out);
	fprintf(out, "\treturn %s;\n}\n", result);
}

static void write_preamble(FILE *out, const struct modtext *m, const struct proto_list *list)
{
	fprintf(out,
		"/*\n"
		" * Wrappers for functions of %s, written by `sonde module new'.  Use it with\n"
		" *\n"
		" *\tsonde -m ./%s.c PROGRAM\n"
		" *\n"
		" * See sonde-module(5) for what may be recorded.  Pointers are recorded as addresses:\n"
		" * where one is a string that ends with a zero byte, write SONDE_STR for SONDE_PTR; where\n"
		" * a number is an amount of data, SONDE_BYTES.\n"
		" */\n"
		"#include <sonde/module.h>\n", m->from, m->name);
	for (size_t i = 0; i < list->nheaders; i++) {
		if (!m->include || strncmp(m->include + 1, list->headers[i], strlen(list->headers[i])) != 0)
			fprintf(out, "#include <%s>\n", list->headers[i]);
	}
	if (m->include)
		fprintf(out, "#include %s\n", m->include);
	for (size_t i = m->known_structs; i < list->nstructs; i++)
		fprintf(out, "%s%s;\n", i == m->known_structs ? "\n" : "", list->structs[i]);
}

static void write_description(FILE *out, const struct modtext *m)
{
	char text[512];

	snprintf(text, sizeof(text), "functions of %s", m->from);
	fprintf(out, "\nSONDE_MODULE%s(\"%s\", ", m->soname ? "_FOR" : "", m->name);
	write_quoted(out, text);
	if (m->soname) {
		fputs(", ", out);
		write_quoted(out, m->soname);
	}
	fputs(");\n", out);
}

static void write_refused(FILE *out, const struct proto_list *list)
{
	bool any = false;

	for (size_t i = 0; i < list->n; i++) {
		const struct proto *f = &list->v[i];

		if (!f->refused)
			continue;
		fprintf(out, "%s * %s: %s\n", any ? "" : "\n/* Not wrapped:\n", f->symbol, f->refused);
		any = true;
	}
	if (any)
		fputs(" */\n", out);
}

void modtext_write(FILE *out, const struct modtext *m, const struct proto_list *list)
{
	write_preamble(out, m, list);
	write_description(out, m);
	for (size_t i = 0; i < list->n; i++) {
		if (list->v[i].refused)
			continue;
		fputc('\n', out);
		write_function(out, &list->v[i]);
	}
	write_refused(out, list);
}
