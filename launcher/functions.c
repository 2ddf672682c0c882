/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/functions.h"
#include "launcher/message.h"
#include "trampolines/trampoline.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PHDRS 256
#define MAX_FILE (UINT64_C(4) << 30)
#define LOOKED_AT_BEHIND 256u /* bytes behind a function that may be padding */

static const char reason_cold[] = "a part of another function";
static const char reason_outside[] = "not in executable code";

/* An executable segment's bytes. */
struct segment {
	uint64_t addr, len;
	const uint8_t *code;
	struct tramp_branch *branches;
	size_t nbranches;
};

struct code {
	uint8_t *bytes; /* of the file */
	uint64_t len;
	struct segment segments[MAX_PHDRS];
	size_t nsegments;
};

/* ---- the file ---- */

static int bad(const char *path, const char *why)
{
	msg_error("%s: %s", path, why);
	return EXIT_USAGE;
}

static int read_file(const char *path, struct code *c)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size > MAX_FILE) {
		if (fd >= 0)
			close(fd);
		return bad(path, fd < 0 ? strerror(errno) : "is no file that can be read as a whole");
	}
	c->bytes = malloc((size_t)st.st_size + 1);
	while (c->bytes && c->len < (uint64_t)st.st_size) {
		ssize_t n = pread(fd, c->bytes + c->len, (size_t)st.st_size - c->len, (off_t)c->len);

		if (n <= 0 && errno != EINTR)
			break;
		c->len += n > 0 ? (uint64_t)n : 0;
	}
	close(fd);
	return c->bytes ? 0 : bad(path, "out of memory");
}

static void add_segment(struct code *c, const Elf64_Phdr *ph)
{
	if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || ph->p_offset > c->len ||
	    ph->p_filesz > c->len - ph->p_offset)
		return;
	c->segments[c->nsegments++] = (struct segment){
		.addr = ph->p_vaddr,
		.len = ph->p_filesz,
		.code = c->bytes + ph->p_offset,
	};
}

static int read_segments(const char *path, struct code *c)
{
	Elf64_Ehdr h;

	if (c->len < sizeof(h) || memcmp(c->bytes, ELFMAG, SELFMAG) != 0)
		return bad(path, "is not an ELF file");
	memcpy(&h, c->bytes, sizeof(h));
	if (h.e_ident[EI_CLASS] != ELFCLASS64 || h.e_machine != EM_X86_64)
		return bad(path, "is not for x86-64");
	if (h.e_phentsize != sizeof(Elf64_Phdr) || h.e_phnum > MAX_PHDRS || h.e_phoff > c->len ||
	    h.e_phnum * sizeof(Elf64_Phdr) > c->len - h.e_phoff)
		return bad(path, "is a damaged ELF file");
	for (size_t i = 0; i < h.e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, c->bytes + h.e_phoff + i * sizeof(ph), sizeof(ph));
		add_segment(c, &ph);
	}
	return 0;
}

static const struct segment *segment_of(const struct code *c, uint64_t addr)
{
	for (size_t i = 0; i < c->nsegments; i++) {
		if (addr >= c->segments[i].addr && addr - c->segments[i].addr < c->segments[i].len)
			return &c->segments[i];
	}
	return NULL;
}

/* ---- functions ---- */

static bool is_cold_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (cold[5] == '\0' || cold[5] == '.');
}

/* All symbols of one address: the next of them is v[i]. */
static struct function next_function(const struct inj_symbol *v, size_t n, size_t i)
{
	struct function f = { .symbols = &v[i] };

	for (; i < n && v[i].addr == f.symbols[0].addr; i++, f.nnames++) {
		if (v[i].size > f.size)
			f.size = v[i].size;
		f.is_ifunc |= (v[i].flags & INJ_SYM_IFUNC) != 0;
	}
	f.is_part = is_cold_part(f.symbols[0].name);
	return f;
}

/* Twice: for the number, then for the branches. */
static bool find_branches(struct segment *s, const struct tramp_range *ranges, size_t n)
{
	size_t room = tramp_find_branches(s->code, s->len, s->addr, ranges, n, NULL, 0);

	s->branches = calloc(room + 1, sizeof(*s->branches));
	if (!s->branches)
		return false;
	s->nbranches = tramp_find_branches(s->code, s->len, s->addr, ranges, n, s->branches, room);
	if (s->nbranches > room)
		s->nbranches = room;
	return true;
}

static bool find_all_branches(struct code *c, const struct inj_symbol *v, size_t n)
{
	struct tramp_range *ranges = calloc(n + 1, sizeof(*ranges));
	size_t nranges = 0;
	bool ok = ranges != NULL;

	for (size_t i = 0; ok && i < n;) {
		struct function f = next_function(v, n, i);

		ranges[nranges++] = (struct tramp_range){ f.symbols[0].addr, f.size };
		i += f.nnames;
	}
	for (size_t i = 0; ok && i < c->nsegments; i++)
		ok = find_branches(&c->segments[i], ranges, nranges);
	free(ranges);
	return ok;
}

static const char *judge(const struct code *c, const struct function *f)
{
	const struct inj_symbol *sym = &f->symbols[0];
	const struct segment *s = segment_of(c, sym->addr);
	struct tramp_plan plan;

	if (!s)
		return reason_outside;
	if (f->is_part)
		return reason_cold;
	uint64_t room = s->len - (sym->addr - s->addr);
	struct tramp_function fn = {
		.addr = sym->addr,
		.code = s->code + (sym->addr - s->addr),
		.size = f->size < room ? f->size : room,
		.branches = s->branches,
		.nbranches = s->nbranches,
	};
	fn.avail = sym->avail > fn.size ? sym->avail : fn.size;
	if (fn.avail > fn.size + LOOKED_AT_BEHIND)
		fn.avail = fn.size + LOOKED_AT_BEHIND;
	if (fn.avail > room)
		fn.avail = room;
	enum tramp_status status = tramp_plan_entry(&fn, &plan);
	return status == TRAMP_OK ? NULL : tramp_reason_text(status);
}

static int visit_all(const char *path, struct code *c, const struct inj_symtab *tab,
		     bool (*visit)(void *arg, const struct function *f), void *arg)
{
	size_t n;
	const struct inj_symbol *v = inj_symtab_all(tab, &n);

	if (!find_all_branches(c, v, n))
		return bad(path, "out of memory");
	for (size_t i = 0; i < n;) {
		struct function f = next_function(v, n, i);

		/* An IFUNC's symbol is its resolver's; that is not what would be patched. */
		f.refused = f.is_ifunc ? NULL : judge(c, &f);
		if (!visit(arg, &f))
			break;
		i += f.nnames;
	}
	return 0;
}

static void free_code(struct code *c)
{
	for (size_t i = 0; i < c->nsegments; i++)
		free(c->segments[i].branches);
	free(c->bytes);
}

int functions_of(const char *path, bool (*visit)(void *arg, const struct function *f), void *arg)
{
	struct code *c = calloc(1, sizeof(*c));
	struct inj_symtab *tab = NULL;
	int status = c ? read_file(path, c) : bad(path, "out of memory");

	if (!status)
		status = read_segments(path, c);
	if (!status && inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK)
		status = bad(path, "its symbols cannot be read");
	if (!status)
		status = visit_all(path, c, tab, visit, arg);
	if (tab)
		inj_symtab_close(tab);
	if (c)
		free_code(c);
	free(c);
	return status;
}

void functions_count(struct functions_count *counts, size_t *n, const char *reason)
{
	for (size_t i = 0; i < *n; i++) {
		if (counts[i].reason == reason) {
			counts[i].n++;
			return;
		}
	}
	if (*n < FUNCTIONS_MAX_REASONS)
		counts[(*n)++] = (struct functions_count){ reason, 1 };
}
