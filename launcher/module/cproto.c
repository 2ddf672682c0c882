/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prototypes from C text: enough of the language's declarations (C17, 6.7) for headers as they are.
 *
 *	extern const char *(*name)(int, void *p) __attribute__((...)) ;
 *	└─ specifiers ───┘ └─ declarator ──────┘
 *
 * What is parsed is never judged: text that is no declaration is stepped over up to its semicolon.
 */
#include "launcher/module/ctoken.h"
#include "launcher/module/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct typedef_name {
	const char *name;
	size_t len;
	enum proto_class class;
};

struct parser {
	const struct ctoken *v;
	struct proto_list *out;
	struct typedef_name *types;
	size_t ntypes;
	bool no_memory;
};

/* ---- type names ---- */

/* What a prototype may use without its header; behind the types that the text itself defines. */
static const struct known_type {
	const char *name, *header;
	enum proto_class class;
} known_types[] = {
	{ "FILE", "stdio.h", PROTO_NONE },	 { "__builtin_va_list", NULL, PROTO_NONE },
	{ "bool", "stdbool.h", PROTO_U32 },	 { "clockid_t", "time.h", PROTO_I32 },
	{ "gid_t", "sys/types.h", PROTO_U32 },	 { "int16_t", NULL, PROTO_I32 },
	{ "int32_t", NULL, PROTO_I32 },		 { "int64_t", NULL, PROTO_I64 },
	{ "int8_t", NULL, PROTO_I32 },		 { "intmax_t", NULL, PROTO_I64 },
	{ "intptr_t", NULL, PROTO_I64 },	 { "mode_t", "sys/types.h", PROTO_U32 },
	{ "off_t", "sys/types.h", PROTO_I64 },	 { "pid_t", "sys/types.h", PROTO_I32 },
	{ "pthread_t", "pthread.h", PROTO_U64 }, { "ptrdiff_t", NULL, PROTO_I64 },
	{ "size_t", NULL, PROTO_U64 },		 { "socklen_t", "sys/socket.h", PROTO_U32 },
	{ "ssize_t", "sys/types.h", PROTO_I64 }, { "time_t", "time.h", PROTO_I64 },
	{ "uid_t", "sys/types.h", PROTO_U32 },	 { "uint16_t", NULL, PROTO_U32 },
	{ "uint32_t", NULL, PROTO_U32 },	 { "uint64_t", NULL, PROTO_U64 },
	{ "uint8_t", NULL, PROTO_U32 },		 { "uintmax_t", NULL, PROTO_U64 },
	{ "uintptr_t", NULL, PROTO_U64 },	 { "va_list", "stdarg.h", PROTO_NONE },
	{ "wchar_t", NULL, PROTO_I32 },
};

static enum proto_class class_of_name(struct parser *p, const struct ctoken *t)
{
	for (size_t i = p->ntypes; i-- > 0;) {
		if (p->types[i].len == t->len && memcmp(p->types[i].name, t->text, t->len) == 0)
			return p->types[i].class;
	}
	for (size_t i = 0; i < sizeof(known_types) / sizeof(known_types[0]); i++) {
		const struct known_type *k = &known_types[i];

		if (!ctoken_is(t, k->name))
			continue;
		if (k->header && !proto_add_string(&p->out->headers, &p->out->nheaders, k->header))
			p->no_memory = true;
		return k->class;
	}
	return PROTO_NONE;
}

static void add_type(struct parser *p, const struct ctoken *name, enum proto_class class)
{
	if ((p->ntypes & (p->ntypes - 1)) == 0) {
		struct typedef_name *v =
			reallocarray(p->types, p->ntypes ? 2 * p->ntypes : 1, sizeof(*v));

		if (!v) {
			p->no_memory = true;
			return;
		}
		p->types = v;
	}
	p->types[p->ntypes++] = (struct typedef_name){ name->text, name->len, class };
}

/* ---- specifiers ---- */

enum word_role {
	ROLE_NONE = 0,
	ROLE_DROP,	/* says nothing about the type */
	ROLE_GROUP,	/* the same, with a bracketed group behind it */
	ROLE_QUALIFIER,
	ROLE_TYPE,	/* part of a built-in type */
	ROLE_TAGGED,	/* struct, union, enum */
	ROLE_TYPEOF,
	ROLE_TYPEDEF,
	ROLE_LOCAL,	/* static, inline: no symbol of that name for sure */
};

static const struct word {
	const char *text;
	enum word_role role;
} words[] = {
	{ "_Alignas", ROLE_GROUP },	 { "_Atomic", ROLE_QUALIFIER },
	{ "_Bool", ROLE_TYPE },		 { "_Complex", ROLE_TYPE },
	{ "_Float128", ROLE_TYPE },	 { "_Float16", ROLE_TYPE },
	{ "_Float32", ROLE_TYPE },	 { "_Float32x", ROLE_TYPE },
	{ "_Float64", ROLE_TYPE },	 { "_Float64x", ROLE_TYPE },
	{ "_Noreturn", ROLE_DROP },	 { "_Thread_local", ROLE_DROP },
	{ "__asm", ROLE_GROUP },	 { "__asm__", ROLE_GROUP },
	{ "__attribute", ROLE_GROUP },	 { "__attribute__", ROLE_GROUP },
	{ "__complex__", ROLE_TYPE },	 { "__const", ROLE_QUALIFIER },
	{ "__extension__", ROLE_DROP },	 { "__float128", ROLE_TYPE },
	{ "__inline", ROLE_LOCAL },	 { "__inline__", ROLE_LOCAL },
	{ "__int128", ROLE_TYPE },	 { "__restrict", ROLE_QUALIFIER },
	{ "__restrict__", ROLE_QUALIFIER }, { "__signed__", ROLE_TYPE },
	{ "__thread", ROLE_DROP },	 { "__typeof", ROLE_TYPEOF },
	{ "__typeof__", ROLE_TYPEOF },	 { "__volatile__", ROLE_QUALIFIER },
	{ "asm", ROLE_GROUP },		 { "auto", ROLE_DROP },
	{ "char", ROLE_TYPE },		 { "const", ROLE_QUALIFIER },
	{ "double", ROLE_TYPE },	 { "enum", ROLE_TAGGED },
	{ "extern", ROLE_DROP },	 { "float", ROLE_TYPE },
	{ "inline", ROLE_LOCAL },	 { "int", ROLE_TYPE },
	{ "long", ROLE_TYPE },		 { "register", ROLE_DROP },
	{ "restrict", ROLE_QUALIFIER },	 { "short", ROLE_TYPE },
	{ "signed", ROLE_TYPE },	 { "static", ROLE_LOCAL },
	{ "struct", ROLE_TAGGED },	 { "typedef", ROLE_TYPEDEF },
	{ "typeof", ROLE_TYPEOF },	 { "union", ROLE_TAGGED },
	{ "unsigned", ROLE_TYPE },	 { "void", ROLE_TYPE },
	{ "volatile", ROLE_QUALIFIER },
};

static enum word_role role_of(const struct ctoken *t)
{
	if (t->kind != CTOKEN_WORD)
		return ROLE_NONE;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		if (ctoken_is(t, words[i].text))
			return words[i].role;
	}
	return ROLE_NONE;
}

struct specifiers {
	enum proto_class class;
	bool is_typedef, is_local, has_type;
	bool nameless; /* a structure or enumeration without a tag */
	bool is_unsigned, is_float, is_other, is_void;
	int longs;
};

static void note_builtin(struct specifiers *s, const struct ctoken *t)
{
	static const char *const others[] = { "_Complex", "__complex__", "__int128", "_Float16",
					      "_Float128", "__float128" };

	s->has_type = true;
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		s->is_other |= ctoken_is(t, others[i]);
	s->longs += ctoken_is(t, "long");
	s->is_unsigned |= ctoken_is(t, "unsigned") || ctoken_is(t, "_Bool");
	s->is_void |= ctoken_is(t, "void");
	s->is_float |= ctoken_is(t, "float") || ctoken_is(t, "double") ||
		       strncmp(t->text, "_Float", 6) == 0;
	if (s->is_other)
		s->class = PROTO_NONE;
	else if (s->is_void)
		s->class = PROTO_VOID;
	else if (s->is_float)
		s->class = PROTO_F64;
	else if (s->longs)
		s->class = s->is_unsigned ? PROTO_U64 : PROTO_I64;
	else
		s->class = s->is_unsigned ? PROTO_U32 : PROTO_I32;
}

/* Steps over `__attribute__((...))` and `[[...]]`; i itself where there is none. */
static size_t skip_attributes(const struct parser *p, size_t i, size_t end)
{
	for (;;) {
		size_t at = i;

		if (i < end && role_of(&p->v[i]) == ROLE_GROUP)
			i = ctoken_skip_group(p->v, i + 1, end);
		else if (i + 1 < end && ctoken_is(&p->v[i], "[") && ctoken_is(&p->v[i + 1], "["))
			i = ctoken_skip_group(p->v, i, end);
		if (i == at)
			return i;
	}
}

static void note_struct(struct parser *p, size_t keyword, size_t tag)
{
	char name[256];

	if (ctoken_is(&p->v[keyword], "enum"))
		return;
	snprintf(name, sizeof(name), "%.*s %.*s", (int)p->v[keyword].len, p->v[keyword].text,
		 (int)p->v[tag].len, p->v[tag].text);
	if (!proto_add_string(&p->out->structs, &p->out->nstructs, name))
		p->no_memory = true;
}

static size_t read_tagged(struct parser *p, size_t i, size_t end, struct specifiers *s)
{
	size_t keyword = i;

	s->has_type = true;
	s->class = ctoken_is(&p->v[i], "enum") ? PROTO_I32 : PROTO_NONE;
	i = skip_attributes(p, i + 1, end);
	if (i < end && p->v[i].kind == CTOKEN_WORD)
		note_struct(p, keyword, i++);
	else
		s->nameless = true;
	if (i < end && ctoken_is(&p->v[i], "{"))
		i = ctoken_skip_group(p->v, i, end);
	return i;
}

/* Returns where the declarator begins. */
static size_t read_specifiers(struct parser *p, size_t i, size_t end, struct specifiers *s)
{
	*s = (struct specifiers){ 0 };
	while ((i = skip_attributes(p, i, end)) < end) {
		enum word_role role = role_of(&p->v[i]);

		if (role == ROLE_NONE && (s->has_type || p->v[i].kind != CTOKEN_WORD))
			break;
		if (role == ROLE_TAGGED) {
			i = read_tagged(p, i, end, s);
			continue;
		}
		if (role == ROLE_TYPE) {
			note_builtin(s, &p->v[i]);
		} else if (role == ROLE_NONE || role == ROLE_TYPEOF) {
			s->has_type = true;
			s->class = role == ROLE_NONE ? class_of_name(p, &p->v[i]) : PROTO_NONE;
		}
		s->is_typedef |= role == ROLE_TYPEDEF;
		s->is_local |= role == ROLE_LOCAL;
		i = role == ROLE_TYPEOF ? ctoken_skip_group(p->v, i + 1, end) : i + 1;
	}
	return i;
}

/* ---- declarators ---- */

enum declared { DECL_VALUE, DECL_POINTER, DECL_ARRAY, DECL_FUNCTION };

struct declarator {
	enum declared what; /* the declared name is; a value of the specifiers' type by default */
	size_t name;	    /* of the name, or where it would stand */
	bool has_name;
	size_t params, params_end; /* DECL_FUNCTION: between the parentheses */
	bool nested;	    /* the function's own declarator stands in parentheses with a '*' */
	bool known;	    /* `what` is decided */
	size_t stars;	    /* '*'s of the outermost level */
	size_t end;
};

static size_t read_pointers(const struct parser *p, size_t i, size_t end, size_t *stars)
{
	*stars = 0;
	while ((i = skip_attributes(p, i, end)) < end) {
		if (ctoken_is(&p->v[i], "*") || ctoken_is(&p->v[i], "^"))
			++*stars;
		else if (role_of(&p->v[i]) != ROLE_QUALIFIER && role_of(&p->v[i]) != ROLE_DROP)
			break;
		i++;
	}
	return i;
}

/* A '(' of grouping, not that of the parameters of a function without a name. */
static bool is_grouping(const struct parser *p, size_t i, size_t end)
{
	size_t next = skip_attributes(p, i + 1, end);

	if (!ctoken_is(&p->v[i], "(") || next >= end)
		return false;
	if (ctoken_is(&p->v[next], "*") || ctoken_is(&p->v[next], "^") || ctoken_is(&p->v[next], "("))
		return true;
	/* "(name)" but not "(type)": a word followed by a bracket or the end of the group */
	return p->v[next].kind == CTOKEN_WORD && role_of(&p->v[next]) == ROLE_NONE &&
	       next + 2 < end && ctoken_is(&p->v[next + 1], ")") && ctoken_is(&p->v[next + 2], "(");
}

static void decide(struct declarator *d, enum declared what)
{
	if (!d->known)
		d->what = what;
	d->known = true;
}

static size_t read_suffixes(const struct parser *p, size_t i, size_t end, struct declarator *d)
{
	while ((i = skip_attributes(p, i, end)) < end) {
		bool function = ctoken_is(&p->v[i], "(");

		if (!function && !ctoken_is(&p->v[i], "["))
			break;
		size_t next = ctoken_skip_group(p->v, i, end);
		if (function && !d->known) {
			d->params = i + 1;
			d->params_end = next - 1;
		}
		decide(d, function ? DECL_FUNCTION : DECL_ARRAY);
		i = next;
	}
	return i;
}

/*
 * Inner parts bind first: in `int (*f)(int)` the name is a pointer before it is a function. So what is
 * decided first, from the inside to the outside and suffix before star, holds.
 */
static size_t read_declarator(const struct parser *p, size_t i, size_t end, struct declarator *d,
			      int depth)
{
	size_t stars;

	i = read_pointers(p, i, end, &stars);
	if (i < end && depth < 16 && is_grouping(p, i, end)) {
		size_t close = ctoken_skip_group(p->v, i, end);

		read_declarator(p, i + 1, close - 1, d, depth + 1);
		d->nested = d->known; /* something was decided inside */
		i = close;
	} else {
		d->name = i;
		d->has_name = i < end && p->v[i].kind == CTOKEN_WORD && role_of(&p->v[i]) == ROLE_NONE;
		i += d->has_name;
	}
	i = read_suffixes(p, i, end, d);
	if (stars)
		decide(d, DECL_POINTER);
	d->stars = stars;
	d->end = i;
	return i;
}

static enum proto_class class_of(const struct specifiers *s, const struct declarator *d)
{
	return d->what == DECL_VALUE ? s->class : PROTO_PTR;
}

/* ---- text ---- */

/* Types as they are written, without what belongs to the declaration and not to the type. */
static char *type_text(const struct parser *p, size_t begin, size_t end)
{
	struct ctoken *kept = calloc(end - begin + 1, sizeof(*kept));
	size_t n = 0;

	if (!kept)
		return NULL;
	for (size_t i = begin; i < end;) {
		size_t next = skip_attributes(p, i, end);
		enum word_role role = role_of(&p->v[i]);

		if (ctoken_is(&p->v[i], "{")) /* a structure's members */
			next = ctoken_skip_group(p->v, i, end);
		if (next == i && role != ROLE_DROP && role != ROLE_LOCAL && role != ROLE_TYPEDEF)
			kept[n++] = p->v[i];
		i = next == i ? i + 1 : next;
	}
	char *text = ctoken_text(kept, 0, n);
	free(kept);
	return text;
}

static char *concat(char *left, const char *middle, char *right)
{
	char *text = NULL;
	size_t len = left ? strlen(left) : 0;
	bool space = len && left[len - 1] != '*' && left[len - 1] != '(';

	if (left && right &&
	    asprintf(&text, "%s%s%s%s", left, space && *middle ? " " : "", middle, right) < 0)
		text = NULL;
	free(left);
	free(right);
	return text;
}

/* ---- functions ---- */

/* The end of the parameter that begins at i: its comma, or the end. */
static size_t parameter_end(const struct parser *p, size_t i, size_t end)
{
	while (i < end && !ctoken_is(&p->v[i], ",")) {
		bool opens = p->v[i].kind == CTOKEN_MARK && strchr("([{", *p->v[i].text);

		i = opens ? ctoken_skip_group(p->v, i, end) : i + 1;
	}
	return i;
}

static const char *read_parameter(struct parser *p, size_t begin, size_t end, struct proto *f)
{
	struct specifiers s;
	struct declarator d = { 0 };
	char name[64];

	size_t at = read_specifiers(p, begin, end, &s);
	if (!s.has_type || s.nameless)
		return "its parameters are not written as a prototype";
	read_declarator(p, at, end, &d, 0);
	if (!d.has_name)
		snprintf(name, sizeof(name), "a%zu", f->nparams + 1);
	else
		snprintf(name, sizeof(name), "%.*s", (int)p->v[d.name].len, p->v[d.name].text);
	char *text = concat(type_text(p, begin, d.name), name,
			    type_text(p, d.name + d.has_name, end));
	if (!proto_add_param(f, text, strdup(name), class_of(&s, &d)))
		p->no_memory = true;
	return NULL;
}

/* Returns why the function cannot be wrapped, or NULL. */
static const char *read_parameters(struct parser *p, size_t i, size_t end, struct proto *f)
{
	if (i == end)
		return "it is declared without parameters; write (void) if it has none";
	if (end - i == 1 && ctoken_is(&p->v[i], "void"))
		return NULL;
	for (; i < end; i++) {
		size_t stop = parameter_end(p, i, end);

		if (stop == i + 1 && ctoken_is(&p->v[i], "..."))
			return "it takes variable arguments";
		const char *problem = read_parameter(p, i, stop, f);
		if (problem)
			return problem;
		i = stop;
	}
	return NULL;
}

/* `int *f(params)`: the type is what stands before the name. */
static void read_plain_result(struct parser *p, size_t begin, const struct specifiers *s,
			      const struct declarator *d, struct proto *f)
{
	size_t end = d->name;

	while (end > begin && ctoken_is(&p->v[end - 1], "("))
		end--; /* int (f)(int) */
	f->ret = type_text(p, begin, end);
	f->ret_class = d->stars ? PROTO_PTR : s->class;
}

/* `void (*f(params))(int)`: the type is the declaration without name and parameters. */
static void read_nested_result(struct parser *p, size_t begin, const struct declarator *d,
			       struct proto *f)
{
	char *type = concat(type_text(p, begin, d->name), "", type_text(p, d->params_end + 1, d->end));

	f->ret_class = PROTO_PTR;
	if (type && asprintf(&f->ret, "__typeof__(%s)", type) < 0)
		f->ret = NULL;
	free(type);
}

static void add_function(struct parser *p, size_t begin, const struct specifiers *s,
			 const struct declarator *d)
{
	struct proto f = { 0 };

	f.symbol = strndup(p->v[d->name].text, p->v[d->name].len);
	f.id = f.symbol ? strdup(f.symbol) : NULL;
	if (d->nested)
		read_nested_result(p, begin, d, &f);
	else
		read_plain_result(p, begin, s, d, &f);
	f.refused = read_parameters(p, d->params, d->params_end, &f);
	if (!f.refused && s->nameless)
		f.refused = "its type has no name";
	if (!f.symbol || !f.id || !f.ret) {
		proto_free(&f);
		p->no_memory = true;
	} else if (!proto_add(p->out, &f)) {
		p->no_memory = true;
	}
}

/* ---- declarations ---- */

/* Is the name part of the declaration followed by another declarator's parts only? */
static bool wanted(struct parser *p, const struct declarator *d, bool anywhere,
		   const struct proto_filter *filter)
{
	char name[256];

	if (!anywhere && !filter->n && !p->v[d->name].in_main)
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)p->v[d->name].len, p->v[d->name].text);
	return proto_wanted(filter, name);
}

static void read_declaration(struct parser *p, size_t begin, size_t end, bool anywhere,
			     const struct proto_filter *filter)
{
	struct specifiers s;
	size_t i = read_specifiers(p, begin, end, &s);
	size_t specifiers_end = i;

	while (s.has_type && i < end) {
		struct declarator d = { 0 };

		i = read_declarator(p, i, end, &d, 0);
		if (!d.has_name)
			return;
		if (s.is_typedef)
			add_type(p, &p->v[d.name], class_of(&s, &d));
		else if (d.what == DECL_FUNCTION && !s.is_local && wanted(p, &d, anywhere, filter) &&
			 specifiers_end <= d.name)
			add_function(p, begin, &s, &d);
		i = parameter_end(p, i, end);
		if (i < end && d.what == DECL_FUNCTION && !s.is_typedef)
			return; /* `int f(void), g(void);` would need the specifiers again */
		i += i < end;
	}
}

/* Behind the declaration that begins at i: its semicolon, or a function's body. */
static size_t declaration_end(const struct parser *p, size_t i, size_t end, size_t *text_end)
{
	bool after_parameters = false;

	while (i < end && !ctoken_is(&p->v[i], ";")) {
		bool brace = ctoken_is(&p->v[i], "{");
		bool opens = p->v[i].kind == CTOKEN_MARK && strchr("([{", *p->v[i].text);

		if (brace && after_parameters) {
			*text_end = i;
			return ctoken_skip_group(p->v, i, end);
		}
		after_parameters = ctoken_is(&p->v[i], "(");
		i = opens ? ctoken_skip_group(p->v, i, end) : i + 1;
	}
	*text_end = i;
	return i < end ? i + 1 : i;
}

bool proto_from_text(struct proto_list *list, const char *text, const char *main_file,
		     const struct proto_filter *filter)
{
	struct ctokens t;
	struct parser p = { .out = list };

	if (!ctoken_split(text, main_file, &t))
		return false;
	p.v = t.v;
	for (size_t i = 0; i < t.n && !p.no_memory;) {
		size_t end;
		size_t next = declaration_end(&p, i, t.n, &end);

		read_declaration(&p, i, end, !main_file, filter);
		i = next;
	}
	free(p.types);
	free(t.v);
	return !p.no_memory;
}
