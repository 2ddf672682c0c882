// SPDX-License-Identifier: GPL-3.0-or-later
/* An ELF file's code, and starts of functions from its unwind table. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "injector/signatures/sigkept.h"

static int by_start(const void *a, const void *b)
{
	const struct inj_sig_start *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->size > y->size ? -1 : x->size < y->size;
}

struct starts {
	struct inj_sig_start *v;
	size_t n, room;
};

static bool add_start(struct starts *s, const struct inj_elf *file, uint64_t addr, uint64_t size)
{
	if (!inj_elf_code(file, addr))
		return true;
	if (!array_room(s->v, s->room, s->n + 1))
		return false;
	s->v[s->n++] = (struct inj_sig_start){ addr, size };
	return true;
}

/* Each address once, with a size if one is known. */
static void sort(struct starts *s)
{
	size_t n = 0;

	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_start);
	for (size_t i = 0; i < s->n; i++)
		if (!n || s->v[n - 1].addr != s->v[i].addr)
			s->v[n++] = s->v[i];
	s->n = n;
}

static bool find_starts(const struct inj_elf *file, struct starts *s)
{
	struct inj_eh eh;
	struct inj_fde fde;
	bool good = add_start(s, file, file->entry, 0);

	if (inj_elf_frames(file, &eh))
		while (good && inj_eh_next(&eh, &fde))
			if (fde.size && fde.size <= SIG_MAX_LEN && !(fde.flags & (INJ_FDE_SIGNAL | INJ_FDE_INSIDE)))
				good = add_start(s, file, fde.addr, fde.size);
	sort(s);
	return good;
}

struct slots {
	struct inj_sig_slot *v;
	size_t n, room;
};

static bool add_slots(const struct inj_elf *file, uint64_t addr, uint64_t size, struct slots *s)
{
	const uint8_t *table = inj_elf_get(file, addr, size);

	for (uint64_t at = 0; table && size - at >= sizeof(Elf64_Rela); at += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, table + at, sizeof(r));
		if (ELF64_R_TYPE(r.r_info) != R_X86_64_IRELATIVE)
			continue;
		if (!array_room(s->v, s->room, s->n + 1))
			return false;
		s->v[s->n++] = (struct inj_sig_slot){ r.r_offset, (uint64_t)r.r_addend };
	}
	return true;
}

static int by_slot(const void *a, const void *b)
{
	const struct inj_sig_slot *x = a, *y = b;

	return x->slot < y->slot ? -1 : x->slot > y->slot;
}

/* Of a static program only section headers say where these are. */
static bool find_slots(const struct inj_elf *file, struct slots *s)
{
	bool good = add_slots(file, file->dyn.rela, file->dyn.rela_size, s) && add_slots(file, file->dyn.jmprel, file->dyn.jmprel_size, s);

	for (size_t i = 0; good && i < file->nsecs; i++)
		if (file->secs[i].type == SHT_RELA && (file->secs[i].flags & SHF_ALLOC) && !file->ndynamic)
			good = add_slots(file, file->secs[i].addr, file->secs[i].size, s);
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_slot);
	return good;
}

bool inj_sig_code_of(const struct inj_elf *file, const struct inj_sig_known *known, size_t nknown, struct inj_sig_code *code)
{
	struct inj_sig_piece *pieces = calloc(file->nsegs + 1, sizeof(*pieces));
	struct starts starts = { 0 };
	struct slots slots = { 0 };
	size_t n = 0;

	for (size_t i = 0; pieces && i < file->nsegs; i++)
		if ((file->segs[i].flags & PF_X) && file->segs[i].len)
			pieces[n++] = (struct inj_sig_piece){ file->segs[i].addr, file->segs[i].bytes, file->segs[i].len };
	*code = (struct inj_sig_code){ .pieces = pieces, .npieces = n, .known = known, .nknown = nknown };
	if (!pieces || !find_starts(file, &starts) || !find_slots(file, &slots)) {
		free(starts.v);
		free(slots.v);
		free(pieces);
		return false;
	}
	code->starts = starts.v;
	code->nstarts = starts.n;
	code->slots = slots.v;
	code->nslots = slots.n;
	return true;
}

void inj_sig_code_free(struct inj_sig_code *code)
{
	free((void *)(uintptr_t)code->pieces);
	free((void *)(uintptr_t)code->starts);
	free((void *)(uintptr_t)code->slots);
	*code = (struct inj_sig_code){ 0 };
}

/* ---- the names of a file ---- */

static bool convert(const struct inj_sig_result *r, const struct inj_sig_file *files, struct inj_sig_names *names)
{
	size_t n = 0;

	names->v = calloc(r->nfound + r->nunsure + 1, sizeof(*names->v));
	for (size_t i = 0; names->v && i < r->nfound + r->nunsure; i++) {
		const struct inj_sig_found *f = i < r->nfound ? &r->found[i] : &r->unsure[i - r->nfound];

		names->v[n++] = (struct inj_sig_name_of){ f->addr, f->size, f->name, files[f->file].name, f->flags };
	}
	names->n = r->nfound;
	names->nunsure = r->nunsure;
	return names->v != NULL;
}

static bool match(const struct inj_elf *file, const struct inj_sig_known *known, size_t nknown, struct inj_sig_names *names)
{
	size_t n;
	const struct inj_sig_file *files = inj_signatures(&n);
	struct inj_sig_result r;
	struct inj_sig_code code;
	bool good;

	if (!n || !inj_sig_code_of(file, known, nknown, &code))
		return false;
	good = inj_sig_match(files, n, &code, &r);
	inj_sig_code_free(&code);
	if (!good)
		return false;
	good = convert(&r, files, names);
	inj_sig_result_free(&r);
	return good;
}

bool inj_signatures_name(const char *path, const struct inj_sig_known *known, size_t nknown, struct inj_sig_names *names)
{
	uint64_t key = inj_signatures_key();
	const char *cache = inj_signatures_cache();
	char *kept = NULL;
	struct inj_elf file;
	bool good;

	*names = (struct inj_sig_names){ 0 };
	if (!key || inj_elf_open(path, &file) != INJ_OK)
		return false;
	kept = cache ? inj_sig_kept_name(cache, path, key) : NULL;
	good = kept && inj_sig_kept_open(kept, path, key, &file, names);
	if (!good && match(&file, known, nknown, names)) {
		good = true;
		if (kept)
			inj_sig_kept_store(kept, path, key, names);
	}
	free(kept);
	inj_elf_close(&file);
	good = good && (names->n || names->nunsure);
	if (!good)
		inj_sig_names_free(names);
	return good;
}

void inj_sig_names_free(struct inj_sig_names *names)
{
	free(names->v);
	free(names->text);
	*names = (struct inj_sig_names){ 0 };
}
