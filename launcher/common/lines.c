/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/search.h"
#include "launcher/common/debugfiles.h"

struct row {
	uint64_t addr;
	const char *file; /* NULL: the code of a unit ends here */
	size_t order;
	int line;
};

struct lines {
	Dwfl *dwfl;
	Dwarf *dwarf;
	GElf_Addr bias; /* of the file's addresses over the debug information's */
	struct row *rows; /* by address; made when it is first asked for */
	size_t nrows, room;
	bool rows_read;
	bool (*want)(void *arg, uint64_t lo, uint64_t hi); /* NULL: all */
	void *arg;
};

/*
 * libdwfl lays the file out at some address of its own; main_bias is how far from its link-time one, the
 * DWARF's bias the same for the debug file. They differ only if the file was prelinked after it was split.
 */
static bool open_dwarf(struct lines *l, const char *path, int fd)
{
	GElf_Addr dwarf_bias = 0, main_bias = 0;

	dwfl_report_begin(l->dwfl);
	Dwfl_Module *module = dwfl_report_offline(l->dwfl, "", path, fd);
	if (!module && fd >= 0)
		close(fd);
	if (dwfl_report_end(l->dwfl, NULL, NULL) != 0 || !module)
		return false;
	l->dwarf = dwfl_module_getdwarf(module, &dwarf_bias);
	if (!l->dwarf || !dwfl_module_getelf(module, &main_bias))
		return false;
	l->bias = dwarf_bias - main_bias;
	return true;
}

/* @fd: -1, or ours from now on. */
static struct lines *open_lines(const char *path, int fd)
{
	struct lines *l = calloc(1, sizeof(*l));

	if (l)
		l->dwfl = dwfl_begin(&debugfiles_callbacks);
	if (l && l->dwfl && open_dwarf(l, path, fd))
		return l;
	if (fd >= 0 && (!l || !l->dwfl))
		close(fd);
	lines_close(l);
	return NULL;
}

struct lines *lines_open(const char *path)
{
	return open_lines(path, -1);
}

struct lines *lines_open_fd(const char *path, int fd)
{
	int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	return copy < 0 ? NULL : open_lines(path, copy);
}

void lines_restrict(struct lines *l, bool (*want)(void *arg, uint64_t lo, uint64_t hi), void *arg)
{
	l->want = want;
	l->arg = arg;
}

void lines_close(struct lines *l)
{
	if (!l)
		return;
	dwfl_end(l->dwfl);
	free(l->rows);
	free(l);
}

/* ---- from lines to addresses ---- */

struct search {
	struct lines *l;
	const char *file;
	int line;
	int nearest; /* the smallest line that has code and is not before `line`; INT_MAX: none */
	enum lines_found found;
	uint64_t **addrs;
	size_t *n;
};

/* The end of a path, from the beginning of a folder's name on. */
bool lines_is_file(const char *path, const char *file)
{
	size_t np = strlen(path), nf;

	while (strncmp(file, "./", 2) == 0)
		file += 2;
	nf = strlen(file);
	return np >= nf && strcmp(path + np - nf, file) == 0 &&
	       (np == nf || file[0] == '/' || path[np - nf - 1] == '/');
}

static bool append(struct search *s, Dwarf_Addr addr)
{
	if (!array_one_more(*s->addrs, *s->n))
		return false;
	(*s->addrs)[(*s->n)++] = addr + s->l->bias;
	return true;
}

/* Calls visit for all lines of the file in one unit. */
static void visit_unit(struct search *s, Dwarf_Die *unit,
		       void (*visit)(struct search *s, Dwarf_Die *unit, int line, Dwarf_Addr addr))
{
	Dwarf_Lines *rows;
	size_t n;

	if (dwarf_getsrclines(unit, &rows, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *row = dwarf_onesrcline(rows, i);
		const char *path = row ? dwarf_linesrc(row, NULL, NULL) : NULL;
		Dwarf_Addr addr;
		bool end;
		int line;

		if (!path || dwarf_lineendsequence(row, &end) != 0 || end || !lines_is_file(path, s->file))
			continue;
		if (dwarf_lineno(row, &line) == 0 && dwarf_lineaddr(row, &addr) == 0 && line > 0)
			visit(s, unit, line, addr);
	}
}

static void visit_units(struct search *s,
			void (*visit)(struct search *s, Dwarf_Die *unit, int line, Dwarf_Addr addr))
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	while (dwarf_get_units(s->l->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0)
		visit_unit(s, &unit, visit);
}

static void find_nearest(struct search *s, Dwarf_Die *unit, int line, Dwarf_Addr addr)
{
	(void)unit;
	(void)addr;
	if (s->found == LINES_NO_FILE)
		s->found = LINES_NO_CODE;
	if (line >= s->line && line < s->nearest)
		s->nearest = line;
}

/* DWARF 5 numbers files from 0, the unit's own, which libdw takes for none. */
static const char *declared_in(Dwarf_Die *die)
{
	const char *path = dwarf_decl_file(die);
	Dwarf_Attribute attr;
	Dwarf_Word number;
	Dwarf_Die unit;

	if (path || !dwarf_attr_integrate(die, DW_AT_decl_file, &attr) || dwarf_formudata(&attr, &number) || number)
		return path;
	return dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_diename(&unit) : NULL;
}

static bool begins_before(Dwarf_Die *scope, const struct search *s)
{
	int tag = dwarf_tag(scope), line;
	Dwarf_Attribute attr;
	Dwarf_Die origin = *scope;

	if (tag != DW_TAG_subprogram && tag != DW_TAG_inlined_subroutine)
		return false;
	if (dwarf_attr(scope, DW_AT_abstract_origin, &attr) && !dwarf_formref_die(&attr, &origin))
		return false;
	const char *path = declared_in(&origin);
	return path && lines_is_file(path, s->file) && dwarf_decl_line(&origin, &line) == 0 && line <= s->line;
}

/* A line without code (a comment, a brace) belongs to a function that begins before it. */
static bool is_inside(struct search *s, Dwarf_Die *unit, Dwarf_Addr addr)
{
	Dwarf_Die *scopes = NULL;
	int n = dwarf_getscopes(unit, addr, &scopes);
	bool inside = false;

	for (int i = 0; i < n && !inside; i++)
		inside = begins_before(&scopes[i], s);
	free(scopes);
	return inside;
}

static void take_nearest(struct search *s, Dwarf_Die *unit, int line, Dwarf_Addr addr)
{
	if (line != s->nearest || (line != s->line && !is_inside(s, unit, addr)))
		return;
	if (append(s, addr))
		s->found = LINES_FOUND;
}

enum lines_found lines_find(struct lines *l, const char *file, unsigned int line, uint64_t **addrs, size_t *n)
{
	struct search s = { .l = l, .file = file, .line = (int)line, .nearest = INT_MAX, .addrs = addrs,
			    .n = n };

	visit_units(&s, find_nearest);
	if (s.nearest != INT_MAX)
		visit_units(&s, take_nearest);
	return s.found;
}

/* ---- from addresses to lines ---- */

static bool add_row(struct lines *l, Dwarf_Addr addr, const char *file, int line)
{
	if (!array_room(l->rows, l->room, l->nrows + 1))
		return false;
	l->rows[l->nrows] = (struct row){ addr + l->bias, line > 0 ? file : NULL, l->nrows, line };
	l->nrows++;
	return true;
}

static bool add_line(struct lines *l, Dwarf_Line *row)
{
	const char *file = dwarf_linesrc(row, NULL, NULL);
	Dwarf_Addr addr;
	bool end;
	int line;

	if (dwarf_lineaddr(row, &addr) != 0 || dwarf_lineno(row, &line) != 0 || dwarf_lineendsequence(row, &end) != 0)
		return true;
	return add_row(l, addr, end ? NULL : file, line);
}

/* The line of its name; that of its code may begin with the next one's brace. */
static int add_function(Dwarf_Die *die, void *arg)
{
	const char *file = declared_in(die);
	Dwarf_Addr addr;
	int line;

	if (!file || dwarf_decl_line(die, &line) != 0 || dwarf_entrypc(die, &addr) != 0)
		return DWARF_CB_OK;
	return add_row(arg, addr, file, line) ? DWARF_CB_OK : DWARF_CB_ABORT;
}

/* The end of one sequence may be where the next one begins; the later row of the same address counts. */
static int by_addr(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (!x->file != !y->file)
		return x->file ? 1 : -1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* One that does not say where its code is may have any. */
static bool is_wanted(struct lines *l, Dwarf_Die *unit)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	bool any = false;

	while (l->want && (at = dwarf_ranges(unit, at, &base, &lo, &hi)) > 0) {
		any |= hi > lo;
		if (l->want(l->arg, lo + l->bias, hi + l->bias))
			return true;
	}
	return !any;
}

/* Not by .debug_aranges: not every compiler writes it. */
static void read_rows(struct lines *l)
{
	Dwarf_CU *cu = NULL;
	Dwarf_Die unit;

	l->rows_read = true;
	while (dwarf_get_units(l->dwarf, cu, &cu, NULL, NULL, &unit, NULL) == 0) {
		Dwarf_Lines *rows;
		size_t n;

		if (!is_wanted(l, &unit) || dwarf_getsrclines(&unit, &rows, &n) != 0)
			continue;
		if (dwarf_getfuncs(&unit, add_function, l, 0) < 0)
			break;
		for (size_t i = 0; i < n; i++) {
			if (!add_line(l, dwarf_onesrcline(rows, i)))
				return;
		}
	}
	if (l->nrows)
		qsort(l->rows, l->nrows, sizeof(*l->rows), by_addr);
}

void lines_each(struct lines *l, uint64_t lo, uint64_t hi,
		void (*row)(void *arg, uint64_t addr, const char *file, int line), void *arg)
{
	int line = 0;
	const char *file = lines_at(l, lo, &line);
	size_t i = search_first(k, l->nrows, l->rows[k].addr >= lo);

	if (i == l->nrows || l->rows[i].addr != lo)
		row(arg, lo, file, line);
	for (; i < l->nrows && l->rows[i].addr < hi; i++)
		row(arg, l->rows[i].addr, l->rows[i].file, l->rows[i].line);
}

const char *lines_at(struct lines *l, uint64_t addr, int *line)
{
	size_t after;

	if (!l->rows_read)
		read_rows(l);
	after = search_first(i, l->nrows, l->rows[i].addr > addr);
	if (after == 0)
		return NULL;
	*line = l->rows[after - 1].line;
	return l->rows[after - 1].file;
}
