// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Frames of a thread, as its accesses show them: an instruction that accesses memory by the register that its function's frame
 * address is computed from shows where that frame is.  So do calls, pushes and returns.  Frames above it are over by then.
 */
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

/* Those below @cfa are over. */
static void leave(struct nm_stack *s, uint64_t cfa, uint64_t to)
{
	while (s->n && s->frame[s->n - 1].cfa < cfa) {
		s->n--;
		if (s->past && !nm_past_add(s->past, &s->frame[s->n], to))
			s->failed = true;
	}
}

void nm_stack_seen(struct nm_stack *s, uint64_t cfa, uint64_t low, const struct nm_insn *insn)
{
	struct nm_frame *f;

	leave(s, cfa, s->to);
	if (!s->n || s->frame[s->n - 1].cfa != cfa) {
		if (!array_room(s->frame, s->room, s->n + 1)) {
			s->failed = true;
			return;
		}
		if (s->n && cfa < s->frame[s->n - 1].low)
			s->frame[s->n - 1].low = cfa;
		s->frame[s->n++] = (struct nm_frame){ .cfa = cfa, .low = low, .from = s->from, .serial = ++s->serial };
	}
	f = &s->frame[s->n - 1];
	f->insn = insn;
	f->low = low < f->low ? low : f->low;
}

void nm_stack_reaches(struct nm_stack *s, uint64_t addr)
{
	struct nm_frame *f = s->n ? &s->frame[s->n - 1] : NULL;

	if (f && addr < f->low)
		f->low = addr;
}

void nm_stack_left(struct nm_stack *s, uint64_t cfa)
{
	leave(s, cfa + 1, s->to);
}

void nm_stack_end(struct nm_stack *s, uint64_t end)
{
	leave(s, UINT64_MAX, end);
}

struct nm_frame *nm_stack_frame(const struct nm_stack *s, uint64_t addr)
{
	/* the last one that begins above it */
	size_t after = search_first(i, s->n, s->frame[i].cfa <= addr);

	return after ? &s->frame[after - 1] : NULL;
}

/* ---- names ---- */

static size_t die_slot(const struct nm *nm, const void *die, const void *function)
{
	return hash_slot(i, nm->room_locals, hash_word((uintptr_t)die ^ (uintptr_t)function << 1),
			 !nm->local[i].entry || (nm->local[i].die == die && nm->local[i].function == function));
}

static struct nm_entry *new_entry(struct nm *nm, struct nm_file *f, struct nm_in_frame *in, bool named)
{
	struct nm_variable v = { .kind = NM_STACK, .how = named ? NM_BY_DEBUG : NM_BY_AREA, .object = nm_file_path(f) };
	char *name = NULL, *function = in->function.addr ? nm_symbol_name(nm, &in->function) : NULL;
	struct nm_entry *e = NULL;

	if (in->function.addr && !function)
		return NULL;
	v.scope = function;
	if (named) {
		v.name = dwarf_diename(&in->die);
		v.file = dwarf_decl_file(&in->die);
		if (dwarf_decl_line(&in->die, &v.line) != 0 || !v.file)
			v.line = 0;
		e = nm_entry_new(nm, &v, &in->die, false);
	} else if (asprintf(&name, function ? "stack of %s" : "stack of functions without debug information", function) >= 0) {
		v.name = name;
		v.scope = NULL;
		e = nm_entry_new(nm, &v, NULL, false);
		free(name);
	}
	free(function);
	return e;
}

/* A variable, or all else in the frames of a function. */
static struct nm_entry *entry_of(struct nm *nm, struct nm_file *f, struct nm_in_frame *in, bool named)
{
	const void *die = named ? in->die.addr : NULL;
	struct nm_local *l;

	if (!hash_grow(nm->local, nm->room_locals, nm->nlocals + 1, old, old->entry, &nm->local[die_slot(nm, old->die, old->function)]))
		return NULL;
	l = &nm->local[die_slot(nm, die, in->function.addr)];
	if (!l->entry) {
		l->entry = new_entry(nm, f, in, named);
		l->die = die;
		l->function = in->function.addr;
		nm->nlocals += l->entry != NULL;
	}
	return l->entry;
}

/* By instruction and offset: what was found before. */
static size_t spot_slot(const struct nm *nm, const struct nm_insn *insn, int64_t offset)
{
	return hash_slot(i, nm->room_spots, hash_word(hash_word((uintptr_t)insn) ^ (uint64_t)offset),
			 !nm->spot[i].entry || (nm->spot[i].insn == insn && nm->spot[i].offset == offset));
}

struct nm_entry *nm_stack_find(struct nm *nm, const struct nm_frame *frame, uint64_t addr, bool variables, uint64_t *begin, uint64_t *size,
			       bool *throughout)
{
	const int64_t offset = variables ? (int64_t)(addr - frame->cfa) : INT64_MIN;
	struct nm_file *f = nm_file_at(nm, frame->insn->insn);
	struct nm_in_frame in;
	struct nm_spot *s;
	bool named;

	if (!f)
		return nm->unknown;
	if (!hash_grow(nm->spot, nm->room_spots, nm->nspots + 1, old, old->entry, &nm->spot[spot_slot(nm, old->insn, old->offset)]))
		return NULL;
	s = &nm->spot[spot_slot(nm, frame->insn, offset)];
	if (!s->entry) {
		/* at the call's own address, not where it returns to */
		named = nm_frame_find(f, nm_file_address(f, frame->insn->insn), offset, &in) && variables;
		*s = (struct nm_spot){ frame->insn, offset, in.begin, named ? in.size : 0, in.unknown || !variables, entry_of(nm, f, &in, named) };
		if (!s->entry)
			return NULL;
		nm->nspots++;
	}
	*begin = s->size ? frame->cfa + (uint64_t)s->begin : addr;
	*size = s->size;
	*throughout = s->throughout;
	return s->entry;
}

void nm_stack_free(struct nm_stack *s)
{
	free(s->frame);
}
