// SPDX-License-Identifier: GPL-3.0-or-later
/* The labels of nodes, and jumps to them: short ones to what is emitted already and near. */
#include <string.h>

#include "trampolines/memory/x86-64/emit.h"

/* Both entries of a node that needs no pointer are the same. */
enum mem_entry mem_entry_of(const struct tramp_mirror *m, uint32_t n, bool kept)
{
	return kept && mem_node(m, n)->reg != RT_MEM_NO_REG ? MEM_KEPT : MEM_HOME;
}

void mem_label(struct tramp_mirror *m, uint32_t n, enum mem_entry entry)
{
	mem_place(m, n)->at[entry] = (uint32_t)m->out.len;
}

/* 4 bytes. */
void mem_put_label(struct tramp_mirror *m, uint32_t n, enum mem_entry entry)
{
	struct mir_mem *mem = m->mem;
	struct mem_fixup f = { .at = (uint32_t)m->out.len, .node = n, .entry = (uint8_t)entry };

	mem_place(m, n)->wanted[entry] = true;
	if (mir_reserve(&mem->fixups, mem->fixups.n + 1))
		mem->fixups.v[mem->fixups.n++] = f;
	else
		m->lost = true;
	tramp_put_u32(&m->out, 0);
}

static bool reaches_short(const struct tramp_mirror *m, uint32_t at)
{
	return at != TRAMP_NONE && m->out.len + 2 - at <= 128;
}

void mem_put_jump(struct tramp_mirror *m, uint32_t n, enum mem_entry entry)
{
	uint32_t at = mem_place(m, n)->at[entry];

	if (reaches_short(m, at)) {
		tramp_put_u8(&m->out, 0xeb);
		tramp_put_u8(&m->out, (uint8_t)(at - (m->out.len + 1)));
		return;
	}
	tramp_put_u8(&m->out, 0xe9);
	mem_put_label(m, n, entry);
}

void mem_put_jcc(struct tramp_mirror *m, uint8_t cc, uint32_t n, enum mem_entry entry)
{
	uint32_t at = mem_place(m, n)->at[entry];

	if (reaches_short(m, at)) {
		tramp_put_u8(&m->out, 0x70 | cc);
		tramp_put_u8(&m->out, (uint8_t)(at - (m->out.len + 1)));
		return;
	}
	tramp_put_u8(&m->out, 0x0f);
	tramp_put_u8(&m->out, 0x80 | cc);
	mem_put_label(m, n, entry);
}

void mem_fix_labels(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->mem->fixups.n && m->out.status == TRAMP_OK; k++) {
		const struct mem_fixup *f = &m->mem->fixups.v[k];
		uint32_t rel = mem_place(m, f->node)->at[f->entry] - (f->at + 4);

		memcpy(m->out.buf + f->at, &rel, sizeof(rel));
	}
}
