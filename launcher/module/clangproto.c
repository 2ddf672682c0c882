/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prototypes from C text, by libclang's C interface (clang-c/Index.h). It is loaded when it is needed, so
 * that Sonde needs none for all else; where its header was missing at build time, this says so.
 */
#include "config.h"

#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/module/proto.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef HAVE_LIBCLANG

#include <clang-c/Index.h>
#include <dlfcn.h>

#define FUNCTIONS(F)                                                                               \
	F(clang_createIndex) F(clang_disposeIndex) F(clang_parseTranslationUnit2)                  \
	F(clang_disposeTranslationUnit) F(clang_getTranslationUnitCursor) F(clang_visitChildren)   \
	F(clang_getNumDiagnostics) F(clang_getDiagnostic) F(clang_getDiagnosticSeverity)           \
	F(clang_getDiagnosticSpelling) F(clang_disposeDiagnostic) F(clang_getCString)              \
	F(clang_disposeString) F(clang_getCursorKind) F(clang_getCursorLinkage)                    \
	F(clang_Cursor_isFunctionInlined) F(clang_getCursorLocation) F(clang_getExpansionLocation) \
	F(clang_Location_isFromMainFile) F(clang_File_isEqual) F(clang_getInclusions)              \
	F(clang_getCursorSpelling) F(clang_getCursorType) F(clang_getResultType)                   \
	F(clang_isFunctionTypeVariadic) F(clang_Cursor_getNumArguments)                            \
	F(clang_Cursor_getArgument) F(clang_getTypeSpelling) F(clang_getCanonicalType)

static struct {
#define MEMBER(f) __typeof__(f) *f;
	FUNCTIONS(MEMBER)
#undef MEMBER
} lib;

/* ---- the library ---- */

static void *open_library(void)
{
	static const char *const names[] = {
		"libclang.so", "libclang-14.so.1", "libclang-15.so.1", "libclang-16.so.1",
		"libclang-17.so.1", "libclang-18.so.1", "libclang-19.so.1", "libclang-13.so.1",
	};
	void *handle = NULL;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && !handle; i++)
		handle = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
	return handle;
}

/* It stays loaded. */
static bool load(void)
{
	void *handle = lib.clang_createIndex ? NULL : open_library();
	bool complete = handle;

	if (lib.clang_createIndex)
		return true;
#define FIND(f) complete = complete && (lib.f = (__typeof__(lib.f))dlsym(handle, #f));
	FUNCTIONS(FIND)
#undef FIND
	if (!complete)
		lib.clang_createIndex = NULL;
	if (!complete)
		msg_error("C declarations are read by libclang, which is not here (Debian: apt-get install "
			  "libclang1-14 libclang-common-14-dev)");
	return complete;
}

/* A copy of ours. */
static char *own(CXString s)
{
	const char *text = lib.clang_getCString(s);
	char *copy = strdup(text ? text : "");

	lib.clang_disposeString(s);
	return copy;
}

/* ---- types ---- */

static enum proto_class class_of(CXType type)
{
	switch (lib.clang_getCanonicalType(type).kind) {
	case CXType_Void:
		return PROTO_VOID;
	case CXType_Bool:
	case CXType_Char_U:
	case CXType_UChar:
	case CXType_UShort:
	case CXType_UInt:
		return PROTO_U32;
	case CXType_Char_S:
	case CXType_SChar:
	case CXType_Short:
	case CXType_Int:
	case CXType_Enum:
		return PROTO_I32;
	case CXType_Long:
	case CXType_LongLong:
		return PROTO_I64;
	case CXType_ULong:
	case CXType_ULongLong:
		return PROTO_U64;
	case CXType_Float:
	case CXType_Double:
	case CXType_LongDouble:
		return PROTO_F64;
	case CXType_Pointer:
	case CXType_ConstantArray:
	case CXType_IncompleteArray:
	case CXType_VariableArray:
	case CXType_FunctionProto:
	case CXType_FunctionNoProto:
		return PROTO_PTR;
	default:
		return PROTO_NONE;
	}
}

static bool has_name(const char *type)
{
	return !strstr(type, "(unnamed") && !strstr(type, "(anonymous");
}

/* "char *" and "s": "char *s". Where the name stands in the middle of a type, the type is put in one word. */
static char *declare(const char *type, const char *name)
{
	bool in_one = strpbrk(type, "([") != NULL;
	bool star = *type && type[strlen(type) - 1] == '*' && !in_one;
	char *decl;

	if (asprintf(&decl, "%s%s%s%s%s", in_one ? "__typeof__(" : "", type, in_one ? ")" : "",
		     !*name || star ? "" : " ", name) < 0)
		return NULL;
	return decl;
}

/* Structures that a type names: those that nothing else declares have to be, before the wrappers. */
static bool note_structs(struct proto_list *list, const char *type)
{
	static const char *const words[] = { "struct ", "union " };
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789";
	bool ok = true;

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		for (const char *p = type; (p = strstr(p, words[i])); p += strlen(words[i])) {
			size_t len = strlen(words[i]) + strspn(p + strlen(words[i]), letters);
			char *tag = strndup(p, len);

			ok = ok && tag && proto_add_string(&list->structs, &list->nstructs, tag);
			free(tag);
		}
	}
	return ok;
}

/* ---- functions ---- */

struct reading {
	struct proto_list *list;
	struct select *sel;
	bool by_source; /* only what the source itself declares */
	CXFile header;	/* else without a selection only what this declares */
	bool no_memory;
};

static bool add_param(struct reading *r, struct proto *p, CXCursor param, int index)
{
	CXType type = lib.clang_getCursorType(param);
	char *spelling = own(lib.clang_getTypeSpelling(type));
	char *name = own(lib.clang_getCursorSpelling(param));

	if (name && !*name) {
		free(name);
		if (asprintf(&name, "a%d", index + 1) < 0)
			name = NULL;
	}
	bool ok = spelling && name && note_structs(r->list, spelling);
	if (ok && !has_name(spelling))
		p->refused = "the type of a parameter has no name";
	if (ok)
		ok = proto_add_param(p, declare(spelling, name), name, class_of(type));
	else
		free(name);
	free(spelling);
	return ok;
}

static bool fill(struct reading *r, CXCursor function, struct proto *p)
{
	CXType type = lib.clang_getCursorType(function), result = lib.clang_getResultType(type);
	char *spelling = own(lib.clang_getTypeSpelling(result));
	bool ok = spelling && note_structs(r->list, spelling);

	p->id = p->symbol ? strdup(p->symbol) : NULL;
	p->ret = spelling ? declare(spelling, "") : NULL;
	p->ret_class = class_of(result);
	if (spelling && !has_name(spelling))
		p->refused = "its type has no name";
	free(spelling);
	if (lib.clang_isFunctionTypeVariadic(type) && type.kind == CXType_FunctionProto)
		p->refused = "it takes variable arguments";
	if (type.kind == CXType_FunctionNoProto)
		p->refused = "it is declared without parameters; write (void) if it has none";
	for (int i = 0; ok && i < lib.clang_Cursor_getNumArguments(function); i++)
		ok = add_param(r, p, lib.clang_Cursor_getArgument(function, (unsigned int)i), i);
	return ok && p->id && p->ret;
}

static bool is_asked_for(const struct reading *r, CXCursor function, const char *name)
{
	CXSourceLocation at = lib.clang_getCursorLocation(function);
	CXFile file = NULL;

	if (lib.clang_getCursorLinkage(function) != CXLinkage_External ||
	    lib.clang_Cursor_isFunctionInlined(function))
		return false;
	if (r->by_source)
		return lib.clang_Location_isFromMainFile(at);
	if (!r->sel) {
		lib.clang_getExpansionLocation(at, &file, NULL, NULL, NULL);
		return file && r->header && lib.clang_File_isEqual(file, r->header);
	}
	return select_wants_in(r->sel, "", &(struct select_function){ .names = &name, .nnames = 1 });
}

static enum CXChildVisitResult visit(CXCursor cursor, CXCursor parent, CXClientData arg)
{
	struct reading *r = arg;
	struct proto p = { 0 };

	(void)parent;
	if (lib.clang_getCursorKind(cursor) != CXCursor_FunctionDecl)
		return CXChildVisit_Continue;
	p.symbol = own(lib.clang_getCursorSpelling(cursor));
	if (p.symbol && !is_asked_for(r, cursor, p.symbol)) {
		proto_free(&p);
		return CXChildVisit_Continue;
	}
	if (!fill(r, cursor, &p)) {
		proto_free(&p);
		r->no_memory = true;
	} else if (!proto_add(r->list, &p)) {
		r->no_memory = true;
	}
	return r->no_memory ? CXChildVisit_Break : CXChildVisit_Continue;
}

/* The first file that the source includes, which comes before all that this one includes. */
static void note_inclusion(CXFile file, CXSourceLocation *stack, unsigned int depth, CXClientData arg)
{
	struct reading *r = arg;

	(void)stack;
	if (depth == 1 && !r->header)
		r->header = file;
}

/* ---- a source ---- */

static bool has_errors(CXTranslationUnit unit, const char *what, const char *hint)
{
	for (unsigned int i = 0; i < lib.clang_getNumDiagnostics(unit); i++) {
		CXDiagnostic d = lib.clang_getDiagnostic(unit, i);
		bool error = lib.clang_getDiagnosticSeverity(d) >= CXDiagnostic_Error;
		char *text = error ? own(lib.clang_getDiagnosticSpelling(d)) : NULL;

		lib.clang_disposeDiagnostic(d);
		if (error)
			msg_error("%s: %s%s", what, text ? text : "an error", hint);
		free(text);
		if (error)
			return true;
	}
	return false;
}

/* No linker runs. */
static int drop_linker_flags(char **argv)
{
	int n = 0;

	for (char **arg = argv; *arg; arg++) {
		if (strncmp(*arg, "-Wl,", 4) == 0 || strcmp(*arg, "-shared") == 0)
			free(*arg);
		else
			argv[n++] = *arg;
	}
	argv[n] = NULL;
	return n;
}

int proto_from_source(struct proto_list *list, const char *source, const char *what, bool by_source,
		      struct select *sel)
{
	struct reading r = { .list = list, .sel = sel, .by_source = by_source };
	CXTranslationUnit unit = NULL;

	if (!load())
		return EXIT_USAGE;
	/* Of the compiler's name only its place in the vector matters. GCC takes [[attributes]] unasked. */
	char **argv = modfile_compiler_argv(source, "clang", (const char *[]){
		"-fdouble-square-bracket-attributes", NULL });
	if (!argv)
		return EXIT_USAGE;
	int argc = drop_linker_flags(argv);
	CXIndex index = lib.clang_createIndex(0, 0);
	int status = lib.clang_parseTranslationUnit2(index, NULL, (const char *const *)argv + 1, argc - 1,
						     NULL, 0, CXTranslationUnit_SkipFunctionBodies, &unit);
	if (status)
		msg_error("%s: cannot be read by libclang", what);
	else if (has_errors(unit, what, by_source ? "; name the header of unknown types with --header" : ""))
		status = EXIT_USAGE;
	if (!status) {
		lib.clang_getInclusions(unit, note_inclusion, &r);
		lib.clang_visitChildren(lib.clang_getTranslationUnitCursor(unit), visit, &r);
	}
	if (r.no_memory)
		msg_error("out of memory");
	if (unit)
		lib.clang_disposeTranslationUnit(unit);
	lib.clang_disposeIndex(index);
	modfile_argv_free(argv);
	return status || r.no_memory ? EXIT_USAGE : 0;
}

#else

int proto_from_source(struct proto_list *list, const char *source, const char *what, bool by_source,
		      struct select *sel)
{
	(void)list, (void)source, (void)by_source, (void)sel;
	msg_error("%s: this sonde reads no C declarations, for it was built without clang-c/Index.h (Debian: "
		  "apt-get install libclang-14-dev, and build it again)", what);
	return EXIT_USAGE;
}

#endif
