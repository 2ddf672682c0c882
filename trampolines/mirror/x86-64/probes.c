// SPDX-License-Identifier: GPL-3.0-or-later
/* Probes in the mirror, and the tables that say which instruction each of its bytes stands for. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "trampolines/insn/x86-64/asm.h"
#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/mirror/x86-64/plan.h"

enum {
	RET = 0xc3, RET_POP = 0xc2, REP = 0xf3, REPNE = 0xf2, NOTRACK = 0x3e,
	JMP_IND = 0xff, JMP_IND_REG = 4, /* in the reg field of its ModRM */
	REX = 0x40, REX_B = 1, REX_X = 2, REX_W = 0x48,
};

static void add_piece(struct tramp_mirror *m, const struct rt_piece *piece)
{
	struct rt_piece *last = m->pieces.n ? &m->pieces.v[m->pieces.n - 1] : NULL;

	if (last && last->start == piece->start)
		m->pieces.n--;
	else if (last && last->kind == piece->kind && last->probe == piece->probe &&
		 (piece->kind & ~RT_PIECE_RESUMABLE) == RT_PIECE_COPY &&
		 piece->start - last->start == piece->orig - last->orig)
		return;
	if (!mir_reserve(&m->pieces, m->pieces.n + 1))
		m->lost = true;
	else
		m->pieces.v[m->pieces.n++] = *piece;
}

void mir_piece(struct tramp_mirror *m, enum rt_piece_kind kind, uint32_t orig, bool resumable)
{
	struct rt_piece piece = {
		.start = (uint32_t)m->out.len,
		.orig = orig,
		.kind = (uint8_t)(kind | (resumable ? RT_PIECE_RESUMABLE : 0)),
		.probe = m->kept,
	};

	add_piece(m, &piece);
}

/* ---- shapes of probes, each once ---- */

static bool rehash(struct mir_probe_table *t)
{
	size_t room = t->nhash ? 2 * t->nhash : 1024;
	uint32_t *hash = calloc(room, sizeof(*hash));

	if (!hash)
		return false;
	free(t->hash);
	t->hash = hash;
	t->nhash = room;
	for (size_t i = 0; i < t->n; i++)
		hash[hash_slot(at, room, hash_bytes(&t->maps[i], sizeof(t->maps[i])), !hash[at])] = (uint32_t)i + 1;
	return true;
}

#define PROBES_MAX (1u << 24) /* of struct rt_piece */

/* PROBES_MAX: no memory. */
static uint32_t probe_index(struct mir_probe_table *t, const struct rt_probe_map *map)
{
	size_t at;

	if (2 * t->n >= t->nhash && !rehash(t))
		return PROBES_MAX;
	at = hash_slot(i, t->nhash, hash_bytes(map, sizeof(*map)),
		       !t->hash[i] || memcmp(&t->maps[t->hash[i] - 1], map, sizeof(*map)) == 0);
	if (!t->hash[at]) {
		if (t->n + 1 >= PROBES_MAX || !array_room(t->maps, t->room, t->n + 1))
			return PROBES_MAX;
		t->maps[t->n++] = *map;
		t->hash[at] = (uint32_t)t->n;
	}
	return t->hash[at] - 1;
}

static void set_probe(struct tramp_mirror *m, struct rt_piece *piece, const struct rt_probe_map *map)
{
	uint32_t index = probe_index(m->table, map);

	m->lost |= index == PROBES_MAX;
	piece->probe = index & (PROBES_MAX - 1);
}

void mir_keep(struct tramp_mirror *m, const struct rt_kept *kept)
{
	struct rt_probe_map like;
	struct rt_piece piece = { 0 };

	m->kept = 0;
	if (!kept->n)
		return;
	memcpy(&like, kept, sizeof(like));
	set_probe(m, &piece, &like);
	m->kept = piece.probe + 1;
}

static bool is_ret(const uint8_t *bytes)
{
	if (bytes[0] == REP || bytes[0] == REPNE)
		bytes++;
	return bytes[0] == RET || bytes[0] == RET_POP;
}

/*
 * By the ABI nothing below rsp is of value where a function begins or is left.  But assembly may jump from one
 * function through others to where it finds what it left there; only a return gives all of it away.
 */
static bool is_red_zone_dead(const struct tramp_mirror *m, enum tramp_probe_kind kind, uint32_t orig)
{
	uint32_t flags = tramp_code_facts(m->code)->fns[m->req.fn].flags;

	return (flags & TRAMP_FN_FRAMED) && !(flags & TRAMP_FN_FOREIGN) &&
	       kind == TRAMP_PROBE_EXIT && is_ret(mir_bytes(m, orig));
}

/* ---- where jumps lead ---- */

/* [bnd] jmp *slot(%rip): the slot, as an offset to the instruction's start; 0: it is something else. */
static uint64_t slot_of(const uint8_t *bytes, size_t left)
{
	size_t at = left && bytes[0] == REPNE;
	int32_t rel;

	if (at + 2 + sizeof(rel) > left || bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return 0;
	memcpy(&rel, bytes + at + 2, sizeof(rel));
	return at + 2 + sizeof(rel) + (uint64_t)(int64_t)rel;
}

/* By way of the procedure linkage table: to what its slot says. */
static struct tramp_jump jump_to(const struct tramp_mirror *m, uint64_t addr)
{
	size_t left = 0, prefix;
	const uint8_t *bytes = tramp_code_at(m->code, addr, &left);
	uint64_t slot;

	if (!bytes)
		return (struct tramp_jump){ .by = TRAMP_JUMP_TO, .address = mir_moved(m, addr) };
	prefix = tramp_endbr64_size(bytes, left);
	slot = slot_of(bytes + prefix, left - prefix);
	if (slot)
		return (struct tramp_jump){ .by = TRAMP_JUMP_BY, .address = mir_moved(m, addr + prefix + slot) };
	return (struct tramp_jump){ .by = TRAMP_JUMP_TO, .address = mir_moved(m, addr) };
}

/*
 * [notrack] [bnd] jmp *operand, as a mov of the same operand into rdx.  None with an operand relative to rsp, which
 * probes move.
 */
static struct tramp_jump jump_by(const uint8_t *bytes, size_t len)
{
	struct tramp_jump jump = { .by = TRAMP_JUMP_NONE };
	size_t at = 0;
	uint8_t rex = 0, modrm;
	bool sib;

	while (at < len && (bytes[at] == NOTRACK || bytes[at] == REPNE))
		at++;
	if (at < len && (bytes[at] & 0xf0) == REX)
		rex = bytes[at++] & (REX_X | REX_B);
	if (at + 2 > len || bytes[at] != JMP_IND || (bytes[at + 1] >> 3 & 7) != JMP_IND_REG)
		return jump;
	modrm = bytes[++at];
	sib = (modrm & 7) == TRAMP_RSP && modrm >> 6 != 3;
	if (!(rex & REX_B) && (sib ? at + 1 < len && (bytes[at + 1] & 7) == TRAMP_RSP : (modrm & 7) == TRAMP_RSP))
		return jump;
	if ((modrm & 0xc7) == 5 || 2 + len - at > sizeof(jump.load))
		return jump;
	jump.by = TRAMP_JUMP_INSN;
	jump.load[0] = REX_W | rex;
	jump.load[1] = ASM_LOAD;
	jump.load[2] = (uint8_t)((modrm & 0xc7) | TRAMP_RDX << 3);
	memcpy(jump.load + 3, bytes + at + 1, len - at - 1);
	jump.load_len = (uint8_t)(2 + len - at);
	return jump;
}

struct tramp_jump mir_jump_of(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	const struct tramp_op *last;
	uint64_t slot;

	switch (fb->ends) {
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_JCC:
	case TRAMP_END_TAIL_FALL:
		return jump_to(m, fb->target_addr);
	case TRAMP_END_TAIL_IND:
		last = mir_last(m, i);
		slot = slot_of(mir_bytes(m, last->off), last->len);
		if (slot)
			return (struct tramp_jump){ .by = TRAMP_JUMP_BY, .address = m->base + last->off + slot };
		return jump_by(mir_bytes(m, last->off), last->len);
	default:
		return (struct tramp_jump){ .by = TRAMP_JUMP_NONE };
	}
}

/* Only a return has what is returned where the caller finds it. */
static void add_values(const struct tramp_mirror *m, struct tramp_probe *probe, uint32_t orig)
{
	if (probe->kind == TRAMP_PROBE_ENTRY)
		probe->values = m->req.entered;
	else if (is_ret(mir_bytes(m, orig)))
		probe->values = m->req.returned;
	else
		probe->event += m->req.returned != NULL;
}

void mir_probe(struct tramp_mirror *m, enum tramp_probe_kind kind, const struct tramp_jump *jump,
	       tramp_regs live, uint32_t orig)
{
	struct tramp_probe probe = {
		.kind = kind,
		.acts = m->req.acts & (kind == TRAMP_PROBE_EXIT ? ~RT_ACT_ENTRIES : UINT8_MAX),
		.jump = *jump,
		.event = kind == TRAMP_PROBE_EXIT ? m->req.leave : m->req.enter,
		.function = m->req.index,
		.live = live,
		.red_zone_dead = is_red_zone_dead(m, kind, orig),
	};

	add_values(m, &probe, orig);
	mir_put_probe(m, &probe, orig);
}

void mir_put_probe(struct tramp_mirror *m, const struct tramp_probe *probe, uint32_t orig)
{
	struct rt_piece piece = {
		.start = (uint32_t)m->out.len, .orig = orig, .kind = RT_PIECE_PROBE,
	};
	struct mir_probe *p;

	if (!mir_reserve(&m->probes, m->probes.n + 1)) {
		m->lost = true;
		return;
	}
	/* what has been recorded is not again, when what is interrupted after it goes on */
	if (mir_wants(m, TRAMP_MIRROR_ACCESSES))
		mir_mem_apart(m, piece.start);
	p = &m->probes.v[m->probes.n++];
	p->at = piece.start;
	p->orig = orig;
	if (tramp_probe_emit(&m->env, probe, &p->code) != TRAMP_OK) {
		m->out.status = TRAMP_NO_ROOM;
		return;
	}
	set_probe(m, &piece, &p->code.map);
	add_piece(m, &piece);
	tramp_put_bytes(&m->out, p->code.code, p->code.len);
}

/* What records comes first, if it is apart, and a jump. */
static void note_slow_path(struct tramp_mirror *m, const struct mir_probe *p)
{
	struct rt_piece piece = { .start = (uint32_t)m->out.len, .orig = p->orig, .kind = RT_PIECE_PROBE };

	if (mir_wants(m, TRAMP_MIRROR_ACCESSES))
		mir_mem_apart(m, p->at);
	if (p->code.apart.length) {
		set_probe(m, &piece, &p->code.apart);
		add_piece(m, &piece);
		piece.start += p->code.apart.length;
		piece.kind = RT_PIECE_INSN;
		piece.probe = 0;
		add_piece(m, &piece);
		piece.start += TRAMP_PROBE_BACK;
	}
	piece.kind = RT_PIECE_SLOW;
	add_piece(m, &piece);
}

void mir_emit_slow_paths(struct tramp_mirror *m)
{
	struct tramp_out *out = &m->out;

	for (size_t k = 0; k < m->probes.n && out->status == TRAMP_OK; k++) {
		struct mir_probe *p = &m->probes.v[k];

		if (!p->code.slow_len)
			continue;
		out->status = tramp_probe_place(&p->code, out->addr + p->at, out->addr + out->len);
		if (out->status != TRAMP_OK)
			return;
		memcpy(out->buf + p->at, p->code.code, p->code.len);
		note_slow_path(m, p);
		tramp_put_bytes(out, p->code.slow, p->code.slow_len);
	}
}
