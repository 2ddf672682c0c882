/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde signature match`: what signatures say of a file, whatever symbols it has; where it has some, whether these say the same.
 */
#include "injector/image/symbols.h"
#include "injector/signatures/signatures.h"
#include "launcher/common/message.h"
#include "launcher/common/signatures.h"
#include "launcher/common/units.h"
#include "launcher/signature/signature.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct match_options {
	const char *where;
	bool brief;
};

static const struct opt match_opts[] = {
	OPT_SIGNATURES(struct match_options, where),
	{ 'b', "brief", NULL, "only how many", OPT_FLAG, offsetof(struct match_options, brief), NULL },
	OPT_HELP,
	OPT_END,
};

static const struct opt_command match_command = {
	.name = "signature match",
	.usage = "[OPTION]... FILE...",
	.summary = "Shows which functions of a file signatures name.",
	.opts = match_opts,
	.details = "Address and size, both hexadecimal, the name, and the file of signatures; names of one function are joined by '='.\n"
		   "Those of functions that are alike, or too small to be sure of, are joined by '|', and are not used.\n"
		   "A file's own symbols are not looked at, but for a comparison.\n",
	.examples = "sonde signature match ./app\tall that is known\n"
		    "sonde signature match --signatures=libc.sig -b ./app\twhat one file is good for\n",
};

struct counts {
	size_t functions, named, unsure;
	uint64_t bytes, named_bytes;
	size_t agree, differ;
};

struct matching {
	const struct inj_sig_file *files;
	size_t nfiles;
	struct inj_symtab *symbols;
	bool brief;
	struct counts c;
};

/* How many names of one address follow. */
static size_t same_address(const struct inj_sig_found *v, size_t n)
{
	size_t i = 1;

	while (i < n && v[i].addr == v[0].addr)
		i++;
	return i;
}

static void print_names(const struct matching *m, const struct inj_sig_found *v, size_t n, char between)
{
	if (m->brief)
		return;
	printf("%12llx %8llx  ", (unsigned long long)v[0].addr, (unsigned long long)v[0].size);
	for (size_t i = 0; i < n; i++) {
		if (i)
			putchar(between);
		units_text(stdout, v[i].name, 0, true);
	}
	fputs("  ", stdout);
	units_text(stdout, m->files[v[0].file].name, 0, true);
}

/* What the file's own symbols say, which may be the name of something that was renamed, or an alias. */
static void compare(struct matching *m, const struct inj_sig_found *v, size_t n)
{
	size_t nsyms;
	const struct inj_symbol *all = inj_symtab_all(m->symbols, &nsyms), *s = inj_symtab_at(m->symbols, v[0].addr), *first = s;

	if (!s)
		return;
	for (; s < all + nsyms && s->addr == v[0].addr; s++) {
		for (size_t i = 0; i < n; i++) {
			if (strcmp(s->name, v[i].name) == 0) {
				m->c.agree++;
				return;
			}
		}
	}
	m->c.differ++;
	if (!m->brief)
		printf(" (its symbol: %s)", first->name);
}

static void show_found(struct matching *m, const struct inj_sig_result *r)
{
	for (size_t i = 0, n; i < r->nfound; i += n) {
		n = same_address(r->found + i, r->nfound - i);
		print_names(m, r->found + i, n, '=');
		compare(m, r->found + i, n);
		m->c.named++;
		m->c.named_bytes += r->found[i].size;
		if (!m->brief)
			putchar('\n');
	}
	for (size_t i = 0, n; i < r->nunsure; i += n) {
		n = same_address(r->unsure + i, r->nunsure - i);
		print_names(m, r->unsure + i, n, '|');
		m->c.unsure++;
		if (!m->brief)
			puts(n > 1 ? " (alike)" : " (not sure)");
	}
}

/* Functions are those that the unwind table knows, and those with names. */
static void count_functions(struct counts *c, const struct inj_sig_code *code, const struct inj_sig_result *r)
{
	size_t at = 0;

	for (size_t i = 0; i < code->nstarts; i++) {
		while (at < r->nfound && r->found[at].addr < code->starts[i].addr)
			at++;
		if (at < r->nfound && r->found[at].addr == code->starts[i].addr)
			continue;
		c->functions++;
		c->bytes += code->starts[i].size;
	}
	c->functions += c->named;
	c->bytes += c->named_bytes;
}

static void print_summary(const char *path, const struct matching *m)
{
	const struct counts *c = &m->c;
	char share[UNITS_MAX], named[UNITS_MAX], all[UNITS_MAX];

	units_percent(c->functions ? 100.0 * (double)c->named / (double)c->functions : 0, share);
	units_bytes(c->named_bytes, named);
	units_bytes(c->bytes, all);
	printf("%s: %zu of %zu functions named (%s), %s of %s; %zu alike or not sure, %zu unknown", path, c->named, c->functions, share,
	       named, all, c->unsure, c->functions - c->named > c->unsure ? c->functions - c->named - c->unsure : 0);
	if (c->agree + c->differ)
		printf("; %zu as its symbols say, %zu otherwise", c->agree, c->differ);
	putchar('\n');
}

static int match_opened(struct matching *m, const char *path, const struct inj_elf *file)
{
	struct inj_sig_code code;
	struct inj_sig_result r;
	bool good = inj_sig_code_of(file, NULL, 0, &code);

	if (good) {
		good = inj_sig_match(m->files, m->nfiles, &code, &r);
		if (good) {
			show_found(m, &r);
			count_functions(&m->c, &code, &r);
			print_summary(path, m);
			inj_sig_result_free(&r);
		}
		inj_sig_code_free(&code);
	}
	if (!good)
		msg_error("%s: out of memory", path);
	return good ? 0 : EXIT_USAGE;
}

static int match_file(struct matching *m, const char *path)
{
	struct inj_elf file;
	int status = EXIT_USAGE;

	m->c = (struct counts){ 0 };
	if (inj_elf_open(path, &file) != INJ_OK) {
		msg_error("%s: %s", path, file.problem);
		return EXIT_USAGE;
	}
	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE | INJ_SYMTAB_NO_SIGNATURES, &m->symbols) != INJ_OK)
		msg_error("%s: its symbols cannot be read", path);
	else
		status = match_opened(m, path, &file);
	inj_symtab_close(m->symbols);
	inj_elf_close(&file);
	return status;
}

int signature_match(int argc, char **argv)
{
	struct match_options o = { 0 };
	int first = opt_parse(&match_command, argc, argv, &o), status;
	struct matching m = { 0 };

	if (first < 0)
		return OPT_STATUS(first);
	if (first == argc)
		return opt_usage_error(&match_command, "no file");
	status = signatures_use(o.where);
	m.brief = o.brief;
	if (!status)
		m.files = inj_signatures(&m.nfiles);
	if (!status && !m.nfiles) {
		msg_error("there are no signatures; `sonde signature make ARCHIVE' makes them");
		status = EXIT_USAGE;
	}
	for (int i = first; i < argc && !status; i++)
		status = match_file(&m, argv[i]);
	return status;
}
